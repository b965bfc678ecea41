//! The effects of changes that were judged one by one, as a ladder: what each was worth, and how far all came.
use crate::gate::summary::shown;
use crate::gate::verdict::Judged;
use crate::gate::{Metric, Outcome, Record};
use std::fmt::Write;

/// One rung of a metric.
struct Step {
    title: String,
    hosts: String,
    without: Option<f64>,
    with: Option<f64>,
    /// The relative change, with its interval where it has one.
    change: Option<f64>,
    interval: Option<(f64, f64)>,
    outcome: Outcome,
}

/// The ladders of all metrics of some gates, in the order in which the gates were carried out. Empty where none decided.
pub fn ladder(records: &[Record]) -> String {
    let mut metrics: Vec<&Metric> = Vec::new();
    for metric in records.iter().flat_map(|record| &record.experiment.metrics) {
        if metrics.iter().all(|known| known.name != metric.name) {
            metrics.push(metric);
        }
    }
    let tables = metrics.into_iter().map(|metric| {
        let steps: Vec<Step> = records.iter().filter_map(|record| step(record, &metric.name)).collect();
        if steps.is_empty() { String::new() } else { table(metric, &steps) }
    });
    tables.filter(|table| !table.is_empty()).collect::<Vec<_>>().join("\n")
}

fn step(record: &Record, name: &str) -> Option<Step> {
    let verdict = record.verdict.as_ref()?;
    let judged: &Judged = verdict.metrics.iter().find(|judged| judged.name == name)?;
    let of_medians = judged.a.zip(judged.b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a - 1.0);
    Some(Step {
        title: record.experiment.change.clone(),
        hosts: record.experiment.canaries.join(", "),
        without: judged.a,
        with: judged.b,
        change: judged.change.map(|change| change.middle).or(of_medians),
        interval: judged.change.map(|change| (change.from, change.to)),
        outcome: verdict.outcome,
    })
}

fn percent(share: f64) -> String {
    format!("{:+.1}", share * 100.0)
}

fn table(metric: &Metric, steps: &[Step]) -> String {
    let head = ["rung", "without", "with", "its own effect", "so far", "answer"];
    let mut rows: Vec<[String; 6]> = vec![head.map(str::to_owned)];
    let mut so_far = 1.0;
    let mut chain: Vec<String> = Vec::new();
    let figure =
        |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| shown(&metric.from, figure));
    for step in steps {
        let stays = step.outcome != Outcome::Regress;
        if let (true, Some(change)) = (stays, step.change) {
            so_far *= 1.0 + change;
        }
        if chain.is_empty() {
            chain.push(figure(step.without));
        }
        if stays {
            chain.push(figure(step.with));
        }
        let effect = match (step.change, step.interval) {
            (Some(change), Some((from, to))) => {
                format!("{} % [{}, {}]", percent(change), percent(from), percent(to))
            }
            (Some(change), None) => format!("{} % of the medians", percent(change)),
            (None, _) => "-".to_owned(),
        };
        let answer = match step.outcome {
            Outcome::Regress => "REGRESS: does not stay",
            other => other.word(),
        };
        let far = format!("{} %", percent(so_far - 1.0));
        rows.push([
            step.title.clone(),
            figure(step.without),
            figure(step.with),
            effect,
            far,
            answer.to_owned(),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let hosts = steps.first().map_or("", |step| &step.hosts);
    let mut text = format!("ladder of {} on {hosts}\n", metric.name);
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "  {}", cells.join("  ").trim_end());
    }
    let _ = writeln!(text, "  {}", chain.join(" -> "));
    text
}
