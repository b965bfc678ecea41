//! Two runs side by side: what was asked, which hosts, what differs of what they changed, and what their gates found.
use super::history::{Gate, History, Host, Setting};
use super::plan::replaced;
use crate::gate::summary::shown;
use crate::gate::verdict::{Interval, Judged};
use serde::Serialize;
use std::fmt::Write as _;

/// What two runs have and have not in common.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// The first.
    pub a: Side,
    /// The second.
    pub b: Side,
    /// Hosts of the first alone.
    pub hosts_in_a: Vec<String>,
    /// Hosts of the second alone.
    pub hosts_in_b: Vec<String>,
    /// Settings that differ, hosts alike once.
    pub settings: Vec<Differs>,
    /// Settings of hosts in both that do not differ.
    pub alike: usize,
    /// Metrics of gates over changes of one name.
    pub metrics: Vec<Compared>,
}

/// One of the runs.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Its name.
    pub run: String,
    /// What was typed.
    pub command: String,
    /// By whom.
    pub by: String,
    /// When it began.
    pub at: String,
    /// How it stands.
    pub standing: String,
}

/// A setting that differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Differs {
    /// The hosts.
    pub hosts: Vec<String>,
    /// What it is.
    pub claim: String,
    /// After it in the first run; none where that did not touch it.
    pub a: Option<Left>,
    /// After it in the second run.
    pub b: Option<Left>,
}

/// What a run left of a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Left {
    /// Its value, in a few words.
    pub after: String,
    /// What became of it.
    pub fate: &'static str,
}

/// A metric in the gates of both runs.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// What was judged.
    pub change: String,
    /// The metric.
    pub metric: String,
    /// In the first run.
    pub a: Option<Found>,
    /// In the second.
    pub b: Option<Found>,
}

/// What a gate found of a metric.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The answer of the gate.
    pub verdict: &'static str,
    /// The middle figure without the change, with its unit.
    pub without: Option<String>,
    /// The middle figure with it.
    pub with: Option<String>,
    /// The relative change; of the medians where there is no interval.
    pub change: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// Compares two runs.
pub fn compare(a: &History, b: &History) -> Comparison {
    let only = |one: &History, other: &History| -> Vec<String> {
        let known = |host: &&Host| other.hosts.iter().all(|own| own.name != host.name);
        one.hosts.iter().filter(known).map(|host| host.name.clone()).collect()
    };
    let (settings, alike) = settings(a, b);
    Comparison {
        hosts_in_a: only(a, b),
        hosts_in_b: only(b, a),
        settings,
        alike,
        metrics: metrics(a, b),
        a: side(a),
        b: side(b),
    }
}

fn side(history: &History) -> Side {
    let began = history.began.clone().unwrap_or_default();
    let at = began.at.map(|at| at.to_string()).unwrap_or_default();
    let standing = history.standing.to_string();
    Side { run: history.run.clone(), command: began.command, by: began.by, at, standing }
}

/// The settings of hosts in both runs that differ, and how many do not. A host's own name in its files does not make it
/// another difference: of several hosts it is told as `<host>`.
fn settings(a: &History, b: &History) -> (Vec<Differs>, usize) {
    let mut own: Vec<Differs> = Vec::new();
    let mut alike = 0;
    let both =
        a.hosts.iter().filter_map(|one| Some((one, b.hosts.iter().find(|other| other.name == one.name)?)));
    for (one, other) in both {
        let mut claims: Vec<&str> = Vec::new();
        for setting in one.settings.iter().chain(&other.settings) {
            if !claims.contains(&setting.claim.as_str()) {
                claims.push(&setting.claim);
            }
        }
        for claim in claims {
            let (in_a, in_b) = (last(one, claim), last(other, claim));
            match (in_a, in_b) {
                (Some(one), Some(other)) if (one.same, one.fate) == (other.same, other.fate) => alike += 1,
                _ => own.push(Differs {
                    hosts: vec![one.name.clone()],
                    claim: claim.to_owned(),
                    a: in_a.map(left),
                    b: in_b.map(left),
                }),
            }
        }
    }
    (folded(own), alike)
}

