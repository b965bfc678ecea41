//! What a host's samples are judged with: its line, processors, cards, guests, and the units of its busy processes.
use super::samples::{Samples, Thread};
use crate::cpu::topology::Topology;
use crate::draft::known;
use crate::files::place;
use crate::guests::process::{self, Process};
use crate::kernel::kernel_args::line::Line;
use crate::kernel::kernel_args::token::Key;
use crate::network::card;
use crate::network::features::Features;
use crate::setup::{fact_reads, fact_value};
use crate::vocabulary::{Facts, Read, Row, Stop, missing};
use serde_json::Value as Json;
use std::collections::BTreeMap;

const CMDLINE: &str = "/proc/cmdline";
const RELEASE: &str = "/proc/sys/kernel/osrelease";
/// Where distributions put TCMalloc, the one without a profiler first.
const TCMALLOC: [&str; 3] = [
    "/usr/lib/*-linux-gnu/libtcmalloc_minimal.so.4",
    "/usr/lib/*-linux-gnu/libtcmalloc.so.4",
    "/usr/lib64/libtcmalloc*.so.4",
];
/// How many processes are looked at more closely.
const CLOSER: usize = 16;

/// A guest that works.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Guest {
    /// Its process.
    pub pid: u32,
    /// Its libvirt name; none where somebody else started it.
    pub name: Option<String>,
    /// The mapped file of another allocator, where there is one.
    pub allocator: Option<String>,
    /// Whether it has an I/O thread.
    pub has_iothread: bool,
}

/// A card that carries something.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BusyCard {
    /// Its name.
    pub name: String,
    /// Queues that receive.
    pub queues: u64,
    /// The NUMA node of its port.
    pub node: Option<u32>,
    /// Packets received and sent a second.
    pub packets: f64,
    /// Its interrupts: numbers with their names.
    pub interrupts: BTreeMap<String, String>,
    /// Whether receive checksums are on; none where nobody can tell.
    pub rx_checksum: Option<bool>,
}

/// Everything that rules look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    /// What the host did.
    pub samples: Samples,
    /// The running kernel's line.
    pub line: Line,
    /// Whether the kernel was built to clear memory as it is given out; none where nobody can tell.
    pub clears: Option<bool>,
    /// The processors.
    pub topology: Option<Topology>,
    /// Cards that carry something, the busiest first.
    pub cards: Vec<BusyCard>,
    /// Guests that work.
    pub guests: Vec<Guest>,
    /// Units of busy processes, by number.
    pub units: BTreeMap<u32, String>,
    /// TCMalloc's file, where it is installed.
    pub tcmalloc: Option<String>,
}

impl Case {
    /// Looks at all of it.
    ///
    /// # Errors
    /// [`Stop::Unread`]; a refusal where the host could not be measured at all.
    pub fn of(facts: &Facts, row: &Row) -> Result<Self, Stop> {
        let mut reads = vec![Read::Ask(row.clone())];
        for path in [CMDLINE, RELEASE] {
            reads.push(Read::text(&place::known(path)?));
        }
        reads.extend(TCMALLOC.iter().map(|pattern| Read::Glob((*pattern).to_owned())));
        reads.extend(missing(Topology::read(facts)));
        reads.extend(fact_reads("nic_queues", facts));
        // What follows from the samples shares the rounds of what does not.
        if let Ok(samples) = measured(facts, row) {
            reads.extend(closer(&samples));
            reads.extend(config_row(facts).map(Read::Ask));
            let cards = samples.cards.iter();
            reads.extend(cards.map(|one| Read::Ask(card::row("ethtool-features", &one.name))));
        }
        facts.need(&reads)?;
        let samples = measured(facts, row)?;
        let text = facts.value(&place::known(CMDLINE)?)?.unwrap_or_default();
        Ok(Self {
            line: Line::read(&text),
            clears: clears(facts)?,
            topology: known(Topology::read(facts))?,
            cards: cards(facts, &samples)?,
            guests: guests(facts, &samples)?,
            units: units(facts, &samples)?,
            tcmalloc: tcmalloc(facts)?,
            samples,
        })
    }

    /// The last value of an argument on the running kernel's line.
    pub fn argument(&self, name: &str) -> Option<&str> {
        self.line.last(&Key::of(name))?.value()
    }

    /// NUMA nodes that have processors.
    pub fn nodes(&self) -> usize {
        self.topology.as_ref().map_or(1, |topology| topology.nodes.len())
    }

    /// Whether a thread is a guest's.
    pub fn is_of_guest(&self, thread: &Thread) -> bool {
        is_qemu(&thread.process) || self.guests.iter().any(|guest| guest.pid == thread.pid)
    }
}

fn is_qemu(process: &str) -> bool {
    process.starts_with("qemu") || process == "kvm"
}

fn measured(facts: &Facts, row: &Row) -> Result<Samples, Stop> {
    let output = facts.output(row)?;
    let samples = Samples::parse(&output.text());
    if output.status != 0 || samples.seconds <= 0.0 {
        let said = output.error_text();
        let said = said.lines().next().unwrap_or("no answer").to_owned();
        return Err(Stop::failed(format!("the host cannot be measured: {said}"))
            .way_out("`sh`, `awk`, `grep` and `xargs` must be there"));
    }
    Ok(samples)
}

