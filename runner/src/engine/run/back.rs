//! Taking back what a host's batches did.
use super::{Applied, HostError, HostRun};
use crate::diagnostic::Diagnostic;
use crate::engine::batch::{Batch, BatchReport, Verdict};
use crate::engine::carrier::Carrier;
use crate::engine::target::Target;
use crate::engine::undo::{Past, activation_step, way_back};
use crate::engine::walk::Planned;
use crate::journal::{HostEnd, Journal, JournalError, Record};
use crate::report::event::Event;
use modules::vocabulary::{Read, Seen, TaskId};
use std::collections::{BTreeMap, BTreeSet};

impl HostRun {
    /// A batch that failed is taken back at once.
    pub(super) async fn take_back(
        &mut self,
        journal: &Journal,
        applied: Applied,
        task: &Planned,
        problem: Box<Diagnostic>,
    ) -> Result<HostEnd, JournalError> {
        let title = Some(task.title.clone());
        self.tell(Event::Trouble { host: self.state.name.clone(), title, problem: *problem });
        let Applied { target, past, .. } = applied;
        let end = self.undo(journal, &target, std::slice::from_ref(&past)).await?;
        if let Some(all) = self.past.get_mut(&target) {
            all.retain(|other| other.batch.number != past.batch.number);
        }
        Ok(end)
    }

    /// Takes batches back, newest first, on what is seen now.
    pub(super) async fn undo(
        &mut self,
        journal: &Journal,
        target: &Target,
        past: &[Past],
    ) -> Result<HostEnd, JournalError> {
        let carrier = match self.links.carrier(&self.scene, target).await {
            Ok(carrier) => carrier,
            Err(error) => {
                let problem = error.diagnostic(&target.host);
                self.tell(Event::Trouble { host: self.state.name.clone(), title: None, problem });
                return Ok(HostEnd::FailedHalf);
            }
        };
        let who = self.state.known.get(target).and_then(|known| known.who.clone()).unwrap_or_default();
        let number = self.number(&target.host);
        let undone = undo_on(&carrier, journal, &target.host, &who, past, number, &[]).await;
        let undone = match undone {
            Ok(undone) => undone,
            Err(HostError::Journal(error)) => return Err(error),
            Err(error) => {
                let problem = error.diagnostic(&target.host);
                self.tell(Event::Trouble { host: self.state.name.clone(), title: None, problem });
                return Ok(HostEnd::FailedHalf);
            }
        };
        if let Some((batch, report)) = &undone.done {
            self.learn(target, batch, report);
        }
        let complete = undone.left.is_empty();
        self.tell(Event::Undone { host: self.state.name.clone(), steps: undone.steps, left: undone.left });
        Ok(if complete { HostEnd::Failed } else { HostEnd::FailedHalf })
    }

    /// The host went away or does not answer as it should.
    pub(super) async fn broken(
        &mut self,
        journal: &Journal,
        error: &HostError,
        acted: bool,
    ) -> Result<HostEnd, JournalError> {
        let problem = error.diagnostic(&self.state.name);
        self.trouble(None, problem);
        self.links.forget(&self.state.name).await;
        if !acted && error.is_unreachable() && self.past.values().all(Vec::is_empty) {
            return Ok(HostEnd::Unreachable);
        }
        // What was sent last may be done, half done, or not: it is looked at over a new connection, and taken back.
        let lost: Vec<(Target, Vec<Past>)> = self
            .past
            .iter()
            .map(|(target, past)| {
                (target.clone(), past.iter().filter(|past| past.report.is_none()).cloned().collect())
            })
            .filter(|(_, past): &(Target, Vec<Past>)| !past.is_empty())
            .collect();
        let mut end = HostEnd::Failed;
        for (target, past) in lost {
            if self.undo(journal, &target, &past).await? == HostEnd::FailedHalf {
                end = HostEnd::FailedHalf;
            }
        }
        Ok(end)
    }
}

/// Why nothing of a batch was written.
pub(super) fn unwritten(report: &BatchReport, host: &str) -> Option<Diagnostic> {
    if report.locked.as_deref() == Some("") {
        return Some(
            Diagnostic::error(format!("{host} has no folder that runs can be recorded in"), None)
                .note("the state folder cannot be made or written, or `flock` is not installed")
                .help("say `tunerun_state_dir:` for this host: a folder that the acting user may write"),
        );
    }
    if let Some(run) = &report.locked {
        return Some(
            Diagnostic::error(format!("{host} is held by another run ({run})"), None)
                .help("wait until that run is over, then start again; nothing was written here"),
        );
    }
    if let Some(words) = &report.stale {
        return Some(
            Diagnostic::error(words.clone(), None)
                .help("plan again: somebody else has changed it; nothing was written"),
        );
    }
    report.unstaged.as_ref().map(|words| {
        Diagnostic::error(format!("the new contents could not be staged: {words}"), None)
            .help("nothing was written; mend what the host says and start again")
    })
}

/// What an undo did on a host.
#[derive(Debug, Default)]
pub struct UndoneOn {
    /// How many steps went back.
    pub steps: usize,
    /// What was left alone or cannot go back, in words.
    pub left: Vec<String>,
    /// What stays though all went back as near as possible.
    pub stays: Vec<String>,
    /// The batch that went back, and what came of it.
    pub done: Option<(Batch, BatchReport)>,
}

/// Takes batches of one host back, newest first: looks, prepares, acts, proves.
///
/// # Errors
/// [`HostError`].
pub async fn undo_on(
    carrier: &Carrier,
    journal: &Journal,
    host: &str,
    who: &modules::vocabulary::Identity,
    past: &[Past],
    number: u32,
    force: &[String],
) -> Result<UndoneOn, HostError> {
    let looks: BTreeSet<Read> = past.iter().flat_map(Past::looks).cloned().collect();
    let now: BTreeMap<Read, Seen> =
        carrier.look(&looks.into_iter().collect::<Vec<_>>()).await.map_err(HostError::Carrier)?;
    let back = way_back(past, now, who, force);
    let mut undone = UndoneOn { left: back.conflicts, stays: back.stays, ..UndoneOn::default() };
    undone.left.extend(back.stuck);
    if back.steps.is_empty() && back.activations.is_empty() {
        return Ok(undone);
    }
    let mut steps = back.steps;
    undone.steps = steps.len();
    for step in back.activations.iter().filter_map(activation_step) {
        steps.push(modules::fold::Folded { tasks: vec![TaskId(u32::MAX)], step });
    }
    let batch = Batch {
        host: host.to_owned(),
        number,
        steps,
        activations: back.activations,
        verify: Vec::new(),
        last: true,
        undo: true,
        timeout: None,
    };
    let prepared = journal.prepare(batch.clone(), Vec::new()).await.map_err(HostError::Journal)?;
    let report = carrier.carry_out(prepared, who).await.map_err(HostError::Carrier)?;
    let record = Record::Done { host: host.to_owned(), batch: number, report: report.clone() };
    journal.note(record).map_err(HostError::Journal)?;
    if let Some(problem) = unwritten(&report, host) {
        undone.left.push(problem.message);
        undone.steps = 0;
        return Ok(undone);
    }
    for index in 0..batch.steps.len() {
        match report.verdict(&batch, index) {
            Verdict::Proven => {}
            Verdict::NotReached => {
                undone.left.push(format!("{}: not reached", batch.steps[index].step.claim))
            }
            Verdict::Failed(words) => undone.left.push(words),
        }
    }
    undone.done = Some((batch, report));
    Ok(undone)
}
