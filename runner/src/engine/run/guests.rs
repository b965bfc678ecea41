//! Guests that are powered off and on at the end of a host's part, one after the other.
use super::{HostError, HostRun, activation_words};
use crate::diagnostic::Diagnostic;
use crate::engine::batch::{Batch, BatchReport};
use crate::engine::target::{Acting, Target};
use crate::engine::undo::{Past, activation_step};
use crate::journal::{HostEnd, Journal, JournalError, Record};
use crate::report::event::Event;
use modules::fold::fold;
use modules::vocabulary::{Activation, Back, Claim, CycleTime, GuestCycle, Read, Seen, Spoil, Step, TaskId};
use std::sync::Arc;

/// It is not the time for it: nothing was done.
const NOT_NOW: i32 = 75;

/// The guest is off and does not start.
const DOWN: i32 = 4;

impl HostRun {
    /// Powers the guests off and on that call for it. False: one did not come through.
    ///
    /// # Errors
    /// [`JournalError`].
    pub(super) async fn cycles(&mut self, journal: &Journal) -> Result<bool, JournalError> {
        let cycles: Vec<GuestCycle> = self
            .owed
            .iter()
            .filter_map(|owed| match owed {
                Activation::GuestCycle(cycle) => Some(cycle.clone()),
                _ => None,
            })
            .collect();
        let mut fine = true;
        for cycle in cycles {
            // One cycle is enough, whichever tasks have called for it.
            let is_owed = self.owed.contains(&Activation::GuestCycle(cycle.clone()));
            if !is_owed
                || cycle.row().is_none()
                || (cycle.when == CycleTime::Asked && !self.may(&cycle).await)
            {
                continue;
            }
            fine &= self.cycle(journal, &cycle).await?;
        }
        Ok(fine)
    }

