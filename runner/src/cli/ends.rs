//! How a run ended, over all of its hosts.
use super::exit::Exit;
use super::term;
use tunerun::engine::fleet::{Applying, known_end};
use tunerun::engine::run::{HostError, HostRun};
use tunerun::engine::walk::Walked;
use tunerun::journal::HostEnd;

/// How each host's part ends, where none of them begins.
pub(super) fn none_begins(planned: &[(HostRun, Walked)]) -> Option<Vec<HostEnd>> {
    planned.iter().map(|(run, walked)| known_end(run, walked)).collect()
}

/// A run that is fine but for the hosts that it could not reach.
pub(super) fn unreached(exit: Exit, unreachable: &[(String, HostError)]) -> Exit {
    if exit == Exit::Done && !unreachable.is_empty() { Exit::Unreachable } else { exit }
}

/// How the run ended, over all hosts.
pub(super) fn ended(applying: Applying) -> Exit {
    match applying.broken {
        Some(why) => {
            term::wrong(why, Some("`tunerun resume` or `tunerun undo` the run once that is mended"));
            Exit::UndoIncomplete
        }
        None => match applying.ends.into_iter().fold(Exit::Done, worse) {
            Exit::Done if applying.staged > 0 => Exit::Staged,
            exit => exit,
        },
    }
}

pub(super) fn worse(worst: Exit, end: HostEnd) -> Exit {
    let exit = match end {
        HostEnd::Proven | HostEnd::Skipped | HostEnd::Waiting => Exit::Done,
        HostEnd::RolledBack => Exit::RolledBack,
        HostEnd::Failed | HostEnd::Refused => Exit::Failed,
        HostEnd::Declined => Exit::Declined,
        HostEnd::Stopped => Exit::Held,
        HostEnd::FailedHalf => Exit::UndoIncomplete,
        HostEnd::Held => Exit::Busy,
        HostEnd::Stale => Exit::Stale,
        HostEnd::Unreachable => Exit::Unreachable,
        HostEnd::Lost => Exit::Lost,
    };
    let weight = |exit: Exit| match exit {
        Exit::Done => 0,
        Exit::Declined => 1,
        Exit::Held => 2,
        Exit::Unreachable => 3,
        Exit::Busy => 4,
        Exit::Stale => 5,
        Exit::Failed => 6,
        Exit::RolledBack => 7,
        Exit::Lost => 8,
        // That not all is back outweighs that others are.
        _ => 9,
    };
    if weight(exit) > weight(worst) { exit } else { worst }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_back_outweighs_what_is_in_any_order() {
        let all = |ends: &[HostEnd]| ends.iter().copied().fold(Exit::Done, worse);
        use HostEnd::{Failed, FailedHalf, Lost, Proven, RolledBack, Waiting};
        assert_eq!(all(&[RolledBack, FailedHalf, Failed]), Exit::UndoIncomplete);
        assert_eq!(all(&[FailedHalf, RolledBack, Lost]), Exit::UndoIncomplete);
        assert_eq!(all(&[Proven, Failed, RolledBack, Waiting]), Exit::RolledBack);
        assert_eq!(all(&[RolledBack, Lost, Failed]), Exit::Lost);
        assert_eq!(all(&[Proven, Waiting]), Exit::Done);
    }
}
