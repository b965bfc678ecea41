//! When a gate looks, and how strict each look is so that all looks together keep the promised error.
use super::distribution::t_above;
use serde::{Deserialize, Serialize};

/// The pairs after which the full procedure looks.
pub const FULL: [u32; 7] = [6, 8, 10, 12, 16, 20, 24];
/// The pairs after which the quick procedure looks.
pub const QUICK: [u32; 4] = [6, 8, 10, 12];

/// How the pairs become an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The crossover t: mean of the differences, the effect of the order taken out.
    Plain,
    /// The same, and from eight pairs on what is far from the middle is pulled in.
    Winsorised,
}

/// When a gate looks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// 6, 8, 10, 12, 16, 20, 24 pairs, winsorised; cut off at `max_pairs`.
    Full {
        /// At most so many pairs (6 to 24).
        max_pairs: u32,
    },
    /// 6, 8, 10, 12 pairs.
    Quick,
    /// Pairs of one's own: every look as strict as if the others' errors added up, which is always valid.
    Listed {
        /// The pairs after which to look.
        looks: Vec<u32>,
    },
}

/// Nominal one-sided levels by the error of the whole sequence: Monte Carlo, 10^6 replicates.
const ERRORS: [f64; 9] = [0.1, 0.05, 0.025, 0.01, 0.005, 0.0025, 0.00167, 0.001, 0.00083];
const WINSORISED: [f64; 9] =
    [0.02809, 0.01146, 0.004645, 0.001404, 0.000_543_1, 0.000_204_9, 0.000_107_2, 5.113e-5, 3.644e-5];
const QUICK_PLAIN: [f64; 9] =
    [0.04743, 0.02135, 0.009839, 0.003568, 0.001724, 0.000_830_9, 0.000_552_7, 0.000_326_4, 0.000_258_9];

impl Schedule {
    /// The schedule for at most `max_pairs` pairs: quick for 12, full up to 24, one more look every eight pairs
    /// beyond.
    pub fn of(max_pairs: u32) -> Self {
        match max_pairs {
            0..6 => Self::Listed { looks: vec![max_pairs] },
            12 => Self::Quick,
            6..=24 => Self::Full { max_pairs },
            _ => {
                let mut looks: Vec<u32> = FULL.into();
                looks.extend((32..max_pairs).step_by(8));
                looks.push(max_pairs);
                Self::Listed { looks }
            }
        }
    }

    /// The pairs after which it looks, ascending.
    pub fn looks(&self) -> Vec<u32> {
        match self {
            Self::Full { max_pairs } => FULL.into_iter().filter(|look| look <= max_pairs).collect(),
            Self::Quick => QUICK.into(),
            Self::Listed { looks } => looks.clone(),
        }
    }

    /// How pairs become an estimate.
    pub const fn statistic(&self) -> Statistic {
        match self {
            Self::Full { .. } => Statistic::Winsorised,
            Self::Quick | Self::Listed { .. } => Statistic::Plain,
        }
    }

    /// The most pairs.
    pub fn max_pairs(&self) -> u32 {
        self.looks().last().copied().unwrap_or(0)
    }

    /// The one-sided level of every single look, so that any of them errs with probability `error` at most.
    pub fn level(&self, error: f64) -> f64 {
        match self {
            // A schedule that was cut off has fewer looks of the same strictness: it errs less.
            Self::Full { .. } => between(&WINSORISED, error),
            Self::Quick => between(&QUICK_PLAIN, error),
            Self::Listed { looks } => error / looks.len().max(1) as f64,
        }
    }

    /// The looks with their bounds.
    pub(super) fn bounds(&self, rollback: f64, pass: f64) -> Vec<Bound> {
        let (rollback, pass, clash) = (self.level(rollback), self.level(pass), self.level(0.01));
        let bound = |pairs: u32| {
            let df = f64::from(pairs) - 2.0;
            Bound {
                pairs,
                rollback,
                pass,
                upper: t_above(rollback, df),
                lower: t_above(pass, df),
                clash: t_above(clash, df),
                power: t_above(0.05, df),
            }
        };
        self.looks().into_iter().map(bound).collect()
    }
}

/// One look with the t quantiles that it uses.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bound {
    /// After so many pairs.
    pub pairs: u32,
    /// Nominal level of the upper end.
    pub rollback: f64,
    /// Nominal level of the lower end.
    pub pass: f64,
    /// Quantile of the upper end.
    pub upper: f64,
    /// Quantile of the lower end.
    pub lower: f64,
    /// Quantile beyond which a control differs from itself (1 %).
    pub clash: f64,
    /// Quantile of 95 % power.
    pub power: f64,
}

/// The level for an error, between the computed ones on a doubly logarithmic scale; beyond the smallest it falls
/// with the square of the error, which is faster than the table does and so on the safe side.
fn between(levels: &[f64; 9], error: f64) -> f64 {
    if error >= ERRORS[0] {
        return levels[0];
    }
    let last = ERRORS.len() - 1;
    if error <= ERRORS[last] {
        return levels[last] * (error / ERRORS[last]).powi(2);
    }
    let at = ERRORS.iter().position(|known| *known <= error).unwrap_or(last).max(1);
    let (e0, e1) = (ERRORS[at - 1].ln(), ERRORS[at].ln());
    let (a0, a1) = (levels[at - 1].ln(), levels[at].ln());
    (a0 + (a1 - a0) * (error.ln() - e0) / (e1 - e0)).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_the_computed_ones_and_run_smoothly_between() {
        let full = Schedule::of(24);
        assert!((full.level(0.005) - 0.000_543_1).abs() < 1e-12);
        assert!((full.level(0.05) - 0.01146).abs() < 1e-12);
        assert!((Schedule::of(12).level(0.05) - 0.02135).abs() < 1e-12);
        let mut before = 0.0;
        for step in 1..1000 {
            let level = full.level(f64::from(step) * 1e-4);
            assert!(level > before && level <= f64::from(step) * 1e-4, "{step}: {level}");
            before = level;
        }
    }

    #[test]
    fn looks_follow_the_most_pairs() {
        assert_eq!(Schedule::of(24).looks(), FULL);
        assert_eq!(Schedule::of(12).looks(), QUICK);
        assert_eq!(Schedule::of(16).looks(), [6, 8, 10, 12, 16]);
        assert_eq!(Schedule::of(48).looks(), [6, 8, 10, 12, 16, 20, 24, 32, 40, 48]);
        assert_eq!(Schedule::of(3).looks(), [3]);
        assert_eq!(Schedule::of(48).statistic(), Statistic::Plain);
        assert!((Schedule::of(48).level(0.05) - 0.005).abs() < 1e-15);
    }
}
