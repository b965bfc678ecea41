//! What goes wrong between us and a host: each error names the host, the address and the next step.
use crate::diagnostic::Diagnostic;
use std::fmt;
use std::time::Duration;

/// An error of one host's connection.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkError {
    /// Inventory name of the host.
    pub host: String,
    /// Where it was looked for: `user@address:port`, or `local`.
    pub address: String,
    /// What happened.
    pub kind: Box<LinkErrorKind>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkErrorKind {
    /// The name has no address.
    Resolve(String),
    /// Nobody listens there.
    Refused,
    /// The network says that there is no way.
    Unreachable(String),
    /// Connecting took too long.
    ConnectTimeout {
        /// The step that did not end.
        step: String,
        /// The limit.
        after: Duration,
    },
    /// The host's key is in no known_hosts file.
    HostKeyUnknown {
        /// `SHA256:…`.
        fingerprint: String,
        /// As in known_hosts, such as `ssh-ed25519`.
        algorithm: String,
        /// The known_hosts file that a new key would go to.
        file: String,
        /// The name that is looked up, such as `[host]:2222`.
        name: String,
    },
    /// The host shows another key than the one that is known.
    HostKeyChanged {
        /// Of the key that it shows.
        fingerprint: String,
        /// Of the key that it shows.
        algorithm: String,
        /// `file:line` of the known key.
        known_at: String,
    },
    /// The host's key or its authority's is marked `@revoked`.
    HostKeyRevoked {
        /// Of the key that it shows.
        fingerprint: String,
        /// `file:line` of the mark.
        known_at: String,
    },
    /// The host's certificate does not hold.
    HostCertificate(String),
    /// Nobody let us in.
    Auth {
        /// Each method that was tried, with its key.
        tried: Vec<String>,
        /// What the server would still take.
        offered: Vec<String>,
        /// Key files that could not be used, and why.
        notes: Vec<String>,
    },
    /// A jump host or a proxy command failed.
    Proxy(String),
    /// The connection or the interpreter ended.
    Closed(String),
    /// The host does not speak the protocol.
    Protocol(String),
    /// The host has no channel for us.
    Channel(String),
    /// A script took too long; its shell is gone.
    CommandTimeout {
        /// The limit.
        after: Duration,
        /// Whether the processes on the host were ended.
        ended: bool,
    },
    /// The user may not become the other one.
    BecomeDenied {
        /// `sudo`, `su` or `doas`.
        method: String,
        /// Whom.
        user: String,
        /// The program's own words.
        said: String,
    },
    /// The password for becoming is missing or wrong.
    BecomePassword {
        /// `sudo`, `su` or `doas`.
        method: String,
        /// Whom.
        user: String,
        /// Whether one was given.
        given: bool,
    },
    /// The program asks on a terminal only.
    BecomeTerminal {
        /// `sudo`, `su` or `doas`.
        method: String,
    },
    /// An upload did not arrive whole.
    Upload {
        /// Where to.
        path: String,
        /// Why, in the host's words where it had some.
        said: String,
    },
    /// The connection's settings do not make sense.
    Config(String),
}

impl LinkError {
    /// The next step for a person, if there is one.
    pub fn help(&self) -> Option<String> {
        use LinkErrorKind as Kind;
        let help = match &*self.kind {
            Kind::Resolve(_) => "set `ansible_host` to an address, or the name to one that resolves".into(),
            Kind::Refused => "is sshd running there, and is `ansible_port` right?".into(),
            Kind::ConnectTimeout { .. } => "check the address and firewalls, or raise `ansible_timeout`".into(),
            Kind::HostKeyUnknown { file, name, fingerprint, .. } => format!(
                "compare {fingerprint} on the host itself (`ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub`), then \
                 add it: `{} >> {file}`; or take new keys with `-o StrictHostKeyChecking=accept-new` in \
                 `ansible_ssh_common_args`",
                keyscan(name)
            ),
            Kind::HostKeyChanged { known_at, .. } => format!(
                "somebody may be in between. If the host was really installed anew, compare the fingerprint on its \
                 console and remove the old key at {known_at}"
            ),
            Kind::HostKeyRevoked { known_at, .. } => format!("the mark is at {known_at}; do not connect"),
            Kind::HostCertificate(_) => "have the host's certificate signed again by its authority".into(),
            Kind::Auth { .. } => {
                "set `ansible_user`, `ansible_ssh_private_key_file` or `ansible_password`, or add the key to the agent"
                    .into()
            }
            Kind::CommandTimeout { ended: false, .. } => "look on the host for what still runs".into(),
            Kind::BecomeDenied { method, user, .. } => {
                format!("allow the login user to become `{user}` by {method} on that host, or set `become: false`")
            }
            Kind::BecomePassword { given: false, .. } => {
                "set `ansible_become_password` (from a vault) or ask for it with `--ask-become-pass`".into()
            }
            Kind::BecomePassword { given: true, .. } => "correct `ansible_become_password`".into(),
            Kind::BecomeTerminal { method } if method == "sudo" => {
                "remove `Defaults requiretty` for this user from sudoers".into()
            }
            Kind::BecomeTerminal { method } => {
                format!("{method} asks for passwords on a terminal only: use sudo, or a rule without a password")
            }
            _ => return None,
        };
        Some(help)
    }

