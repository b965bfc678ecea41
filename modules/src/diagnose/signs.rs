//! Signs that are no symbols: interrupts on few CPUs, threads that fill one, memory from afar, waiting.
use super::case::{BusyCard, Case};
use super::samples::{Counts, Thread};
use std::collections::BTreeMap;

/// A thread that has no more of a CPU to get: it runs, or waits for one, nearly all the time.
const FULL: f64 = 0.9;
/// A CPU that does little but serve interrupts.
const SERVING: f64 = 0.7;
/// Fewer interrupts a second are no load.
const LOAD: f64 = 1000.0;

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn listed(cpus: &[u32]) -> String {
    let list: crate::shape::CpuList = cpus.iter().copied().collect();
    list.to_string()
}

fn is_full(thread: &Thread) -> bool {
    thread.share >= 0.3 && thread.share + thread.waited >= FULL
}

fn full_threads(case: &Case, is_meant: impl Fn(&Thread) -> bool) -> Vec<&Thread> {
    case.samples.threads.iter().filter(|thread| is_full(thread) && is_meant(thread)).collect()
}

fn told(threads: &[&Thread]) -> Vec<String> {
    let one = |thread: &&Thread| {
        let of = if thread.process.is_empty() || thread.process == thread.name {
            String::new()
        } else {
            format!(" of {}", thread.process)
        };
        let waited = match thread.waited {
            waited if waited >= 0.05 => format!(", {} waiting for a CPU", percent(waited)),
            _ => String::new(),
        };
        format!("{}{of} ({}{waited}, CPU {})", thread.name, percent(thread.share), thread.cpu)
    };
    match threads {
        [] => Vec::new(),
        _ => {
            let some: Vec<String> = threads.iter().take(6).map(one).collect();
            let more =
                if threads.len() > 6 { format!(" and {} more", threads.len() - 6) } else { String::new() };
            vec![format!("threads that fill a CPU: {}{more}", some.join(", "))]
        }
    }
}

/// Threads of Ceph's messenger that fill a CPU.
pub(super) fn messengers(case: &Case) -> Vec<String> {
    told(&full_threads(case, |thread| thread.name.starts_with("msgr-worker")))
}

/// The kernel's threads that fill a CPU.
pub(super) fn kernel_threads(case: &Case) -> Vec<String> {
    told(&full_threads(case, |thread| {
        thread.is_kernel
            && ["kworker", "ksoftirqd", "vhost-", "kswapd", "kcompactd"]
                .iter()
                .any(|name| thread.name.starts_with(name))
    }))
}

/// Guests whose main loop fills a CPU, and which have no I/O thread.
pub(super) fn main_loops(case: &Case) -> Vec<String> {
    let without: Vec<u32> =
        case.guests.iter().filter(|guest| !guest.has_iothread).map(|guest| guest.pid).collect();
    let busy =
        |thread: &&Thread| thread.share >= 0.7 && thread.pid == thread.tid && without.contains(&thread.pid);
    let threads: Vec<&Thread> = case.samples.threads.iter().filter(busy).collect();
    let mut lines = told(&threads);
    if !lines.is_empty() {
        lines.push(
            "QEMU's main loop serves the disks, and no I/O thread was given on its command line".to_owned(),
        );
    }
    lines
}

/// Interrupts of a card by the CPU that served them.
fn by_cpu(case: &Case, card: &BusyCard) -> (u64, BTreeMap<u32, u64>) {
    let own = case.samples.interrupts.iter().filter(|counts| card.interrupts.contains_key(&counts.id));
    let mut cpus = BTreeMap::new();
    let mut total = 0;
    for counts in own {
        total += counts.total;
        counts.by.iter().for_each(|(cpu, count)| *cpus.entry(*cpu).or_default() += count);
    }
    (total, cpus)
}

/// A card with many queues whose interrupts come to one CPU.
pub(super) fn one_cpu(case: &Case) -> Vec<String> {
    let mut lines = Vec::new();
    for card in case.cards.iter().filter(|card| card.queues > 1 && card.interrupts.len() > 1) {
        let (total, cpus) = by_cpu(case, card);
        let Some((cpu, most)) = cpus.iter().max_by_key(|(_, count)| **count) else { continue };
        let share = *most as f64 / total.max(1) as f64;
        if case.samples.rate(total) >= LOAD && share >= 0.8 {
            lines.push(format!(
                "{} of {:.0} interrupts a second of {} with its {} queues come to CPU {cpu}",
                percent(share),
                case.samples.rate(total),
                card.name,
                card.queues
            ));
        }
    }
    lines
}

