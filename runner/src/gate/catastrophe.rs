//! The rule that ends a gate after three pairs: every run with the change is far below every run without it.
use super::estimate::Pair;
use serde::{Deserialize, Serialize};

/// Pairs after which the rule is asked, once.
pub const AFTER: usize = 3;

/// What the rule saw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Catastrophe {
    /// The worst run without the change less the best run with it, in goodness.
    pub gap: f64,
    /// Half the mean range within an arm.
    pub half_range: f64,
    /// Whether it is one.
    pub found: bool,
}

impl Catastrophe {
    /// Asks the rule of measurements without and with the change: the gap must exceed twice the bound, and half the
    /// mean range within the arms. Nothing for fewer than three of each.
    pub fn of(a: &[f64], b: &[f64], bound: f64) -> Option<Self> {
        if a.len() < AFTER || b.len() < AFTER {
            return None;
        }
        let (a_least, a_most) = ends(a);
        let (b_least, b_most) = ends(b);
        let gap = a_least - b_most;
        let half_range = ((a_most - a_least) + (b_most - b_least)) / 4.0;
        Some(Self { gap, half_range, found: gap > 2.0 * bound && gap > half_range })
    }

    /// Asks it of the first three pairs.
    pub fn of_pairs(pairs: &[Pair], bound: f64) -> Option<Self> {
        let first = pairs.get(..AFTER)?;
        let a: Vec<f64> = first.iter().map(|p| p.a).collect();
        let b: Vec<f64> = first.iter().map(|p| p.b).collect();
        Self::of(&a, &b, bound)
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), x| (least.min(*x), most.max(*x)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_clear_pairs_are_enough_and_two_are_not() {
        let (a, b) = ([0.0, 0.01, -0.01], [-0.36, -0.35, -0.37]);
        assert!(Catastrophe::of(&a, &b, 0.05).unwrap().found);
        assert_eq!(Catastrophe::of(&a[..2], &b, 0.05), None);
    }

    #[test]
    fn a_gap_within_the_noise_is_none() {
        // The gap of 0.12 is above twice the bound and below half the mean range.
        let (a, b) = ([0.0, 0.5, 0.2], [-0.12, -0.62, -0.4]);
        assert!(!Catastrophe::of(&a, &b, 0.05).unwrap().found);
        let small = Catastrophe::of(&[0.0, 0.0, 0.0], &[-0.09, -0.09, -0.09], 0.05).unwrap();
        assert!(!small.found, "{small:?}");
    }
}
