//! The gate: an experiment before a change is kept. Pure: no clock, no host, no chance but a seeded one.
//!
//! The walk of the data: [`Run`]s are what was measured, one a host and slot, in an [`Arm`] (A without the change, B
//! with it). [`gather()`] says which count and which are repeated. Two neighbouring ones are a [`Pair`]; the pairs of a
//! [`Metric`] are a [`Series`]. [`Protocol::decide`] looks at them after 6, 8, 10 … pairs: an [`Estimate`] with an
//! interval that stays true over all looks, against the metric's margin. [`judge()`] is all of this in one function
//! from an [`Experiment`] and its runs to the next run or to the [`Verdict`]; a [`Record`] stores both and gives the
//! same verdict again.

pub mod advice;
mod assemble;
pub mod between;
pub mod catastrophe;
pub mod decide;
pub mod distribution;
pub mod effort;
pub mod estimate;
pub mod experiment;
mod gather;
mod judge;
pub mod metric;
pub mod noise;
pub mod power;
pub mod random;
pub mod record;
pub mod run;
pub mod schedule;
pub mod so_far;
pub mod spotcheck;
pub mod steady;
pub mod summary;
pub mod verdict;
pub mod words;

pub use decide::{Errors, Protocol, Series};
pub use estimate::{Estimate, Pair};
pub use experiment::Experiment;
pub use gather::{Repeats, Wanted, gather};
pub use judge::{Judgement, judge};
pub use metric::{Limit, Metric};
pub use record::Record;
pub use run::{Fault, Figure, Live, Run, RunEnd};
pub use schedule::Schedule;
pub use verdict::{Reason, Verdict};
pub use words::{Arm, Direction, Order, Outcome, Reach, Role, Toggle};

#[cfg(test)]
mod tests;
