//! What is measured, how much of a loss is accepted, and what gain is promised.
use super::words::{Direction, Role};
use serde::{Deserialize, Serialize};

/// Differences smaller than this are never told apart: equal numbers are not certainty.
pub const FLOOR: f64 = 0.002;
/// The same for percentiles of fio, whose bins are up to 1/64 wide.
pub const FLOOR_OF_PERCENTILES: f64 = 0.008;

/// One figure that the gate judges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    /// Its name in reports.
    pub name: String,
    /// Where it comes from: the benchmark's id and the figure's path, `rbd.read.iops`.
    pub from: String,
    /// Which way it is better.
    pub direction: Direction,
    /// The largest relative loss that is accepted: 0.05 is 5 %.
    pub margin: f64,
    /// The margin is a price that was accepted beforehand (`cost:`); the report names it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cost: bool,
    /// What it is for.
    #[serde(default)]
    pub role: Role,
    /// It is looked at and listed, and decides nothing.
    #[serde(default, skip_serializing_if = "is_false")]
    pub warn: bool,
    /// The relative gain that is promised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_gain: Option<f64>,
    /// The share of the load that the changed hosts serve, from 0 to 1: the loss that shows shrinks with it.
    #[serde(default = "whole")]
    pub share: f64,
    /// Differences in goodness smaller than this are not told apart.
    #[serde(default = "floor")]
    pub floor: f64,
}

const fn is_false(value: &bool) -> bool {
    !*value
}

const fn whole() -> f64 {
    1.0
}

const fn floor() -> f64 {
    FLOOR
}

impl Metric {
    /// A primary metric that fills the whole load.
    pub fn new(name: &str, from: &str, direction: Direction, margin: f64) -> Self {
        Self {
            name: name.into(),
            from: from.into(),
            direction,
            margin,
            cost: false,
            role: Role::Primary,
            warn: false,
            min_gain: None,
            share: 1.0,
            floor: FLOOR,
        }
    }

    /// The bound: the largest accepted loss, as a difference in goodness. Where the changed hosts serve a share of
    /// the load, a loss of theirs shows only as that share, and the bound shrinks with it.
    pub fn bound(&self) -> f64 {
        self.direction.loss(self.margin * self.share)
    }

    /// The promised gain as a difference in goodness. It shrinks with the share as well.
    pub fn gain(&self) -> Option<f64> {
        self.min_gain.map(|gain| self.direction.gain(gain * self.share))
    }

    /// What is wrong with it, for the plan.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let name = &self.name;
        if !(self.margin > 0.0 && self.margin < 1.0) {
            faults
                .push(format!("the margin of {name} is {}; say a share between 0 and 1, as 5%", self.margin));
        }
        if !(self.share > 0.0 && self.share <= 1.0) {
            faults.push(format!("the share of {name} is {}; it lies above 0 and is at most 1", self.share));
        }
        match (self.min_gain, self.direction) {
            (Some(gain), _) if gain.is_nan() || gain <= 0.0 => {
                faults
                    .push(format!("the gain promised of {name} is {gain}; leave it away or say more than 0"));
            }
            (Some(gain), Direction::Lower) if gain >= 1.0 => {
                faults.push(format!("{name} is better when lower: it cannot fall by {} %", gain * 100.0));
            }
            _ => {}
        }
        if !(self.floor > 0.0 && self.floor.is_finite()) {
            faults.push(format!("the floor of {name} is {}; it must be above 0", self.floor));
        }
        faults
    }
}

/// A count or share that must not be exceeded, whatever the statistics: errors, packet loss, retransmits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Where it comes from: `loss.percent`.
    pub from: String,
    /// The most that is accepted.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_shrinks_with_the_share() {
        let mut metric = Metric::new("iops", "rbd.read.iops", Direction::Higher, 0.05);
        assert!((metric.bound() + (0.95_f64).ln()).abs() < 1e-15);
        metric.share = 1.0 / 40.0;
        assert!((metric.bound() + (1.0 - 0.05 / 40.0_f64).ln()).abs() < 1e-15);
        let mut latency = Metric::new("p99", "rbd.read.clat.p99", Direction::Lower, 0.15);
        latency.min_gain = Some(0.2);
        assert!((latency.bound() - 1.15_f64.ln()).abs() < 1e-15);
        assert!((latency.gain().unwrap() + 0.8_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn nonsense_is_told_all_at_once() {
        let mut metric = Metric::new("lat", "x.y", Direction::Lower, 0.0);
        (metric.share, metric.min_gain, metric.floor) = (0.0, Some(1.5), 0.0);
        assert_eq!(metric.faults().len(), 4);
        assert!(Metric::new("lat", "x.y", Direction::Lower, 0.05).faults().is_empty());
    }
}
