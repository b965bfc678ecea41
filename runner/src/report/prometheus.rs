//! A run as metrics of Prometheus, for the textfile collector of the node exporter.
use super::history::{History, Moment, Standing};
use crate::gate::Outcome;
use crate::journal::HostEnd;
use std::fmt::Write as _;

/// One family of samples.
struct Family {
    name: &'static str,
    help: &'static str,
    samples: Vec<(Vec<(&'static str, String)>, f64)>,
}

impl Family {
    const fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, samples: Vec::new() }
    }

    fn sample(mut self, labels: &[(&'static str, &str)], value: f64) -> Self {
        let labels = labels.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.samples.push((labels, value));
        self
    }

    fn write(&self, out: &mut String) {
        if self.samples.is_empty() {
            return;
        }
        let _ = writeln!(out, "# HELP {} {}\n# TYPE {} gauge", self.name, self.help, self.name);
        for (labels, value) in &self.samples {
            let labels: Vec<String> =
                labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
            let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
            let _ = writeln!(out, "{}{labels} {}", self.name, number(*value));
        }
    }
}

/// The run as one exposition. Every sample has the playbook as a label and none the run's name, except the one that is
/// about it: so that series go on from run to run.
pub fn prometheus(history: &History) -> String {
    let playbook = history.playbook();
    let mut out = String::new();
    for family in
        about(history, playbook).into_iter().chain(hosts(history, playbook)).chain(gates(history, playbook))
    {
        family.write(&mut out);
    }
    out
}

fn about(history: &History, playbook: &str) -> Vec<Family> {
    let by = history.began.as_ref().map_or("", |began| began.by.as_str());
    let version = history.began.as_ref().map_or("", |began| began.version.as_str());
    let own = [("playbook", playbook)];
    let info = [
        ("run", history.run.as_str()),
        ("playbook", playbook),
        ("by", by),
        ("version", version),
        ("standing", history.standing.word()),
    ];
    let is = |yes: bool| f64::from(u8::from(yes));
    let mut families = vec![
        Family::new("tunerun_run_info", "The run that this file tells of.").sample(&info, 1.0),
        Family::new("tunerun_run_readable", "Whether the journal of the run can be read.")
            .sample(&own, is(history.standing != Standing::Unreadable)),
        Family::new(
            "tunerun_run_ended",
            "Whether the run ended in order: 0 while it runs, and where it was cut off.",
        )
        .sample(&own, is(history.exit.is_some())),
    ];
    if let Some(exit) = history.exit {
        families.push(
            Family::new("tunerun_run_exit_code", "Exit code of the run.").sample(&own, f64::from(exit)),
        );
        families.push(
            Family::new("tunerun_run_rolled_back", "Whether the run took back what it had changed.")
                .sample(&own, is(history.rolled_back())),
        );
    }
    let times = [
        ("tunerun_run_start_time_seconds", "When the run began, in seconds since 1970.", history.began_at()),
        ("tunerun_run_end_time_seconds", "When the run ended, in seconds since 1970.", history.ended),
    ];
    for (name, help, at) in times {
        families.extend(at.map(|at| Family::new(name, help).sample(&own, Moment::seconds(at))));
    }
    families
}

fn hosts(history: &History, playbook: &str) -> Vec<Family> {
    const ENDS: [(HostEnd, &str); 12] = [
        (HostEnd::Proven, "proven"),
        (HostEnd::Failed, "failed"),
        (HostEnd::FailedHalf, "failed_half"),
        (HostEnd::Held, "held"),
        (HostEnd::Stale, "stale"),
        (HostEnd::Unreachable, "unreachable"),
        (HostEnd::Lost, "lost"),
        (HostEnd::Skipped, "skipped"),
        (HostEnd::Declined, "declined"),
        (HostEnd::Refused, "refused"),
        (HostEnd::RolledBack, "rolled_back"),
        (HostEnd::Waiting, "waiting"),
    ];
    if history.standing == Standing::Unreadable {
        return Vec::new();
    }
    let own = [("playbook", playbook)];
    let count = |is: &dyn Fn(Option<HostEnd>) -> bool| {
        history.hosts.iter().filter(|host| is(host.end.as_ref().map(|end| end.how))).count() as f64
    };
    let mut ends = Family::new("tunerun_run_hosts", "Hosts of the run, by how their part ended.");
    // Ends that nobody came to are 0, so that an alert on one is not silent.
    for (end, word) in ENDS {
        ends = ends.sample(&[("playbook", playbook), ("end", word)], count(&|own| own == Some(end)));
    }
    ends = ends.sample(&[("playbook", playbook), ("end", "open")], count(&|own| own.is_none()));
    let reboots: u32 = history.hosts.iter().map(|host| host.reboots).sum();
    let owed: usize = history.hosts.iter().map(|host| host.owed.len()).sum();
    vec![
        ends,
        Family::new(
            "tunerun_run_steps_done",
            "Steps of the run that were reached and seen, ways back left out.",
        )
        .sample(&own, history.steps_done() as f64),
        Family::new("tunerun_run_reboots", "Boots of hosts that the run made.")
            .sample(&own, f64::from(reboots)),
        Family::new("tunerun_run_owed_activations", "Restarts, power cycles and boots that are still owed.")
            .sample(&own, owed as f64),
    ]
}

fn gates(history: &History, playbook: &str) -> Vec<Family> {
    let mut verdicts =
        Family::new("tunerun_gate_verdict", "1 for the answer of each gate, 0 for the others.");
    let mut ratio =
        Family::new("tunerun_gate_change_ratio", "Relative change of a metric: -0.076 is 7.6 % less.");
    let mut low = Family::new("tunerun_gate_change_ratio_low", "Lower end of the interval of that change.");
    let mut high = Family::new("tunerun_gate_change_ratio_high", "Upper end of the interval of that change.");
    let mut margin = Family::new("tunerun_gate_margin_ratio", "The largest change that is accepted.");
    for gate in &history.gates {
        let own = [("playbook", playbook), ("gate", gate.id.as_str()), ("change", gate.change())];
        let answers = [
            (Some(Outcome::Pass), "PASS"),
            (Some(Outcome::Regress), "REGRESS"),
            (Some(Outcome::Inconclusive), "INCONCLUSIVE"),
            (None, "NONE"),
        ];
        for (outcome, word) in answers {
            let labels = [own[0], own[1], own[2], ("verdict", word)];
            verdicts = verdicts.sample(&labels, f64::from(u8::from(gate.outcome == outcome)));
        }
        let judged = gate
            .record
            .iter()
            .filter_map(|record| record.verdict.as_ref())
            .flat_map(|verdict| &verdict.metrics);
        for judged in judged {
            let labels = [own[0], own[1], own[2], ("metric", judged.name.as_str())];
            let medians = judged.a.zip(judged.b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a - 1.0);
            if let Some(middle) = judged.change.map(|change| change.middle).or(medians) {
                ratio = ratio.sample(&labels, middle);
            }
            if let Some(change) = judged.change {
                low = low.sample(&labels, change.from);
                high = high.sample(&labels, change.to);
            }
            margin = margin.sample(&labels, judged.margin);
        }
    }
    vec![verdicts, ratio, low, high, margin]
}

/// A value of a label as the format escapes it. Other controls would tear the file for those that read by lines.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' | '\0' => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

fn number(value: f64) -> String {
    match value {
        value if value.is_nan() => "NaN".to_owned(),
        value if value == f64::INFINITY => "+Inf".to_owned(),
        value if value == f64::NEG_INFINITY => "-Inf".to_owned(),
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests;
