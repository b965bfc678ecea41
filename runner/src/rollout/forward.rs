//! Hosts go forward in turns, and back: what fails on the way is dealt with as the playbook says.
use super::conduct::Rolling;
use super::guards::Going;
use super::halt::Halt;
use super::stage::Stage;
use super::waves::turns;
use crate::engine::run::{Asked, HostRun, Mark};
use crate::inventory::HostId;
use crate::journal::{HostEnd, Journal, JournalError};
use crate::playbook::rollout::OnError;
use crate::report::progress::Progress;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What the journal of a run says, before the reason, where all of it is to go back.
pub const ROLLED_BACK: &str = "all goes back: ";

/// Whom a way back is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whom {
    /// All that this run changed.
    Run,
    /// What the hosts of the last wave changed since it began.
    Wave,
}

impl Rolling<'_, '_> {
    /// What each host has to change in this play.
    pub async fn asked(&mut self, hosts: &[HostId]) -> HashMap<HostId, Vec<Asked>> {
        let found: Arc<Mutex<HashMap<HostId, Vec<Asked>>>> = Arc::default();
        let of = self.of();
        let into = Arc::clone(&found);
        self.fleet
            .each(hosts, move |mut run, end, _| {
                let into = Arc::clone(&into);
                async move {
                    // What cannot be planned is told when it is applied.
                    if end.is_none()
                        && let Ok(asked) = run.asks_for(of).await
                    {
                        into.lock().unwrap_or_else(PoisonError::into_inner).insert(run.state.id, asked);
                    }
                    (run, Ok(end))
                }
            })
            .await;
        let found = found.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for (host, asked) in &found {
            if asked.iter().any(|task| task.down || (task.boot && self.boots)) {
                self.down.insert(*host);
            }
        }
        found
    }

    /// Hosts that may go at the same time: where nothing is down meanwhile all of them may.
    pub fn turns(&self, hosts: &[HostId], max_down: usize) -> Vec<Vec<HostId>> {
        if hosts.iter().any(|host| self.down.contains(host)) {
            turns(hosts, max_down, |host| self.stage.domain(&self.scene, host))
        } else {
            vec![hosts.to_vec()]
        }
    }

    /// Takes hosts forward, and makes felt what was changed.
    pub async fn forward(&mut self, hosts: &[HostId], max_down: usize) -> Result<(), Halt> {
        self.asked(hosts).await;
        for turn in self.turns(hosts, max_down) {
            self.in_window()?;
            self.may_go_on().await?;
            self.feel(&turn);
            let held = self.let_down(&turn, Going::Forward).await?;
            self.apply(&turn).await;
            self.after(&turn).await?;
            self.up_again(held).await?;
        }
        Ok(())
    }

    /// Applies the play on hosts, side by side.
    pub async fn apply(&mut self, hosts: &[HostId]) {
        let (play, boots) = (self.stage.play, self.boots);
        self.fleet
            .each(hosts, move |run, end, journal| async move {
                if end.is_some() || run.has_left() {
                    (run, Ok(end))
                } else {
                    applied(run, journal, play, boots).await
                }
            })
            .await;
    }

    /// What becomes of hosts that have failed.
    pub async fn after(&mut self, hosts: &[HostId]) -> Result<(), Halt> {
        if let Some(why) = self.fleet.broken() {
            return Err(Halt::Held { why: why.to_owned() });
        }
        let ended: Vec<(HostId, HostEnd)> =
            hosts.iter().filter_map(|host| Some((*host, self.fleet.end(*host)?))).collect();
        if ended.iter().any(|(_, end)| *end == HostEnd::Stopped) {
            return self.may_go_on().await;
        }
        let (away, failed): (Vec<_>, Vec<_>) =
            ended.into_iter().partition(|(_, end)| *end == HostEnd::Unreachable);
        let all = self.stage.order.waves.iter().map(|wave| wave.hosts.len() as u32).sum();
        self.unreachable += away.len() as u32;
        self.failures += failed.len() as u32;
        let failed: Vec<HostId> = failed.into_iter().map(|(host, _)| host).collect();
        if !failed.is_empty() {
            // Nothing of this run stays on a host that failed.
            self.back(&failed, Whom::Run, "it failed").await;
        }
        let rollout = &self.stage.rollout;
        let too_far = self.unreachable > rollout.max_unreachable.map_or(0, |most| most.of(all));
        let too_many = self.failures > rollout.max_failures.unwrap_or(0);
        if !too_far && !too_many {
            return Ok(());
        }
        let names = |hosts: &[HostId]| Stage::names(&self.scene, hosts).join(", ");
        let away: Vec<HostId> = away.into_iter().map(|(host, _)| host).collect();
        let why = if too_many {
            format!("{} failed", names(&failed))
        } else {
            format!("{} cannot be reached", names(&away))
        };
        match rollout.on_error {
            OnError::Hold => Err(Halt::Held { why }),
            OnError::Wave => Err(self.roll_back(Whom::Wave, why).await),
            OnError::Run => Err(self.roll_back(Whom::Run, why).await),
        }
    }

    /// Takes back what this run, or its wave, has changed.
    pub async fn roll_back(&mut self, whom: Whom, why: String) -> Halt {
        let hosts = match whom {
            Whom::Run => self.fleet.hosts(),
            Whom::Wave => self.wave.clone(),
        };
        let what = match whom {
            Whom::Run => format!("{ROLLED_BACK}{why}"),
            Whom::Wave => format!("what this wave changed goes back: {why}"),
        };
        if let Err(halt) = self.decided(what, "the playbook").await {
            return halt;
        }
        let left = self.back(&hosts, whom, &why).await;
        Halt::RolledBack { why, left, wave: whom == Whom::Wave }
    }

