//! What goes into an interpreter and what comes back.
use super::capture::{Captured, DEFAULT_CAP};
use super::word::wire;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One of a command's outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// Sees output while it comes: the stream and the bytes. It must not block.
pub type Watch = Arc<dyn Fn(Stream, &[u8]) + Send + Sync>;

/// Where a script runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// In a subshell: nothing that it does to the shell stays, and it cannot end the shell.
    #[default]
    Subshell,
    /// In the interpreter itself: `exec 9>FILE` (the host's lock) and variables stay. A syntax error ends the session.
    Session,
}

/// A script for one frame. It may end sections by `s TAG RC`, and begin one whose cap was set by `b TAG`.
/// Tags are words of `A-Za-z0-9_.:/-`. Commands in it have /dev/null as their input.
#[derive(Clone)]
pub struct Script {
    /// Shell text as it travels, without NUL bytes; values in it come from [`literal`](super::word::literal) and
    /// [`emit`](super::word::emit) and from nowhere else.
    pub text: Vec<u8>,
    /// Where it runs.
    pub place: Place,
    /// What is kept of each output of a section, in bytes.
    pub cap: usize,
    /// The same for the sections that `b TAG` begins.
    pub caps: BTreeMap<String, usize>,
    /// How long it may run.
    pub timeout: Option<Duration>,
    /// Who looks on.
    pub watch: Option<Watch>,
}

impl Script {
    /// With the default cap, no time limit, in a subshell.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self {
            text: wire(text.as_ref()),
            place: Place::Subshell,
            cap: DEFAULT_CAP,
            caps: BTreeMap::new(),
            timeout: None,
            watch: None,
        }
    }

    /// Runs in the interpreter itself.
    pub fn in_session(mut self) -> Self {
        self.place = Place::Session;
        self
    }

    /// Sets what is kept of the section that `b TAG` begins, in bytes.
    pub fn cap(mut self, tag: impl Into<String>, bytes: usize) -> Self {
        self.caps.insert(tag.into(), bytes);
        self
    }

    /// Sets the time limit.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Sets who looks on.
    pub fn watch(mut self, watch: Watch) -> Self {
        self.watch = Some(watch);
        self
    }
}

impl fmt::Debug for Script {
    /// Without the text: it may hold secrets.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = self.text.len();
        out.debug_struct("Script")
            .field("bytes", &length)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// What a frame gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// In the order in which they ended.
    pub sections: Vec<Section>,
    /// What came after the last section.
    pub rest: Section,
    /// Exit status of the whole script.
    pub rc: i32,
}

impl Answer {
    /// The first section of that tag.
    pub fn section(&self, tag: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.tag == tag)
    }
}

/// The outputs between two marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// As the script named it; empty for the rest.
    pub tag: String,
    /// The status that the script gave; nothing for `-`, and for the rest.
    pub rc: Option<i32>,
    /// Standard output.
    pub stdout: Captured,
    /// Standard error.
    pub stderr: Captured,
}
