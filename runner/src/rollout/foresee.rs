//! What a plan says of rollouts and gates, and which gates it refuses.
use super::bed::{Seen, seen};
use super::gating::expected;
use super::profiles::Profiles;
use super::stage::{Stage, Stages};
use crate::diagnostic::Diagnostic;
use crate::engine::run::{Asked, HostRun, Part};
use crate::engine::walk::{Gated, Scene, Walked, What};
use crate::gate::effort::{Timing, blind_spots, cheaper};
use crate::gate::noise::Noise;
use crate::gate::{Experiment, Metric, Toggle};
use crate::inventory::HostId;
use crate::playbook::rollout::{Activate, Gate};
use crate::report::progress::{span, time};
use crate::yaml::Node;
use modules::vocabulary::{Change, Goal};
use std::fmt::Write as _;
use std::time::Duration;

/// What a plan says of its rollouts.
#[derive(Clone, Debug, Default)]
pub struct Foreseen {
    /// In lines; empty where no play has a rollout or a gate.
    pub text: String,
    /// Gates that must not be begun.
    pub refused: Vec<Diagnostic>,
}

/// Looks ahead: who goes when, and what each gate costs and can see.
pub fn foresee(
    scene: &Scene,
    stages: &Stages,
    planned: &[(HostRun, Walked)],
    profiles: &Profiles,
) -> Foreseen {
    let mut foreseen = Foreseen::default();
    for stage in stages.values() {
        rollout(scene, stage, &mut foreseen.text);
        foreseen.refused.extend(boots_now(stage, planned));
        let play = scene.playbook.plays[stage.play].name.clone();
        if let Some(node) = &stage.gate {
            let of = Part { play: stage.play, part: None };
            judged(scene, stage, &Judged { of, title: play, node }, (planned, profiles), &mut foreseen);
            continue;
        }
        for gated in parts(stage, planned) {
            let of = Part { play: stage.play, part: Some(gated.part) };
            let gated = Judged { of, title: gated.title, node: &gated.gate };
            judged(scene, stage, &gated, (planned, profiles), &mut foreseen);
        }
    }
    foreseen
}

/// A play, or a part of it, under a gate.
struct Judged<'n> {
    of: Part,
    title: String,
    node: &'n Node,
}

/// The gates over parts of a play, as the first of its canaries meets them.
fn parts(stage: &Stage, planned: &[(HostRun, Walked)]) -> Vec<Gated> {
    let canaries: &[HostId] = stage.order.waves.first().map_or(&[], |wave| &wave.hosts);
    let first = planned.iter().find(|(run, _)| canaries.contains(&run.state.id));
    let gates =
        first.map(|(_, walked)| walked.gates.iter().filter(|gated| gated.play == stage.play).cloned());
    gates.into_iter().flatten().collect()
}

fn judged(
    scene: &Scene,
    stage: &Stage,
    judged: &Judged<'_>,
    (planned, profiles): (&[(HostRun, Walked)], &Profiles),
    foreseen: &mut Foreseen,
) {
    let changing = changing(stage, judged.of, planned);
    if changing.is_empty() {
        let _ = writeln!(
            foreseen.text,
            "  gate {}: nothing to judge: no canary has anything to change",
            judged.title
        );
        return;
    }
    let mut found: Vec<Seen> = Vec::new();
    for (run, asked) in &changing {
        match seen(scene, run, stage.play, judged.node) {
            Ok(seen) => found.push(seen),
            Err(problems) => foreseen.refused.extend(problems),
        }
        foreseen.refused.extend(one_way(run, asked, judged.node, found.first()));
    }
    if !found.is_empty() {
        gate(scene, stage, judged, (&found, profiles), &changing, foreseen);
    }
}

fn rollout(scene: &Scene, stage: &Stage, out: &mut String) {
    let play = &scene.playbook.plays[stage.play].name;
    let _ = writeln!(out, "rollout of play {play}:");
    for (number, wave) in stage.order.waves.iter().enumerate() {
        let names = Stage::names(scene, &wave.hosts);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut facts = Vec::new();
        facts.extend(wave.pause.as_ref().map(|question| format!("waits for a person: {question}")));
        facts.extend(wave.soak.map(|soak| format!("watched for {}", time(soak))));
        let facts = if facts.is_empty() { String::new() } else { format!(" ({})", facts.join("; ")) };
        let what = if number == 0 { "canary" } else { "wave" };
        let hosts = crate::report::plan::shortened(&names);
        let _ = writeln!(out, "  {what} {}: {hosts}{facts}", number + 1);
    }
    let down = stage.order.waves.first().map_or(1, |wave| wave.max_down);
    let by = stage.rollout.by.0.as_ref().map(|by| format!(", never of two `{by}`")).unwrap_or_default();
    let _ = writeln!(out, "  at most {down} down at once{by}");
    out.push_str(match stage.rollout.activate {
        Activate::Now => "",
        Activate::Later => "  felt later: what needs a restart, a power cycle or a boot stays owed\n",
        Activate::Window => {
            "  felt in the window: what needs a restart, a power cycle or a boot gets it then, and stays owed outside of it\n"
        }
    });
}

