//! The tasks that rules draft, and what tells that a tuning cannot be the answer on a host.
use super::case::{BusyCard, Case};
use super::signs;
use crate::cpu::topology::Topology;
use crate::draft::Draft;
use serde_json::{Value as Json, json};

/// Whether the running kernel clears no memory at allocation: then pages are cleared for programs.
pub(super) fn clears_for_programs(case: &Case) -> Option<String> {
    let said = case.argument("init_on_alloc");
    let off = match said {
        Some(value) => matches!(value, "0" | "off" | "n" | "N"),
        None => case.clears == Some(false),
    };
    off.then(|| {
        let how = said.map_or_else(
            || "the kernel was built without it".to_owned(),
            |value| format!("init_on_alloc={value} on its line"),
        );
        format!(
            "this kernel does not clear what it gives out to itself ({how}): pages are cleared for programs, which huge pages \
             and memory that is kept make rarer"
        )
    })
}

/// `init_on_alloc=0`.
pub(super) fn init_on_alloc(_: &Case) -> Vec<Draft> {
    vec![Draft::new(
        "Memory is not cleared when it is given out",
        "kernel_args",
        json!({ "args": { "init_on_alloc": 0 } }),
    )]
}

fn without_checksums(case: &Case) -> Vec<&BusyCard> {
    case.cards.iter().filter(|card| card.rx_checksum == Some(false)).collect()
}

/// Whether every card that carries something checks by itself already.
pub(super) fn checksums_are_on(case: &Case) -> Option<String> {
    let known: Vec<&str> = case
        .cards
        .iter()
        .filter(|card| card.rx_checksum == Some(true))
        .map(|card| card.name.as_str())
        .collect();
    (without_checksums(case).is_empty() && !known.is_empty()).then(|| {
        format!(
            "receive checksums are on here ({}): where this is a guest, its hypervisor's card may hand packets on unchecked, \
             which is set there",
            known.join(", ")
        )
    })
}

/// Receive checksums of cards that do not compute them.
pub(super) fn rx_checksum(case: &Case) -> Vec<Draft> {
    let draft = |card: &BusyCard| {
        let args = json!({ "device": card.name, "features": { "rx": true } });
        Draft::new(format!("{} checks what it receives", card.name), "nic_offload", args).about(
            "Add an `integrity_probe`: a shell command that sends data through the card and compares it.",
        )
    };
    without_checksums(case).into_iter().map(draft).collect()
}

/// `pvspinlock` off, for the hypervisor of this host.
pub(super) fn pvspinlock(_: &Case) -> Vec<Draft> {
    let args = json!({ "domains": ["NAME-OF-THIS-GUEST"], "features": { "pvspinlock": "off" }, "power_cycle": "ask" });
    vec![Draft::new("The guest spins by itself", "libvirt_domain", args)]
}

/// Small buffers.
pub(super) fn high_order(_: &Case) -> Vec<Draft> {
    let args = json!({ "name": "net.core.high_order_alloc_disable", "value": 1, "state": "present" });
    vec![Draft::new("Buffers of packets are single pages", "sysctl", args)]
}

/// Whether every guest that works has another allocator already.
pub(super) fn allocators_are_other(case: &Case) -> Option<String> {
    let all: Vec<&str> = case.guests.iter().filter_map(|guest| guest.allocator.as_deref()).collect();
    (!all.is_empty() && all.len() == case.guests.len())
        .then(|| format!("every guest that works has {} already", all.join(", ")))
}

/// TCMalloc for guests that have libc's allocator.
pub(super) fn tcmalloc(case: &Case) -> Vec<Draft> {
    let names: Vec<&str> = case
        .guests
        .iter()
        .filter(|guest| guest.allocator.is_none())
        .filter_map(|guest| guest.name.as_deref())
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let library = case.tcmalloc.as_deref().unwrap_or("/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4");
    let args = json!({ "domains": names, "environment": { "LD_PRELOAD": library }, "power_cycle": "ask" });
    let draft = Draft::new("QEMU takes its memory from TCMalloc", "libvirt_domain", args);
    vec![match case.tcmalloc {
        Some(_) => draft,
        None => draft
            .about("The library is not there yet: libtcmalloc-minimal4 (Debian), gperftools-libs (RHEL)."),
    }]
}

/// More threads of the messenger.
pub(super) fn more_messengers(case: &Case) -> Vec<Draft> {
    let of_guests = case
        .samples
        .threads
        .iter()
        .any(|thread| thread.name.starts_with("msgr-worker") && case.is_of_guest(thread));
    let who = if of_guests { "client" } else { "osd" };
    let args = json!({ "who": who, "options": { "ms_async_op_threads": 5 } });
    vec![Draft::new("More threads of Ceph's messenger", "ceph_config", args)]
}

/// Whether copying is spread over the machine, so that pinning would only take CPUs away.
pub(super) fn copies_everywhere(case: &Case) -> Option<String> {
    signs::few_cpus(case)
        .is_empty()
        .then(|| "no few CPUs stand out: the work is spread over the machine".to_owned())
}

