//! One value after another: which is best, and which are not told apart from it.
use super::{Effect, half};
use crate::gate::distribution::mean;

/// What a sweep says of each value, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Swept {
    /// Beside the first value; the first's own is nothing.
    pub beside_first: Vec<Effect>,
    /// The value with the best mean.
    pub best: usize,
    /// Beside the best.
    pub beside_best: Vec<Effect>,
}

/// Judges rounds, each of which has the goodness of every value on one host. What differs between rounds and hosts is out
/// of it. None where there are fewer than two values or two rounds, or rounds differ in length.
pub fn swept(rounds: &[Vec<f64>]) -> Option<Swept> {
    let values = rounds.first()?.len();
    if values < 2 || rounds.len() < 2 || rounds.iter().any(|round| round.len() != values) {
        return None;
    }
    let of_value: Vec<f64> =
        (0..values).map(|at| mean(&rounds.iter().map(|round| round[at]).collect::<Vec<_>>())).collect();
    let whole = mean(&of_value);
    let left = rounds.iter().map(|round| {
        let own = mean(round) - whole;
        round.iter().zip(&of_value).map(|(figure, value)| (figure - value - own).powi(2)).sum::<f64>()
    });
    let freedom = ((values - 1) * (rounds.len() - 1)) as f64;
    let variance = left.sum::<f64>() / freedom;
    let error = (2.0 * variance / rounds.len() as f64).sqrt();
    let beside = |other: usize| -> Vec<Effect> {
        let one = |(at, value): (usize, &f64)| match at == other {
            true => Effect { middle: 0.0, half: 0.0 },
            false => Effect { middle: value - of_value[other], half: half(error, freedom, values - 1) },
        };
        of_value.iter().enumerate().map(one).collect()
    };
    let best = (0..values).max_by(|one, other| of_value[*one].total_cmp(&of_value[*other]))?;
    Some(Swept { beside_first: beside(0), best, beside_best: beside(best) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::random::Seeded;

    fn rounds(worth: &[f64], noise: f64, count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut random = Seeded::new(seed);
        let mut round = |number: usize| -> Vec<f64> {
            // Hosts and hours differ more than values do.
            worth.iter().map(|worth| worth + number as f64 + noise * random.normal()).collect()
        };
        (0..count).map(&mut round).collect()
    }

    #[test]
    fn the_best_is_found_and_what_is_as_good_is_told() {
        let found = swept(&rounds(&[0.0, 0.3, 0.31, -0.2], 0.02, 4, 5)).unwrap();
        assert!([1, 2].contains(&found.best), "{found:?}");
        assert!(found.beside_first[1].helps() && found.beside_first[3].harms());
        let other = 3 - found.best;
        assert!(!found.beside_best[other].harms(), "{found:?}");
        assert!(found.beside_best[0].harms() && found.beside_best[3].harms());
    }

    #[test]
    fn where_all_are_alike_nothing_is_shown() {
        let mut shown = 0;
        for seed in 0..1000 {
            let found = swept(&rounds(&[0.0; 5], 0.05, 3, seed)).unwrap();
            shown += i32::from(found.beside_first.iter().any(|effect| effect.helps() || effect.harms()));
        }
        assert!(shown <= 71, "{shown} of 1000");
    }

    #[test]
    fn too_little_is_no_sweep() {
        assert_eq!(swept(&[]), None);
        assert_eq!(swept(&[vec![1.0, 2.0]]), None);
        assert_eq!(swept(&[vec![1.0], vec![1.0]]), None);
        assert_eq!(swept(&[vec![1.0, 2.0], vec![1.0]]), None);
    }
}
