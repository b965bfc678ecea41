//! What happens in a run, as plain data. Every report is a fold over these.
use super::progress::Progress;
use crate::diagnostic::Diagnostic;
use crate::journal::HostEnd;
use crate::transport::Tally;
use serde::Serialize;

/// One thing that happened.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run has a name and a journal.
    Began {
        /// Its name.
        run: String,
    },
    /// A play begins on its hosts.
    Play {
        /// Its name.
        name: String,
        /// How many hosts.
        hosts: usize,
    },
    /// A task was done on a host, or found to be as it should be.
    Task {
        /// The host.
        host: String,
        /// The task's title.
        title: String,
        /// The loop's item.
        label: Option<String>,
        /// How it ended.
        end: TaskEnd,
    },
    /// A task said something.
    Said {
        /// The host.
        host: String,
        /// The task's title.
        title: String,
        /// The text.
        text: String,
    },
    /// A batch of steps is sent to a host.
    Acting {
        /// The host.
        host: String,
        /// How many steps.
        steps: usize,
    },
    /// Something on a host went wrong.
    Trouble {
        /// The host.
        host: String,
        /// The task's title, where one is to blame.
        title: Option<String>,
        /// What.
        problem: Diagnostic,
    },
    /// What was done on a host was taken back.
    Undone {
        /// The host.
        host: String,
        /// How many steps went back.
        steps: usize,
        /// What was left alone or could not go back.
        left: Vec<String>,
    },
    /// A rollout or its gate came on.
    Came(Progress),
    /// A host's part is over.
    HostEnded {
        /// The host.
        host: String,
        /// How.
        end: HostEnd,
        /// Its counts.
        counts: Counts,
        /// What its connection counted.
        tally: Option<Tally>,
        /// Activations that are owed.
        owed: Vec<String>,
        /// What is written and not felt yet, and what makes it felt.
        not_live: Vec<String>,
    },
}

/// How a task ended on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskEnd {
    /// Nothing was to be done.
    Same,
    /// It changed something, and that was seen.
    Changed,
    /// It was left out.
    Skipped,
    /// It failed.
    Failed,
    /// It failed, which the playbook handles.
    Ignored,
}

/// Tasks by how they ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Nothing was to be done.
    pub same: u32,
    /// Changed.
    pub changed: u32,
    /// Left out.
    pub skipped: u32,
    /// Failed.
    pub failed: u32,
    /// Failed and handled.
    pub ignored: u32,
}

impl Counts {
    /// Counts one more.
    pub fn add(&mut self, end: TaskEnd) {
        match end {
            TaskEnd::Same => self.same += 1,
            TaskEnd::Changed => self.changed += 1,
            TaskEnd::Skipped => self.skipped += 1,
            TaskEnd::Failed => self.failed += 1,
            TaskEnd::Ignored => self.ignored += 1,
        }
    }
}
