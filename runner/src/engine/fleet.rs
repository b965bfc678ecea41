//! All hosts of a run: planned side by side, then applied play by play, batch of hosts by batch of hosts.
use super::run::{Events, HostError, HostRun};
use super::walk::{Scene, Walked};
use crate::inventory::HostId;
use crate::journal::{HostEnd, Journal, JournalError};
use crate::report::event::Event;
use crate::report::plan::Sum;
use std::collections::{HashMap, HashSet};

/// How often plans are made again since hosts read what others make.
const PASSES: usize = 6;

/// What planning all hosts gave.
#[derive(Default)]
pub struct Planning {
    /// The hosts with their plans, in the order of the plays.
    pub planned: Vec<(HostRun, Walked)>,
    /// Hosts of which no plan could be made.
    pub unreachable: Vec<(String, HostError)>,
    /// Hosts whose planning broke off, in words.
    pub broken: Vec<String>,
}

/// How applying ended.
#[derive(Default)]
pub struct Applying {
    /// How each host's part ended.
    pub ends: Vec<HostEnd>,
    /// Hosts where something is left to be felt later, since the playbook says so.
    pub staged: usize,
    /// Hosts whose part ended with something left: the mark of an open run stays there.
    pub open: Vec<String>,
    /// Why the run itself broke off, if it did.
    pub broken: Option<String>,
}

/// The hosts of all plays, each once, in order.
pub fn union(scene: &Scene) -> Vec<HostId> {
    let mut seen = HashSet::new();
    scene.chosen().iter().flatten().copied().filter(|id| seen.insert(*id)).collect()
}

/// Plans all hosts of a scene. `host` makes a run of a host; it is called again for hosts that tasks add.
pub async fn plan_all(scene: &Scene, host: &(dyn Fn(HostId) -> HostRun + Sync)) -> Planning {
    let mut planning = Planning::default();
    let mut known: HashSet<HostId> = HashSet::new();
    let mut before = None;
    for _ in 0..PASSES {
        let crossings = scene.crossings();
        let new: Vec<HostRun> = union(scene).into_iter().filter(|id| known.insert(*id)).map(host).collect();
        let added = !new.is_empty();
        let again = planning.planned.drain(..).map(|(run, _)| run);
        let runs: Vec<HostRun> = again.chain(new).collect();
        plan_once(scene, runs, &mut planning).await;
        let chosen_anew = scene.choose_again();
        let sums: Vec<Sum> = planning.planned.iter().map(|(_, walked)| Sum::of(walked)).collect();
        let settled = before.as_ref() == Some(&sums) || scene.crossings() == crossings;
        before = Some(sums);
        if settled && !chosen_anew && !(added && planning.planned.len() > 1 && scene.crossings() != crossings)
        {
            break;
        }
    }
    planning
}

async fn plan_once(scene: &Scene, runs: Vec<HostRun>, planning: &mut Planning) {
    let last = scene.chosen().len().saturating_sub(1);
    let plan = |mut run: HostRun| {
        tokio::spawn(async move {
            let walked = run.plan(last).await;
            (run, walked)
        })
    };
    let tasks: Vec<_> = runs.into_iter().map(plan).collect();
    for task in tasks {
        match task.await {
            Ok((run, Ok(walked))) => planning.planned.push((run, walked)),
            Ok((run, Err(error))) => {
                scene.leave(&run.state.name);
                planning.unreachable.push((run.state.name.clone(), error));
            }
            Err(why) => planning.broken.push(format!("planning a host broke off: {why}")),
        }
    }
}

/// How a host's part ends that does not begin. What is known to fail is not begun on that host; what would come before
/// it stays undone.
pub fn known_end(run: &HostRun, walked: &Walked) -> Option<HostEnd> {
    run.refused.or((Sum::of(walked).failures > 0).then_some(HostEnd::Refused))
}

/// Hosts with how their part ended, if it did.
type Parts = HashMap<HostId, (HostRun, Option<HostEnd>)>;

/// The hosts of a run that are acted on: whoever decides which of them go next holds it.
pub struct Fleet<'a> {
    /// What all hosts share.
    pub scene: &'a Scene,
    /// The run's record.
    pub journal: &'a Journal,
    /// Where events go.
    pub events: &'a Events,
    host: &'a (dyn Fn(HostId) -> HostRun + Sync),
    parts: Parts,
    broken: Option<String>,
}