/// Equal differences of several hosts once.
fn folded(own: Vec<Differs>) -> Vec<Differs> {
    let mut folded: Vec<(Differs, Differs)> = Vec::new();
    for differs in own {
        let name = differs.hosts.first().cloned().unwrap_or_default();
        let left = |left: &Option<Left>| {
            left.as_ref().map(|left| Left { after: replaced(&left.after, &name), fate: left.fate })
        };
        let said = Differs {
            hosts: Vec::new(),
            claim: replaced(&differs.claim, &name),
            a: left(&differs.a),
            b: left(&differs.b),
        };
        match folded.iter_mut().find(|(known, _)| *known == said) {
            Some((said, known)) => {
                let mut hosts = std::mem::take(&mut known.hosts);
                hosts.push(name);
                *known = Differs { hosts, ..said.clone() };
            }
            None => folded.push((said, differs)),
        }
    }
    folded.into_iter().map(|(_, differs)| differs).collect()
}

/// The last task of a host that was about a claim.
fn last<'a>(host: &'a Host, claim: &str) -> Option<&'a Setting> {
    host.settings.iter().rev().find(|setting| setting.claim == claim)
}

fn left(setting: &Setting) -> Left {
    Left { after: setting.difference.words().1, fate: setting.fate.words() }
}

/// The metrics of gates, put together by what was judged.
fn metrics(a: &History, b: &History) -> Vec<Compared> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for gate in a.gates.iter().chain(&b.gates) {
        for judged in judged(gate) {
            if !names.contains(&(gate.change(), judged.name.as_str())) {
                names.push((gate.change(), &judged.name));
            }
        }
    }
    let one = |(change, metric): (&str, &str)| Compared {
        change: change.to_owned(),
        metric: metric.to_owned(),
        a: found(a, change, metric),
        b: found(b, change, metric),
    };
    names.into_iter().map(one).collect()
}

fn judged(gate: &Gate) -> &[Judged] {
    let verdict = gate.record.as_ref().and_then(|record| record.verdict.as_ref());
    verdict.map_or(&[], |verdict| &verdict.metrics)
}

/// The first gate over a change counts: the canaries', which is the whole procedure.
fn found(history: &History, change: &str, metric: &str) -> Option<Found> {
    let gate = history.gates.iter().find(|gate| gate.change() == change && !judged(gate).is_empty())?;
    let own = judged(gate).iter().find(|judged| judged.name == metric)?;
    let record = gate.record.as_ref()?;
    let known = record.experiment.metrics.iter().find(|known| known.name == metric);
    let from = known.map_or("", |known| known.from.as_str());
    let medians = own.a.zip(own.b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a - 1.0);
    Some(Found {
        verdict: gate.word(),
        without: own.a.map(|figure| shown(from, figure)),
        with: own.b.map(|figure| shown(from, figure)),
        change: own.change.map(|change| change.middle).or(medians),
        interval: own.change,
    })
}

