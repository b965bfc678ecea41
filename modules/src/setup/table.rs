//! The visible table of facts: name, what is read, and what it means.
use super::{computer, distribution, network, storage, topology, tuning, unknown};
use crate::vocabulary::{Facts, Read, Stop};
use serde_json::Value as Json;

/// One fact.
#[derive(Clone, Copy, Debug)]
pub struct Fact {
    /// Its name without `ansible_`.
    pub name: &'static str,
    /// What must be read, asked again until nothing new is named.
    pub reads: fn(&Facts) -> Vec<Read>,
    /// Its value.
    pub value: fn(&Facts) -> Result<Json, Stop>,
    /// What it is, where it is not Ansible's; empty where it is.
    pub about: &'static str,
    refused: bool,
}

impl Fact {
    const fn new(
        name: &'static str,
        reads: fn(&Facts) -> Vec<Read>,
        value: fn(&Facts) -> Result<Json, Stop>,
    ) -> Self {
        Self { name, reads, value, about: "", refused: false }
    }

    const fn refused(name: &'static str, value: fn(&Facts) -> Result<Json, Stop>) -> Self {
        Self { name, reads: |_| Vec::new(), value, about: "", refused: true }
    }

    /// A fact that Ansible does not have.
    const fn own(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Whether nothing can be said of it here.
    pub fn is_refused(&self) -> bool {
        self.refused
    }

    /// Whether a pattern may ask for it.
    pub(super) fn reads_freely(&self) -> bool {
        !self.refused
    }
}

fn python(_: &Facts) -> Result<Json, Stop> {
    Err(Stop::failed("no Python runs on the hosts, so that nothing can be said of it")
        .way_out("ask by a `command: python3 --version` with `probe: true`"))
}

fn volumes(_: &Facts) -> Result<Json, Stop> {
    Err(Stop::failed("volumes are not gathered as a fact")
        .way_out("ask by `command: lvs --reportformat json` with `probe: true`"))
}

/// All facts, in the order of their names.
pub const FACTS: &[Fact] = &[
    Fact::new("all_ipv4_addresses", network::reads, network::all_ipv4),
    Fact::new("all_ipv6_addresses", network::reads, network::all_ipv6),
    Fact::new("architecture", computer::machine_reads, computer::machine),
    Fact::new("block_devices", tuning::block_reads, tuning::blocks)
        .own("every block device by kernel name: bytes, type, signature, mounts, holders, model, serial"),
    Fact::new("boot_line", tuning::line_reads, tuning::line)
        .own("arguments of the running kernel, and those declared for the next boot, each with file, line and variable"),
    Fact::new("ceph_daemons", tuning::daemon_reads, tuning::daemons)
        .own("daemons of Ceph by kind and name: whether they run"),
    Fact::new("cmdline", computer::cmdline_reads, computer::cmdline),
    Fact::new("cpu_topology", topology::cpu_reads, topology::cpus)
        .own("CPUs that run: online, by NUMA node, by shared third-level cache, by core; whether cores have threads"),
    Fact::new("date_time", computer::date_reads, computer::date),
    Fact::new("default_ipv4", network::reads, network::default_ipv4),
    Fact::new("default_ipv6", network::reads, network::default_ipv6),
    Fact::new("devices", storage::device_reads, storage::devices),
    Fact::new("distribution", distribution::reads, |facts| distribution::of(facts, "distribution")),
    Fact::new("distribution_major_version", distribution::reads, |facts| distribution::of(facts, "major")),
    Fact::new("distribution_release", distribution::reads, |facts| distribution::of(facts, "release")),
    Fact::new("distribution_version", distribution::reads, |facts| distribution::of(facts, "version")),
    Fact::new("domain", computer::fqdn_reads, computer::domain),
    Fact::new("env", computer::env_reads, computer::env),
    Fact::new("fqdn", computer::fqdn_reads, computer::fqdn),
    Fact::new("hostname", computer::name_reads, computer::hostname),
    Fact::new("huge_pages", tuning::page_reads, tuning::pages)
        .own("huge pages by size: how many, free ones, and both by NUMA node"),
    Fact::new("interfaces", network::interface_reads, network::interfaces),
    Fact::new("kernel", computer::name_reads, computer::kernel),
    Fact::new("kernel_version", computer::name_reads, computer::kernel_version),
    Fact::new("libvirt_domains", tuning::domain_reads, tuning::domains)
        .own("persistent domains of libvirt by name: uuid, and whether they run"),
    Fact::refused("lvm", volumes),
    Fact::new("machine", computer::machine_reads, computer::machine),
    Fact::new("memfree_mb", computer::memory_reads, |facts| computer::memory(facts, "MemFree:")),
    Fact::new("memtotal_mb", computer::memory_reads, |facts| computer::memory(facts, "MemTotal:")),
    Fact::new("mounts", storage::mount_reads, storage::mounts),
    Fact::new("nic_queues", topology::card_reads, topology::cards)
        .own("cards by name: queues that receive and send, NUMA node, PCI address, interrupts by name"),
    Fact::new("nodename", computer::name_reads, computer::nodename),
    Fact::new("os_family", distribution::reads, |facts| distribution::of(facts, "family")),
    Fact::new("pci_devices", topology::pci_reads, topology::pci)
        .own("PCI devices by address: vendor, device, class, NUMA node, driver"),
    Fact::new("pkg_mgr", distribution::manager_reads, distribution::manager),
    Fact::new("proc_cmdline", computer::cmdline_reads, computer::proc_cmdline),
    Fact::new("processor", computer::cpu_reads, |facts| computer::cpu(facts, "list")),
    Fact::new("processor_cores", computer::cpu_reads, |facts| computer::cpu(facts, "cores")),
    Fact::new("processor_count", computer::cpu_reads, |facts| computer::cpu(facts, "count")),
    Fact::new("processor_nproc", computer::cpu_reads, |facts| computer::cpu(facts, "nproc")),
    Fact::new("processor_threads_per_core", computer::cpu_reads, |facts| computer::cpu(facts, "threads")),
    Fact::new("processor_vcpus", computer::cpu_reads, |facts| computer::cpu(facts, "vcpus")),
    Fact::new("product_name", computer::board_reads, |facts| computer::board(facts, "product_name")),
    Fact::refused("python", python),
    Fact::refused("python_version", python),
    Fact::new("selinux", computer::selinux_reads, computer::selinux),
    Fact::new("service_mgr", computer::init_reads, computer::init),
    Fact::new("swapfree_mb", computer::memory_reads, |facts| computer::memory(facts, "SwapFree:")),
    Fact::new("swaptotal_mb", computer::memory_reads, |facts| computer::memory(facts, "SwapTotal:")),
    Fact::new("system", |_| Vec::new(), |_| Ok(Json::from("Linux"))),
    Fact::new("system_vendor", computer::board_reads, |facts| computer::board(facts, "sys_vendor")),
    Fact::new("uptime_seconds", computer::uptime_reads, computer::uptime),
    Fact::new("user_gid", |_| Vec::new(), |facts| Ok(Json::from(facts.who().gid))),
    Fact::new("user_id", |_| Vec::new(), |facts| Ok(Json::from(facts.who().user.clone()))),
    Fact::new("user_uid", |_| Vec::new(), |facts| Ok(Json::from(facts.who().uid))),
    Fact::new("virtualization_role", computer::virtual_reads, |facts| {
        computer::virtualization(facts, "role")
    }),
    Fact::new("virtualization_type", computer::virtual_reads, |facts| {
        computer::virtualization(facts, "type")
    }),
];

fn find(name: &str) -> Option<&'static Fact> {
    FACTS.iter().find(|fact| fact.name == name)
}

/// What must be read for a fact, by its name without `ansible_`; asked again until nothing new is named. A name that
/// the table does not have may be that of a network card.
pub fn fact_reads(name: &str, facts: &Facts) -> Vec<Read> {
    match find(name) {
        Some(fact) => (fact.reads)(facts),
        None => network::reads(facts),
    }
}

/// The value of a fact, by its name without `ansible_`.
///
/// # Errors
/// [`Stop`]: unread, late, refused with the reason, or not known.
pub fn fact_value(name: &str, facts: &Facts) -> Result<Json, Stop> {
    match find(name) {
        Some(fact) => (fact.value)(facts),
        None => network::interface(facts, name)?.ok_or_else(|| unknown(name)),
    }
}