/// A task that boots its host by itself, in a rollout that says when that may be.
fn boots_now(stage: &Stage, planned: &[(HostRun, Walked)]) -> Option<Diagnostic> {
    if stage.rollout.activate == Activate::Now {
        return None;
    }
    let boots =
        |change: &Change| change.wait.as_ref().is_some_and(|wait| matches!(wait.goal, Goal::Boot { .. }));
    let mut tasks = planned.iter().flat_map(|(_, walked)| &walked.planned);
    let task = tasks.find(|task| {
        task.play == stage.play && matches!(&task.what, What::Change(change) if boots(change))
    })?;
    let (words, help) = match stage.rollout.activate {
        Activate::Window => (
            "`activate: window` says that boots wait for the window",
            "leave the task away: hosts are booted in the window where that is owed",
        ),
        _ => ("`activate: later` says that nothing is booted", "leave the task away, or say `activate: now`"),
    };
    let words = format!("`{}` boots its host at once, and {words}", task.title);
    Some(Diagnostic::error(words, stage.span.clone()).help(help))
}

/// The canaries that have something to change, by their plans.
fn changing<'p>(
    stage: &Stage,
    part: Part,
    planned: &'p [(HostRun, Walked)],
) -> Vec<(&'p HostRun, Vec<Asked>)> {
    let canaries: &[HostId] = stage.order.waves.first().map_or(&[], |wave| &wave.hosts);
    let of = |(run, walked): &'p (HostRun, Walked)| {
        let asked: Vec<Asked> =
            walked.planned.iter().filter(|task| part.has(task)).filter_map(Asked::of).collect();
        (canaries.contains(&run.state.id) && !asked.is_empty()).then_some((run, asked))
    };
    planned.iter().filter_map(of).collect()
}

/// Tasks that cannot be taken off and put on again.
fn one_way(run: &HostRun, asked: &[Asked], node: &Node, found: Option<&Seen>) -> Vec<Diagnostic> {
    if found.is_some_and(|found| found.gate.toggle == Toggle::None) {
        return Vec::new();
    }
    let told = |(task, why): (&Asked, &String)| {
        let words =
            format!("`{}` cannot be taken off again, so it cannot be judged by toggling it", task.title);
        Diagnostic::error(words, node.span.clone()).note(format!("{}: {why}", run.state.name)).help(
            "give the task an `undo:`, or judge it by `toggle: none` beside hosts that keep as they are",
        )
    };
    asked.iter().flat_map(|task| task.one_way.iter().map(move |why| (task, why))).map(told).collect()
}

