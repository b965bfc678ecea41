//! Exit codes: one for each way a command can end.
use std::process::ExitCode;

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All is as asked for, and proven.
    Done = 0,
    /// Something failed; what its batch had changed was taken back.
    Failed = 1,
    /// What was written or typed is wrong; nothing was touched.
    Wrong = 2,
    /// Hosts could not be reached, or the plan is partial.
    Unreachable = 3,
    /// No host matches.
    NoHosts = 4,
    /// What was planned no longer fits what is there; nothing was written.
    Stale = 5,
    /// Not everything could be taken back.
    UndoIncomplete = 6,
    /// The whole run was rolled back.
    RolledBack = 7,
    /// `verify` found drift.
    Drift = 8,
    /// The run is held and waits for a person.
    Held = 9,
    /// With `--detailed-exitcode`: changes are planned.
    Pending = 10,
    /// A regression was found and stands.
    Regress = 11,
    /// The gate could not decide; `verify` could not tell.
    Inconclusive = 12,
    /// Written, and felt only after what is owed.
    Staged = 13,
    /// A gate is refused in the plan.
    GateRefused = 14,
    /// Another run holds a host, or left it open.
    Busy = 15,
    /// The person said no, or a pipe was not answered by `--yes`.
    Declined = 16,
    /// A host was booted and did not come back.
    Lost = 17,
}

impl Exit {
    /// The exit of a code.
    pub fn of(code: i32) -> Option<Self> {
        const ALL: [Exit; 18] = [
            Exit::Done,
            Exit::Failed,
            Exit::Wrong,
            Exit::Unreachable,
            Exit::NoHosts,
            Exit::Stale,
            Exit::UndoIncomplete,
            Exit::RolledBack,
            Exit::Drift,
            Exit::Held,
            Exit::Pending,
            Exit::Regress,
            Exit::Inconclusive,
            Exit::Staged,
            Exit::GateRefused,
            Exit::Busy,
            Exit::Declined,
            Exit::Lost,
        ];
        ALL.into_iter().find(|exit| *exit as i32 == code)
    }

    /// The table for `--help`.
    pub const TABLE: &'static str = "\
Exit codes:
   0  done: all is as asked for, and proven; for plan and --check: the plan was made for every host
   1  failed: the failed batch was taken back; known to fail: nothing was changed
   2  what was written or typed is wrong; nothing was touched
   3  hosts could not be reached, or the plan is partial
   4  no host matches
   5  stale: what was planned no longer fits what is there; nothing was written
   6  not everything could be taken back
   7  rolled back: what the run changed was undone
   8  verify: drift was found; evidence: something is absent
   9  held: the run waits for a person
  10  with --detailed-exitcode: changes are planned
  11  a regression was found, and waits for a person
  12  not decided: the gate, or verify, could not tell
  13  staged: written, and felt only after what is owed; evidence: something is not live yet
  14  a gate is refused in the plan; nothing was changed
  15  another run holds a host, or left it open
  16  declined: a person said no, or nobody could be asked
  17  lost: a host was booted and did not come back";
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
