//! What is known of single arguments: which may repeat, and how their values compare.
use std::collections::BTreeSet;

use super::memparse;
use super::token::Key;
use crate::shape::CpuList;

/// How the values of an argument compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Letter by letter.
    Text,
    /// By bytes: `1G` = `1024M` = `1GB`.
    Size,
    /// By the set of CPUs: `0-3` = `0,1,2,3`.
    Cpus,
    /// `isolcpus`: flags in any order, then CPUs; no flag means `domain`.
    Isolation,
    /// By truth: `0` = `off` = `n`.
    Switch,
}

/// Arguments that may stand more than once with different values, each of which counts; all others: the last one wins.
/// Sources: kernel admin-guide/kernel-parameters (console, earlycon, hugepages, memmap, pci …), dracut.cmdline(7)
/// (rd.*, ip, ifname …), systemd(1) and kernel-command-line(7) (systemd.*).
pub const REPEATABLE: [&str; 43] = [
    "acpi_osi",
    "blacklist",
    "bond",
    "bridge",
    "console",
    "dyndbg",
    "earlycon",
    "hugepages",
    "hugepagesz",
    "ifname",
    "initcall_blacklist",
    "ip",
    "memmap",
    "modprobe.blacklist",
    "modules_load",
    "nameserver",
    "netroot",
    "pci",
    "rd.blacklist",
    "rd.break",
    "rd.dasd",
    "rd.driver.blacklist",
    "rd.driver.post",
    "rd.driver.pre",
    "rd.iscsi.initiator",
    "rd.iscsi.param",
    "rd.luks.key",
    "rd.luks.name",
    "rd.luks.options",
    "rd.luks.uuid",
    "rd.lvm.lv",
    "rd.lvm.vg",
    "rd.md.uuid",
    "rd.modules_load",
    "rd.route",
    "rd.znet",
    "rdloaddriver",
    "systemd.mask",
    "systemd.setenv",
    "systemd.wants",
    "team",
    "video",
    "vlan",
];

/// Arguments whose values are not compared letter by letter.
const SHAPES: [(&str, Shape); 19] = [
    ("cma", Shape::Size),
    ("debug_pagealloc", Shape::Switch),
    ("default_hugepagesz", Shape::Size),
    ("hugepagesz", Shape::Size),
    ("init_on_alloc", Shape::Switch),
    ("init_on_free", Shape::Switch),
    ("irqaffinity", Shape::Cpus),
    ("isolcpus", Shape::Isolation),
    ("kthread_cpus", Shape::Cpus),
    ("log_buf_len", Shape::Size),
    ("mem", Shape::Size),
    ("nohz", Shape::Switch),
    ("nohz_full", Shape::Cpus),
    ("page_poison", Shape::Switch),
    ("random.trust_bootloader", Shape::Switch),
    ("random.trust_cpu", Shape::Switch),
    ("randomize_kstack_offset", Shape::Switch),
    ("rcu_nocbs", Shape::Cpus),
    ("skew_tick", Shape::Switch),
];

/// Whether an argument may legally stand more than once.
pub fn repeats(key: &Key) -> bool {
    REPEATABLE.contains(&key.as_str())
}

/// How the values of a key compare.
pub fn shape(key: &Key) -> Shape {
    SHAPES.iter().find(|(name, _)| *name == key.as_str()).map_or(Shape::Text, |(_, shape)| *shape)
}

/// Whether two values of a key mean the same. What cannot be read in the key's shape is compared as text.
pub fn same_value(key: &Key, one: &str, other: &str) -> bool {
    fn alike<T: PartialEq>(one: Option<T>, other: Option<T>) -> bool {
        one.is_some() && one == other
    }
    one == other
        || match shape(key) {
            Shape::Text => false,
            Shape::Size => alike(memparse::bytes(one), memparse::bytes(other)),
            Shape::Cpus => alike(CpuList::parse(one).ok(), CpuList::parse(other).ok()),
            Shape::Isolation => alike(Isolation::read(one), Isolation::read(other)),
            Shape::Switch => alike(switch(one), switch(other)),
        }
}

/// The value of `isolcpus`: `managed_irq,domain,2-7`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// `nohz`, `domain`, `managed_irq`; `domain` where none was written (kernel: `housekeeping_isolcpus_setup`).
    pub flags: BTreeSet<String>,
    /// The isolated CPUs.
    pub cpus: CpuList,
}

impl Isolation {
    /// Reads the value; `None` where a flag is unknown or the list cannot be read.
    pub fn read(text: &str) -> Option<Self> {
        let mut flags = BTreeSet::new();
        let mut rest = text;
        while rest.starts_with(|sign: char| sign.is_ascii_alphabetic()) {
            let (flag, after) = rest.split_once(',')?;
            if !matches!(flag, "nohz" | "domain" | "managed_irq") {
                return None;
            }
            flags.insert(flag.to_owned());
            rest = after;
        }
        if flags.is_empty() {
            flags.insert("domain".to_owned());
        }
        Some(Self { flags, cpus: CpuList::parse(rest).ok()? })
    }
}

/// The truth of a switch (kernel: `kstrtobool`).
pub fn switch(text: &str) -> Option<bool> {
    match text.as_bytes() {
        [b'y' | b'Y' | b't' | b'T' | b'1', ..] | [b'o' | b'O', b'n' | b'N', ..] => Some(true),
        [b'n' | b'N' | b'f' | b'F' | b'0', ..] | [b'o' | b'O', b'f' | b'F', ..] => Some(false),
        _ => None,
    }
}
