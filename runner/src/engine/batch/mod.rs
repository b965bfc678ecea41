//! Acting on a host: a prepared batch as one script, and what its answer says.
mod back_text;
mod compare_text;
mod place;
mod prepared;
mod report;
mod text;

pub use prepared::{Batch, Prepared};
pub use report::{ActDone, BatchReport, Verdict};
pub(crate) use text::{Text, text};
pub use text::{base, looks};
