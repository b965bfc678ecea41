//! What a change waits for: the engine asks the reads again until the goal is met or the time is over.
use super::facts::Facts;
use super::path::HostPath;
use super::read::Read;
use super::row::Row;
use super::seen::Kind;
use super::stop::Stop;
use crate::regex::{Fault, Flags, Pattern};
use serde::{Deserialize, Serialize};

/// A goal, and how long and how often to look. All times are seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// What must become true.
    pub goal: Goal,
    /// How long to wait at most, the first delay included.
    pub timeout: u32,
    /// How long to wait before the first look.
    pub delay: u32,
    /// How long to wait between looks.
    pub sleep: u32,
    /// How long to wait once it is met.
    #[serde(default)]
    pub settle: u32,
    /// What to say where the time is over; what to do by hand, where a person is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Whether a thing is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// It is.
    There,
    /// It is not.
    Gone,
}

/// What must become true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Nothing: the time passes.
    Time,
    /// A TCP port that is listened on, or not.
    Port {
        /// The host as the target reaches it; the target itself where it is a loopback name.
        host: String,
        /// The port.
        port: u16,
        /// Whether it shall be listened on.
        state: Presence,
    },
    /// A path that is there, or not.
    Path {
        /// The path.
        path: HostPath,
        /// A pattern that its text must match.
        search: Option<String>,
        /// Whether it shall be there.
        state: Presence,
    },
    /// A program of the read-only table that ends well, and whose output a pattern matches.
    Answer {
        /// The call.
        row: Row,
        /// The pattern; none where the exit status is enough.
        search: Option<String>,
    },
    /// A person who says that it is done; there is nothing to look at.
    Said,
    /// A host that came up again: its boot id is another one, and this command ends well.
    Boot {
        /// The words of the command.
        test: Vec<String>,
        /// A word that must stand on `/proc/cmdline`: the boot tries a new kernel line. Without it the boot loader
        /// fell back to the old one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        trial: Option<String>,
        /// A command of the controller that powers the host off and on, run once where it does not come back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        power_cycle: Vec<String>,
    },
}

impl Goal {
    /// Whether it is a boot that tries a new kernel line.
    pub fn is_trial(&self) -> bool {
        matches!(self, Self::Boot { trial: Some(_), .. })
    }

    /// What must be looked at to tell whether it is met. A boot is told by the engine, over a new connection.
    pub fn reads(&self) -> Vec<Read> {
        match self {
            Self::Time | Self::Said => Vec::new(),
            Self::Answer { row, .. } => vec![Read::Ask(row.clone())],
            Self::Port { host, .. } if is_loopback(host) => SOCKETS
                .iter()
                .filter_map(|path| HostPath::new(path).ok())
                .map(|path| Read::text(&path))
                .collect(),
            Self::Port { host, port, .. } => vec![port_look(host, *port)],
            Self::Path { path, search: None, .. } => vec![Read::Stat(path.clone())],
            Self::Path { path, .. } => vec![Read::text(path)],
            Self::Boot { test, .. } => vec![Read::Ask(Row::new("probe", test.iter().cloned()))],
        }
    }

    /// Whether it is met.
    ///
    /// # Errors
    /// [`Stop`]: unread, late, or a look that cannot be made.
    pub fn is_met(&self, facts: &Facts) -> Result<bool, Stop> {
        match self {
            Self::Time => Ok(true),
            Self::Said => Ok(false),
            Self::Answer { row, search } => {
                let output = facts.output(row)?;
                Ok(output.status == 0 && finds(search.as_deref(), &output.text())?)
            }
            Self::Port { host, port, state } => {
                let open = if is_loopback(host) {
                    listens(facts, *port)?
                } else {
                    facts.output(&port_row(host, *port))?.status == 0
                };
                Ok(open == (*state == Presence::There))
            }
            Self::Path { path, search: None, state } => {
                Ok(facts.stat(path)?.is_some() == (*state == Presence::There))
            }
            Self::Path { path, search: Some(pattern), state } => {
                let node = facts.node(path)?.filter(|node| node.kind == Kind::File);
                let text = node.as_ref().and_then(|node| node.bytes()).and_then(|bytes| bytes.text());
                let found = match text {
                    Some(text) => finds(Some(pattern), text)?,
                    None => false,
                };
                Ok(found == (*state == Presence::There))
            }
            Self::Boot { test, .. } => {
                Ok(facts.output(&Row::new("probe", test.iter().cloned()))?.status == 0)
            }
        }
    }
}

fn finds(pattern: Option<&str>, text: &str) -> Result<bool, Stop> {
    let Some(pattern) = pattern else { return Ok(true) };
    let fault = |why: Fault| Stop::refused("search_regex", why.to_string());
    let flags = Flags { multiline: true, ..Flags::default() };
    Pattern::new(pattern, flags).map_err(fault)?.is_match(text).map_err(fault)
}

const SOCKETS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "")
}

fn port_row(host: &str, port: u16) -> Row {
    Row::new("port", [host.to_owned(), port.to_string()])
}

fn port_look(host: &str, port: u16) -> Read {
    Read::Ask(port_row(host, port))
}

/// Whether a socket listens: state `0A` in proc_pid_net(5)'s tables, the port in hexadecimal.
fn listens(facts: &Facts, port: u16) -> Result<bool, Stop> {
    let wanted = format!(":{port:04X}");
    for path in SOCKETS {
        let table = facts.value(&HostPath::new(path).map_err(Stop::failed)?)?.unwrap_or_default();
        let found = table.lines().skip(1).any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            fields.next().is_some_and(|local| local.ends_with(&wanted)) && fields.nth(1) == Some("0A")
        });
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::{Goal, Presence};
    use crate::host::Host;
    use crate::vocabulary::HostPath;

    const TABLE: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n   1: 0100007F:0016 0100007F:C350 01 00000000:00000000";

    #[test]
    fn listening_is_read_from_the_kernel() {
        let host = Host::new().value("/proc/net/tcp", TABLE);
        for (port, state, met) in [
            (8080, Presence::There, true),
            (22, Presence::There, false),
            (22, Presence::Gone, true),
            (8080, Presence::Gone, false),
        ] {
            let goal = Goal::Port { host: "127.0.0.1".to_owned(), port, state };
            assert_eq!(goal.is_met(&host.facts(goal.reads())), Ok(met), "{port}");
        }
    }

    #[test]
    fn a_file_is_searched() {
        let host = Host::new().file("/var/log/x", "one\nready: yes\n");
        for (search, met) in [(Some("^ready"), true), (Some("never"), false), (None, true)] {
            let path = HostPath::new("/var/log/x").unwrap();
            let goal = Goal::Path { path, search: search.map(str::to_owned), state: Presence::There };
            assert_eq!(goal.is_met(&host.facts(goal.reads())), Ok(met), "{search:?}");
        }
    }
}