/// The processes that are looked at more closely: of guests, and of the busiest programs.
fn chosen(samples: &Samples) -> Vec<u32> {
    let mut pids: Vec<u32> = Vec::new();
    for thread in samples.threads.iter().filter(|thread| !thread.is_kernel) {
        if !pids.contains(&thread.pid) && pids.len() < CLOSER {
            pids.push(thread.pid);
        }
    }
    pids
}

fn cgroup(pid: u32) -> Result<Read, Stop> {
    Ok(Read::text(&place::known(&format!("/proc/{pid}/cgroup"))?))
}

fn is_guest(samples: &Samples, pid: u32) -> bool {
    samples.threads.iter().any(|thread| thread.pid == pid && is_qemu(&thread.process))
}

fn closer(samples: &Samples) -> Vec<Read> {
    let pids = chosen(samples);
    let guests = pids.iter().filter(|pid| is_guest(samples, **pid));
    let guests = guests.map(|pid| Read::Ask(process::look(&pid.to_string())));
    pids.iter().filter_map(|pid| cgroup(*pid).ok()).chain(guests).collect()
}

fn config_row(facts: &Facts) -> Result<Row, Stop> {
    let release = known(facts.value(&place::known(RELEASE)?))?.flatten().unwrap_or_default();
    Ok(Row::new("kernel-config-init", [format!("/boot/config-{}", release.trim())]))
}

fn clears(facts: &Facts) -> Result<Option<bool>, Stop> {
    let Some(output) = known(facts.output(&config_row(facts)?))? else { return Ok(None) };
    let on = output.text().lines().any(|line| line == "CONFIG_INIT_ON_ALLOC_DEFAULT_ON=y");
    // grep: 0 found, 1 not found, 2 no such file.
    Ok((output.status < 2).then_some(on))
}

fn tcmalloc(facts: &Facts) -> Result<Option<String>, Stop> {
    for pattern in TCMALLOC {
        let names = known(facts.names(pattern))?.unwrap_or_default();
        if let Some(name) = names.first() {
            return Ok(Some(name.as_str().to_owned()));
        }
    }
    Ok(None)
}

fn units(facts: &Facts, samples: &Samples) -> Result<BTreeMap<u32, String>, Stop> {
    let mut units = BTreeMap::new();
    for pid in chosen(samples) {
        let path = place::known(&format!("/proc/{pid}/cgroup"))?;
        let text = known(facts.value(&path))?.flatten().unwrap_or_default();
        // `0::/system.slice/ceph-osd@3.service`; what is below the unit is its own.
        let unit = text.lines().flat_map(|line| line.split('/')).find(|part| part.ends_with(".service"));
        // Sessions of people and the machine's first processes are nobody's unit to pin.
        let unit = unit.filter(|unit| !unit.starts_with("user@") && !unit.starts_with("tunerun-"));
        units.extend(unit.map(|unit| (pid, unit.to_owned())));
    }
    Ok(units)
}

fn guests(facts: &Facts, samples: &Samples) -> Result<Vec<Guest>, Stop> {
    let mut guests = Vec::new();
    for pid in chosen(samples).into_iter().filter(|pid| is_guest(samples, *pid)) {
        let process = known(Process::of(facts, &pid.to_string()))?.flatten().unwrap_or_default();
        let allocators = ["libtcmalloc", "libtcmalloc_minimal", "libjemalloc"];
        let allocator = allocators.iter().find_map(|name| process.library(name)).map(str::to_owned);
        let name = process.arguments.iter().find_map(|argument| argument.strip_prefix("guest="));
        let name = name.map(|name| name.split(',').next().unwrap_or_default().to_owned());
        let has_iothread = process.arguments.iter().any(|argument| argument.contains("iothread"));
        guests.push(Guest { pid, name, allocator, has_iothread });
    }
    Ok(guests)
}

fn cards(facts: &Facts, samples: &Samples) -> Result<Vec<BusyCard>, Stop> {
    let all = known(fact_value("nic_queues", facts))?.unwrap_or_default();
    let mut cards = Vec::new();
    for seen in samples.cards.iter().filter(|seen| seen.name != "lo") {
        let Some(about) = all.get(&seen.name) else { continue };
        let output = known(facts.output(&card::row("ethtool-features", &seen.name)))?;
        let features =
            output.filter(|output| output.status == 0).map(|output| Features::parse(&output.text()));
        let rx = features.and_then(|features| features.get("rx-checksumming"));
        let numbers = about["interrupts"].as_object();
        let interrupts = numbers
            .into_iter()
            .flatten()
            .filter_map(|(name, number)| Some((number.as_u64()?.to_string(), name.clone())));
        cards.push(BusyCard {
            name: seen.name.clone(),
            queues: about["rx"].as_u64().unwrap_or(0),
            node: about["node"].as_u64().and_then(|node| u32::try_from(node).ok()),
            packets: samples.rate(seen.rx_packets + seen.tx_packets),
            interrupts: interrupts.collect(),
            rx_checksum: rx.map(|rx| rx.active),
        });
    }
    // Cards of the machine before those that are made of others.
    let rank = |card: &BusyCard| (all[&card.name]["pci"] == Json::Null, -card.packets);
    cards.sort_by(|one, two| rank(one).partial_cmp(&rank(two)).unwrap_or(std::cmp::Ordering::Equal));
    Ok(cards)
}
