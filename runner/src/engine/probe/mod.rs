//! Looking at a host: the reads of many tasks in one round trip.
mod answer;
mod script;

pub use answer::Round;
pub(crate) use answer::{identity, output};
pub use script::Reads;
pub(crate) use script::{call_text, path_word};
