//! The figures of a gate as points to be drawn: pairs of runs without and with the change, per metric.
use crate::gate::gather;
use crate::gate::{Arm, Figure, Metric, Record, RunEnd, Toggle};
use std::collections::BTreeMap;

/// What was measured of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// The metric.
    pub metric: Metric,
    /// Pairs that are whole, in the order in which they were measured.
    pub pairs: Vec<Paired>,
    /// Every figure without the change, of changed hosts.
    pub without: Vec<f64>,
    /// Every figure with it.
    pub with: Vec<f64>,
}

/// Neighbouring measurements of one host without and with the change.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    /// The host.
    pub host: String,
    /// Its number on that host, from 1.
    pub number: u32,
    /// Without.
    pub without: f64,
    /// With.
    pub with: f64,
    /// What was measured first.
    pub first: Arm,
    /// Whether it is a host that kept as it was: both are without the change, before and after.
    pub control: bool,
}

/// The points of each metric. Runs that do not count are left out.
pub fn points(record: &Record) -> Vec<Points> {
    let gathered = gather(&record.experiment, &record.runs);
    let metrics = record.experiment.metrics.iter();
    metrics
        .map(|metric| {
            let mut blocks: BTreeMap<(u32, &str), BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
            let (mut without, mut with) = (Vec::new(), Vec::new());
            for (&(host, slot), run) in &gathered.counted {
                let Some(figure) = figure(&run.end, metric) else { continue };
                if record.experiment.canaries.iter().any(|canary| canary == host) {
                    match run.arm {
                        Arm::A => without.push(figure),
                        Arm::B => with.push(figure),
                    }
                }
                let block = block(record, slot);
                blocks.entry((block / 2, host)).or_default().entry(block % 2).or_default().push(figure);
            }
            let pairs = blocks.into_iter().filter_map(|(at, sides)| paired(record, at, &sides)).collect();
            Points { metric: metric.clone(), pairs, without, with }
        })
        .collect()
}

fn figure(end: &RunEnd, metric: &Metric) -> Option<f64> {
    let RunEnd::Measured { figures } = end else { return None };
    match figures.get(&metric.from)? {
        Figure::Number(figure) if metric.direction.goodness(*figure).is_some() => Some(*figure),
        _ => None,
    }
}

/// The block of runs that a slot lies in: two blocks are a pair.
const fn block(record: &Record, slot: u32) -> u32 {
    let experiment = &record.experiment;
    match experiment.toggle {
        Toggle::Runtime => slot,
        Toggle::Reboot | Toggle::Guest | Toggle::None => {
            slot / if experiment.runs_each == 0 { 1 } else { experiment.runs_each }
        }
    }
}

fn paired(record: &Record, (pair, host): (u32, &str), sides: &BTreeMap<u32, Vec<f64>>) -> Option<Paired> {
    let mean = |side: u32| {
        let figures = sides.get(&side)?;
        Some(figures.iter().sum::<f64>() / figures.len() as f64)
    };
    let (one, other) = (mean(0)?, mean(1)?);
    let experiment = &record.experiment;
    let place = experiment.canaries.iter().position(|canary| canary == host);
    let first = match (place, experiment.toggle) {
        (_, Toggle::None) | (None, _) => Arm::A,
        (Some(place), _) => experiment.order(place, pair).first(),
    };
    let (without, with) = if first == Arm::A { (one, other) } else { (other, one) };
    Some(Paired { host: host.to_owned(), number: pair + 1, without, with, first, control: place.is_none() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::{Direction, Experiment, Live, Run};

    #[test]
    fn runs_become_pairs_whatever_came_first() {
        let metrics = vec![Metric::new("rate", "own.rate", Direction::Higher, 0.05)];
        let experiment = Experiment::new("g", "a", metrics, 3);
        let run = |slot: u32| {
            let arm = experiment.arm(0, slot);
            let figure = if arm == Arm::A { 100.0 } else { 150.0 } + f64::from(slot);
            Run {
                host: "a".to_owned(),
                slot,
                arm,
                live: Live::Proven { seen: String::new() },
                end: RunEnd::Measured { figures: [("own.rate".to_owned(), Figure::Number(figure))].into() },
                boot: None,
                versions: BTreeMap::new(),
                flags: Vec::new(),
                within: None,
            }
        };
        let runs = (0..5).map(run).collect();
        let points = points(&Record::new(experiment.clone(), runs));
        let [rate] = &points[..] else { panic!("{points:?}") };
        assert_eq!((rate.pairs.len(), rate.without.len() + rate.with.len()), (2, 5));
        for pair in &rate.pairs {
            assert!(
                (100.0..110.0).contains(&pair.without) && (150.0..160.0).contains(&pair.with),
                "{pair:?}"
            );
            assert_eq!(pair.first, experiment.order(0, pair.number - 1).first());
        }
    }
}
