//! The benchmarks of gates, run alone: nothing is changed.
use super::bed::seen;
use super::measuring::terms;
use super::profiles::Profiles;
use super::stage::Stage;
use crate::diagnostic::Diagnostic;
use crate::engine::links::Links;
use crate::engine::run::HostRun;
use crate::engine::walk::Scene;
use crate::load::Failed;
use crate::load::{Ground, Measured, measure};
use crate::yaml::Node;
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
    let seen = seen(scene, run, play, gate).map_err(Alone::Wrong)?;
    let faults: Vec<Diagnostic> =
        seen.gate.bench_faults().into_iter().map(|why| Diagnostic::error(why, gate.span.clone())).collect();
    if !faults.is_empty() {
        return Err(Alone::Wrong(faults));
    }
    let ground = Ground { scene, links };
    measure(ground, &seen.loads, terms(&seen.gate)).await.map_err(Alone::Failed)
}
