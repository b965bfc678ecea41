//! Recorded runs for tests: what `tests/data/runs/make` left.
use super::History;
use crate::gate::Record;
use std::path::PathBuf;

/// The folder of a recorded run.
pub fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data/runs").join(name)
}

/// A recorded run.
pub fn recorded(name: &str) -> History {
    let folder = folder(name);
    let journaled = crate::journal::read(&folder.join("journal.jsonl")).unwrap();
    History::of(name, &journaled, Record::of_run(&folder))
}

/// A recorded run of which only so many bytes are left.
pub fn cut(name: &str, keep: impl Fn(usize) -> usize) -> History {
    let text = std::fs::read(folder(name).join("journal.jsonl")).unwrap();
    let journaled = crate::journal::parse(&text[..keep(text.len())]).unwrap();
    History::of(name, &journaled, Record::of_run(&folder(name)))
}

/// What the secret of the recorded runs is, and what the owner alone may read.
pub const HIDDEN: [&str; 2] = ["s3cr3t-word", "pr1vate-word"];
