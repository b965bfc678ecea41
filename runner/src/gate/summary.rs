//! A verdict as a few lines of text.
use super::decide::Finding;
use super::experiment::Experiment;
use super::verdict::{Judged, Reason, Verdict};
use super::words::{Outcome, Toggle};
use std::fmt::Write;

/// The verdict of an experiment in lines, the first of which says it all.
pub fn summary(experiment: &Experiment, verdict: &Verdict) -> String {
    let mut text = String::new();
    let unit = match experiment.toggle {
        Toggle::Runtime => "pairs",
        Toggle::Reboot => "pairs of boots",
        Toggle::Guest => "pairs of power cycles",
        Toggle::None => "hosts a side",
    };
    let _ = writeln!(
        text,
        "gate {} on {}: {} after {} {unit} ({} runs)",
        experiment.change,
        experiment.canaries.join(", "),
        verdict.outcome.word(),
        verdict.pairs,
        verdict.runs
    );
    let _ = writeln!(text, "  {}", verdict.reason.text());
    table(&mut text, experiment, verdict);
    details(&mut text, verdict);
    text
}

/// What stands below the table.
fn details(text: &mut String, verdict: &Verdict) {
    let repeats = verdict.repeats;
    if repeats.a + repeats.b > 0 {
        let _ = writeln!(text, "  repeated: {} without the change, {} with it", repeats.a, repeats.b);
    }
    if let Some(look) = verdict.looks.last() {
        let sd = look.estimate.error * (look.estimate.pairs as f64).sqrt() / 2_f64.sqrt();
        let _ = writeln!(
            text,
            "  order effect {:+.1} %, between runs {:.1} %, {} pulled in; smallest loss visible now: {:.1} %",
            look.estimate.order * 100.0,
            sd * 100.0,
            look.estimate.clipped,
            -(-look.visible).exp_m1() * 100.0
        );
    }
    for host in &verdict.losing_hosts {
        let _ = writeln!(text, "  {host} loses on its own");
    }
    for host in &verdict.lost_controls {
        let _ = writeln!(text, "  control {host} broke and was left out");
    }
    if let Some(advice) = &verdict.advice {
        let _ = writeln!(
            text,
            "  the smallest loss of {} that this gate could have seen is {:.1} %; about {} pairs would decide. Or:",
            advice.metric,
            advice.visible * 100.0,
            advice.pairs
        );
        for lever in &advice.levers {
            let _ = writeln!(text, "    - {}", lever.text());
        }
    }
    if verdict.outcome == Outcome::Pass && verdict.metrics.iter().all(|metric| metric.gain.is_none()) {
        let gained = verdict.metrics.iter().filter(|metric| gains(metric)).map(|metric| metric.name.as_str());
        let gained: Vec<&str> = gained.collect();
        let _ = match gained[..] {
            [] => writeln!(text, "  harmless; no gain was shown"),
            _ => writeln!(text, "  a gain was shown of {}", gained.join(", ")),
        };
    }
}

/// Whether the whole interval lies on the good side of nothing.
fn gains(metric: &Judged) -> bool {
    let good = |value: f64| if metric.margin < 0.0 { value > 0.0 } else { value < 0.0 };
    metric.change.is_some_and(|change| good(change.from) && good(change.to))
}

