//! Why guards end a run's way.
use crate::diagnostic::Diagnostic;
use crate::engine::carrier::CarrierError;
use crate::engine::links::Unreachable;
use crate::journal::JournalError;
use std::time::Duration;

/// Why guards end a run's way.
#[derive(Debug)]
pub enum Stopped {
    /// What must hold did not within `timeout:`.
    TimedOut {
        /// The hosts that waited.
        hosts: Vec<String>,
        /// Whether they waited to go down; else to be up again.
        before: bool,
        /// How long.
        waited: Duration,
        /// What does not hold.
        why: Vec<String>,
        /// What to do next.
        way_out: String,
    },
    /// It cannot be guarded at all.
    Refused {
        /// The host.
        host: String,
        /// Why.
        why: String,
        /// What to do next.
        way_out: Option<String>,
    },
    /// A host cannot be reached.
    Unreachable {
        /// The host.
        host: String,
        /// Why.
        why: Unreachable,
    },
    /// A host does not answer as it should.
    Broken {
        /// The host.
        host: String,
        /// How.
        error: CarrierError,
    },
    /// The journal cannot be written: the run must stop.
    Journal(JournalError),
}

impl Stopped {
    /// The reason, with what to do next.
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::TimedOut { hosts, before, waited, why, way_out } => {
                let to = if *before { "may not go down" } else { "did not come back whole" };
                let (names, waited) = (hosts.join(", "), waited.as_secs());
                let mut problem = Diagnostic::error(
                    format!("{names} {to}: its guard does not hold after {waited} s"),
                    None,
                );
                problem.notes.clone_from(why);
                problem.help(way_out.clone())
            }
            Self::Refused { host, why, way_out } => {
                let problem = Diagnostic::error(format!("{host} cannot be guarded: {why}"), None);
                match way_out {
                    Some(way_out) => problem.help(way_out.clone()),
                    None => problem,
                }
            }
            Self::Unreachable { host, why } => why.diagnostic(host),
            Self::Broken { host, error } => Diagnostic::error(format!("{host}: {error}"), None),
            Self::Journal(error) => Diagnostic::error(error.to_string(), None)
                .help("free space or mend the folder, then `tunerun resume` or `tunerun undo` the run"),
        }
    }

    /// Whether waiting may help: a host that is away for a moment, a cluster that does not answer right now.
    pub(super) fn may_pass(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Broken { .. })
    }

    /// Why, in words.
    pub fn words(&self) -> String {
        self.diagnostic().message
    }
}

impl From<JournalError> for Stopped {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}
