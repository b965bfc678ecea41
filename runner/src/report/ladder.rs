//! The effects of changes that were judged one by one, as a ladder: what each was worth, and how far all came.
use crate::gate::summary::shown;
use crate::gate::verdict::Judged;
use crate::gate::{Metric, Outcome, Record};
use std::fmt::Write;

/// The rungs of one metric.
#[derive(Clone, Debug)]
pub struct Ladder<'a> {
    /// The metric.
    pub metric: &'a Metric,
    /// Its rungs, in the order in which they were judged; at least one.
    pub rungs: Vec<Rung>,
}

/// One rung of a metric.
#[derive(Clone, Debug)]
pub struct Rung {
    /// What was changed.
    pub title: String,
    /// Where.
    pub hosts: String,
    /// The middle figure without it.
    pub without: Option<f64>,
    /// The middle figure with it.
    pub with: Option<f64>,
    /// The relative change.
    pub change: Option<f64>,
    /// Its interval, where it has one.
    pub interval: Option<(f64, f64)>,
    /// The relative change of all rungs up to this one that stay.
    pub so_far: f64,
    /// The answer.
    pub outcome: Outcome,
}

impl Rung {
    /// Whether the change stays.
    pub fn stays(&self) -> bool {
        self.outcome != Outcome::Regress
    }
}

/// The ladders of all metrics of some gates, in the order in which the gates were carried out. None where none decided.
pub fn ladders<'a>(records: &[&'a Record]) -> Vec<Ladder<'a>> {
    let mut metrics: Vec<&'a Metric> = Vec::new();
    for metric in records.iter().flat_map(|record| &record.experiment.metrics) {
        if metrics.iter().all(|known| known.name != metric.name) {
            metrics.push(metric);
        }
    }
    let of = |metric: &'a Metric| {
        let mut rungs: Vec<Rung> = records.iter().filter_map(|record| rung(record, &metric.name)).collect();
        let mut so_far = 1.0;
        for rung in &mut rungs {
            if let (true, Some(change)) = (rung.stays(), rung.change) {
                so_far *= 1.0 + change;
            }
            rung.so_far = so_far - 1.0;
        }
        (!rungs.is_empty()).then_some(Ladder { metric, rungs })
    };
    metrics.into_iter().filter_map(of).collect()
}

/// The same as text. Empty where none decided.
pub fn ladder(records: &[Record]) -> String {
    let records: Vec<&Record> = records.iter().collect();
    ladders(&records).iter().map(|ladder| table(ladder.metric, &ladder.rungs)).collect::<Vec<_>>().join("\n")
}

fn rung(record: &Record, name: &str) -> Option<Rung> {
    let verdict = record.verdict.as_ref()?;
    let judged: &Judged = verdict.metrics.iter().find(|judged| judged.name == name)?;
    let of_medians = judged.a.zip(judged.b).filter(|(a, _)| *a > 0.0).map(|(a, b)| b / a - 1.0);
    Some(Rung {
        title: record.experiment.change.clone(),
        hosts: record.experiment.canaries.join(", "),
        without: judged.a,
        with: judged.b,
        change: judged.change.map(|change| change.middle).or(of_medians),
        interval: judged.change.map(|change| (change.from, change.to)),
        so_far: 0.0,
        outcome: verdict.outcome,
    })
}

fn percent(share: f64) -> String {
    format!("{:+.1}", share * 100.0)
}

fn table(metric: &Metric, steps: &[Rung]) -> String {
    let head = ["rung", "without", "with", "its own effect", "so far", "answer"];
    let mut rows: Vec<[String; 6]> = vec![head.map(str::to_owned)];
    let mut chain: Vec<String> = Vec::new();
    let figure =
        |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |figure| shown(&metric.from, figure));
    for step in steps {
        if chain.is_empty() {
            chain.push(figure(step.without));
        }
        if step.stays() {
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
        let far = format!("{} %", percent(step.so_far));
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
