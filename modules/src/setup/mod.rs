//! `setup`: what a host is, as facts that are read only where they are named.
mod computer;
mod distribution;
mod network;
mod storage;
mod table;
#[cfg(test)]
mod tests;
mod topology;
mod tuning;

pub use table::{FACTS, Fact, fact_reads, fact_value};

use crate::argument::{Names, nearest};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Read, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

/// What a host is: Ansible's `ansible_*` facts, read only where they are named.
///
/// A playbook needs no such task: an expression that names a fact lets it be read. With `filter` the facts whose names
/// match are the result's `ansible_facts` (without the prefix `ansible_`); without it nothing is read and the result is
/// empty. Sizes ending in `_mb` are MiB, those of mounts are bytes.
///
/// Beside Ansible's there are typed facts of the machine: `ansible_cpu_topology`, `ansible_nic_queues`,
/// `ansible_pci_devices`, `ansible_block_devices`, `ansible_huge_pages`, `ansible_boot_line`, `ansible_ceph_daemons`,
/// `ansible_libvirt_domains`; `tunerun doc facts` lists all.
///
/// Errors: a fact that cannot be told without Python on the host, or that nobody here knows, is refused by name.
/// Sources: /etc/os-release, /proc, /sys, ip(8), lsblk(8), findmnt(8), and Ansible's documentation of its facts.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Names of facts or patterns of them, with or without `ansible_`.
    #[serde(default)]
    pub filter: Names,
    /// Taken as Ansible does; what is read follows from the names alone.
    #[serde(default)]
    pub gather_subset: Names,
    /// Taken as Ansible does; the connection's own time-out counts.
    #[serde(default)]
    pub gather_timeout: Option<u32>,
}

impl Setup {
    fn names(&self) -> Result<Vec<&'static str>, Stop> {
        let mut names = Vec::new();
        for pattern in self.filter.list() {
            let pattern = pattern.strip_prefix("ansible_").unwrap_or(&pattern).to_owned();
            let before = names.len();
            let known = FACTS.iter().filter(|fact| fact.reads_freely() && matches(&pattern, fact.name));
            names.extend(known.map(|fact| fact.name));
            if names.len() == before && !pattern.contains(['*', '?', '[']) {
                return Err(unknown(&pattern));
            }
        }
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    crate::vocabulary::HostPath::new(&format!("/{name}"))
        .is_ok_and(|path| crate::vocabulary::glob_matches(&format!("/{pattern}"), &path))
}

fn unknown(name: &str) -> Stop {
    let near = nearest(name, FACTS.iter().map(|fact| fact.name));
    let stop = Stop::failed(format!("`ansible_{name}` is not a fact that is known here"));
    match near {
        Some(near) => stop.way_out(format!("did you mean `ansible_{near}`?")),
        None => stop.way_out("ask for it by a `command` with `probe: true`, or read a file by `slurp`"),
    }
}

impl Module for Setup {
    const NAME: &'static str = "setup";
    const EXAMPLE: &'static str = "\
- name: What the later tasks ask for
  setup:
    filter: [ansible_distribution*, ansible_processor_vcpus]
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let reads: Vec<Read> = self.names()?.into_iter().flat_map(|name| fact_reads(name, facts)).collect();
        facts.need(&reads)?;
        let mut values = Map::new();
        for name in self.names()? {
            values.insert(name.to_owned(), fact_value(name, facts)?);
        }
        Ok(Change::nothing(json!({ "ansible_facts": values })))
    }

    fn samples() -> Vec<Sample> {
        let host =
            Host::new().file("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n");
        let args = json!({ "filter": "ansible_distribution_release,ansible_os_family" });
        vec![Sample { about: "two facts", args, host, calls: Vec::new() }]
    }
}
