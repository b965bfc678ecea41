//! Taking back what a host's batches did.
use super::{Applied, HostError, HostRun};
use crate::diagnostic::Diagnostic;
use crate::engine::batch::{Batch, BatchReport};
use crate::engine::recovery::{Felt, Undoing, undo_on};
use crate::engine::target::Target;
use crate::engine::undo::Past;
use crate::journal::{HostEnd, Journal, JournalError, Record};
use crate::report::event::Event;

/// How many batches one undo may take at most.
const MOST: u32 = 100;

impl HostRun {
    /// A batch that failed is taken back at once.
    pub(super) async fn take_back(
        &mut self,
        journal: &Journal,
        applied: Applied,
        title: String,
        problem: Box<Diagnostic>,
        handled: bool,
    ) -> Result<HostEnd, JournalError> {
        let title = Some(title);
        self.tell(Event::Trouble { host: self.state.name.clone(), title, problem: *problem });
        let Applied { target, past, keys } = applied;
        for key in keys {
            if let Some(ran) = self.state.ran.get_mut(&key) {
                ran.undone = true;
            }
        }
        let goes_back = |folded: &modules::fold::Folded| {
            !matches!(
                folded.step.back,
                modules::vocabulary::Back::None { .. } | modules::vocabulary::Back::Nothing
            )
        };
        if handled && !past.iter().flat_map(|past| &past.batch.steps).any(goes_back) {
            return Ok(HostEnd::Failed);
        }
        let end = self.undo(journal, &target, &past).await?;
        if end != HostEnd::Failed {
            // What stands is not forgotten: a rollback of the whole run tries again.
            return Ok(end);
        }
        past.iter().for_each(|past| self.forget_guests(&past.batch));
        if let Some(all) = self.past.get_mut(&target) {
            all.retain(|other| past.iter().all(|past| past.batch.number != other.batch.number));
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
        self.undo_felt(journal, target, past, Felt::Now).await
    }

    /// The same, with what is down meanwhile made now or owed.
    pub(super) async fn undo_felt(
        &mut self,
        journal: &Journal,
        target: &Target,
        past: &[Past],
        felt: Felt,
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
        let cut_off: Vec<&Batch> =
            past.iter().filter(|past| past.report.is_none()).map(|past| &past.batch).collect();
        let undoing = Undoing {
            host: &target.host,
            who: &who,
            acting: &target.user,
            past,
            cut_off: &cut_off,
            number: self.scene.number_batches(&target.host, MOST) - MOST,
            force: &[],
            pending: &[],
            felt,
        };
        let undone = undo_on(&carrier, journal, undoing).await;
        let undone = match undone {
            Ok(undone) => undone,
            Err(HostError::Journal(error)) => return Err(error),
            Err(error) => {
                let problem = error.diagnostic(&target.host);
                self.tell(Event::Trouble { host: self.state.name.clone(), title: None, problem });
                return Ok(HostEnd::FailedHalf);
            }
        };
        self.state.batches.insert(target.host.clone(), undone.number);
        for (batch, report) in &undone.done {
            self.learn(target, batch, report);
        }
        let complete = undone.left.is_empty();
        for activation in &undone.owed {
            journal.note(Record::Owed { host: self.state.name.clone(), activation: activation.clone() })?;
        }
        self.owed.extend(undone.owed.iter().cloned());
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
        if matches!(error, HostError::Lost(_)) {
            return Ok(HostEnd::Lost);
        }
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
pub(in crate::engine) fn unwritten(report: &BatchReport, host: &str) -> Option<Diagnostic> {
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
