//! All hosts of a run: planned side by side, then applied play by play, batch of hosts by batch of hosts.
use super::run::{Events, HostError, HostRun};
use super::walk::{Scene, Walked};
use crate::inventory::HostId;
use crate::journal::{HostEnd, Journal};
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

/// Hosts that wait for their turn, with how their part ended, if it did.
type Waiting = HashMap<HostId, (HostRun, Option<HostEnd>)>;

/// Applies what was planned. `host` makes a run of a host that a task adds on the way.
pub async fn apply_all(
    scene: &Scene,
    journal: &Journal,
    planned: Vec<(HostRun, Walked)>,
    events: &Events,
    host: &(dyn Fn(HostId) -> HostRun + Sync),
) -> Applying {
    let mut applying = Applying::default();
    scene.begin_acting();
    let mut waiting: Waiting = planned
        .into_iter()
        .map(|(run, walked)| {
            let end = known_end(&run, &walked);
            if end.is_some() {
                scene.leave(&run.state.name);
            }
            (run.state.id, (run, end))
        })
        .collect();
    let mut stopped = false;
    'plays: for (number, play) in scene.playbook.plays.iter().enumerate() {
        let members = scene.chosen().get(number).map_or(0, Vec::len);
        // Whoever reads the events may be gone; the journal is the record.
        let _ = events.send(Event::Play { name: play.name.clone(), hosts: members });
        for batch in scene.batches(number) {
            for id in &batch {
                // A host that could not be reached while planning has no part, and no end.
                let name = scene.inventory().host_name(*id).to_owned();
                if scene.has_left(&name) {
                    continue;
                }
                waiting.entry(*id).or_insert_with(|| (host(*id), None));
            }
            if scene.is_lost(number, &batch) {
                stopped = true;
                break 'plays;
            }
            together(scene, journal, number, &batch, &mut waiting, &mut applying).await;
            if scene.is_lost(number, &batch) {
                stopped = true;
                break 'plays;
            }
        }
        scene.choose_again();
    }
    let mut order: Vec<HostId> = union(scene);
    order.extend(waiting.keys().copied().collect::<Vec<_>>());
    for id in order {
        let Some((mut run, end)) = waiting.remove(&id) else { continue };
        match run.finish(journal, end.or(stopped.then_some(HostEnd::Skipped))).await {
            Ok(end) => applying.ends.push(end),
            Err(error) => applying.broken = Some(error.to_string()),
        }
    }
    applying
}

/// One batch of hosts, side by side.
async fn together(
    scene: &Scene,
    journal: &Journal,
    play: usize,
    batch: &[HostId],
    waiting: &mut Waiting,
    applying: &mut Applying,
) {
    let mut tasks = Vec::new();
    for id in batch {
        let Some((mut run, end)) = waiting.remove(id) else { continue };
        if end.is_some() || scene.has_left(&run.state.name) {
            waiting.insert(*id, (run, end));
            continue;
        }
        let journal = journal.clone();
        tasks.push(tokio::spawn(async move {
            let end = run.apply(&journal, play).await;
            (run, end)
        }));
    }
    for task in tasks {
        match task.await {
            Ok((run, Ok(end))) => drop(waiting.insert(run.state.id, (run, end))),
            Ok((run, Err(error))) => {
                applying.broken = Some(error.to_string());
                waiting.insert(run.state.id, (run, Some(HostEnd::FailedHalf)));
            }
            Err(why) => applying.broken = Some(format!("a host's task broke off: {why}")),
        }
    }
}
