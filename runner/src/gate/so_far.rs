//! How far an experiment has come, for those who look on. Nothing is decided by it: looks are at set numbers of pairs.
use super::assemble::series;
use super::distribution::t_above;
use super::estimate::Estimate;
use super::experiment::Experiment;
use super::gather::gather;
use super::run::Run;
use super::schedule::Statistic;
use super::words::Toggle;
use serde::Serialize;

/// One metric so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SoFar {
    /// Its name.
    pub metric: String,
    /// How many pairs there are, and how many there may be.
    pub pairs: usize,
    /// The most pairs.
    pub most: u32,
    /// The relative change so far: below zero is a loss for what should be high.
    pub change: f64,
    /// From where to where it may be, at 95 %.
    pub from: f64,
    /// The other end.
    pub to: f64,
    /// The largest loss that is accepted, as a share; a positive number.
    pub margin: f64,
}

/// The metrics of an experiment that is judged in pairs, once there are three.
pub fn so_far(experiment: &Experiment, runs: &[Run]) -> Vec<SoFar> {
    const PAIRS: usize = 3;
    const LEVEL: f64 = 0.025;
    if experiment.toggle == Toggle::None {
        return Vec::new();
    }
    let gathered = gather(experiment, runs);
    let all = series(experiment, &gathered);
    let told = experiment.metrics.iter().zip(&all).filter(|(_, series)| series.pairs.len() >= PAIRS);
    told.map(|(metric, series)| {
        let estimate = Estimate::of(&series.pairs, Statistic::Winsorised, metric.floor);
        let half = t_above(LEVEL, estimate.df.max(1.0)) * estimate.error;
        let of = |effect: f64| metric.direction.relative(effect);
        let (one, other) = (of(estimate.effect - half), of(estimate.effect + half));
        SoFar {
            metric: metric.name.clone(),
            pairs: series.pairs.len(),
            most: experiment.max_pairs,
            change: of(estimate.effect),
            from: one.min(other),
            to: one.max(other),
            margin: metric.margin,
        }
    })
    .collect()
}
