//! From differences of pairs to an effect with its error.
use super::distribution::{mean, median, variance};
use super::schedule::Statistic;
use super::words::Order;
use serde::{Deserialize, Serialize};

/// How far a pair may be from the middle, in robust standard deviations, before it is pulled in.
const FAR: f64 = 2.5;
/// Turns the median of absolute deviations into a standard deviation.
const ROBUST: f64 = 1.4826;

/// One pair of neighbouring measurements, in goodness (logarithms).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// Goodness with the change less goodness without it.
    pub difference: f64,
    /// Which came first.
    pub order: Order,
    /// Goodness without the change.
    pub a: f64,
    /// Goodness with the change.
    pub b: f64,
}

impl Pair {
    /// A pair of two measurements.
    pub const fn of(order: Order, a: f64, b: f64) -> Self {
        Self { difference: b - a, order, a, b }
    }
}

/// What pairs say of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The effect of the change on goodness.
    pub effect: f64,
    /// The effect of coming second.
    pub order: f64,
    /// The standard error of the effect.
    pub error: f64,
    /// Degrees of freedom of that error.
    pub df: f64,
    /// How many pairs it is made of.
    pub pairs: usize,
    /// How many of them were pulled in.
    pub clipped: usize,
}

impl Estimate {
    /// The estimate of pairs by `statistic`. `floor` keeps equal numbers from becoming certainty.
    pub fn of(pairs: &[Pair], statistic: Statistic, floor: f64) -> Self {
        match statistic {
            Statistic::Winsorised if pairs.len() >= 8 => Self::winsorised(pairs, floor),
            Statistic::Winsorised | Statistic::Plain => Self::plain(pairs, floor),
        }
    }

    /// The crossover t: least squares of the effect and of the order's effect.
    fn plain(pairs: &[Pair], floor: f64) -> Self {
        let n = pairs.len();
        let k = n as f64;
        let balance: f64 = pairs.iter().map(|p| p.order.sign()).sum();
        let sum: f64 = pairs.iter().map(|p| p.difference).sum();
        let signed: f64 = pairs.iter().map(|p| p.order.sign() * p.difference).sum();
        let spread = k * k - balance * balance;
        // Where all pairs have one order its effect cannot be told from the change's.
        let (effect, order, df, weight) = if balance == 0.0 {
            (sum / k, signed / k, k - 2.0, 1.0 / k)
        } else if spread > 0.0 {
            let effect = (k * sum - balance * signed) / spread;
            (effect, (k * signed - balance * sum) / spread, k - 2.0, k / spread)
        } else {
            (sum / k.max(1.0), 0.0, k - 1.0, 1.0 / k.max(1.0))
        };
        let squares: f64 =
            pairs.iter().map(|p| (p.difference - effect - p.order.sign() * order).powi(2)).sum();
        let variance = if df > 0.0 { squares / df } else { f64::INFINITY };
        let error = (variance.max(floor * floor) * weight).sqrt();
        Self { effect, order, error, df, pairs: n, clipped: 0 }
    }

    /// The same with robust centres: pairs far from the middle are pulled in, and the error pays for each.
    fn winsorised(pairs: &[Pair], floor: f64) -> Self {
        let of = |order: Order| -> Vec<f64> {
            pairs.iter().filter(|p| p.order == order).map(|p| p.difference).collect()
        };
        let (ab, ba) = (of(Order::Ab), of(Order::Ba));
        if ab.is_empty() || ba.is_empty() {
            return Self::plain(pairs, floor);
        }
        let order = (median(&ab) - median(&ba)) / 2.0;
        let level: Vec<f64> = pairs.iter().map(|p| p.difference - p.order.sign() * order).collect();
        let middle = median(&level);
        let away: Vec<f64> = level.iter().map(|u| (u - middle).abs()).collect();
        let limit = (FAR * ROBUST * median(&away)).max(floor);
        let clipped = away.iter().filter(|away| **away > limit).count();
        let pulled: Vec<f64> = level.iter().map(|u| u.clamp(middle - limit, middle + limit)).collect();
        let effect = mean(&pulled);
        let k = pairs.len() as f64;
        let squares: f64 = pulled.iter().map(|w| (w - effect).powi(2)).sum();
        let variance = (squares / (k - 2.0)).max(floor * floor);
        let error = (variance / k).sqrt() * k / (k - clipped as f64).max(3.0);
        Self { effect, order, error, df: k - 2.0, pairs: pairs.len(), clipped }
    }

