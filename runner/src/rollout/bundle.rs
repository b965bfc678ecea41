//! The changes of the one play whose gate stands over each of them: what is tried in combinations.
use super::bed::seen;
use super::stage::{Stage, Stages};
use crate::diagnostic::Diagnostic;
use crate::engine::run::{Asked, HostRun, Part};
use crate::engine::walk::{Scene, Walked};
use crate::gate::{Metric, Toggle};
use crate::playbook::rungs::Rung;
use crate::source::Span;
use std::sync::Arc;
use std::time::Duration;

/// What can be tried.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The canaries that have something to change.
    pub hosts: Vec<String>,
    /// The changes, in the order of the playbook.
    pub changes: Vec<Change>,
    /// What the gate judges; the first one decides.
    pub metrics: Vec<Metric>,
    /// How long a change settles before it is measured.
    pub settle: Duration,
    /// How long one run of the benchmarks takes at least.
    pub run: Duration,
}

/// One of the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it stands.
    pub rung: Rung,
    /// What people call it.
    pub title: String,
}

fn wrong<T>(words: &str, span: Option<Span>, help: &str) -> Result<T, Vec<Diagnostic>> {
    Err(vec![Diagnostic::error(words, span).help(help)])
}

/// The one play with one gate over each of its changes.
fn judged(stages: &Stages) -> Result<&Stage, Vec<Diagnostic>> {
    let gated: Vec<&Stage> = stages.values().filter(|stage| !stage.parts.is_empty()).collect();
    let stage = match gated[..] {
        [stage] => stage,
        [] => {
            let help = "say `gate: {benchmarks: [...]}` on the play";
            return wrong("no play of this playbook has a gate", None, help);
        }
        [_, other, ..] => {
            let help = "try one play at a time: give it a playbook of its own, or skip the others by tags";
            return wrong("more than one play has a gate", Some(other.span.clone()), help);
        }
    };
    let node = &stage.parts[0];
    if stage.parts.iter().any(|other| !Arc::ptr_eq(other, node)) {
        let help = "put one `gate:` on the play instead";
        return wrong("the gates stand over single tasks", Some(node.span.clone()), help);
    }
    Ok(stage)
}

/// Finds them in the plans of a playbook with a gate over each change.
///
/// # Errors
/// Why they cannot be tried.
pub fn bundle(
    scene: &Scene,
    stages: &Stages,
    planned: &[(HostRun, Walked)],
) -> Result<Bundle, Vec<Diagnostic>> {
    let stage = judged(stages)?;
    let node = &stage.parts[0];
    let canaries: &[_] = stage.order.waves.first().map_or(&[], |wave| &wave.hosts);
    let (mut hosts, mut changes, mut problems, mut gate) = (Vec::new(), Vec::new(), Vec::new(), None);
    for (run, walked) in planned.iter().filter(|(run, _)| canaries.contains(&run.state.id)) {
        let before = changes.len();
        for gated in walked.gates.iter().filter(|gated| gated.play == stage.play) {
            let part = Part { play: stage.play, part: Some(gated.part) };
            let asked: Vec<Asked> =
                walked.planned.iter().filter(|task| part.has(task)).filter_map(Asked::of).collect();
            let rung = Rung { play: stage.play, number: (gated.part / 2) as usize };
            if asked.is_empty() {
                continue;
            }
            problems.extend(asked.iter().filter_map(|task| unfit(task, run, node.span.clone())));
            if changes.iter().all(|known: &Change| known.rung != rung) {
                changes.push(Change { rung, title: gated.title.clone() });
            }
            if hosts.last() != Some(&run.state.name) {
                hosts.push(run.state.name.clone());
            }
        }
        if before == 0 || gate.is_none() {
            match seen(scene, run, stage.play, node) {
                Ok(seen) => gate = Some(seen.gate),
                Err(more) => problems.extend(more),
            }
        }
    }
    changes.sort_by_key(|change| change.rung);
    let Some(gate) = gate.filter(|_| problems.is_empty()) else {
        if problems.is_empty() {
            return wrong("no canary could be planned", Some(node.span.clone()), "mend what is told above");
        }
        return Err(problems);
    };
    if gate.toggle != Toggle::Runtime {
        let help = "what is felt after a boot is judged by `play`, with pairs of boots";
        return wrong(
            "only what is felt at once can be tried in combinations",
            Some(node.span.clone()),
            help,
        );
    }
    let experiment = gate.experiment("trials", "trials", hosts.clone(), Vec::new(), 0).map_err(|faults| {
        faults
            .into_iter()
            .map(|why| Diagnostic::error(why, node.span.clone()).help("`tunerun doc gate` explains it"))
            .collect::<Vec<_>>()
    })?;
    let run = gate.run.ramp.0 + gate.run.measure.0;
    Ok(Bundle { hosts, changes, metrics: experiment.metrics, settle: gate.run.settle.0, run })
}

/// Why a change cannot be tried.
fn unfit(task: &Asked, run: &HostRun, span: Span) -> Option<Diagnostic> {
    let say = |words: String, help: &str| Diagnostic::error(words, span.clone()).help(help);
    if let Some(why) = task.one_way.first() {
        let words = format!("`{}` cannot be taken off again, so it cannot be tried", task.title);
        return Some(say(words, "give the task an `undo:`").note(format!("{}: {why}", run.state.name)));
    }
    let words = format!("`{}` is felt after a boot, and trials make none", task.title);
    task.boot.then(|| say(words, "leave it away by tags, and judge it by `toggle: reboot`"))
}
