//! What would decide a gate that did not decide: how many more pairs, or which cheaper lever.
use super::decide::{Look, Protocol};
use super::experiment::Experiment;
use super::gather::Gathered;
use super::words::Toggle;
use serde::{Deserialize, Serialize};

/// Beyond so many pairs nobody waits: other levers are named first.
const PATIENCE: f64 = 48.0;
/// Pairs that an estimate of the spread costs beyond those that the effect needs.
const SPREAD: f64 = 3.0;

/// What an inconclusive gate could have seen, and what would decide it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// The metric that was hardest to judge.
    pub metric: String,
    /// The smallest relative loss that this gate could have seen.
    pub visible: f64,
    /// Pairs that would show a loss as large as the margin, at the present noise.
    pub pairs: u64,
    /// What would decide it, the cheapest first.
    pub levers: Vec<Lever>,
}

/// One way to a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lever {
    /// Measure on, in a new gate.
    MorePairs {
        /// Beyond those made.
        pairs: u64,
    },
    /// The noise comes from within the runs: make them longer.
    LongerRuns {
        /// So many times as long.
        times: u32,
    },
    /// Change more hosts at once.
    MoreHosts {
        /// In all.
        hosts: u64,
    },
    /// Some pairs lie far from the others: find what disturbs them.
    Quieter {
        /// Pairs that were pulled in.
        clipped: u64,
    },
    /// Accept a larger loss.
    LargerMargin {
        /// The smallest margin that this noise would have decided.
        margin: f64,
    },
    /// Aim the benchmark at the changed hosts, so that they serve more of the load.
    LargerShare {
        /// The share that would do.
        share: f64,
    },
}

impl Lever {
    /// As advice.
    pub fn text(&self) -> String {
        match self {
            Self::MorePairs { pairs } => format!("about {pairs} more pairs, in a new gate (once)"),
            Self::LongerRuns { times } => {
                format!("runs {times} times as long: the noise comes from within them")
            }
            Self::MoreHosts { hosts } => format!("{hosts} changed hosts at once"),
            Self::Quieter { clipped } => format!("less disturbance: {clipped} pairs lie far from the others"),
            Self::LargerMargin { margin } => format!("a margin of {:.1} %", margin * 100.0),
            Self::LargerShare { share } => {
                format!("a benchmark that the changed hosts serve by {:.0} % or more", share * 100.0)
            }
        }
    }
}

/// Advice from the last looks of a gate. Nothing where there was none.
pub(super) fn advise(
    experiment: &Experiment,
    protocol: &Protocol,
    looks: &[Look],
    gathered: &Gathered<'_>,
) -> Option<Advice> {
    let last = looks.iter().map(|look| look.pairs).max()?;
    let hardest = looks
        .iter()
        .filter(|look| look.pairs == last && !experiment.metrics[look.metric].warn)
        .map(|look| (look, protocol.needs(look.metric, &look.estimate)))
        .max_by(|x, y| x.1.total_cmp(&y.1))?;
    let (look, needs) = hardest;
    let metric = &experiment.metrics[look.metric];
    let relative = |goodness: f64| metric.direction.relative(-goodness).abs();
    let visible = relative(look.visible);
    let pairs = (needs + SPREAD).ceil();
    let more = (pairs - f64::from(last)).max(2.0);
    let mut levers = Vec::new();
    if pairs <= PATIENCE && experiment.toggle != Toggle::None {
        levers.push(Lever::MorePairs { pairs: more as u64 });
    }
    let within: Vec<f64> = gathered.counted.values().filter_map(|run| run.within).collect();
    if !within.is_empty() && super::distribution::mean(&within) > 0.5 {
        levers.push(Lever::LongerRuns { times: 2 });
    }
    if look.estimate.clipped * 10 > look.estimate.pairs {
        levers.push(Lever::Quieter { clipped: look.estimate.clipped as u64 });
    }
    if metric.share < 1.0 {
        levers.push(Lever::LargerShare { share: (metric.share * (needs / f64::from(last)).sqrt()).min(1.0) });
    }
    if pairs > f64::from(last) {
        let times = (pairs / f64::from(protocol.max_pairs().max(1))).ceil().max(2.0);
        levers.push(Lever::MoreHosts { hosts: (experiment.canaries.len() as f64 * times) as u64 });
    }
    if visible > metric.margin * metric.share {
        levers.push(Lever::LargerMargin { margin: (visible / metric.share).min(1.0) });
    }
    Some(Advice { metric: metric.name.clone(), visible, pairs: pairs.min(1e6) as u64, levers })
}
