//! The benchmarks of gates, run alone: nothing is changed.
use super::bed::{Seen, seen};
use super::calmly::{is_about_a_cluster, limited, unguarded};
use super::guards::{self, Guards, Limits, Stopped};
use super::measuring::terms;
use super::profiles::Profiles;
use super::stage::Stage;
use crate::diagnostic::Diagnostic;
use crate::engine::links::Links;
use crate::engine::run::HostRun;
use crate::engine::walk::{Gauge, Scene};
use crate::gate::Fault;
use crate::load::Failed;
use crate::load::{Ground, Measured, measure};
use crate::yaml::Node;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Why benchmarks gave nothing.
#[derive(Debug)]
pub enum Alone {
    /// What is written is wrong, or not known.
    Wrong(Vec<Diagnostic>),
    /// The run does not count.
    Failed(Failed),
}

impl Stage {
    /// The gates of the play: its own, or those over its tasks and blocks.
    pub fn gates(&self) -> Vec<Arc<Node>> {
        self.gate.iter().chain(&self.parts).cloned().collect()
    }
}

/// Keeps the noise of runs that were measured alone. Gives whether they were enough.
///
/// # Errors
/// Where it cannot be written.
pub fn learn(
    profiles: &Profiles,
    scene: &Scene,
    (run, play): (&HostRun, usize),
    gate: &Node,
    runs: &[Measured],
    now: &str,
) -> std::io::Result<bool> {
    // What is wrong with the gate was told when it was measured.
    seen(scene, run, play, gate).map_or(Ok(false), |seen| profiles.learn(&seen, runs, now))
}

/// Runs the benchmarks of a gate once, as one host of its play sees them.
///
/// # Errors
/// [`Alone`].
pub async fn alone(
    scene: &Arc<Scene>,
    links: &Arc<Links>,
    run: &HostRun,
    play: usize,
    gate: &Node,
) -> Result<Measured, Alone> {
    let mut seen = seen(scene, run, play, gate).map_err(Alone::Wrong)?;
    let faults: Vec<Diagnostic> =
        seen.gate.bench_faults().into_iter().map(|why| Diagnostic::error(why, gate.span.clone())).collect();
    if !faults.is_empty() {
        return Err(Alone::Wrong(faults));
    }
    let watch = watched(scene, links, (run, play), gate, &mut seen).await?;
    let outage = async {
        match &watch {
            Some((guards, limits)) => guards.outage(limits).await,
            None => std::future::pending().await,
        }
    };
    let ground = Ground { scene, links };
    tokio::select! {
        measured = measure(ground, &seen.loads, terms(&seen.gate)) => measured.map_err(Alone::Failed),
        // What loads ends as it is dropped.
        why = outage => Err(unfit(format!("the load was ended: {why}"))),
    }
}

fn unfit(what: String) -> Alone {
    Alone::Failed(Failed { fault: Fault::Unfit { what }, raw: Vec::new() })
}

/// What watches the clusters that are loaded, if there are any; the load is held back beside their clients.
async fn watched(
    scene: &Arc<Scene>,
    links: &Arc<Links>,
    (run, play): (&HostRun, usize),
    gate: &Node,
    seen: &mut Seen,
) -> Result<Option<(Guards, Limits)>, Alone> {
    if unguarded(scene, play).is_some() || !is_about_a_cluster(&seen.gate, seen.loads.iter()) {
        return Ok(None);
    }
    let target = Gauge::new(scene, &run.state, play).acting(&run.state.name);
    let target = target.map_err(|problem| Alone::Wrong(vec![*problem]))?;
    let ground =
        guards::Ground { scene: Arc::clone(scene), links: Arc::clone(links), play, left: BTreeSet::new() };
    let blind = |stopped: Stopped| {
        let problem = stopped.diagnostic();
        unfit(format!("whether the load becomes an outage cannot be watched: {}", problem.message))
    };
    let watching = Guards::watching(None, &ground, std::slice::from_ref(&target), Arc::new(|_| {})).await;
    let guards = watching.map_err(blind)?;
    if !guards.has_clusters() {
        guards.lead(&target).await.map_err(blind)?;
    }
    let clients = guards.clients().await.map_err(blind)?;
    limited(&seen.gate, clients, seen.loads.iter_mut())
        .map_err(|why| Alone::Wrong(vec![Diagnostic::error(why, gate.span.clone())]))?;
    Ok(Some((guards, Limits { abort_if: seen.gate.abort_if.clone().unwrap_or_default() })))
}