    /// How much more the changed hosts changed than the others did: Welch's t over hosts. `profile` is what is known
    /// of the spread from earlier, as variance and degrees of freedom.
    pub fn between(changed: &[f64], kept: &[f64], floor: f64, profile: Option<(f64, f64)>) -> Self {
        let (n, m) = (changed.len() as f64, kept.len() as f64);
        let effect = mean(changed) - mean(kept);
        let (v, w) = (variance(changed).max(floor * floor), variance(kept).max(floor * floor));
        let (error, df) = match profile {
            Some((known, known_df)) => {
                let df = known_df + n + m - 2.0;
                let pooled = (known_df * known + (n - 1.0) * v + (m - 1.0) * w) / df;
                ((pooled * (1.0 / n + 1.0 / m)).sqrt(), df)
            }
            None if n < 2.0 || m < 2.0 => (f64::INFINITY, 0.0),
            None => {
                let (v, w) = (v / n, w / m);
                ((v + w).sqrt(), (v + w).powi(2) / (v * v / (n - 1.0) + w * w / (m - 1.0)))
            }
        };
        Self { effect, order: 0.0, error, df, pairs: changed.len(), clipped: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(differences: &[f64]) -> Vec<Pair> {
        let order = |i: usize| if i % 2 == 0 { Order::Ab } else { Order::Ba };
        differences.iter().enumerate().map(|(i, d)| Pair::of(order(i), 0.0, *d)).collect()
    }

    #[test]
    fn a_drift_is_the_orders_effect_and_not_the_changes() {
        // A steady drift of -1 a slot: A B gives -1, B A gives +1.
        let drift = pairs(&[-1.0, 1.0, -1.0, 1.0, -1.0, 1.0]);
        let estimate = Estimate::of(&drift, Statistic::Plain, 0.002);
        assert_eq!((estimate.effect, estimate.order), (0.0, -1.0));
        assert!((estimate.error - 0.002 / 6_f64.sqrt()).abs() < 1e-15);
    }

    #[test]
    fn one_wild_pair_moves_little_and_costs_certainty() {
        let calm = [0.01, -0.01, 0.012, -0.008, 0.009, -0.011, 0.01, -0.009];
        let mut wild = calm;
        wild[3] = -0.6;
        let plain = Estimate::of(&pairs(&wild), Statistic::Plain, 0.002);
        let robust = Estimate::of(&pairs(&wild), Statistic::Winsorised, 0.002);
        assert_eq!(robust.clipped, 1);
        assert!(plain.effect < -0.07 && robust.effect.abs() < 0.01, "{plain:?} {robust:?}");
    }

    #[test]
    fn uneven_orders_are_least_squares() {
        // Three pairs: the effect is half way between the mean of A B and that of B A.
        let estimate = Estimate::of(&pairs(&[1.0, 5.0, 3.0]), Statistic::Plain, 0.0);
        assert!((estimate.effect - 3.5).abs() < 1e-12 && (estimate.order + 1.5).abs() < 1e-12);
        assert_eq!(estimate.df, 1.0);
        let alone = [Pair::of(Order::Ab, 0.0, 1.0), Pair::of(Order::Ab, 0.0, 2.0)];
        assert_eq!(Estimate::of(&alone, Statistic::Plain, 0.0).df, 1.0);
    }

    #[test]
    fn one_host_beside_one_control_says_nothing_certain() {
        assert_eq!(Estimate::between(&[-0.3], &[0.0], 0.002, None).error, f64::INFINITY);
    }
}