impl<'a> Fleet<'a> {
    /// The hosts as they were planned. `host` makes a run of a host that a task adds on the way.
    pub fn new(
        scene: &'a Scene,
        journal: &'a Journal,
        planned: Vec<(HostRun, Walked)>,
        events: &'a Events,
        host: &'a (dyn Fn(HostId) -> HostRun + Sync),
    ) -> Self {
        scene.begin_acting();
        let part = |(run, walked): (HostRun, Walked)| {
            let end = known_end(&run, &walked);
            if end.is_some() {
                scene.leave(&run.state.name);
            }
            (run.state.id, (run, end))
        };
        let parts = planned.into_iter().map(part).collect();
        Self { scene, journal, events, host, parts, broken: None }
    }

    /// Tells something.
    pub fn tell(&self, event: Event) {
        // Whoever reads the events may be gone; the journal is the record.
        let _ = self.events.send(event);
    }

    /// Why the run itself broke off, if it did.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// A host whose part goes on.
    pub fn part(&mut self, id: HostId) -> Option<&mut HostRun> {
        match self.parts.get_mut(&id) {
            Some((run, None)) => Some(run),
            _ => None,
        }
    }

    /// How a host's part ended, if it did.
    pub fn end(&self, id: HostId) -> Option<HostEnd> {
        self.parts.get(&id).and_then(|(_, end)| *end)
    }

    /// All hosts that have a part.
    pub fn hosts(&self) -> Vec<HostId> {
        let mut hosts: Vec<HostId> = self.parts.keys().copied().collect();
        hosts.sort_unstable();
        hosts
    }

    /// Does something with hosts, side by side, also with those whose part has ended. What it gives as an end ends the
    /// host's part.
    pub async fn each<F, Fut>(&mut self, hosts: &[HostId], act: F)
    where
        F: Fn(HostRun, Option<HostEnd>, Journal) -> Fut,
        Fut: Future<Output = (HostRun, Result<Option<HostEnd>, JournalError>)> + Send + 'static,
    {
        let mut tasks = Vec::new();
        for id in hosts {
            let Some((run, end)) = self.parts.remove(id) else { continue };
            tasks.push(tokio::spawn(act(run, end, self.journal.clone())));
        }
        for task in tasks {
            match task.await {
                Ok((run, Ok(end))) => drop(self.parts.insert(run.state.id, (run, end))),
                Ok((run, Err(error))) => {
                    self.broken = Some(error.to_string());
                    self.parts.insert(run.state.id, (run, Some(HostEnd::FailedHalf)));
                }
                Err(why) => self.broken = Some(format!("a host's task broke off: {why}")),
            }
        }
    }

    /// A host that has a part, ended or not.
    pub fn any(&mut self, id: HostId) -> Option<&mut HostRun> {
        self.parts.get_mut(&id).map(|(run, _)| run)
    }

    /// Ends a host's part, unless it has ended.
    pub fn end_part(&mut self, id: HostId, end: HostEnd) {
        if let Some((run, ended @ None)) = self.parts.get_mut(&id) {
            *ended = Some(end);
            run.leave();
        }
    }

    /// Hosts that tasks have added get a part.
    pub fn enter(&mut self, batch: &[HostId]) {
        for id in batch {
            // A host that could not be reached while planning has no part, and no end.
            let name = self.scene.inventory().host_name(*id).to_owned();
            if !self.scene.has_left(&name) {
                self.parts.entry(*id).or_insert_with(|| ((self.host)(*id), None));
            }
        }
    }

    /// One batch of hosts, side by side, up to and with a play.
    pub async fn together(&mut self, play: usize, batch: &[HostId]) {
        self.enter(batch);
        self.each(batch, |mut run, end, journal| async move {
            if end.is_some() || run.has_left() {
                return (run, Ok(end));
            }
            let end = run.apply(&journal, play).await;
            (run, end)
        })
        .await;
    }

    /// Ends every host's part. `stopped` is the end of those that had none.
    pub async fn finish(mut self, stopped: Option<HostEnd>) -> Applying {
        let mut applying = Applying { broken: self.broken.take(), ..Applying::default() };
        let mut order: Vec<HostId> = union(self.scene);
        order.extend(self.hosts());
        for id in order {
            let Some((mut run, end)) = self.parts.remove(&id) else { continue };
            applying.staged += usize::from(run.felt_later && !run.owes().is_empty());
            match run.finish(self.journal, end.or(stopped)).await {
                Ok(end) => {
                    if matches!(end, HostEnd::FailedHalf | HostEnd::Unreachable | HostEnd::Lost) {
                        applying.open.push(run.state.name.clone());
                    }
                    applying.ends.push(end);
                }
                Err(error) => applying.broken = Some(error.to_string()),
            }
        }
        applying
    }
}
