//! What each change of a bundle is worth, from trials of a folded design, and the smallest set that gains what the whole
//! bundle gains.
use super::{Effect, half};
use crate::gate::distribution::mean;

/// A pair of trials on one host, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Which changes were on in the first trial; in the second the others were.
    pub on: Vec<bool>,
    /// The goodness (logarithm of the figure, turned so that more is better) of the first over that of the second.
    pub difference: f64,
}

/// The effect of each change, in their order. What differs between hosts and drifts between pairs is out of it.
///
/// In a pair all is turned around, so that `difference` is the sum of all effects, each with its sign; the columns of the
/// design are orthogonal, which makes each effect the mean over pairs of the signed difference. What they leave
/// unexplained is the noise.
pub fn effects(pairs: &[Pair]) -> Vec<Effect> {
    let changes = pairs.first().map_or(0, |pair| pair.on.len());
    let sign = |on: bool| if on { 1.0 } else { -1.0 };
    let middles: Vec<f64> = (0..changes)
        .map(|at| {
            let signed: Vec<f64> = pairs.iter().map(|pair| sign(pair.on[at]) * pair.difference).collect();
            mean(&signed)
        })
        .collect();
    let left = pairs.iter().map(|pair| {
        let told: f64 = pair.on.iter().zip(&middles).map(|(on, middle)| sign(*on) * middle).sum();
        (pair.difference - told).powi(2)
    });
    let freedom = pairs.len() as f64 - changes as f64;
    let variance = left.sum::<f64>() / freedom.max(1.0);
    let error = (variance / pairs.len() as f64).sqrt();
    middles.into_iter().map(|middle| Effect { middle, half: half(error, freedom, changes) }).collect()
}

/// The fewest changes that are shown to help and together gain what all changes gain, but for `spare` (a difference in
/// goodness); largest first. `refused` may not be among them: they harm something else.
///
/// None where they do not reach it: what the bundle gains then comes from changes that need one another, or is not shown.
pub fn winning(effects: &[Effect], refused: &[bool], spare: f64) -> Option<Vec<usize>> {
    let whole: f64 = effects.iter().map(|effect| effect.middle).sum();
    let mut helping: Vec<usize> = (0..effects.len())
        .filter(|at| effects[*at].helps() && !refused.get(*at).copied().unwrap_or(false))
        .collect();
    helping.sort_by(|one, other| effects[*other].middle.total_cmp(&effects[*one].middle));
    let mut gained = 0.0;
    let mut set = Vec::new();
    for at in helping {
        if gained >= whole - spare {
            break;
        }
        gained += effects[at].middle;
        set.push(at);
    }
    (gained >= whole - spare).then_some(set)
}

#[cfg(test)]
mod tests {
    use super::super::design;
    use super::*;
    use crate::gate::random::Seeded;

    /// Pairs as a bench would give them: each change is worth something, two of them more together.
    fn trials(worth: &[f64], together: f64, noise: f64, repeats: usize, seed: u64) -> Vec<Pair> {
        let mut random = Seeded::new(seed);
        let mut one = |on: &[bool]| {
            let own: f64 = on.iter().zip(worth).filter(|(on, _)| **on).map(|(_, worth)| worth).sum();
            let both = if on.len() > 1 && on[0] && on[1] { together } else { 0.0 };
            own + both + noise * random.normal()
        };
        let rows = design::pairs(worth.len()).unwrap();
        let all = (0..repeats).flat_map(|_| rows.clone());
        all.map(|on| {
            let others: Vec<bool> = on.iter().map(|on| !on).collect();
            let difference = one(&on) - one(&others);
            Pair { on, difference }
        })
        .collect()
    }

    #[test]
    fn effects_are_found_and_the_rest_is_nothing() {
        let worth = [0.7, 0.0, -0.1, 0.0, 0.05, 0.0, 0.0];
        let found = effects(&trials(&worth, 0.0, 0.01, 2, 7));
        for (effect, worth) in found.iter().zip(worth) {
            assert!((effect.middle - worth).abs() < 0.02, "{found:?}");
        }
        assert!(found[0].helps() && found[2].harms() && found[4].helps());
        assert!(!found[1].helps() && !found[1].harms());
        assert_eq!(winning(&found, &[], 0.05), Some(vec![0]));
    }

    #[test]
    fn changes_that_need_one_another_share_what_they_gain_and_nobody_else_gets_it() {
        // Half of what two are worth together goes to each of them; a third gets nothing of it.
        let found = effects(&trials(&[0.2, 0.1, 0.0, 0.0], 0.2, 0.005, 2, 3));
        let near = |at: usize, worth: f64| (found[at].middle - worth).abs() < 0.02;
        assert!(near(0, 0.3) && near(1, 0.2) && near(2, 0.0) && near(3, 0.0), "{found:?}");
    }

    #[test]
    fn intervals_hold_what_they_promise() {
        let worth = [0.1, 0.0, 0.0, -0.05, 0.0];
        let mut missed = 0;
        for seed in 0..1000 {
            let found = effects(&trials(&worth, 0.0, 0.05, 2, seed));
            let wrong = |(effect, worth): (&Effect, f64)| worth < effect.from() || worth > effect.to();
            missed += i32::from(found.iter().zip(worth).any(wrong));
        }
        // All five hold together in at least 95 of 100 experiments; the bound is three sigma above.
        assert!(missed <= 71, "{missed} of 1000");
    }

    #[test]
    fn a_set_is_as_small_as_it_can_be_and_none_where_it_falls_short() {
        let effect = |middle: f64| Effect { middle, half: 0.01 };
        let all = [effect(0.05), effect(0.4), effect(0.0), effect(0.3), effect(-0.2)];
        assert_eq!(winning(&all, &[], 0.05), Some(vec![1, 3]));
        assert_eq!(winning(&all, &[false, true], 0.05), None);
        assert_eq!(winning(&[effect(0.0)], &[], 0.05), Some(Vec::new()));
        assert_eq!(effects(&[]), Vec::new());
    }

    #[test]
    fn one_pair_for_each_change_shows_nothing() {
        let pair = |on: bool| Pair { on: vec![on], difference: 1.0 };
        assert_eq!(effects(&[pair(true)])[0].half, f64::INFINITY);
    }
}