impl Comparison {
    /// As people read it.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for (letter, side) in [("A", &self.a), ("B", &self.b)] {
            let _ = writeln!(out, "{letter}: run {}: {}", side.run, side.standing);
            let _ = writeln!(out, "   {}", side.command);
            let _ = writeln!(out, "   by {}, {}", side.by, side.at);
        }
        for (letter, hosts) in [("A", &self.hosts_in_a), ("B", &self.hosts_in_b)] {
            if !hosts.is_empty() {
                let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
                let _ = writeln!(out, "hosts in {letter} alone: {}", super::plan::shortened(&hosts));
            }
        }
        self.settings_text(&mut out);
        self.metrics_text(&mut out);
        out
    }

    fn settings_text(&self, out: &mut String) {
        let plural = if self.alike == 1 { "setting is" } else { "settings are" };
        match self.settings.is_empty() {
            true => {
                let _ = writeln!(out, "no setting differs; {} {plural} alike", self.alike);
            }
            false => {
                let _ = writeln!(out, "settings that differ ({} {plural} alike):", self.alike);
            }
        }
        for differs in &self.settings {
            let hosts: Vec<&str> = differs.hosts.iter().map(String::as_str).collect();
            let _ = writeln!(out, "  {} on {}", differs.claim, super::plan::shortened(&hosts));
            for (letter, left) in [("A", &differs.a), ("B", &differs.b)] {
                let words = match left {
                    Some(left) => format!("{} ({})", left.after, left.fate),
                    None => "not touched".to_owned(),
                };
                let _ = writeln!(out, "    {letter}: {}", words.replace('\n', "\n       "));
            }
        }
    }

    fn metrics_text(&self, out: &mut String) {
        if self.metrics.is_empty() {
            return;
        }
        let _ = writeln!(out, "gates:");
        for compared in &self.metrics {
            let _ = writeln!(out, "  {}: {}", compared.change, compared.metric);
            for (letter, found) in [("A", &compared.a), ("B", &compared.b)] {
                let _ = writeln!(
                    out,
                    "    {letter}: {}",
                    found.as_ref().map_or("not judged".to_owned(), Found::text)
                );
            }
        }
    }
}

impl Found {
    fn text(&self) -> String {
        let percent = |share: f64| format!("{:+.1}", share * 100.0);
        let figures = match (&self.without, &self.with) {
            (Some(without), Some(with)) => format!("{without} -> {with}, "),
            _ => String::new(),
        };
        let change = match (self.change, self.interval) {
            (_, Some(interval)) => format!(
                "{} % [{}, {}]",
                percent(interval.middle),
                percent(interval.from),
                percent(interval.to)
            ),
            (Some(change), None) => format!("{} % of the medians", percent(change)),
            (None, None) => "no figure".to_owned(),
        };
        format!("{figures}{change}, {}", self.verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::compare;
    use crate::report::history::recorded::{HIDDEN, recorded};

    #[test]
    fn a_run_that_passed_beside_one_that_went_back() {
        let compared = compare(&recorded("passed"), &recorded("rolled_back"));
        assert_eq!(compared.hosts_in_a, ["odd"]);
        assert!(compared.hosts_in_b.is_empty());
        // The canary was touched by both, the others by the first alone: told once for both of them.
        let knobs: Vec<_> = compared.settings.iter().filter(|one| one.claim.ends_with("/knob")).collect();
        let hosts: Vec<_> = knobs.iter().map(|one| one.hosts.join(" ")).collect();
        assert_eq!(hosts, ["osd1", "osd2 osd3"]);
        let (a, b) = (knobs[0].a.as_ref().unwrap(), knobs[0].b.as_ref().unwrap());
        assert_eq!(
            [(a.after.as_str(), a.fate), (b.after.as_str(), b.fate)],
            [("`150`", "stays"), ("`50`", "taken back")]
        );
        assert!(knobs[1].claim.contains("<host>") && knobs[1].b.is_none(), "{:?}", knobs[1]);
        let [rate, latency] = &compared.metrics[..] else { panic!("{:?}", compared.metrics) };
        assert_eq!((rate.metric.as_str(), latency.metric.as_str()), ("rate", "latency"));
        let (a, b) = (rate.a.as_ref().unwrap(), rate.b.as_ref().unwrap());
        assert!(a.interval.is_some_and(|found| found.from > 0.4) && a.verdict == "PASS");
        assert!(
            b.interval.is_none() && b.change.is_some_and(|change| change < -0.4) && b.verdict == "REGRESS"
        );
        let told = compared.text() + &serde_json::to_string(&compared).unwrap();
        assert!(
            told.contains("% of the medians, REGRESS") && HIDDEN.iter().all(|word| !told.contains(word)),
            "{told}"
        );
    }

    #[test]
    fn a_run_beside_itself_differs_in_nothing() {
        for name in ["passed", "failed"] {
            let compared = compare(&recorded(name), &recorded(name));
            assert!(compared.settings.is_empty() && compared.alike > 0, "{:?}", compared.settings);
            assert!(compared.text().contains("no setting differs"));
        }
    }
}
