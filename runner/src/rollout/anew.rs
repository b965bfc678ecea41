//! What begins anew where arms are boots of a host or power cycles of its guests.
use super::bed::{Bed, Subject};
use super::conduct::Rolling;
use crate::engine::run::HostRun;
use crate::gate::Toggle;
use crate::inventory::HostId;
use crate::journal::{HostEnd, Journal, JournalError};
use modules::vocabulary::GuestCycle;

/// How a host's part goes on.
type Onward = (HostRun, Result<Option<HostEnd>, JournalError>);

/// What begins anew before a host's next runs.
#[derive(Clone, Debug, Default)]
pub(super) enum Anew {
    /// Nothing: the change is toggled while everything runs.
    #[default]
    Nothing,
    /// The host is booted.
    Boot,
    /// These guests are powered off and on.
    Guests(Vec<GuestCycle>),
}

impl Bed {
    /// What begins anew on one host.
    pub fn anew(&self, subject: &Subject) -> Anew {
        match self.experiment.toggle {
            Toggle::Runtime | Toggle::None => Anew::Nothing,
            Toggle::Reboot => Anew::Boot,
            Toggle::Guest => Anew::Guests(subject.guests.clone()),
        }
    }
}

impl Anew {
    /// What tells the boot or the power cycle that is under way from any other; none where that is not known.
    pub async fn now(&self, run: &mut HostRun) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Boot => run.boot_id().await.ok(),
            Self::Guests(guests) => run.guests_started(guests).await.ok().flatten(),
        }
    }

    /// A beginning after an arm was put on, unless putting it on was one.
    pub async fn begun(
        &self,
        mut run: HostRun,
        end: Result<Option<HostEnd>, JournalError>,
        journal: Journal,
        before: Option<String>,
    ) -> Onward {
        if !matches!(end, Ok(None)) || matches!(self, Self::Nothing) {
            return (run, end);
        }
        let now = self.now(&mut run).await;
        if now.is_some() && before.is_some() && now != before {
            return (run, end);
        }
        let begun = match self {
            Self::Nothing => Ok(Ok(())),
            Self::Boot => run.boot_now(&journal).await,
            Self::Guests(guests) => run.cycle_anew(&journal, guests).await,
        };
        (run, begun.map(Result::err))
    }
}

impl Rolling<'_, '_> {
    /// The guests of each host of an experiment that feel the change after a power cycle.
    pub async fn name_guests(&mut self, bed: &mut Bed) {
        let hosts: Vec<HostId> = bed.subjects.iter().map(|subject| subject.host).collect();
        let mut asked = self.asked(&hosts).await;
        for subject in &mut bed.subjects {
            let tasks = asked.remove(&subject.host).unwrap_or_default();
            for guest in tasks.into_iter().flat_map(|task| task.guests) {
                if !subject.guests.iter().any(|known| (&known.uri, &known.uuid) == (&guest.uri, &guest.uuid))
                {
                    subject.guests.push(guest);
                }
            }
        }
    }
}
