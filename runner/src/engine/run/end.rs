//! The end of a host's part: what is owed.
use super::{HostError, HostRun};
use crate::diagnostic::Diagnostic;
use crate::engine::batch::{Batch, Verdict};
use crate::engine::target::{Acting, Target};
use crate::engine::undo::activation_step;
use crate::journal::{HostEnd, Journal, JournalError, Record};
use crate::report::event::Event;
use modules::fold::fold;
use modules::vocabulary::{Activation, TaskId};

impl HostRun {
    /// Ends the host's part: restarts that are owed are done, the rest is told.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn finish(&mut self, journal: &Journal, end: Option<HostEnd>) -> Result<HostEnd, JournalError> {
        let mut end = end.unwrap_or(HostEnd::Proven);
        if end == HostEnd::Proven && !self.restarts(journal).await? {
            end = HostEnd::Failed;
        }
        let owed: Vec<String> = self.owed.iter().map(activation_words).collect();
        let why = (end != HostEnd::Proven).then(|| "see the events above".to_owned());
        let tally = self.links.tally(&self.state.name).await;
        journal.note(Record::HostEnded { host: self.state.name.clone(), end, why, tally })?;
        self.tell(Event::HostEnded { host: self.state.name.clone(), end, counts: self.counts, tally, owed });
        Ok(end)
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
            steps: fold(steps),
            activations: units.clone(),
            verify: Vec::new(),
            last: true,
            undo: false,
            timeout: None,
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
        let mut fine = true;
        for (index, unit) in units.iter().enumerate() {
            match report.verdict(&batch, index) {
                Verdict::Proven => {
                    self.owed.remove(unit);
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

/// An activation as people call it.
pub fn activation_words(activation: &Activation) -> String {
    match activation {
        Activation::DaemonReload => "systemctl daemon-reload".to_owned(),
        Activation::Regenerate(row) | Activation::Reload(row) => row.name.clone(),
        Activation::Restart(unit) => format!("restart of {unit}"),
        Activation::GuestCycle(uuid) => format!("power cycle of guest {uuid}"),
        Activation::Reboot => "reboot".to_owned(),
    }
}
