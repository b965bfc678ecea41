//! The write-ahead record of a run, recovery and undo.
mod brief;
mod reader;
mod record;
mod seal;
mod store;
mod writer;

pub use brief::Brief;
pub use reader::{Journaled, parse, read};
pub use record::{DeadManCame, Entry, Extra, FORMAT, HostEnd, Invocation, Record};
pub use store::Store;
pub use writer::Journal;

use std::fmt;
use std::path::{Path, PathBuf};

/// Proof that a record has reached the disk. Only the journal's writer makes one.
#[derive(Debug)]
pub struct Synced(());

/// A journal that cannot be written or read. A run that cannot write its journal stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalError {
    path: PathBuf,
    why: String,
}

impl JournalError {
    fn new(path: &Path, why: String) -> Self {
        Self { path: path.to_owned(), why }
    }
}

impl fmt::Display for JournalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.path.display(), self.why)
    }
}

impl std::error::Error for JournalError {}
