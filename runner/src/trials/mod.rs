//! Changes tried in combinations, and values of one variable tried in turn: what is run in which order, and what the
//! figures say. Pure: whoever plays, measures and takes back hands the figures in.
pub mod attribution;
pub mod design;
pub mod sweep;

/// A relative change of a figure, as a difference in goodness with its interval: above 0 is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// The estimate.
    pub middle: f64,
    /// Half of the interval's width.
    pub half: f64,
}

impl Effect {
    /// The smaller end.
    pub fn from(self) -> f64 {
        self.middle - self.half
    }

    /// The larger end.
    pub fn to(self) -> f64 {
        self.middle + self.half
    }

    /// Shown to help.
    pub fn helps(self) -> bool {
        self.from() > 0.0
    }

    /// Shown to harm.
    pub fn harms(self) -> bool {
        self.to() < 0.0
    }
}

/// The share of all statements of one table that may be wrong: each interval is as wide as that takes (Bonferroni).
const WRONG: f64 = 0.05;

/// Half the width of an interval around a mean with so many degrees of freedom, one of `many` that hold together.
fn half(error: f64, freedom: f64, many: usize) -> f64 {
    if freedom < 1.0 {
        return f64::INFINITY;
    }
    error * crate::gate::distribution::t_above(WRONG / (2.0 * many.max(1) as f64), freedom)
}

/// Puts a list into a random order, the same for the same seed.
pub fn shuffled<T>(mut list: Vec<T>, seed: u64) -> Vec<T> {
    let mut random = crate::gate::random::Seeded::new(seed);
    for at in (1..list.len()).rev() {
        let other = (random.unit() * (at + 1) as f64) as usize;
        list.swap(at, other.min(at));
    }
    list
}