    /// Takes hosts back, in turns. Gives what stays, in words.
    pub async fn back(&mut self, hosts: &[HostId], whom: Whom, why: &str) -> Vec<String> {
        let marks: Arc<HashMap<HostId, Mark>> = Arc::new(match whom {
            Whom::Run => HashMap::new(),
            Whom::Wave => self.marks.iter().map(|(host, mark)| (*host, mark.clone())).collect(),
        });
        let changed: Vec<HostId> = hosts
            .iter()
            .copied()
            .filter(|host| {
                let mark = marks.get(host).cloned().unwrap_or_default();
                self.fleet.any(*host).is_some_and(|run| run.has_changed(&mark))
            })
            .collect();
        if changed.is_empty() {
            return Vec::new();
        }
        let max_down = self.stage.rollout.max_down.of(changed.len() as u32).max(1) as usize;
        self.tell(Progress::RollsBack { hosts: Stage::names(&self.scene, &changed), why: why.to_owned() });
        let mut left = Vec::new();
        // States go back at once; whose way back is itself down goes when its turn comes.
        let (in_turn, at_once): (Vec<HostId>, Vec<HostId>) = changed.iter().partition(|host| {
            let mark = marks.get(host).cloned().unwrap_or_default();
            self.fleet.any(**host).is_some_and(|run| run.acts_down_back(&mark))
        });
        self.states_back(&at_once, &marks).await;
        let mut turns = self.turns(&in_turn, max_down);
        let felt = |host: &HostId| self.fleet.any(*host).is_some_and(|run| run.is_felt_later());
        let felt: Vec<HostId> = at_once.into_iter().filter(felt).collect();
        self.down.extend(&felt);
        turns.extend(self.turns(&felt, max_down));
        for turn in turns {
            let held = match self.let_down(&turn, Going::Back).await {
                Ok(held) => held,
                // What would cost service is not done: it stays, and is said.
                Err(halt) => {
                    turn.iter().for_each(|host| self.fleet.end_part(*host, HostEnd::FailedHalf));
                    left.extend(
                        Stage::names(&self.scene, &turn).iter().map(|host| format!("{host}: {halt}")),
                    );
                    continue;
                }
            };
            let states: Vec<HostId> = turn.iter().copied().filter(|host| in_turn.contains(host)).collect();
            self.states_back(&states, &marks).await;
            self.felt_back(&turn).await;
            if let Err(halt) = self.up_again(held).await {
                left.push(halt.to_string());
            }
        }
        let half = hosts.iter().filter(|host| {
            let end = self.fleet.end(**host);
            matches!(end, Some(HostEnd::FailedHalf))
                || (changed.contains(host) && matches!(end, Some(HostEnd::Unreachable | HostEnd::Lost)))
        });
        let half: Vec<HostId> = half.copied().collect();
        let named = |name: &String| left.iter().any(|words| words.starts_with(&format!("{name}:")));
        let more: Vec<String> =
            Stage::names(&self.scene, &half).into_iter().filter(|name| !named(name)).collect();
        left.extend(more);
        left
    }

    /// Takes the states of hosts back, side by side.
    async fn states_back(&mut self, hosts: &[HostId], marks: &Arc<HashMap<HostId, Mark>>) {
        let marks = Arc::clone(marks);
        self.fleet
            .each(hosts, move |mut run, end, journal| {
                let mark = marks.get(&run.state.id).cloned().unwrap_or_default();
                async move {
                    let back = run.states_back(&journal, &mark).await;
                    (run, back.map(|back| Some(told(end, back))))
                }
            })
            .await;
    }

    /// Makes felt that they are back, side by side.
    async fn felt_back(&mut self, hosts: &[HostId]) {
        self.fleet
            .each(hosts, move |mut run, end, journal| async move {
                if matches!(end, Some(HostEnd::FailedHalf | HostEnd::Unreachable | HostEnd::Lost)) {
                    return (run, Ok(end));
                }
                let felt = run.felt_back(&journal).await;
                (run, felt.map(|felt| felt.err().or(end)))
            })
            .await;
    }
}

/// A host that failed stays told as such, unless not all of it is back. What could not go back at first may now.
fn told(end: Option<HostEnd>, back: HostEnd) -> HostEnd {
    match (end, back) {
        (Some(HostEnd::FailedHalf), HostEnd::RolledBack) => back,
        (Some(end), HostEnd::RolledBack) => end,
        (_, back) => back,
    }
}

/// One host's play, what it asks to be restarted, and with `boots` the boot that makes the rest felt.
pub(super) async fn applied(
    mut run: HostRun,
    journal: Journal,
    play: usize,
    boots: bool,
) -> (HostRun, Result<Option<HostEnd>, JournalError>) {
    let felt = match run.put_on(&journal, play).await {
        Ok(Ok(())) if boots && !run.felt_later => run.boot_if_owed(&journal).await,
        other => other,
    };
    let end = match felt {
        Ok(Ok(())) => Ok(None),
        Ok(Err(end)) => Ok(Some(end)),
        Err(error) => Err(error),
    };
    if !matches!(end, Ok(None)) {
        run.leave();
    }
    (run, end)
}
