//! Where each interrupt goes: by the device's node, by shared caches, over nodes, or as somebody says.
use super::super::interrupts::Interrupt;
use super::Place;
use crate::cpu::topology::Topology;
use crate::shape::CpuList;
use crate::vocabulary::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// How queues are placed.
pub(super) struct Placing<'a> {
    pub place: Place,
    pub nodes: &'a [u32],
    pub cpus: Option<&'a str>,
    pub map: &'a BTreeMap<String, String>,
    pub housekeeping: &'a str,
}

/// The CPUs of each interrupt, in their order.
pub(super) fn placed(
    meant: &[Interrupt],
    placing: &Placing<'_>,
    topology: &Topology,
    node: Option<u32>,
    notes: &mut Vec<String>,
) -> Result<Vec<CpuList>, Stop> {
    if !placing.map.is_empty() {
        return mapped(meant, placing.map, topology);
    }
    let mut queues: Vec<u32> = meant.iter().enumerate().map(|(at, one)| queue(at, one)).collect();
    let all = queues.clone();
    queues.sort_unstable();
    queues.dedup();
    let cpus = order(placing, topology, node, queues.len())?;
    let distinct: BTreeSet<u32> = cpus.iter().copied().collect();
    if distinct.len() < queues.len() {
        notes.push(format!("{} queues share {} CPUs", queues.len(), distinct.len()));
    }
    Ok(all
        .iter()
        .map(|queue| {
            let rank = queues.binary_search(queue).unwrap_or(0);
            CpuList::from_iter([cpus[rank % cpus.len()]])
        })
        .collect())
}

/// The queue of an interrupt; one that tells none is a queue of its own.
fn queue(at: usize, interrupt: &Interrupt) -> u32 {
    interrupt.queue().unwrap_or_else(|| u32::MAX - u32::try_from(at).unwrap_or(0))
}

fn mapped(
    meant: &[Interrupt],
    map: &BTreeMap<String, String>,
    topology: &Topology,
) -> Result<Vec<CpuList>, Stop> {
    meant
        .iter()
        .map(|one| {
            let longest =
                map.iter().filter(|(name, _)| one.is_meant_by(name)).max_by_key(|(name, _)| name.len());
            let cpus = longest.map(|(_, cpus)| cpus.as_str()).unwrap_or_default();
            running("map", cpus, topology)
        })
        .collect()
}

/// A list of CPUs that all run, and that is not empty.
fn running(argument: &'static str, text: &str, topology: &Topology) -> Result<CpuList, Stop> {
    let cpus = CpuList::parse(text).map_err(|why| Stop::refused(argument, why))?;
    let off: CpuList = cpus.iter().filter(|cpu| !topology.online.contains(*cpu)).collect();
    if !off.is_empty() {
        return Err(Stop::refused(argument, format!("CPU {off} does not run on this host"))
            .way_out(format!("it has: {}", topology.online)));
    }
    if cpus.is_empty() {
        return Err(Stop::refused(argument, "no CPU is named"));
    }
    Ok(cpus)
}

/// The CPU of each queue, by its rank; used again from the start where there are more queues.
fn order(
    placing: &Placing<'_>,
    topology: &Topology,
    node: Option<u32>,
    queues: usize,
) -> Result<Vec<u32>, Stop> {
    let kept = CpuList::parse(placing.housekeeping).map_err(|why| Stop::refused("housekeeping", why))?;
    if let Some(text) = placing.cpus {
        return Ok(running("cpus", text, topology)?.iter().collect());
    }
    let nodes: Vec<u32> = match (placing.nodes, node, placing.place) {
        (nodes, ..) if !nodes.is_empty() => nodes.to_vec(),
        ([], Some(node), Place::Local | Place::L3) => vec![node],
        _ => topology.nodes.keys().copied().collect(),
    };
    let free = |cpus: &CpuList| {
        let mut free: Vec<u32> = cpus.iter().filter(|cpu| !kept.contains(*cpu)).collect();
        free.reverse();
        topology.first_threads_first(free)
    };
    let of_nodes: Vec<&CpuList> =
        nodes.iter().map(|node| topology.node("nodes", *node)).collect::<Result<_, _>>()?;
    let groups: Vec<Vec<u32>> = match placing.place {
        Place::Local | Place::Split => of_nodes.iter().map(|cpus| free(cpus)).collect(),
        Place::L3 => topology
            .l3
            .iter()
            .filter(|group| group.iter().all(|cpu| of_nodes.iter().any(|node| node.contains(cpu))))
            .map(free)
            .collect(),
    };
    let groups: Vec<Vec<u32>> = groups.into_iter().filter(|group| !group.is_empty()).collect();
    if groups.is_empty() {
        return Err(match placing.place {
            Place::L3 => {
                Stop::refused("place", "no CPUs that share a third-level cache are known on these nodes")
                    .way_out("use `local`")
            }
            _ => Stop::refused("housekeeping", "no CPU is left beside the housekeeping ones"),
        });
    }
    match placing.place {
        Place::Local => Ok(topology.first_threads_first(groups.concat())),
        Place::L3 => Ok((0..queues).map(|rank| turn(&groups, rank)).collect()),
        Place::Split if groups.len() < 2 => {
            Err(Stop::refused("place", "`split` needs two NUMA nodes with CPUs").way_out("use `local`"))
        }
        Place::Split => {
            let share = queues.div_ceil(groups.len()).max(1);
            Ok((0..queues)
                .map(|rank| groups[rank / share][(rank % share) % groups[rank / share].len()])
                .collect())
        }
    }
}

/// The groups in turn, each from its begin.
fn turn(groups: &[Vec<u32>], rank: usize) -> u32 {
    let group = &groups[rank % groups.len()];
    group[(rank / groups.len()) % group.len()]
}
