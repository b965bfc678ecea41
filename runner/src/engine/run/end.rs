//! The end of a host's part: what is owed.
use super::{HostError, HostRun};
use crate::diagnostic::Diagnostic;
use crate::engine::batch::{Batch, Verdict};
use crate::engine::target::{Acting, Target};
use crate::engine::undo::activation_step;
use crate::engine::walk::Told;
use crate::journal::{HostEnd, Journal, JournalError, Record};
use crate::report::event::Event;
use modules::fold::fold;
use modules::vocabulary::{Act, Activation, Back, Read, Standing, Step, TaskId};
use std::collections::BTreeSet;
use std::sync::Arc;

impl HostRun {
    /// Ends the host's part: restarts that are owed are done, the rest is told.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn finish(&mut self, journal: &Journal, end: Option<HostEnd>) -> Result<HostEnd, JournalError> {
        let mut end = end.unwrap_or(HostEnd::Proven);
        if end == HostEnd::Proven && !self.felt_later && !self.restarts(journal).await? {
            end = HostEnd::Failed;
        }
        if end == HostEnd::Proven && !self.felt_later && !self.cycles(journal).await? {
            end = HostEnd::Failed;
        }
        if end == HostEnd::Proven && self.past.values().any(|past| !past.is_empty()) && !self.proven().await {
            end = HostEnd::Failed;
        }
        self.unmark(journal, end).await;
        let owed: Vec<String> = self.owed.iter().map(activation_words).collect();
        let why = (end != HostEnd::Proven).then(|| "see the events above".to_owned());
        let tally = self.links.tally(&self.state.name).await;
        journal.note(Record::HostEnded { host: self.state.name.clone(), end, why, tally })?;
        let not_live = std::mem::take(&mut self.not_live);
        let (host, counts) = (self.state.name.clone(), self.counts);
        self.tell(Event::HostEnded { host, end, counts, tally, owed, not_live });
        Ok(end)
    }

    /// Tells that the host's part does not begin.
    pub fn stays_out(&self, end: HostEnd) {
        let (host, counts) = (self.state.name.clone(), self.counts);
        self.tell(Event::HostEnded {
            host,
            end,
            counts,
            tally: None,
            owed: Vec::new(),
            not_live: Vec::new(),
        });
    }

    /// A part that ended in order leaves no mark of an open run, whichever batch was its last.
    async fn unmark(&mut self, journal: &Journal, end: HostEnd) {
        if matches!(end, HostEnd::FailedHalf | HostEnd::Unreachable | HostEnd::Lost) {
            return;
        }
        for target in std::mem::take(&mut self.marked) {
            let who = self.state.known.get(&target).and_then(|known| known.who.clone()).unwrap_or_default();
            if let Ok(carrier) = self.links.carrier(&self.scene, &target).await {
                // Where it stays, the next run asks for a resume, which does no harm.
                let _ = carrier.mark(journal.run(), &who, "finished").await;
            }
        }
    }

    /// Asks the last task of each claim again on what is there now: it must plan nothing.
    async fn proven(&mut self) -> bool {
        self.state.proving = true;
        self.forget_what_commands_may_change();
        let last = self.scene.playbook.plays.len().saturating_sub(1);
        let walked = self.plan(last).await;
        self.state.proving = false;
        match walked {
            Ok(walked) => {
                let fine = walked.unproven.is_empty();
                walked.unproven.into_iter().for_each(|problem| self.trouble(None, problem));
                fine
            }
            Err(error) => {
                let problem = error.diagnostic(&self.state.name);
                self.trouble(None, problem);
                false
            }
        }
    }

    /// Commands spoil what they declare; at the end it is looked whether that was all. One whose author says that it
    /// changes nothing has no way back, and is believed.
    fn forget_what_commands_may_change(&mut self) {
        let is_command = |step: &Step| match &step.act {
            Act::Call { row, .. } => {
                step.back != Back::Nothing && matches!(row.name.as_str(), "shell" | "command" | "script")
            }
            _ => false,
        };
        let steps = || self.past.values().flatten().flat_map(|past| &past.batch.steps);
        if !steps().any(|folded| is_command(&folded.step)) {
            return;
        }
        let looks: BTreeSet<Read> = steps().filter_map(|folded| folded.step.look.clone()).collect();
        for known in self.state.known.values_mut() {
            Arc::make_mut(&mut known.seen).retain(|read, _| {
                let same =
                    |look: &Read| look == read || (read.path().is_some() && look.path() == read.path());
                !looks.iter().any(same)
            });
        }
    }

    pub(super) async fn restarts(&mut self, journal: &Journal) -> Result<bool, JournalError> {
        let units: Vec<Activation> =
            self.owed.iter().filter(|owed| matches!(owed, Activation::Restart(_))).cloned().collect();
        if units.is_empty() {
            return Ok(true);
        }
        let root = self.past.keys().find(|target| target.host == self.state.name).cloned();
        let target = root.unwrap_or_else(|| Target { host: self.state.name.clone(), user: Acting::Login });
        let Ok(carrier) = self.links.carrier(&self.scene, &target).await else { return Ok(false) };
        let steps = units.iter().filter_map(activation_step).map(|step| (TaskId(u32::MAX), step));
        let batch = Batch {
            host: target.host.clone(),
            number: self.number(&target.host),
            acting: target.user.clone(),
            steps: fold(steps),
            activations: units.clone(),
            last: !self.stays_open,
            ..Batch::default()
        };
        let who = self.state.known.get(&target).and_then(|known| known.who.clone()).unwrap_or_default();
        let prepared = journal.prepare(batch.clone(), Vec::new()).await?;
        let report = match carrier.carry_out(prepared, &who).await {
            Ok(report) => report,
            Err(error) => {
                self.trouble(None, HostError::Carrier(error).diagnostic(&target.host));
                return Ok(false);
            }
        };
        journal.note(Record::Done {
            host: target.host.clone(),
            batch: batch.number,
            report: report.clone(),
        })?;
        // What a unit was started with is not what it runs with now.
        self.learn(&target, &batch, &report);
        let mut fine = true;
        for (index, unit) in units.iter().enumerate() {
            match report.verdict(&batch, index) {
                Verdict::Proven => {
                    self.owed.remove(unit);
                    self.made.push(unit.clone());
                    let record = Record::Activated {
                        host: self.state.name.clone(),
                        activation: unit.clone(),
                        output: None,
                    };
                    journal.note(record)?;
                }
                Verdict::NotReached => fine = false,
                Verdict::Failed(words) => {
                    fine = false;
                    self.trouble(None, Diagnostic::error(words, None));
                }
            }
        }
        Ok(fine)
    }
}

/// What is written and not felt yet, in words.
pub(super) fn not_live(told: &[Told]) -> Vec<String> {
    let words = |told: &Told| match &told.evidence.standing {
        Standing::Owed { until, .. } => Some(format!("{} ({})", told.evidence.what, until.owed_words())),
        _ => None,
    };
    told.iter().filter_map(words).collect()
}

/// An activation as people call it.
pub fn activation_words(activation: &Activation) -> String {
    match activation {
        Activation::DaemonReload => "systemctl daemon-reload".to_owned(),
        Activation::Regenerate(row) | Activation::Reload(row) => row.name.clone(),
        Activation::Restart(unit) => format!("restart of {unit}"),
        Activation::GuestCycle(cycle) => format!("power cycle of guest {} ({})", cycle.name, cycle.uuid),
        Activation::Reboot => "reboot".to_owned(),
    }
}