/// The unit of the program that uses most of one CPU.
fn busiest_unit(case: &Case) -> Option<(&str, u32)> {
    let threads = case.samples.threads.iter().filter(|thread| !thread.is_kernel);
    threads.filter_map(|thread| Some((case.units.get(&thread.pid)?.as_str(), thread.cpu))).next()
}

/// The busiest unit where one third-level cache is.
pub(super) fn one_cache(case: &Case) -> Vec<Draft> {
    let (Some((unit, cpu)), Some(topology)) = (busiest_unit(case), case.topology.as_ref()) else {
        return Vec::new();
    };
    let group = topology.l3.iter().position(|group| group.contains(cpu));
    let args = match group.filter(|_| topology.l3.len() > 1) {
        Some(group) => json!({ "unit": unit, "l3": [group] }),
        None => match topology.node_of(cpu).filter(|_| topology.nodes.len() > 1) {
            Some(node) => json!({ "unit": unit, "nodes": [node] }),
            None => return Vec::new(),
        },
    };
    vec![pinned(unit, args)]
}

fn pinned(unit: &str, args: Json) -> Draft {
    Draft::new(format!("{unit} stays near its memory"), "cpu_affinity", args)
}

/// The busiest unit with its memory on one node.
pub(super) fn one_node(case: &Case) -> Vec<Draft> {
    let (Some((unit, cpu)), Some(topology)) = (busiest_unit(case), case.topology.as_ref()) else {
        return Vec::new();
    };
    let Some(node) = topology.node_of(cpu).filter(|_| topology.nodes.len() > 1) else { return Vec::new() };
    vec![pinned(unit, json!({ "unit": unit, "nodes": [node], "memory": "preferred" }))]
}

fn many_queues(case: &Case) -> Option<&BusyCard> {
    case.cards.iter().find(|card| card.queues > 1)
}

/// Each queue on a CPU of its own.
pub(super) fn spread(case: &Case) -> Vec<Draft> {
    let draft = |card: &BusyCard| {
        let place =
            if case.topology.as_ref().is_some_and(|topology| topology.l3.len() > 1) { "l3" } else { "local" };
        let args = json!({ "device": card.name, "place": place, "irqbalance": "ban" });
        Draft::new(format!("Each queue of {} has a CPU", card.name), "irq_affinity", args)
    };
    many_queues(case).map(draft).into_iter().collect()
}

/// Half of the queues on each node.
pub(super) fn split(case: &Case) -> Vec<Draft> {
    let draft = |card: &BusyCard| {
        let args = json!({ "device": card.name, "place": "split", "irqbalance": "ban" });
        Draft::new(format!("The queues of {} are served by all nodes", card.name), "irq_affinity", args)
    };
    many_queues(case).map(draft).into_iter().collect()
}

/// Other CPUs take over what a single queue receives.
pub(super) fn rps(case: &Case) -> Vec<Draft> {
    let Some(topology) = case.topology.as_ref() else { return Vec::new() };
    let draft = |card: &BusyCard| {
        let node = card.node.and_then(|node| topology.nodes.get(&node));
        let cpus = node.unwrap_or(&topology.online).to_string();
        let args = json!({ "device": card.name, "rps": cpus });
        Draft::new(format!("What {} receives is handed on", card.name), "nic_queues", args)
    };
    case.cards.iter().filter(|card| card.queues == 1).take(1).map(draft).collect()
}

/// CPUs that serve interrupts, isolated.
pub(super) fn isolation(case: &Case) -> Vec<Draft> {
    let Some(Topology { online, .. }) = &case.topology else { return Vec::new() };
    let cpus: crate::shape::CpuList =
        case.samples.interrupted(0.7).into_iter().filter(|cpu| *cpu != 0 && online.contains(*cpu)).collect();
    if cpus.is_empty() || cpus.len() * 2 > online.len() {
        return Vec::new();
    }
    let args = json!({ "cpus": cpus.to_string() });
    vec![Draft::new("CPUs that serve interrupts are left to them", "cpu_isolation", args)]
}

/// An I/O thread for each guest whose main loop is full.
pub(super) fn iothread(case: &Case) -> Vec<Draft> {
    let names: Vec<&str> = case
        .guests
        .iter()
        .filter(|guest| !guest.has_iothread)
        .filter_map(|guest| guest.name.as_deref())
        .collect();
    if names.is_empty() {
        return Vec::new();
    }
    let args = json!({
        "domains": names,
        "iothreads": 1,
        "disks": [{ "target": "vda", "iothread": 1 }],
        "power_cycle": "ask",
    });
    vec![
        Draft::new("The disk has a thread of its own", "libvirt_domain", args)
            .about("`target` is the disk that works: `virsh domblklist NAME` lists them."),
    ]
}

/// Whether the line says it already.
pub(super) fn mitigations_are_off(case: &Case) -> Option<String> {
    (case.argument("mitigations") == Some("off")).then(|| "mitigations=off is on the running line".to_owned())
}

/// `mitigations=off`.
pub(super) fn mitigations(_: &Case) -> Vec<Draft> {
    let args = json!({ "args": { "mitigations": "off" } });
    vec![Draft::new("Flaws of the processor are not worked around", "kernel_args", args)]
}
