//! Where a host is and how to log in: what the inventory and ssh_config say, resolved.
mod defaults;
mod resolve;
#[cfg(test)]
mod tests;
mod vars;

pub use defaults::Defaults;
pub use vars::from_vars;

use super::secret::Secret;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;

/// Everything that is needed to reach a host.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Inventory name of the host.
    pub host: String,
    /// Local or SSH.
    pub way: Way,
    /// The interpreter on the host: words that need no quotes, such as `sh`, `/bin/bash`, `busybox sh`.
    pub interpreter: String,
    /// Limit of one try to connect and log in, and of a shell's start.
    pub connect_timeout: Duration,
    /// How often connecting is tried again.
    pub retries: u32,
    /// What a person should know of how the variables were understood.
    pub notes: Vec<String>,
}

/// How a host is reached.
#[derive(Clone, Debug)]
pub enum Way {
    /// By processes of this machine.
    Local,
    /// By SSH.
    Ssh(Box<SshWay>),
}

/// One SSH login.
#[derive(Clone, Debug)]
pub struct SshWay {
    /// Name or address to connect to.
    pub address: String,
    /// TCP port.
    pub port: u16,
    /// Login user.
    pub user: String,
    /// Login password.
    pub password: Option<Secret>,
    /// Private key files that were named, in the order in which they are tried, before the agent's other keys; files
    /// that are not there are passed over.
    pub keys: Vec<PathBuf>,
    /// Private key files that are tried last, after the agent's.
    pub default_keys: Vec<PathBuf>,
    /// Certificates beside those that stand next to a key (`KEY-cert.pub`).
    pub certificates: Vec<PathBuf>,
    /// Of the agent's keys, only those that are in `keys` too.
    pub identities_only: bool,
    /// The agent's socket.
    pub agent: Option<PathBuf>,
    /// known_hosts files; new keys go to the first.
    pub known_hosts: Vec<PathBuf>,
    /// known_hosts files of the machine, only read.
    pub global_known_hosts: Vec<PathBuf>,
    /// What to do with a host whose key is not known.
    pub new_keys: NewKeys,
    /// The name to look up in known_hosts in place of the address.
    pub host_key_alias: Option<String>,
    /// Hosts to go through, nearest first.
    pub jumps: Vec<SshWay>,
    /// A command whose input and output are the connection, with `%h`, `%p`, `%r` expanded already.
    pub proxy_command: Option<String>,
    /// A sign of life is asked for after so long a silence.
    pub keepalive: Option<Duration>,
    /// So many without an answer end the connection.
    pub keepalive_max: usize,
    /// The methods to use, in order; nothing means publickey, keyboard-interactive, password.
    pub methods: Option<Vec<String>>,
    /// Makes the socket where it is not simply a connect, as in the lab.
    pub dial: Option<Dialer>,
}

/// What to do with a host whose key is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NewKeys {
    /// Do not connect.
    #[default]
    Refuse,
    /// Take it and write it down: `StrictHostKeyChecking=accept-new`.
    Accept,
}

/// Makes a TCP socket to a host.
pub trait Dial: Send + Sync {
    /// A connected socket.
    fn dial(&self) -> Pin<Box<dyn Future<Output = std::io::Result<TcpStream>> + Send + '_>>;
}

/// A shared [`Dial`].
#[derive(Clone)]
pub struct Dialer(pub Arc<dyn Dial>);

impl fmt::Debug for Dialer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Dialer")
    }
}

impl Endpoint {
    /// This machine.
    pub fn local(host: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            way: Way::Local,
            interpreter: "sh".into(),
            connect_timeout: Duration::from_secs(10),
            retries: 0,
            notes: Vec::new(),
        }
    }

    /// `user@address:port`, or `local`.
    pub fn address(&self) -> String {
        match &self.way {
            Way::Local => "local".into(),
            Way::Ssh(way) => way.shown(),
        }
    }
}

impl SshWay {
    /// A login with nothing but its place: port 22, strict host keys, no keys.
    pub fn new(address: impl Into<String>, user: impl Into<String>) -> Self {
        Self {
            address: address.into(),
            port: 22,
            user: user.into(),
            password: None,
            keys: Vec::new(),
            default_keys: Vec::new(),
            certificates: Vec::new(),
            identities_only: false,
            agent: None,
            known_hosts: Vec::new(),
            global_known_hosts: Vec::new(),
            new_keys: NewKeys::Refuse,
            host_key_alias: None,
            jumps: Vec::new(),
            proxy_command: None,
            keepalive: Some(Duration::from_secs(20)),
            keepalive_max: 3,
            methods: None,
            dial: None,
        }
    }

    /// `user@address:port`.
    pub fn shown(&self) -> String {
        let address = &self.address;
        if address.contains(':') {
            format!("{}@[{address}]:{}", self.user, self.port)
        } else {
            format!("{}@{address}:{}", self.user, self.port)
        }
    }
}
