//! The processors of a host as the kernel tells them: nodes, groups that share a third-level cache, threads of a core.
use crate::files::place::known;
use crate::shape::CpuList;
use crate::vocabulary::{Facts, HostPath, Read, Stop};
use std::collections::BTreeMap;

const ONLINE: &str = "/sys/devices/system/cpu/online";
const NODES: &str = "/sys/devices/system/node/node[0-9]*/cpulist";
const CACHES: &str = "/sys/devices/system/cpu/cpu[0-9]*/cache/index3/shared_cpu_list";
const THREADS: &str = "/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list";

/// The processors of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topology {
    /// CPUs that run.
    pub online: CpuList,
    /// CPUs of each NUMA node, by its number: numbers may leave gaps. Where the kernel knows no nodes, node 0 has all.
    pub nodes: BTreeMap<u32, CpuList>,
    /// Groups of CPUs that share a third-level cache, in the order of their first CPU; empty where there is none.
    pub l3: Vec<CpuList>,
    /// Threads of each core, in the order of their first CPU.
    pub cores: Vec<CpuList>,
}

/// What a topology is read from first.
pub(crate) fn first_reads() -> Result<Vec<Read>, Stop> {
    let globs = [NODES, CACHES, THREADS].iter().map(|pattern| Read::Glob((*pattern).to_owned()));
    Ok(std::iter::once(Read::text(&known(ONLINE)?)).chain(globs).collect())
}

impl Topology {
    /// Reads it.
    pub fn read(facts: &Facts) -> Result<Self, Stop> {
        facts.need(&first_reads()?)?;
        let paths = |pattern: &str| facts.names(pattern);
        let (nodes, caches, threads) = (paths(NODES)?, paths(CACHES)?, paths(THREADS)?);
        let reads: Vec<Read> = nodes.iter().chain(&caches).chain(&threads).map(Read::text).collect();
        facts.need(&reads)?;
        let Some(online) = list(facts, &known(ONLINE)?)? else {
            return Err(Stop::failed(format!("{ONLINE} is not there: the CPUs of this host are not known")));
        };
        let mut topology = Self { online, ..Self::default() };
        for path in &nodes {
            let number = path.parent().and_then(|node| node.name().strip_prefix("node")?.parse().ok());
            if let (Some(number), Some(cpus)) = (number, list(facts, path)?) {
                // A node without CPUs holds memory alone.
                if !cpus.is_empty() {
                    topology.nodes.insert(number, topology.online(&cpus));
                }
            }
        }
        if topology.nodes.is_empty() {
            topology.nodes.insert(0, topology.online.clone());
        }
        topology.l3 = topology.groups(facts, &caches)?;
        topology.cores = topology.groups(facts, &threads)?;
        if topology.cores.is_empty() {
            topology.cores = topology.online.iter().map(|cpu| CpuList::from_iter([cpu])).collect();
        }
        Ok(topology)
    }

    fn online(&self, cpus: &CpuList) -> CpuList {
        cpus.iter().filter(|cpu| self.online.contains(*cpu)).collect()
    }

    /// Equal lists once, in the order of their first CPU.
    fn groups(&self, facts: &Facts, paths: &[HostPath]) -> Result<Vec<CpuList>, Stop> {
        let mut groups: BTreeMap<u32, CpuList> = BTreeMap::new();
        for path in paths {
            let Some(cpus) = list(facts, path)?.map(|cpus| self.online(&cpus)) else { continue };
            let first = cpus.iter().next();
            groups.extend(first.map(|first| (first, cpus)));
        }
        Ok(groups.into_values().collect())
    }

    /// The CPUs of a node.
    pub fn node(&self, argument: &'static str, number: u32) -> Result<&CpuList, Stop> {
        self.nodes.get(&number).ok_or_else(|| {
            let all: Vec<String> = self.nodes.keys().map(u32::to_string).collect();
            Stop::refused(argument, format!("this host has no NUMA node {number} with CPUs"))
                .way_out(format!("it has: {}", all.join(", ")))
        })
    }

    /// The node of a CPU.
    pub fn node_of(&self, cpu: u32) -> Option<u32> {
        self.nodes.iter().find(|(_, cpus)| cpus.contains(cpu)).map(|(number, _)| *number)
    }

    /// Whether a CPU is the first thread of its core.
    pub fn is_first_thread(&self, cpu: u32) -> bool {
        self.cores.iter().find(|core| core.contains(cpu)).is_none_or(|core| core.iter().next() == Some(cpu))
    }

