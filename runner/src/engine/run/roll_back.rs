//! A host's way back in a rollback: its states first, and what makes them felt when its turn to be down comes.
use super::HostRun;
use super::arms::Mark;
use crate::engine::recovery::Felt;
use crate::engine::undo::{acts_down, back_act, goes_down, is_command};
use crate::journal::{HostEnd, Journal, JournalError};
use modules::vocabulary::{Activation, GuestCycle};

impl HostRun {
    /// Takes back the states that this run reached on the host, or those since a mark. What is down meanwhile, a restart
    /// or a power cycle, is owed.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn states_back(&mut self, journal: &Journal, mark: &Mark) -> Result<HostEnd, JournalError> {
        self.scene.leave(&self.state.name);
        if let Err(end) = self.take_since(journal, mark, Felt::Later).await? {
            return Ok(end);
        }
        Ok(HostEnd::RolledBack)
    }

    /// Whether the way back calls for something that is down meanwhile.
    pub fn is_felt_later(&self) -> bool {
        self.owed.iter().any(|owed| match owed {
            guest @ Activation::GuestCycle(_) => self.made.contains(guest),
            owed => goes_down(owed),
        })
    }

    /// Makes what the way back calls for: restarts, power cycles of guests that this run has powered off and on, a boot.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn felt_back(&mut self, journal: &Journal) -> Result<Result<(), HostEnd>, JournalError> {
        let fine = self.restarts(journal).await? && self.cycles_back(journal).await?;
        let booted = self.boot_if_owed(journal).await?;
        self.booted = false;
        Ok(if fine { booted } else { Err(HostEnd::FailedHalf) })
    }

    /// Powers guests off and on that this run has powered off and on: they run with the old definition again.
    pub(super) async fn cycles_back(&mut self, journal: &Journal) -> Result<bool, JournalError> {
        let mut fine = true;
        let guests: Vec<GuestCycle> = self
            .owed
            .iter()
            .filter_map(|owed| match owed {
                Activation::GuestCycle(guest) if self.made.contains(owed) => Some(guest.clone()),
                _ => None,
            })
            .collect();
        for guest in guests {
            fine &= self.cycle(journal, &guest).await?;
        }
        Ok(fine)
    }

    /// Whether something of the way back itself may be down, before any activation: a program whose effect nobody knows,
    /// or one that stops or starts what serves.
    pub fn acts_down_back(&self, mark: &Mark) -> bool {
        let past = self.since(mark);
        let steps = past.iter().flat_map(|(_, past)| past).flat_map(|past| &past.batch.steps);
        let mut acts = steps.filter_map(|folded| back_act(&folded.step));
        acts.any(|act| acts_down(act) || is_command(act))
    }
}
