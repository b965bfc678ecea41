//! After the last wave: B A B A on one host. It asks whether the effect that the canaries showed is the change's.
use super::distribution::mean;
use super::estimate::Estimate;
use serde::{Deserialize, Serialize};

/// What the spot check says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpotCheck {
    /// Taking the change off and putting it on again moves the figure as the canaries said.
    Confirmed,
    /// It does not.
    Contradicted,
    /// The effect is too small for two pairs to tell.
    TooSmall,
}

/// Compares four runs B A B A, in goodness, with the effect of the canaries.
pub fn spot_check(runs: [f64; 4], canaries: &Estimate) -> SpotCheck {
    let differences = [runs[0] - runs[1], runs[2] - runs[3]];
    let spread = canaries.error * (canaries.pairs as f64).sqrt();
    let seen = mean(&differences);
    // Two pairs err by the spread over the root of two; three times that is beyond doubt.
    let doubt = 3.0 * spread / 2_f64.sqrt();
    if canaries.effect.abs() <= doubt {
        if (seen - canaries.effect).abs() > 2.0 * doubt {
            SpotCheck::Contradicted
        } else {
            SpotCheck::TooSmall
        }
    } else if (seen - canaries.effect).abs() <= doubt {
        SpotCheck::Confirmed
    } else {
        SpotCheck::Contradicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_must_come_and_go_with_the_change() {
        let canaries = Estimate { effect: 0.3, order: 0.0, error: 0.01, df: 4.0, pairs: 6, clipped: 0 };
        assert_eq!(spot_check([1.3, 1.0, 1.31, 1.02], &canaries), SpotCheck::Confirmed);
        assert_eq!(spot_check([1.0, 1.0, 1.01, 1.0], &canaries), SpotCheck::Contradicted);
        let small = Estimate { effect: 0.01, ..canaries };
        assert_eq!(spot_check([1.01, 1.0, 1.01, 1.02], &small), SpotCheck::TooSmall);
        assert_eq!(spot_check([0.5, 1.0, 0.5, 1.0], &small), SpotCheck::Contradicted);
    }
}
