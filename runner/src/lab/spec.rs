//! What a caller asks of a lab, and what it is told about the hosts.
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::PathBuf;

/// How much of a real host each host is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Booted hosts if `systemd-nspawn` is installed, else plain ones.
    #[default]
    Auto,
    /// Namespaces with an sshd as pid 1: about 20 ms of processor and 2 MB a host, no systemd, no reboot.
    Plain,
    /// Hosts booted by systemd-nspawn: real units, real reboots, about a second and 25 MB a host.
    Booted,
}

/// A lab that is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabSpec {
    /// The lab's name: letters, digits, `-` and `_`.
    pub name: String,
    /// The hosts' names in their order, such as `osd1`, `client1`, `hv1`.
    pub hosts: Vec<String>,
    /// How real the hosts are.
    pub tier: Tier,
    /// The size of what each host can write, in MiB.
    pub upper_mib: u64,
    /// The folder that holds one folder a lab, such as `/run/tunerun-lab`.
    pub state: PathBuf,
    /// The `tunerun` program, which the supervisor and the hosts are started from.
    pub program: PathBuf,
    /// Further folders that hosts see empty: the folder that tunerun was started in.
    pub hidden: Vec<PathBuf>,
    /// The command that a person typed, for errors that say how to repeat it.
    pub command: String,
    /// Whether the lab outlives the process that asked for it (`lab up`), or ends with it (`-i lab`).
    pub keep: bool,
}

impl LabSpec {
    /// A lab of the given hosts with the usual sizes, which ends with the process that asked for it.
    pub fn new(name: &str, hosts: &[&str], state: PathBuf, program: PathBuf) -> Self {
        Self {
            name: name.to_owned(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            tier: Tier::Auto,
            upper_mib: 256,
            state,
            program,
            hidden: Vec::new(),
            command: "tunerun lab up".to_owned(),
            keep: false,
        }
    }

    /// The folder of this lab.
    pub fn dir(&self) -> PathBuf {
        self.state.join(&self.name)
    }
}

/// One host, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabHost {
    /// Its name, which is its hostname too.
    pub name: String,
    /// Its number in the lab, from 1: address and MAC are made from it.
    pub number: u16,
    /// Its address, reachable from inside the lab's network only.
    pub ip: Ipv4Addr,
    /// The port of its sshd.
    pub port: u16,
    /// The user to log in as.
    pub user: String,
    /// The client's private key, in OpenSSH's format, mode 0600.
    pub key: PathBuf,
    /// The known_hosts file that holds this host's key by name and by address.
    pub known_hosts: PathBuf,
}