fn gate(
    scene: &Scene,
    stage: &Stage,
    judged: &Judged<'_>,
    (found, profiles): (&[Seen], &Profiles),
    changing: &[(&HostRun, Vec<Asked>)],
    foreseen: &mut Foreseen,
) {
    let (node, gate) = (judged.node, &found[0].gate);
    let canaries = changing.iter().map(|(run, _)| run.state.name.clone()).collect();
    let refuse = |words: String| Diagnostic::error(words, node.span.clone());
    let controls = Stage::names(scene, &stage.order.controls);
    let experiment = match gate.experiment("plan", &judged.title, canaries, controls, gate.seed.unwrap_or(0))
    {
        Ok(experiment) => experiment,
        Err(faults) => {
            foreseen.refused.extend(faults.into_iter().map(refuse));
            return;
        }
    };
    foreseen.refused.extend(untoggled(gate, changing, node));
    let known: Vec<Option<Known>> =
        experiment.metrics.iter().map(|metric| known(found, profiles, metric)).collect();
    let noise: Vec<Option<Noise>> =
        known.iter().map(|known| known.as_ref().map(|known| known.noise)).collect();
    foreseen.refused.extend(blind_spots(&experiment, &noise).into_iter().map(refuse));
    let cost = expected(gate, &experiment, &noise);
    let _ =
        writeln!(foreseen.text, "  gate {}: {}, {}", judged.title, cost.design, span(cost.least, cost.most));
    for (metric, known) in experiment.metrics.iter().zip(&known) {
        let kind = if metric.cost { "accepted price" } else { "margin" };
        let seen = cost.visible.iter().find(|(name, _)| *name == metric.name);
        let seen = seen.zip(known.as_ref()).map_or(String::new(), |((_, loss), known)| {
            let (runs, learnt) = (known.runs, &known.learnt);
            format!(
                "; at the noise of {runs} runs ({learnt}) a loss of {:.1} % shows at the least",
                loss * 100.0
            )
        });
        let margin = metric.margin * 100.0;
        let _ = writeln!(foreseen.text, "    {} ({}): {kind} {margin:.1} %{seen}", metric.name, metric.from);
    }
    let limits = [
        (gate.max_time.map(|most| most.0), "`max_time`"),
        (
            stage.window.as_ref().map(|window| Duration::from_secs(u64::from(window.minutes()) * 60)),
            "its window",
        ),
    ];
    for (limit, what) in limits {
        let Some(limit) = limit.filter(|limit| cost.most > *limit) else { continue };
        let words = format!("the gate may take {}, and {what} is {}", time(cost.most), time(limit));
        foreseen.refused.push(refuse(words).help(designs(gate, &experiment, limit)));
    }
}

/// What was learnt of a metric.
struct Known {
    noise: Noise,
    learnt: String,
    runs: u32,
}

/// The noise of a metric on all canaries: that of the noisiest, and nothing where it is not known of one.
fn known(found: &[Seen], profiles: &Profiles, metric: &Metric) -> Option<Known> {
    let all: Option<Vec<Known>> = found
        .iter()
        .map(|seen| {
            let (noise, learnt, runs) = profiles.noise(seen, metric)?;
            // The day is enough to tell whether it still holds.
            let learnt = learnt.split('T').next().unwrap_or_default().to_owned();
            Some(Known { noise, learnt, runs })
        })
        .collect();
    all?.into_iter().max_by(|one, other| one.noise.pair_sd.total_cmp(&other.noise.pair_sd))
}

/// Cheaper designs that fit, in words.
fn designs(gate: &Gate, experiment: &Experiment, limit: Duration) -> String {
    let timing = Timing {
        settle: gate.run.settle.0,
        ramp: gate.run.ramp.0,
        measure: gate.run.measure.0,
        toggle: Duration::from_secs(1),
        ..Timing::default()
    };
    let loads = gate.benchmarks.iter().filter(|bench| bench.tool.driver().loads()).count() as u32;
    let noise = vec![None; experiment.metrics.len()];
    let fit: Vec<String> = cheaper(experiment, &timing, loads, &noise)
        .into_iter()
        .filter(|design| design.most <= limit)
        .map(|design| format!("{} ({})", design.design, time(design.most)))
        .collect();
    match fit.is_empty() {
        true => "make the runs shorter, or give it more time".to_owned(),
        false => format!("cheaper: {}", fit.join("; ")),
    }
}

/// Why the change is not felt by what the gate toggles.
fn untoggled(gate: &Gate, changing: &[(&HostRun, Vec<Asked>)], node: &Node) -> Option<Diagnostic> {
    let refuse = |words: String| Diagnostic::error(words, node.span.clone());
    let mut tasks = changing.iter().flat_map(|(_, asked)| asked);
    let task = match gate.toggle {
        Toggle::Runtime => tasks.find(|task| task.boot || !task.guests.is_empty())?,
        Toggle::Guest if tasks.clone().any(|task| task.guests.iter().any(|guest| guest.row().is_some())) => {
            return None;
        }
        Toggle::Guest => {
            let words = "`toggle: guest` powers guests off and on, and no task of the play may do that";
            return Some(refuse(words.to_owned()).help(
                "say `power_cycle: window` with its hours, or `power_cycle: ask`, at the `libvirt_domain` task; guests \
                 that are off feel a change at once",
            ));
        }
        Toggle::Reboot | Toggle::None => return None,
    };
    let (when, say) = match task.boot {
        true => ("a boot", "say `toggle: reboot`: pairs of boots"),
        false => ("a power cycle of its guests", "say `toggle: guest`: pairs of power cycles"),
    };
    let words = format!("`{}` is felt after {when}, and `toggle: runtime` makes none", task.title);
    Some(refuse(words).help(say))
}