/// A card with a single queue whose CPU does little but receive.
pub(super) fn one_queue(case: &Case) -> Vec<String> {
    let serving = case.samples.interrupted(SERVING);
    let mut lines = Vec::new();
    for card in case.cards.iter().filter(|card| card.queues == 1) {
        let (_, cpus) = by_cpu(case, card);
        let hot: Vec<u32> = cpus.keys().copied().filter(|cpu| serving.contains(cpu)).collect();
        if !hot.is_empty() && card.packets >= LOAD {
            lines.push(format!(
                "{} has one queue, and CPU {} spends more than {} of its time on interrupts ({:.0} packets a second)",
                card.name,
                listed(&hot),
                percent(SERVING),
                card.packets
            ));
        }
    }
    lines
}

/// Interrupts of a card with many queues that all come to one of several nodes.
pub(super) fn one_node(case: &Case) -> Vec<String> {
    let Some(topology) = case.topology.as_ref().filter(|_| case.nodes() > 1) else { return Vec::new() };
    let mut lines = Vec::new();
    for card in case.cards.iter().filter(|card| card.queues >= 8) {
        let (total, cpus) = by_cpu(case, card);
        let mut nodes: BTreeMap<u32, u64> = BTreeMap::new();
        for (cpu, count) in &cpus {
            topology.node_of(*cpu).into_iter().for_each(|node| *nodes.entry(node).or_default() += count);
        }
        let Some((node, most)) = nodes.iter().max_by_key(|(_, count)| **count) else { continue };
        let share = *most as f64 / total.max(1) as f64;
        if case.samples.rate(total) >= LOAD && share >= 0.95 {
            lines.push(format!(
                "{} of the interrupts of {} with its {} queues come to node {node} of {}",
                percent(share),
                card.name,
                card.queues,
                case.nodes()
            ));
        }
    }
    lines
}

/// CPUs that do little but serve interrupts.
pub(super) fn serving(case: &Case) -> Vec<String> {
    let cpus = case.samples.interrupted(SERVING);
    if cpus.is_empty() {
        return Vec::new();
    }
    let of: Vec<&Counts> = case.samples.softirqs.iter().filter(|counts| counts.total > 0).collect();
    let most = of.iter().max_by_key(|counts| counts.total);
    let kind = most.map(|counts| format!(", most of it {}", counts.id)).unwrap_or_default();
    vec![format!(
        "CPU {} spend more than {} of their time on interrupts{kind}",
        listed(&cpus),
        percent(SERVING)
    )]
}

/// Programs that run on few CPUs of many and fill them.
pub(super) fn few_cpus(case: &Case) -> Vec<String> {
    let all = case.samples.cpus.len();
    let full: Vec<u32> =
        case.samples.cpus.iter().filter(|(_, time)| time.busy >= FULL).map(|(cpu, _)| *cpu).collect();
    if all < 4 || full.is_empty() || full.len() * 4 > all {
        return Vec::new();
    }
    let mut lines = vec![format!("CPU {} of {all} are full, the others are not", listed(&full))];
    lines.extend(told(&full_threads(case, |thread| !thread.is_kernel)));
    lines
}

/// Pages that come from other nodes than those that ask.
pub(super) fn far_memory(case: &Case) -> Vec<String> {
    let sum = |kind: &str| -> u64 {
        case.samples.numa.iter().filter(|((_, name), _)| name == kind).map(|(_, pages)| pages).sum()
    };
    let (near, far) = (sum("local_node"), sum("other_node"));
    let share = far as f64 / (near + far).max(1) as f64;
    if case.nodes() < 2 || case.samples.rate(near + far) < LOAD || share < 0.2 {
        return Vec::new();
    }
    vec![format!(
        "{} of {:.0} pages a second were given out by another node than that of the CPU that asked",
        percent(share),
        case.samples.rate(near + far)
    )]
}

/// Time that the hypervisor took away.
pub(super) fn stolen(case: &Case) -> Vec<String> {
    let hit: Vec<u32> =
        case.samples.cpus.iter().filter(|(_, time)| time.stolen >= 0.1).map(|(cpu, _)| *cpu).collect();
    if hit.is_empty() {
        return Vec::new();
    }
    vec![format!("more than a tenth of the time of CPU {} was taken by the hypervisor", listed(&hit))]
}

/// Programs that wait for memory.
pub(super) fn waiting_for_memory(case: &Case) -> Vec<String> {
    let share = case.samples.pressure.get(&("memory".to_owned(), "some".to_owned())).copied().unwrap_or(0.0);
    if share < 0.05 {
        return Vec::new();
    }
    vec![format!("{} of the time something waited for memory (/proc/pressure/memory)", percent(share))]
}
