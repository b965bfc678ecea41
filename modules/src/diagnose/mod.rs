//! `diagnose`: what a host spends its time on, and which tunings answer that.
mod case;
mod drafts;
mod rules;
mod samples;
mod signs;
#[cfg(test)]
mod tests;

use crate::draft::{Draft, tried};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Output, Row, Seen, Stop};
use case::Case;
use rules::{Finding, RULES, Sign};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// What a host spends its time on, and which tunings answer that.
///
/// The host is looked at for some seconds while it works: interrupts and what they put off by CPU, threads that fill a
/// CPU, memory from other NUMA nodes, waiting (pressure), packets, and a profile by `perf` where that is installed and
/// allowed. Rules map what is seen to tunings that measured sources give for it; each finding has its figures, the tuning,
/// why, what it may cost, and tasks that are drafted for it. A drafted task is asked of its module on the same facts, so
/// that `drafts` says of each whether it is `same` (so already), `changes`, `needs_word` (a risk must be accepted),
/// `refused` or `elsewhere` (of a cluster, or of the hypervisor).
///
/// It only reads: nothing is written on the host, and what is printed is limited. `unseen` tells what could not be looked
/// at; rules that need it are not judged, which is not the same as not found. The command `tunerun diagnose` shows all of it
/// and writes the draft as a playbook.
///
/// Sources: published accounts of tuning Ceph, QEMU and the network under them; proc(5), perf-record(1), perf-report(1).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diagnose {
    /// For how many seconds the host is looked at, 1 to 120.
    #[serde(default = "five")]
    pub seconds: u32,
}

fn five() -> u32 {
    5
}

impl Diagnose {
    fn row(&self) -> Row {
        Row::new("samples", [self.seconds.to_string()])
    }
}

/// A drafted task with what its module makes of it.
fn told(draft: &Draft, (outcome, said): (&str, String)) -> Json {
    json!({ "about": draft.about, "task": draft.task(), "outcome": outcome, "said": said })
}

/// What a finding is in the result.
fn finding(finding: &Finding, facts: &Facts) -> Result<Json, Stop> {
    let rule = finding.rule;
    let drafts: Vec<Json> = if rule.is_elsewhere {
        let word = || ("elsewhere", rule.place.to_owned());
        finding.drafts.iter().map(|draft| told(draft, word())).collect()
    } else {
        let outcomes = tried(facts, &finding.drafts)?;
        finding.drafts.iter().zip(outcomes).map(|(draft, outcome)| told(draft, outcome.words())).collect()
    };
    Ok(json!({
        "rule": rule.name,
        "what": rule.what,
        "evidence": finding.evidence,
        "module": rule.module,
        "tuning": rule.tuning,
        "why": rule.why,
        "source": rule.source,
        "cost": rule.cost,
        "instead": finding.instead,
        "drafts": drafts,
    }))
}

/// The rules that cannot be judged without a profile.
fn not_judged(case: &Case) -> Vec<&'static str> {
    if case.samples.has_profile() {
        return Vec::new();
    }
    RULES.iter().filter(|rule| matches!(rule.sign, Sign::Symbols { .. })).map(|rule| rule.name).collect()
}

/// The threads that fill most of a CPU.
fn busiest(case: &Case) -> Vec<Json> {
    let threads = case.samples.threads.iter().take(12);
    let share = |share: f64| (share * 1000.0).round() / 10.0;
    threads
        .map(|thread| {
            json!({ "thread": thread.name, "process": thread.process, "pid": thread.pid, "cpu": thread.cpu,
                "percent": share(thread.share) })
        })
        .collect()
}

impl Module for Diagnose {
    const NAME: &'static str = "diagnose";
    const EXAMPLE: &'static str = "\
- name: What the host spends its time on while the benchmark runs
  diagnose:
    seconds: 10
  register: found
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        if !(1..=120).contains(&self.seconds) {
            return Err(Stop::refused(
                "seconds",
                format!("{} seconds is not between 1 and 120", self.seconds),
            ));
        }
        let case = Case::of(facts, &self.row())?;
        let findings = rules::judged(&case);
        let told = crate::vocabulary::all(findings.iter().map(|found| finding(found, facts)))?;
        let unseen: Vec<Json> =
            case.samples.unseen.iter().map(|(what, why)| json!({ "what": what, "why": why })).collect();
        let top: Vec<Json> = case
            .samples
            .symbols
            .iter()
            .take(12)
            .map(|symbol| {
                json!({ "symbol": symbol.name, "object": symbol.object, "thread": symbol.thread,
                    "percent": (symbol.share * 10.0).round() / 10.0 })
            })
            .collect();
        Ok(Change::nothing(json!({
            "seconds": case.samples.seconds,
            "findings": told,
            "threads": busiest(&case),
            "symbols": top,
            "unseen": unseen,
            "not_judged": not_judged(&case),
        })))
    }

    fn samples() -> Vec<Sample> {
        let text = "took\t5.00\t100\ncpu\t0\t10\t0\t10\t480\t0\t0\t0\t0\nnone\tperf\tit is not installed\n";
        let row = |seconds: &str| Row::new("samples", [seconds]);
        let host = Host::new()
            .value("/proc/cmdline", "quiet")
            .value("/sys/devices/system/cpu/online", "0")
            .answer(row("5"), Seen::Output(Output::ok(text)))
            .answer(row("10"), Seen::Output(Output::ok(text)));
        vec![Sample { about: "an idle host without perf", args: json!({}), host, calls: Vec::new() }]
    }
}
