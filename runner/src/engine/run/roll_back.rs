//! A host's way back in a rollback: its states first, and what makes them felt when its turn to be down comes.
use super::HostRun;
use super::arms::Mark;
use crate::engine::recovery::Felt;
use crate::engine::undo::{activation_step, acts_down, back_act, goes_down, is_command};
use crate::journal::{HostEnd, Journal, JournalError};
use modules::vocabulary::{Act, Activation, GuestCycle};

impl HostRun {
    /// Takes back the states that this run reached on the host, or those since a mark. What is down meanwhile, a restart
    /// or a power cycle, is owed.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn states_back(&mut self, journal: &Journal, mark: &Mark) -> Result<HostEnd, JournalError> {
        self.scene.leave(&self.state.name);
        let made = self.calls(mark);
        if let Err(end) = self.take_since(journal, mark, Felt::Later).await? {
            return Ok(end);
        }
        // What was never made felt runs with the old state still.
        let was_made = |owed: &Activation| activation_step(owed).is_some_and(|step| made.contains(&step.act));
        self.owed.retain(|owed| {
            let felt = matches!(owed, Activation::Restart(_) | Activation::GuestCycle(_));
            !felt || mark.is_owed(owed) || was_made(owed)
        });
        Ok(HostEnd::RolledBack)
    }

    /// The calls of programs since a mark.
    fn calls(&self, mark: &Mark) -> Vec<Act> {
        let past = self.since(mark);
        let steps = past.iter().flat_map(|(_, past)| past).flat_map(|past| &past.batch.steps);
        let acts = steps.map(|folded| &folded.step.act);
        acts.filter(|act| matches!(act, Act::Call { .. })).cloned().collect()
    }

    /// Whether the way back calls for something that is down meanwhile.
    pub fn is_felt_later(&self) -> bool {
        self.owed.iter().any(|owed| match owed {
            Activation::GuestCycle(guest) => guest.row().is_some(),
            owed => goes_down(owed),
        })
    }

    /// Makes what the way back calls for: restarts, power cycles of guests that this run has powered off and on, a boot.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn felt_back(&mut self, journal: &Journal) -> Result<Result<(), HostEnd>, JournalError> {
        let mut fine = self.restarts(journal).await?;
        let guests: Vec<GuestCycle> = self
            .owed
            .iter()
            .filter_map(|owed| match owed {
                Activation::GuestCycle(guest) if guest.row().is_some() => Some(guest.clone()),
                _ => None,
            })
            .collect();
        for guest in guests {
            fine &= self.cycle(journal, &guest).await?;
        }
        let booted = self.boot_if_owed(journal).await?;
        self.booted = false;
        Ok(if fine { booted } else { Err(HostEnd::FailedHalf) })
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
