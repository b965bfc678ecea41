//! Why a host's part ends early, and what a person does next.
use super::ROUNDS;
use crate::diagnostic::Diagnostic;
use crate::engine::carrier::CarrierError;
use crate::engine::links::Unreachable;
use crate::journal::JournalError;

/// Why a host's part ended before its end.
#[derive(Debug)]
pub enum HostError {
    /// It cannot be reached.
    Unreachable(Unreachable),
    /// It was reached and does not answer as it should.
    Carrier(CarrierError),
    /// A batch cut the link, and the host took it back by itself.
    CutOff {
        /// How long it waited.
        seconds: u32,
        /// Whether all of it went back.
        whole: bool,
        /// What the way back said.
        said: String,
        /// How it stands now, in words.
        standing: String,
    },
    /// A batch that may cut the link was sent, and the host was not reached again.
    Unconfirmed {
        /// How long it waits.
        seconds: u32,
        /// The last reason.
        last: String,
    },
    /// The plan is not complete after many looks.
    Unsettled,
    /// It was booted and did not come back.
    Lost(String),
    /// The journal cannot be written: the run must stop.
    Journal(JournalError),
}

impl HostError {
    /// The reason, with what to do next.
    pub fn diagnostic(&self, host: &str) -> Diagnostic {
        match self {
            Self::Unreachable(unreachable) => unreachable.diagnostic(host),
            Self::Carrier(CarrierError::Link(error)) => error.to_diagnostic(),
            Self::Carrier(error @ CarrierError::Held(_)) => {
                Diagnostic::error(format!("{host}: {error}"), None)
                    .help("wait until that has ended, then start again; nothing was written here")
            }
            Self::Carrier(error) => Diagnostic::error(format!("{host}: {error}"), None),
            Self::CutOff { seconds, whole, said, standing } => {
                let how =
                    if *whole { "took it back by itself" } else { "took it back by itself, but not wholly" };
                let words = format!(
                    "{host}: the change cut the link: nobody could confirm it within {seconds} s, and the host {how}"
                );
                let problem = Diagnostic::error(words, None).note(standing.clone());
                let problem =
                    if said.trim().is_empty() { problem } else { problem.note(said.trim().to_owned()) };
                problem.help("reach the host by another way before this is tried again, or leave it out")
            }
            Self::Unconfirmed { seconds, last } => Diagnostic::error(
                format!("{host} cannot be reached any more since a change that may cut the link: {last}"),
                None,
            )
            .note(format!("it takes the change back by itself {seconds} s after it was made, if it runs"))
            .help("once it can be reached, by its console if need be: `tunerun resume last`"),
            Self::Unsettled => {
                Diagnostic::error(format!("{host}: the plan is not settled after {ROUNDS} looks"), None)
                    .help("a module that asks for ever new reads is at fault; please report it")
            }
            Self::Lost(why) => Diagnostic::error(format!("{host} is lost: {why}"), None)
                .note("nothing more is done there; a kernel line on trial is not the default, the next boot is the old one")
                .help("look at its console, power it off and on; when it answers again, `tunerun resume` or `tunerun undo` the run"),
            Self::Journal(error) => Diagnostic::error(error.to_string(), None)
                .help("free space or mend the folder, then `tunerun resume` or `tunerun undo` the run"),
        }
    }

    /// Whether the host could not be reached at all.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Carrier(CarrierError::Link(error)) => error.is_unreachable(),
            _ => false,
        }
    }
}