    /// Which start of each guest is under way, in words that differ from start to start; none where none of them runs.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn guests_started(&mut self, guests: &[GuestCycle]) -> Result<Option<String>, HostError> {
        let mut words = Vec::new();
        for guest in guests {
            let look = Read::Ask(guest.started());
            let target = self.target_of(guest);
            let carrier = self.links.carrier(&self.scene, &target).await.map_err(HostError::Unreachable)?;
            let seen = carrier.look(std::slice::from_ref(&look)).await.map_err(HostError::Carrier)?;
            if let Some(Seen::Output(output)) = seen.get(&look)
                && output.status == 0
                && output.text().trim().parse::<u64>().is_ok()
            {
                words.push(format!("{} start {}", guest.uuid, output.text().trim()));
            }
        }
        Ok((!words.is_empty()).then(|| words.join(", ")))
    }

    /// Powers guests off and on although nothing of them has changed: a gate's next pair. Gives how the host's part
    /// ended where one did not come through.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn cycle_anew(
        &mut self,
        journal: &Journal,
        guests: &[GuestCycle],
    ) -> Result<Result<(), HostEnd>, JournalError> {
        let mut fine = true;
        for guest in guests {
            if guest.row().is_some() && (guest.when != CycleTime::Asked || self.may(guest).await) {
                fine &= self.cycle(journal, guest).await?;
            }
        }
        Ok(if fine { Ok(()) } else { Err(HostEnd::Failed) })
    }

    async fn may(&self, cycle: &GuestCycle) -> bool {
        let question = format!(
            "{}: power the guest {} ({}) off and on now? It has {} s to shut down.",
            self.state.name, cycle.name, cycle.uuid, cycle.timeout
        );
        let ask = Arc::clone(&self.ask);
        tokio::task::spawn_blocking(move || ask(&question)).await.unwrap_or(false)
    }

    /// One guest. Where it does not start any more, what was changed of it is taken back, and it is started as it was.
    pub(super) async fn cycle(
        &mut self,
        journal: &Journal,
        cycle: &GuestCycle,
    ) -> Result<bool, JournalError> {
        let activation = Activation::GuestCycle(cycle.clone());
        let Some(step) = activation_step(&activation) else { return Ok(true) };
        let target = self.target_of(cycle);
        let Some(report) = self.call(journal, &target, step, vec![activation.clone()]).await? else {
            return Ok(false);
        };
        let output = report.acts.first().and_then(Option::as_ref).map(|act| act.output.clone());
        let words = output.as_ref().map(|output| output.error_text().trim().to_owned()).unwrap_or_default();
        let named = activation_words(&activation);
        match output.as_ref().map(|output| output.status) {
            Some(0) => {
                self.made.push(activation.clone());
                for activation in self.take_owed(cycle) {
                    let (host, output) = (self.state.name.clone(), output.clone());
                    journal.note(Record::Activated { host, activation, output })?;
                }
                return Ok(true);
            }
            Some(NOT_NOW) => {
                let problem = Diagnostic::warning(format!("{named} stays owed: {words}"), None);
                self.tell(Event::Trouble { host: self.state.name.clone(), title: None, problem });
                return Ok(true);
            }
            Some(DOWN) => {
                let problem = Diagnostic::error(format!("{named} failed: {words}"), None)
                    .help("what was changed of it is taken back, and it is started as it was");
                self.trouble(None, problem);
                self.rescue(journal, &target, cycle).await?;
                self.take_owed(cycle);
            }
            _ => {
                let problem = Diagnostic::error(format!("{named} failed: {words}"), None).help(
                    "the guest runs on as it was started; raise `shutdown_timeout`, look at the guest, or set \
                     `after_timeout: destroy`",
                );
                self.trouble(None, problem);
            }
        }
        Ok(false)
    }

    /// Takes back what was changed of a guest, and starts it.
    async fn rescue(
        &mut self,
        journal: &Journal,
        target: &Target,
        cycle: &GuestCycle,
    ) -> Result<(), JournalError> {
        let all = self.past.get(target).cloned().unwrap_or_default();
        let own: Vec<Past> = all.into_iter().map(|past| alone(past, &cycle.uuid)).collect();
        self.undo(journal, target, &own).await?;
        let claim = Claim::new("activation", &format!("start of {} ({})", cycle.name, cycle.uuid));
        let spoils = vec![Spoil::Volatile];
        let step = Step::call(claim, cycle.start(), spoils, Back::Nothing);
        if let Some(report) = self.call(journal, target, step, Vec::new()).await?
            && let Some(act) = report.acts.first().and_then(Option::as_ref)
            && act.output.status != 0
        {
            let words = act.output.error_text();
            let problem = Diagnostic::error(
                format!("the guest {} is off and does not start: {}", cycle.name, words.trim()),
                None,
            )
            .help("look at its log below /var/log/libvirt/qemu, and start it by hand");
            self.trouble(None, problem);
        }
        Ok(())
    }

    /// What is owed of a guest, which is owed no more.
    fn take_owed(&mut self, cycle: &GuestCycle) -> Vec<Activation> {
        let same = |owed: &Activation| matches!(owed, Activation::GuestCycle(other) if (&other.uri, &other.uuid) == (&cycle.uri, &cycle.uuid));
        let taken = self.owed.iter().filter(|owed| same(owed)).cloned().collect();
        self.owed.retain(|owed| !same(owed));
        taken
    }

    /// As whom a guest was changed: so it is powered off and on.
    fn target_of(&self, cycle: &GuestCycle) -> Target {
        let changed = |past: &Past| past.batch.steps.iter().any(|folded| is_of(&folded.step, &cycle.uuid));
        let by_claim = self.past.iter().find(|(_, past)| past.iter().any(changed));
        let own = || self.past.keys().find(|target| target.host == self.state.name);
        by_claim
            .map(|(target, _)| target)
            .or_else(own)
            .cloned()
            .unwrap_or_else(|| Target { host: self.state.name.clone(), user: Acting::Login })
    }

    /// One call in a batch of its own. None where it could not be carried out, which is told.
    async fn call(
        &mut self,
        journal: &Journal,
        target: &Target,
        step: Step,
        activations: Vec<Activation>,
    ) -> Result<Option<BatchReport>, JournalError> {
        let carrier = match self.links.carrier(&self.scene, target).await {
            Ok(carrier) => carrier,
            Err(error) => {
                self.trouble(None, error.diagnostic(&target.host));
                return Ok(None);
            }
        };
        let number = self.number(&target.host);
        let batch = Batch {
            host: target.host.clone(),
            number,
            acting: target.user.clone(),
            steps: fold([(TaskId(u32::MAX), step)]),
            activations,
            ..Batch::default()
        };
        let who = self.state.known.get(target).and_then(|known| known.who.clone()).unwrap_or_default();
        let prepared = journal.prepare(batch.clone(), Vec::new()).await?;
        self.marked.insert(target.clone());
        let report = match carrier.carry_out(prepared, &who).await {
            Ok(report) => report,
            Err(error) => {
                self.trouble(None, HostError::Carrier(error).diagnostic(&target.host));
                return Ok(None);
            }
        };
        journal.note(Record::Done { host: target.host.clone(), batch: number, report: report.clone() })?;
        self.learn(target, &batch, &report);
        Ok(Some(report))
    }

    /// Guests whose change was taken back call for nothing any more.
    pub(super) fn forget_guests(&mut self, batch: &Batch) {
        self.owed.retain(|owed| match owed {
            Activation::GuestCycle(cycle) => {
                !batch.steps.iter().any(|folded| is_of(&folded.step, &cycle.uuid))
            }
            _ => true,
        });
    }
}

/// Whether a step changes a guest.
fn is_of(step: &Step, uuid: &str) -> bool {
    step.claim.as_str().strip_prefix("guest/").is_some_and(|rest| rest.starts_with(uuid))
}

/// A batch of which only one guest's steps may still go back.
fn alone(mut past: Past, uuid: &str) -> Past {
    for (index, folded) in past.batch.steps.iter().enumerate() {
        if !is_of(&folded.step, uuid) {
            past.undone.extend(u32::try_from(index));
        }
    }
    past
}