    /// As a diagnostic without a place.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let diagnostic = Diagnostic::error(self.to_string(), None);
        match self.help() {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }

    /// Whether connecting again may help.
    pub fn is_worth_a_retry(&self) -> bool {
        use LinkErrorKind as Kind;
        matches!(
            *self.kind,
            Kind::Refused
                | Kind::Unreachable(_)
                | Kind::ConnectTimeout { .. }
                | Kind::Closed(_)
                | Kind::Proxy(_)
        )
    }

    /// Whether the host could not be reached at all, in the sense of the exit code "unreachable".
    pub fn is_unreachable(&self) -> bool {
        use LinkErrorKind as Kind;
        !matches!(
            *self.kind,
            Kind::CommandTimeout { .. }
                | Kind::BecomeDenied { .. }
                | Kind::BecomePassword { .. }
                | Kind::BecomeTerminal { .. }
                | Kind::Upload { .. }
        )
    }
}

/// The command that fetches a host's key, for a name as in known_hosts.
fn keyscan(name: &str) -> String {
    match name.strip_prefix('[').and_then(|name| name.split_once("]:")) {
        Some((host, port)) => format!("ssh-keyscan -p {port} {host}"),
        None => format!("ssh-keyscan {name}"),
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({}): {}", self.host, self.address, self.kind)
    }
}

impl std::error::Error for LinkError {}

impl fmt::Display for LinkErrorKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resolve(why) => write!(out, "the name has no address: {why}"),
            Self::Refused => write!(out, "connection refused"),
            Self::Unreachable(why) => write!(out, "cannot be reached: {why}"),
            Self::ConnectTimeout { step, after } => {
                write!(out, "{step} did not end within {}", humantime::format_duration(*after))
            }
            Self::HostKeyUnknown { fingerprint, algorithm, file, name } => {
                write!(out, "its {algorithm} key {fingerprint} is not known: `{name}` is not in {file}")
            }
            Self::HostKeyChanged { fingerprint, algorithm, known_at } => write!(
                out,
                "ITS KEY HAS CHANGED: it shows the {algorithm} key {fingerprint}, another one is known at {known_at}"
            ),
            Self::HostKeyRevoked { fingerprint, known_at } => {
                write!(out, "its key {fingerprint} is marked as revoked at {known_at}")
            }
            Self::HostCertificate(why) => write!(out, "its host certificate does not hold: {why}"),
            Self::Auth { tried, offered, notes } => write_auth(out, tried, offered, notes),
            Self::Proxy(why) => write!(out, "no way through the proxy: {why}"),
            Self::Closed(why) => write!(out, "the connection ended: {why}"),
            Self::Protocol(why) => write!(out, "its shell does not answer as it should: {why}"),
            Self::Channel(why) => write!(out, "no channel: {why}"),
            Self::CommandTimeout { after, ended } => {
                let fate = if *ended { "its processes were ended" } else { "its processes may still run" };
                write!(out, "timed out after {}: {fate}", humantime::format_duration(*after))
            }
            Self::BecomeDenied { method, user, said } => {
                write!(out, "the login user may not become `{user}` by {method}: {said}")
            }
            Self::BecomePassword { method, user, given: true } => {
                write!(out, "{method} does not take the password for becoming `{user}`")
            }
            Self::BecomePassword { method, user, given: false } => {
                write!(out, "{method} wants a password for becoming `{user}`, and none is given")
            }
            Self::BecomeTerminal { method } => write!(out, "{method} wants a terminal there"),
            Self::Upload { path, said } => write!(out, "the upload to {path} failed: {said}"),
            Self::Config(why) => out.write_str(why),
        }
    }
}

fn write_auth(
    out: &mut fmt::Formatter<'_>,
    tried: &[String],
    offered: &[String],
    notes: &[String],
) -> fmt::Result {
    match tried {
        [] => write!(out, "login denied: there was nothing to try")?,
        tried => write!(out, "login denied; tried {}", tried.join(", "))?,
    }
    if !offered.is_empty() {
        write!(out, "; the host takes {}", offered.join(", "))?;
    }
    notes.iter().try_for_each(|note| write!(out, "; {note}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_says_how_to_go_on() {
        let error = LinkError {
            host: "osd1".into(),
            address: "root@10.0.0.1:2222".into(),
            kind: Box::new(LinkErrorKind::HostKeyUnknown {
                fingerprint: "SHA256:abc".into(),
                algorithm: "ssh-ed25519".into(),
                file: "/root/.ssh/known_hosts".into(),
                name: "[10.0.0.1]:2222".into(),
            }),
        };
        let help = error.help().unwrap();
        assert!(help.contains("ssh-keyscan -p 2222 10.0.0.1 >> /root/.ssh/known_hosts"), "{help}");
        assert!(help.contains("accept-new"));
        assert!(error.to_string().starts_with("osd1 (root@10.0.0.1:2222): its ssh-ed25519 key SHA256:abc"));
    }
}
