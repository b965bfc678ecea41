//! From the runs of a host to the pairs of an experiment in which the change has a known effect.
use tunerun::gate::decide::Series;
use tunerun::gate::{Order, Pair};

/// A B B A … over these runs (or B A A B …), with `effect` on every run of B.
pub fn pairs(runs: &[f64], effect: f64, flipped: bool) -> Series {
    let pair = |(i, runs): (usize, &[f64])| {
        if (i % 2 == 1) == flipped {
            Pair::of(Order::Ab, runs[0], runs[1] + effect)
        } else {
            Pair::of(Order::Ba, runs[1], runs[0] + effect)
        }
    };
    Series { pairs: runs.chunks_exact(2).enumerate().map(pair).collect(), lacks: None }
}
