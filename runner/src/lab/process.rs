//! A process by a name that no later process can have: its pid and when it started.
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// A process as it was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Its pid, as the reader's pid namespace counts.
    pub pid: i32,
    /// When it started, in clock ticks since the machine did.
    pub start: u64,
}

impl Started {
    /// The process that has this pid now, if there is one that runs: a zombie does not, unless threads of it do.
    pub fn of(pid: i32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (_, rest) = stat.rsplit_once(')')?;
        // Numbered as in proc_pid_stat(5), where the state is field 3.
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        let threads: u32 = field(20)?.parse().ok()?;
        // The first thread of a process can have ended before the others, which still own all that it had.
        if matches!(field(3)?, "Z" | "X") && threads < 2 {
            return None;
        }
        let start = field(22)?.parse().ok()?;
        Some(Self { pid, start })
    }

    /// Whether this very process still runs.
    pub fn is_alive(self) -> bool {
        Self::of(self.pid) == Some(self)
    }

    /// Ends it by SIGKILL and waits until it is gone; false if it is still there after `limit`.
    pub fn end(self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        while self.is_alive() {
            let _ = kill(Pid::from_raw(self.pid), Signal::SIGKILL);
            if Instant::now() > deadline {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_until_it_ends() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let started = Started::of(child.id().cast_signed()).unwrap();
        assert!(started.is_alive());
        assert!(!Started { start: started.start + 1, ..started }.is_alive());
        assert!(started.end(Duration::from_secs(10)));
        child.wait().unwrap();
        assert_eq!(Started::of(started.pid), None);
    }
}