fn table(text: &mut String, experiment: &Experiment, verdict: &Verdict) {
    let head = ["metric", "A median", "B median", "change [repeated interval]", "margin", "verdict"];
    let mut rows: Vec<[String; 6]> = vec![head.map(Into::into)];
    let from = |name: &str| experiment.metrics.iter().find(|metric| metric.name == name);
    let apart = |name: &str| matches!(&verdict.reason, Reason::Catastrophe { metric, .. } if metric == name);
    rows.extend(verdict.metrics.iter().map(|metric| {
        row(metric, from(&metric.name).map_or("", |metric| &metric.from), apart(&metric.name))
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
}

fn row(metric: &Judged, from: &str, apart: bool) -> [String; 6] {
    let percent = |value: f64| format!("{:+.1}", value * 100.0);
    let change = match (metric.change, metric.a, metric.b) {
        (Some(change), ..) => {
            format!("{} % [{}, {}]", percent(change.middle), percent(change.from), percent(change.to))
        }
        // Before the first look there is no interval that could be trusted.
        (None, Some(a), Some(b)) if apart && a > 0.0 => format!("{} % of the medians", percent(b / a - 1.0)),
        _ => "-".into(),
    };
    let mut verdict: String = match metric.finding {
        Finding::Pass if metric.cost => "pass, at its price".into(),
        Finding::Pass if metric.measurable => "pass, measurable cost".into(),
        Finding::Pass => "pass".into(),
        Finding::Regress => "REGRESS".into(),
        Finding::Open if apart => "REGRESS: far apart".into(),
        Finding::Open => "open".into(),
        Finding::Lacking => "cannot be judged".into(),
    };
    if let Some((gain, shown)) = metric.gain {
        let _ =
            write!(verdict, ", gain of {:.1} % {}", gain * 100.0, if shown { "shown" } else { "not shown" });
    }
    [
        metric.name.clone(),
        metric.a.map_or_else(|| "-".into(), |figure| shown(from, figure)),
        metric.b.map_or_else(|| "-".into(), |figure| shown(from, figure)),
        change,
        format!("{} %", percent(metric.margin)),
        verdict,
    ]
}

/// A figure with its unit, as far as its path tells that: rates of bits and bytes, and times in nanoseconds.
pub fn shown(from: &str, figure: f64) -> String {
    let scaled = |steps: &[(f64, &str)]| {
        let step = steps.iter().find(|(size, _)| figure.abs() >= *size).or(steps.last());
        step.map_or_else(|| amount(figure), |(size, unit)| format!("{:.2} {unit}", figure / size))
    };
    let parts: Vec<&str> = from.split('.').collect();
    let has = |end: &str| parts.iter().any(|part| part.ends_with(end));
    if has("bits_per_second") {
        scaled(&[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")])
    } else if has("bw_bytes") || has("bytes_per_second") {
        scaled(&[(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")])
    } else if has("_ns") {
        scaled(&[(1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
    } else {
        amount(figure)
    }
}

/// A figure with as many digits as a person compares.
pub fn amount(figure: f64) -> String {
    let size = figure.abs();
    let decimals = match size {
        _ if size >= 1000.0 || size == 0.0 => 0,
        _ if size >= 100.0 => 1,
        _ if size >= 10.0 => 2,
        _ if size >= 0.001 => 4,
        _ => 7,
    };
    let plain = format!("{figure:.decimals$}");
    let (whole, rest) = plain.split_once('.').map_or((plain.as_str(), ""), |(whole, rest)| (whole, rest));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut grouped = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    if rest.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{rest}") }
}

#[cfg(test)]
mod tests {
    use super::{amount, shown};

    #[test]
    fn figures_are_grouped_and_cut() {
        assert_eq!(amount(8_011_094_604.16), "8 011 094 604");
        assert_eq!(amount(532.518), "532.5");
        assert_eq!(amount(0.030013), "0.0300");
        assert_eq!(amount(-1234.6), "-1 235");
        assert_eq!(amount(0.0), "0");
    }

    #[test]
    fn paths_tell_units() {
        assert_eq!(shown("net.sum_received.bits_per_second", 11_987_168_751.0), "11.99 Gbit/s");
        assert_eq!(shown("osd.bw_bytes", 5_400_000.0), "5.40 MB/s");
        assert_eq!(shown("rbd.read.clat_ns.p99", 3_980_000.0), "3.98 ms");
        assert_eq!(shown("rbd.read.iops", 41_200.0), "41 200");
        assert_eq!(shown("x.lat_ns", 0.5), "0.50 ns");
    }
}
