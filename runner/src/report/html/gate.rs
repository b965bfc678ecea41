//! The gates of a run: the answer with its reason, then what it rests on.
use super::chart::{folded, table};
use super::element::{Element, el};
use super::{Section, counted, names, plots};
use crate::gate::summary::shown;
use crate::gate::{Arm, Figure, Outcome, Record, RunEnd, Toggle};
use crate::report::history::{Gate, History, lasted, points};

/// All gates.
pub fn section(history: &History) -> Option<Section> {
    if history.gates.is_empty() {
        return None;
    }
    let gates = history.gates.iter().enumerate().map(|(at, gate)| one(at, gate, history));
    Some(Section { id: "gates", title: "Gates", inner: el("div").all(gates) })
}

const fn tone(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Pass) => "good",
        Some(Outcome::Regress) => "bad",
        Some(Outcome::Inconclusive) | None => "open",
    }
}

fn one(at: usize, gate: &Gate, history: &History) -> Element {
    let verdict = el("p")
        .class("verdict")
        .with(el("strong").class(&format!("tag {}", tone(gate.outcome))).text(gate.word()))
        .text(format!(" {}", sentence(gate, history)));
    let mut out =
        el("article").class("gate").with(el("h3").text(gate.title())).with(verdict).with(below(gate));
    let Some(record) = &gate.record else {
        return out.with(el("p").text("Its runs are not stored beside the journal."));
    };
    let verdict = record.verdict.as_ref();
    out = out.all(verdict.and_then(|verdict| plots::forest(&format!("g{at}-f"), verdict)));
    for (number, points) in points(record).iter().enumerate() {
        let mut both = el("div").class("both");
        if !points.pairs.is_empty() {
            both = both.with(plots::pairs(&format!("g{at}-p{number}"), points));
        }
        both = both.all(plots::spread(&format!("g{at}-s{number}"), points));
        if !both.is_empty() {
            out = out.with(both);
        }
    }
    out = out.all(spot_check(gate, history));
    out.with(folded("How it was designed and what was noticed", design(record, history)))
}

fn sentence(gate: &Gate, history: &History) -> String {
    let why = history.veil.text(&gate.why);
    let mut out = match (gate.outcome, why.is_empty()) {
        (None, true) => "No answer is recorded: it was cut off, or is still measuring.".to_owned(),
        _ => why,
    };
    if !out.ends_with('.') {
        out.push('.');
    }
    out
}

/// Where, when, and what became of the change.
fn below(gate: &Gate) -> Element {
    let hosts: Vec<&str> = gate.hosts.iter().map(String::as_str).collect();
    let mut parts = Vec::new();
    if !hosts.is_empty() {
        parts.push(format!("On {}", names(&hosts)));
    }
    if let (Some(began), Some(ended)) = (gate.began, gate.ended) {
        parts.push(format!("{} to {}, {}", began.hour(), ended.hour(), lasted(ended.since(began))));
    }
    if let Some(verdict) = gate.record.as_ref().and_then(|record| record.verdict.as_ref()) {
        parts.push(format!(
            "{} decided, {} counted",
            counted(verdict.pairs as usize, "pair"),
            counted(verdict.runs as usize, "run")
        ));
    }
    parts.extend(
        gate.kept.map(|kept| if kept { "the change stays" } else { "the change does not stay" }.to_owned()),
    );
    el("p").class("quiet").text(parts.join(" · "))
}

/// The runs of the look after the last wave.
fn spot_check(gate: &Gate, history: &History) -> Option<Element> {
    let metric = gate.record.as_ref()?.experiment.metrics.first()?;
    let rows: Vec<Vec<String>> = gate
        .spot_runs()
        .iter()
        .enumerate()
        .map(|(at, run)| {
            let side = if run.arm == Arm::A { "without" } else { "with" };
            let figure = match &run.end {
                RunEnd::Measured { figures } => match figures.get(&metric.from) {
                    Some(Figure::Number(figure)) => shown(&metric.from, *figure),
                    _ => "no figure".to_owned(),
                },
                RunEnd::Failed(fault) => history.veil.text(&fault.text()),
            };
            vec![(at + 1).to_string(), run.host.clone(), side.to_owned(), figure]
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let answer = history.decided.iter().rev().find(|decided| decided.what.starts_with("spot check:"));
    let title = answer.map_or("spot check", |decided| &decided.what);
    let name = format!("{} at the end, with the change taken off and put on", metric.name);
    Some(folded(title, table(&name, &["run", "host", "change", &metric.name], rows)))
}

fn design(record: &Record, history: &History) -> Element {
    let experiment = &record.experiment;
    let toggle = match experiment.toggle {
        Toggle::Runtime => "runs without and with the change in turn",
        Toggle::Reboot => "boots of the host without and with the change in turn",
        Toggle::Guest => "power cycles of the guest without and with the change in turn",
        Toggle::None => "put on once, beside hosts that keep as they are",
    };
    let mut lines = vec![
        format!("Design: {toggle}; at most {}.", counted(experiment.max_pairs as usize, "pair")),
        format!("Order on the first host: {}", grouped(&record.order)),
        format!("Seed: {}", experiment.seed),
    ];
    if !experiment.controls.is_empty() {
        let controls: Vec<&str> = experiment.controls.iter().map(String::as_str).collect();
        lines.push(format!("Hosts that kept as they were: {}", names(&controls)));
    }
    for limit in &experiment.limits {
        lines.push(format!("Limit: {} at most {}", limit.from, limit.max));
    }
    lines.extend(record.fingerprint.iter().map(|(name, value)| format!("{name}: {value}")));
    if let Some(verdict) = &record.verdict {
        let repeats = verdict.repeats;
        if repeats.a + repeats.b > 0 {
            lines.push(format!("Repeated: {} without the change, {} with it", repeats.a, repeats.b));
        }
        lines.extend(verdict.losing_hosts.iter().map(|host| format!("{host} loses on its own")));
        lines.extend(
            verdict.lost_controls.iter().map(|host| format!("Control {host} broke and was left out")),
        );
        if let Some(advice) = &verdict.advice {
            lines.push(format!(
                "The smallest loss of {} that this gate could have seen is {:.1} %; about {} pairs would decide",
                advice.metric,
                advice.visible * 100.0,
                advice.pairs
            ));
            lines.extend(advice.levers.iter().map(|lever| format!("Or: {}", lever.text())));
        }
    }
    let lines = lines.into_iter().map(|text| el("li").text(history.veil.text(&text)));
    let out = el("div").with(el("ul").all(lines));
    let faults = faults(record, history);
    if faults.is_empty() {
        return out;
    }
    out.with(table("Runs that gave no figures", &["host", "place", "why"], faults))
}

/// `ABBAABBA…` in pairs.
fn grouped(order: &str) -> String {
    let letters: Vec<char> = order.chars().take(48).collect();
    let pairs: Vec<String> = letters.chunks(2).map(|pair| pair.iter().collect()).collect();
    format!("{}{}", pairs.join(" "), if order.chars().count() > 48 { " …" } else { "" })
}

fn faults(record: &Record, history: &History) -> Vec<Vec<String>> {
    let failed = record.runs.iter().filter_map(|run| match &run.end {
        RunEnd::Failed(fault) => Some((run, fault.text())),
        RunEnd::Measured { .. } => None,
    });
    failed
        .map(|(run, why)| vec![run.host.clone(), (run.slot + 1).to_string(), history.veil.text(&why)])
        .collect()
}
