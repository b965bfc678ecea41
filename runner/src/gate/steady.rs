//! Whether a run was steady, and what its seconds tell of the noise within it.
use super::distribution::{mean, variance};
use super::noise::lag;
use serde::{Deserialize, Serialize};

/// Completions that a 99th percentile needs.
pub const FOR_P99: u64 = 10_000;
/// Completions that a 99.9th percentile needs.
pub const FOR_P999: u64 = 100_000;

/// Completions that a percentile needs: a hundred beyond it.
pub fn completions_for(percentile: f64) -> u64 {
    let beyond = 1.0 - percentile / 100.0;
    if beyond > 0.0 { (100.0 / beyond).round() as u64 } else { u64::MAX }
}

/// How steadiness is told from values per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyRule {
    /// How many windows stand side by side.
    pub windows: usize,
    /// Seconds of each.
    pub seconds: usize,
    /// The largest range over the windows, as a share of their mean.
    pub range: f64,
    /// The largest change of the fitted line over the windows, as a share of their mean.
    pub slope: f64,
}

impl Default for SteadyRule {
    fn default() -> Self {
        Self { windows: 5, seconds: 12, range: 0.10, slope: 0.03 }
    }
}

/// How steady a run was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Steadiness {
    /// Within the rule.
    Steady,
    /// Within twice its range and three times its slope: kept, and flagged.
    Loose,
    /// Neither: the run is repeated.
    Unsteady,
    /// Fewer seconds than the rule needs.
    TooShort,
}

impl SteadyRule {
    /// Judges the last seconds of a run.
    pub fn judge(&self, per_second: &[f64]) -> Steadiness {
        let needs = self.windows * self.seconds;
        if self.windows < 2 || self.seconds == 0 || per_second.len() < needs {
            return Steadiness::TooShort;
        }
        let last = &per_second[per_second.len() - needs..];
        let windows: Vec<f64> = last.chunks_exact(self.seconds).map(mean).collect();
        let middle = mean(&windows);
        if middle <= 0.0 {
            return Steadiness::Unsteady;
        }
        let most = windows.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let least = windows.iter().copied().fold(f64::INFINITY, f64::min);
        let range = (most - least) / middle;
        let change = (slope(&windows) * (self.windows - 1) as f64).abs() / middle;
        if range <= self.range && change <= self.slope {
            Steadiness::Steady
        } else if range <= 2.0 * self.range && change <= self.slope * 10.0 / 3.0 {
            Steadiness::Loose
        } else {
            Steadiness::Unsteady
        }
    }
}

/// The slope of the line through values at 0, 1, 2 …
fn slope(values: &[f64]) -> f64 {
    let centre = (values.len() as f64 - 1.0) / 2.0;
    let (mut product, mut square) = (0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let x = i as f64 - centre;
        product += x * value;
        square += x * x;
    }
    if square > 0.0 { product / square } else { 0.0 }
}

/// What the seconds of one run tell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Within {
    /// Seconds there are.
    pub seconds: u32,
    /// As many independent ones would tell as much.
    pub independent: f64,
    /// The standard error of the run's mean, relative, that comes from within the run.
    pub error: f64,
}

impl Within {
    /// From values per second. For sizing runs only: seconds are never samples of the change.
    pub fn of(per_second: &[f64]) -> Option<Self> {
        let middle = mean(per_second);
        if per_second.len() < 3 || middle <= 0.0 {
            return None;
        }
        let n = per_second.len() as f64;
        let rho = lag(per_second).clamp(0.0, 0.99);
        let independent = (n * (1.0 - rho) / (1.0 + rho)).max(1.0);
        let error = (variance(per_second) / independent).sqrt() / middle;
        Some(Self { seconds: per_second.len() as u32, independent, error })
    }

    /// The share of the variance between runs (of relative size `run_sd`) that comes from within them.
    pub fn share(&self, run_sd: f64) -> f64 {
        if run_sd > 0.0 { (self.error / run_sd).powi(2).min(1.0) } else { 1.0 }
    }
}

/// Whether a run stalled: its mean and the middle of its seconds differ by more than a tenth.
pub fn stalls(figure: f64, per_second: &[f64]) -> bool {
    let middle = super::distribution::median(per_second);
    figure > 0.0 && middle > 0.0 && (figure / middle).ln().abs() > 0.1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(f: impl Fn(f64) -> f64) -> Vec<f64> {
        (0..60).map(|i| f(f64::from(i))).collect()
    }

    #[test]
    fn flat_is_steady_and_a_warm_up_is_not() {
        let rule = SteadyRule::default();
        assert_eq!(rule.judge(&run(|i| 100.0 + (i % 3.0))), Steadiness::Steady);
        assert_eq!(rule.judge(&run(|i| 100.0 + i * 0.12)), Steadiness::Loose);
        assert_eq!(rule.judge(&run(|i| 100.0 * (1.0 + 0.6 * (-i / 25.0).exp()))), Steadiness::Unsteady);
        assert_eq!(rule.judge(&[1.0; 59]), Steadiness::TooShort);
        assert_eq!(rule.judge(&[0.0; 60]), Steadiness::Unsteady);
    }

    #[test]
    fn seconds_that_follow_each_other_are_worth_less() {
        let slow = Within::of(&run(|i| 100.0 + 10.0 * (i / 10.0).sin())).unwrap();
        let fast = Within::of(&run(|i| 100.0 + 10.0 * (i * 2.0).sin())).unwrap();
        assert!(slow.independent < 5.0 && fast.independent > 50.0, "{slow:?} {fast:?}");
    }

    #[test]
    fn percentiles_need_a_hundred_completions_beyond_them() {
        assert_eq!(completions_for(99.0), FOR_P99);
        assert_eq!(completions_for(99.9), FOR_P999);
        assert!(stalls(100.0, &[150.0; 5]) && !stalls(100.0, &[104.0; 5]));
    }
}
