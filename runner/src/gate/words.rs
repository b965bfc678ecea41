//! The words of an experiment: arms, their order, what a larger number means, and what a change can be toggled by.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Without the change, or with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Arm {
    /// As it was.
    A,
    /// With the change.
    B,
}

impl Arm {
    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Which arm of a pair was measured first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Order {
    /// Without the change first.
    Ab,
    /// With the change first.
    Ba,
}

impl Order {
    /// +1 for A first, -1 for B first.
    pub const fn sign(self) -> f64 {
        match self {
            Self::Ab => 1.0,
            Self::Ba => -1.0,
        }
    }

    /// The arm measured first.
    pub const fn first(self) -> Arm {
        match self {
            Self::Ab => Arm::A,
            Self::Ba => Arm::B,
        }
    }
}

/// Which way a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// A throughput: more is better.
    Higher,
    /// A latency, a cost: less is better.
    Lower,
}

impl Direction {
    /// How good a figure is: a logarithm that grows with goodness. Nothing for what is no figure of a run that
    /// worked (zero, negative, not a number).
    pub fn goodness(self, figure: f64) -> Option<f64> {
        if !figure.is_finite() || figure <= 0.0 {
            return None;
        }
        match self {
            Self::Higher => Some(figure.ln()),
            Self::Lower => Some(-figure.ln()),
        }
    }

    /// The figure that a goodness stands for.
    pub fn figure(self, goodness: f64) -> f64 {
        match self {
            Self::Higher => goodness.exp(),
            Self::Lower => (-goodness).exp(),
        }
    }

    /// The relative change of the figure itself that a difference in goodness stands for.
    pub fn relative(self, difference: f64) -> f64 {
        match self {
            Self::Higher => difference.exp_m1(),
            Self::Lower => (-difference).exp_m1(),
        }
    }

    /// The difference in goodness that a relative loss of `loss` is: a throughput that falls to `1 - loss`, or a
    /// latency that grows to `1 + loss`. Positive.
    pub fn loss(self, loss: f64) -> f64 {
        match self {
            Self::Higher => -(-loss).ln_1p(),
            Self::Lower => loss.ln_1p(),
        }
    }

    /// The difference in goodness that a relative gain of `gain` is. Positive.
    pub fn gain(self, gain: f64) -> f64 {
        match self {
            Self::Higher => gain.ln_1p(),
            Self::Lower => -(-gain).ln_1p(),
        }
    }
}

/// How a change can be put on and taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Toggle {
    /// While everything runs (a sysctl, an offload): pairs of runs, A B B A.
    #[default]
    Runtime,
    /// By a boot of the host: pairs of boots.
    Reboot,
    /// By a power cycle of the guest: pairs of power cycles.
    Guest,
    /// Not at all: it is put on once, and hosts that keep as they are stand beside (difference in differences).
    None,
}

/// Whom a change reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// The hosts it is put on.
    #[default]
    Host,
    /// A whole cluster: no host stays as it was, so there are no controls.
    Cluster,
}

/// What a metric is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What the change is about.
    #[default]
    Primary,
    /// What must not get worse beside it.
    Guard,
}

/// The three answers of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    /// A loss as large as the margin is ruled out, for every metric.
    Pass,
    /// A loss is shown.
    Regress,
    /// Neither is shown. It never counts as a pass.
    Inconclusive,
}

impl Outcome {
    /// As it is printed.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Regress => "REGRESS",
            Self::Inconclusive => "INCONCLUSIVE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_no_figure_has_a_goodness() {
        for figure in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Direction::Higher.goodness(figure), None);
            assert_eq!(Direction::Lower.goodness(figure), None);
        }
    }

    #[test]
    fn goodness_and_relative_change_are_each_others_way_back() {
        for direction in [Direction::Higher, Direction::Lower] {
            let a = direction.goodness(100.0).unwrap();
            let b = direction.goodness(93.0).unwrap();
            assert!((direction.relative(b - a) + 0.07).abs() < 1e-12);
        }
        assert!((Direction::Higher.relative(-Direction::Higher.loss(0.05)) + 0.05).abs() < 1e-12);
        assert!((Direction::Lower.relative(-Direction::Lower.loss(0.15)) - 0.15).abs() < 1e-12);
        assert!((Direction::Lower.relative(Direction::Lower.gain(0.2)) + 0.2).abs() < 1e-12);
    }
}
