//! The noise of a benchmark on hosts where nothing changes, and what it lets a gate see.
use super::decide::Errors;
use super::distribution::{mean, normal_above, t_above};
use super::estimate::{Estimate, Pair};
use super::schedule::{Schedule, Statistic};
use super::words::Order;
use serde::{Deserialize, Serialize};

/// What runs of an unchanged host tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// The standard deviation of the difference of two neighbouring runs, in goodness, as the gate will see it.
    pub pair_sd: f64,
    /// Pairs it is known from.
    pub pairs: u32,
    /// Correlation of each run with the next: what neighbours share, pairs take out.
    pub lag: f64,
}

impl Noise {
    /// The noise of runs in the order they were made, in goodness. Nothing for fewer than three pairs.
    pub fn of(runs: &[f64]) -> Option<Self> {
        let pair = |(i, runs): (usize, &[f64])| {
            let [first, second] = runs else { return None };
            Some(if i % 2 == 0 {
                Pair::of(Order::Ab, *first, *second)
            } else {
                Pair::of(Order::Ba, *second, *first)
            })
        };
        let pairs: Vec<Pair> = runs.chunks_exact(2).enumerate().filter_map(pair).collect();
        if pairs.len() < 3 {
            return None;
        }
        let estimate = Estimate::of(&pairs, Statistic::Winsorised, super::metric::FLOOR);
        let pair_sd = estimate.error * (pairs.len() as f64).sqrt();
        Some(Self { pair_sd, pairs: pairs.len() as u32, lag: lag(runs) })
    }

    /// The noise of runs that are known to differ by `sd` from each other.
    pub fn between_runs(sd: f64) -> Self {
        Self { pair_sd: sd * 2_f64.sqrt(), pairs: 0, lag: 0.0 }
    }

    /// The standard deviation between runs.
    pub fn run_sd(&self) -> f64 {
        self.pair_sd / 2_f64.sqrt()
    }

    /// The smallest loss, in goodness, that `pairs` pairs would very likely (95 %) show, looked at by `schedule`.
    pub fn visible(&self, pairs: u32, schedule: &Schedule, rollback: f64) -> f64 {
        let df = f64::from(pairs) - 2.0;
        let sum = t_above(schedule.level(rollback), df) + t_above(0.05, df);
        sum * self.pair_sd / f64::from(pairs).sqrt()
    }

    /// Pairs that show a loss of `bound` (in goodness) with 95 % probability.
    pub fn pairs_for(&self, bound: f64, errors: Errors) -> f64 {
        let z = normal_above(errors.rollback) + normal_above(0.05);
        (z * self.pair_sd / bound).powi(2) + 3.0
    }
}

/// The correlation of each value with the next.
pub fn lag(values: &[f64]) -> f64 {
    let middle = mean(values);
    let square: f64 = values.iter().map(|x| (x - middle).powi(2)).sum();
    let product: f64 = values.windows(2).map(|w| (w[0] - middle) * (w[1] - middle)).sum();
    if square > 0.0 { product / square } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_neighbours_share_is_no_noise_of_pairs() {
        // A level that halves after the sixth run: within pairs nothing changes.
        let runs: Vec<f64> =
            (0..12).map(|i| if i < 6 { 0.0 } else { -0.7 } + f64::from(i % 2) * 0.01).collect();
        let noise = Noise::of(&runs).unwrap();
        assert!(noise.pair_sd < 0.02 && noise.lag > 0.7, "{noise:?}");
        assert_eq!(Noise::of(&runs[..5]), None);
    }

    #[test]
    fn the_rule_of_thumb_is_the_known_one() {
        // 17.8 * 2 sd^2 / bound^2 + 3 for the default risks.
        let (sd, bound) = (0.02, -(0.95_f64.ln()));
        let pairs = Noise::between_runs(sd).pairs_for(bound, Errors::default());
        assert!((pairs - (17.8 * 2.0 * sd * sd / (bound * bound) + 3.0)).abs() < 0.02, "{pairs}");
        let full = Schedule::of(24);
        let noise = Noise::between_runs(sd);
        assert!(noise.visible(24, &full, 0.005) < noise.visible(12, &full, 0.005));
    }
}