    /// CPUs in the order in which work is given to them: the first threads of all cores before the others.
    pub fn first_threads_first(&self, cpus: impl IntoIterator<Item = u32>) -> Vec<u32> {
        let (first, other): (Vec<u32>, Vec<u32>) =
            cpus.into_iter().partition(|cpu| self.is_first_thread(*cpu));
        first.into_iter().chain(other).collect()
    }
}

/// A list of CPUs in a file of the kernel; none where it is not there.
pub(crate) fn list(facts: &Facts, path: &HostPath) -> Result<Option<CpuList>, Stop> {
    let Some(text) = facts.value(path)? else { return Ok(None) };
    CpuList::parse(&text).map(Some).map_err(|why| Stop::failed(format!("{path}: {why}")))
}

/// Hosts in memory with processors, for samples and tests.
pub(crate) mod machines {
    use crate::host::Host;
    use crate::shape::CpuList;

    /// A host with so many nodes of so many cores each; `l3` cores share a third-level cache, and with `smt` the second
    /// threads have the numbers behind all first ones.
    pub(crate) fn machine(nodes: u32, cores: u32, l3: u32, smt: bool) -> Host {
        let all = nodes * cores;
        let threads = |first: u32, count: u32| -> CpuList {
            let own = first..first + count;
            let second = own.clone().map(|cpu| cpu + all).filter(|_| smt);
            own.clone().chain(second).collect()
        };
        let last = if smt { 2 * all } else { all } - 1;
        let mut host = Host::new().value("/sys/devices/system/cpu/online", &format!("0-{last}"));
        for node in 0..nodes {
            let at = format!("/sys/devices/system/node/node{node}/cpulist");
            host = host.value(&at, &threads(node * cores, cores).to_string());
        }
        for cpu in 0..=last {
            let core = cpu % all;
            let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
            let siblings = threads(core, 1).to_string();
            host = host.value(&format!("{folder}/topology/thread_siblings_list"), &siblings);
            let shared = threads(core / l3 * l3, l3).to_string();
            host = host.value(&format!("{folder}/cache/index3/shared_cpu_list"), &shared);
        }
        host
    }
}

#[cfg(test)]
mod tests {
    use super::machines::machine;
    use super::*;
    use crate::host::Host;

    fn read(host: &Host) -> Topology {
        let mut facts = host.facts([]);
        for _ in 0..3 {
            match Topology::read(&facts) {
                Ok(topology) => return topology,
                Err(Stop::Unread(_)) => {
                    let Err(Stop::Unread(more)) = Topology::read(&facts) else { unreachable!() };
                    let mut all: Vec<Read> = first_reads().unwrap();
                    all.extend(more);
                    facts = host.facts(all);
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        panic!("too many rounds")
    }

    #[test]
    fn nodes_caches_and_threads_are_found() {
        let topology = read(&machine(2, 8, 4, true));
        assert_eq!(topology.online.len(), 32);
        assert_eq!(topology.nodes[&1].to_string(), "8-15,24-31");
        let l3: Vec<String> = topology.l3.iter().map(ToString::to_string).collect();
        assert_eq!(l3, ["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"]);
        assert_eq!(topology.cores.len(), 16);
        assert_eq!(topology.first_threads_first([31, 15, 16, 0]), [15, 0, 31, 16]);
        assert_eq!(topology.node_of(25), Some(1));
    }

    #[test]
    fn numbers_of_nodes_may_leave_gaps() {
        let mut host = Host::new().value("/sys/devices/system/cpu/online", "0-5");
        for (node, cpus) in [(0, "0-1"), (2, "2-3"), (3, "4-7"), (5, "")] {
            host = host.value(&format!("/sys/devices/system/node/node{node}/cpulist"), cpus);
        }
        let topology = read(&host);
        assert_eq!(topology.nodes.keys().copied().collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(topology.nodes[&3].to_string(), "4-5", "CPUs that are off do not count");
        let refused = topology.node("node", 1).unwrap_err();
        assert!(format!("{refused:?}").contains("0, 2, 3"), "{refused:?}");
        let flat = read(&Host::new().value("/sys/devices/system/cpu/online", "0-3"));
        assert_eq!((flat.nodes[&0].to_string().as_str(), flat.l3.len(), flat.cores.len()), ("0-3", 0, 4));
    }
}
