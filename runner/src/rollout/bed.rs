//! What a gate is carried out on: the experiment, its hosts, and what each of them loads.
use super::conduct::Rolling;
use super::stage::Stage;
use crate::diagnostic::Diagnostic;
use crate::engine::run::{Arms, HostRun};
use crate::engine::target::Target;
use crate::engine::walk::{Gauge, Scene};
use crate::gate::record::Raw;
use crate::gate::{Arm, Experiment, Run};
use crate::inventory::HostId;
use crate::load::Load;
use crate::playbook::rollout::{Bench, Gate, read};
use crate::yaml::Node;
use modules::vocabulary::GuestCycle;
use std::time::Instant;

/// One host of an experiment.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub host: HostId,
    pub name: String,
    pub loads: Vec<Load>,
    /// Whether it is changed; else it is a control.
    pub changed: bool,
    /// The states that tell whether the change is on; known once it was on.
    pub arms: Arms,
    /// Which arm is on; none before the change was ever made.
    pub on: Option<Arm>,
    /// The boot or power cycle that is under way, where arms are such.
    pub boot: Option<u32>,
    /// Its guests that are powered off and on, where arms are power cycles.
    pub guests: Vec<GuestCycle>,
}

/// An experiment under way.
#[derive(Clone, Debug)]
pub(super) struct Bed {
    pub experiment: Experiment,
    pub gate: Gate,
    pub subjects: Vec<Subject>,
    /// The hosts whose batches are judged.
    pub acting: Vec<String>,
    pub max_down: usize,
    pub runs: Vec<Run>,
    pub raw: Vec<Raw>,
    pub began: Instant,
}

impl Bed {
    /// The subject of a name.
    pub fn subject(&self, name: &str) -> Option<&Subject> {
        self.subjects.iter().find(|subject| subject.name == name)
    }

    /// The same, to be changed.
    pub fn subject_mut(&mut self, host: HostId) -> Option<&mut Subject> {
        self.subjects.iter_mut().find(|subject| subject.host == host)
    }

    /// The hosts that are changed.
    pub fn changed(&self) -> Vec<HostId> {
        self.subjects.iter().filter(|subject| subject.changed).map(|subject| subject.host).collect()
    }
}

/// A gate as one host sees it, with what it loads.
pub(super) struct Seen {
    pub gate: Gate,
    pub loads: Vec<Load>,
}

/// Evaluates a gate for a host.
///
/// # Errors
/// What is wrong with it, or not known.
pub(super) fn seen(scene: &Scene, run: &HostRun, play: usize, node: &Node) -> Result<Seen, Vec<Diagnostic>> {
    let one = |problem: Box<Diagnostic>| vec![*problem];
    let gauge = Gauge::new(scene, &run.state, play);
    let value = gauge.value(node).map_err(one)?;
    let gate: Gate = read(&value).map_err(|why| vec![Diagnostic::error(why, node.span.clone())])?;
    let mut problems = Vec::new();
    let mut loads = Vec::new();
    for bench in &gate.benchmarks {
        match load(scene, run, &gauge, bench, node) {
            Ok(load) => loads.push(load),
            Err(problem) => problems.push(*problem),
        }
    }
    if problems.is_empty() { Ok(Seen { gate, loads }) } else { Err(problems) }
}

fn load(
    scene: &Scene,
    run: &HostRun,
    gauge: &Gauge<'_>,
    bench: &Bench,
    node: &Node,
) -> Result<Load, Box<Diagnostic>> {
    let hosts = |pattern: &str| -> Result<Vec<Target>, Box<Diagnostic>> {
        let ids =
            scene.inventory().select(pattern, Some(&node.span)).map_err(|none| {
                let first = none.problems.into_iter().next();
                Box::new(first.unwrap_or_else(|| {
                    Diagnostic::error(format!("{pattern} names no host"), node.span.clone())
                }))
            })?;
        Stage::names(scene, &ids).iter().map(|name| gauge.acting(name)).collect()
    };
    let on = match &bench.on {
        None => vec![gauge.acting(&run.state.name)?],
        Some(pattern) => hosts(pattern)?,
    };
    let peer = match bench.peer.as_deref().map(hosts).transpose()?.as_deref() {
        None => None,
        Some([peer]) => Some(peer.clone()),
        Some(many) => {
            let words = format!("benchmark {}: `peer:` names {} hosts; it is one", bench.id, many.len());
            return Err(Box::new(Diagnostic::error(words, node.span.clone())));
        }
    };
    Ok(Load { id: bench.id.clone(), tool: bench.tool.clone(), on, peer })
}

impl Rolling<'_, '_> {
    /// Puts an experiment together: `changed` hosts in the order of the experiment, then controls.
    ///
    /// # Errors
    /// What is wrong with the gate.
    pub fn bed(
        &mut self,
        node: &Node,
        (changed, controls): (&[HostId], &[HostId]),
        max_down: usize,
        title: &str,
        design: impl Fn(&Gate) -> Gate,
    ) -> Result<Bed, Vec<Diagnostic>> {
        let play = self.stage.play;
        let scene = std::sync::Arc::clone(&self.scene);
        let (mut subjects, mut gate, mut problems) = (Vec::new(), None, Vec::new());
        for (at, host) in changed.iter().chain(controls).enumerate() {
            let Some(run) = self.fleet.part(*host) else { continue };
            match seen(&scene, run, play, node) {
                Ok(seen) => {
                    subjects.push(Subject {
                        host: *host,
                        name: run.state.name.clone(),
                        loads: seen.loads,
                        changed: at < changed.len(),
                        arms: Arms::default(),
                        on: None,
                        boot: None,
                        guests: Vec::new(),
                    });
                    gate.get_or_insert(seen.gate);
                }
                Err(wrong) => problems.extend(wrong),
            }
        }
        let Some(gate) = gate.filter(|_| problems.is_empty()) else { return Err(problems) };
        let gate = design(&gate);
        let names = |changed: bool| {
            let of = subjects.iter().filter(|subject| subject.changed == changed);
            of.map(|subject| subject.name.clone()).collect::<Vec<_>>()
        };
        let experiment =
            gate.experiment("", title, names(true), names(false), rand::random()).map_err(|faults| {
                faults
                    .into_iter()
                    .map(|why| {
                        Diagnostic::error(why, node.span.clone()).help("`tunerun doc gate` explains it")
                    })
                    .collect::<Vec<_>>()
            })?;
        Ok(Bed {
            experiment,
            gate,
            subjects,
            acting: Vec::new(),
            max_down,
            runs: Vec::new(),
            raw: Vec::new(),
            began: Instant::now(),
        })
    }
}
