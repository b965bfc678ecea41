//! What a gate does before it is run: how often it would pass, roll back or stay undecided, and how many runs it takes.
//!
//! It plays the real decision on simulated pairs with a fixed seed: the same question has the same answer.
use super::decide::{Ending, Protocol, Series};
use super::estimate::Pair;
use super::noise::Noise;
use super::random::Seeded;
use super::words::{Order, Outcome};
use serde::{Deserialize, Serialize};

/// What becomes of many gates of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Characteristic {
    /// The effect that was put in, in goodness.
    pub effect: f64,
    /// The share that passed.
    pub pass: f64,
    /// The share that was rolled back.
    pub regress: f64,
    /// The share that stayed undecided.
    pub inconclusive: f64,
    /// The mean number of runs on one host.
    pub runs: f64,
    /// The largest number of runs.
    pub most: u32,
}

/// Plays `times` gates of one metric where the change has this effect, on `hosts` like hosts at once.
pub fn characteristic(
    protocol: &Protocol,
    noise: &Noise,
    hosts: u32,
    effect: f64,
    times: u32,
    seed: u64,
) -> Characteristic {
    let mut seeded = Seeded::new(seed);
    let sd = noise.run_sd() / f64::from(hosts.max(1)).sqrt();
    let mut told = Characteristic { effect, ..Characteristic::default() };
    let share = 1.0 / f64::from(times.max(1));
    for _ in 0..times {
        let flipped = seeded.coin();
        let pairs = (0..protocol.max_pairs()).map(|i| {
            let order = if (i % 2 == 1) != flipped { Order::Ba } else { Order::Ab };
            Pair::of(order, sd * seeded.normal(), sd * seeded.normal() + effect)
        });
        let series = Series { pairs: pairs.collect(), lacks: None };
        let Ending::Decided { outcome, pairs, .. } = protocol.decide(&[series], &[]).end else { continue };
        match outcome {
            Outcome::Pass => told.pass += share,
            Outcome::Regress => told.regress += share,
            Outcome::Inconclusive => told.inconclusive += share,
        }
        told.runs += share * f64::from(2 * pairs);
        told.most = told.most.max(2 * pairs);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::super::decide::Errors;
    use super::super::metric::Metric;
    use super::super::schedule::Schedule;
    use super::super::words::Direction;
    use super::*;

    #[test]
    fn a_quiet_host_decides_both_ways() {
        let metrics = [Metric::new("iops", "x.iops", Direction::Higher, 0.05)];
        let protocol = Protocol::new(&metrics, Errors::default(), &Schedule::of(24));
        let noise = Noise::between_runs(0.015);
        let none = characteristic(&protocol, &noise, 1, 0.0, 60, 1);
        let loss = characteristic(&protocol, &noise, 1, (0.9_f64).ln(), 60, 1);
        assert!(none.pass > 0.9 && none.runs < 16.0, "{none:?}");
        assert!(loss.regress > 0.9, "{loss:?}");
        assert_eq!(characteristic(&protocol, &noise, 1, 0.0, 60, 1), none, "the same seed, the same answer");
    }
}
