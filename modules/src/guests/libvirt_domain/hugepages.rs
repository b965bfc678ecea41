//! Whether the host has the huge pages that guests shall be made of.
use super::problem::{Kind, Problem, Problems};
use super::seeing::{Domain, Sight};
use super::wants::{bytes, size_of};
use super::wish::Hugepages;
use super::{LibvirtDomain, Planned};
use crate::files::place::known;
use crate::shape::{CpuList, size_text};
use crate::vocabulary::{Facts, HostPath, Read, Stop};
use crate::xml::{Document, Part, Route};
use roxmltree::Node;
use std::collections::BTreeMap;

const HOST: &str = "/sys/kernel/mm/hugepages/hugepages-*kB/nr_hugepages";
const NODES: &str = "/sys/devices/system/node/node*/hugepages/hugepages-*kB/nr_hugepages";
const MEMINFO: &str = "/proc/meminfo";

/// The huge pages of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pools {
    /// The size that the kernel takes unasked, in bytes.
    default: u64,
    /// Pages by size in bytes.
    host: BTreeMap<u64, u64>,
    /// Pages by node and size.
    nodes: BTreeMap<(u32, u64), u64>,
}

/// Whether the task asks for huge pages.
pub(super) fn asked(task: &LibvirtDomain) -> bool {
    task.memory_backing.as_ref().is_some_and(|backing| {
        matches!(&backing.hugepages, Some(Hugepages::Switch(true) | Hugepages::Pages(_)))
    })
}

impl Pools {
    /// The reads of the first round.
    pub(super) fn first_reads() -> Result<Vec<Read>, Stop> {
        Ok(vec![Read::text(&known(MEMINFO)?), Read::Glob(HOST.to_owned()), Read::Glob(NODES.to_owned())])
    }

    /// What is there.
    pub(super) fn of(facts: &Facts) -> Result<Self, Stop> {
        let meminfo = facts.value(&known(MEMINFO)?)?.unwrap_or_default();
        let line = meminfo.lines().find_map(|line| line.strip_prefix("Hugepagesize:"));
        let default = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        let mut pools = Self { default: default.unwrap_or(2048) * 1024, ..Self::default() };
        let paths: Vec<HostPath> = facts.names(HOST)?.into_iter().chain(facts.names(NODES)?).collect();
        facts.need(&paths.iter().map(Read::text).collect::<Vec<_>>())?;
        for path in paths {
            let Some(count) = facts.value(&path)?.and_then(|text| text.trim().parse::<u64>().ok()) else {
                continue;
            };
            let number = |mark: &str| {
                let rest = path.as_str().split(mark).nth(1)?;
                rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse::<u64>().ok()
            };
            let Some(size) = number("/hugepages-").map(|kib| kib * 1024) else { continue };
            match number("/node/node").and_then(|node| u32::try_from(node).ok()) {
                Some(node) => pools.nodes.insert((node, size), count),
                None => pools.host.insert(size, count),
            };
        }
        Ok(pools)
    }

    fn shown(&self) -> String {
        let pools: Vec<String> =
            self.host.iter().map(|(size, count)| format!("{count} of {}", size_text(*size))).collect();
        if pools.is_empty() { "none".to_owned() } else { pools.join(", ") }
    }

    /// How many pages of a size there are, on some nodes or in all.
    fn count(&self, size: u64, nodes: Option<&CpuList>) -> Option<u64> {
        match nodes {
            None => self.host.get(&size).copied(),
            Some(nodes) => {
                let on = nodes.iter().filter_map(|node| self.nodes.get(&(node, size)));
                self.host.get(&size)?;
                Some(on.sum())
            }
        }
    }
}

/// What a guest needs: size of the pages, how many, and on which nodes of the host.
type Need = (u64, u64, Option<String>);

/// The pages that a guest needs.
fn need(pools: &Pools, root: Node<'_, '_>) -> Option<Need> {
    let list = Route::plain("memoryBacking/hugepages").find(root)?;
    let page = Part::new("page").of(list);
    let size = match page {
        Some(page) => bytes(page, page.attribute("size")?)?,
        None => pools.default,
    };
    let mode = Route::plain("numatune/memory").find(root);
    let nodes = mode.filter(|node| node.attribute("mode") != Some("preferred"));
    let nodes = nodes.and_then(|node| node.attribute("nodeset"));
    let memory = size_of(root, "memory")?;
    Some((size, memory.div_ceil(size), nodes.map(ToOwned::to_owned)))
}

/// A size of pages in KiB or bytes as the host lists it, and the nodes that they come from.
type Pool = (u64, Option<String>);

/// Checks that all guests of the task together find their pages.
pub(super) fn together(
    task: &LibvirtDomain,
    sight: &Sight,
    domains: &[Domain],
    plans: &[Planned],
) -> Result<Vec<Problem>, Stop> {
    let Some(pools) = sight.pools.as_ref().filter(|_| asked(task)) else { return Ok(Vec::new()) };
    let mut problems = Vec::new();
    let mut needs: BTreeMap<Pool, (u64, Vec<&str>)> = BTreeMap::new();
    for (domain, planned) in domains.iter().zip(plans) {
        let document = Document::parse(&planned.after).map_err(Stop::failed)?;
        let Some((size, count, nodes)) = need(pools, document.root()) else { continue };
        let sum = needs.entry((size, nodes)).or_default();
        sum.0 += count;
        sum.1.push(&domain.name);
    }
    for ((size, nodes), (count, names)) in needs {
        let list = nodes.as_deref().and_then(|nodes| CpuList::parse(nodes).ok());
        let there = pools.count(size, list.as_ref());
        if there.is_some_and(|there| there >= count) {
            continue;
        }
        let on = nodes.map(|nodes| format!(" on node {nodes}")).unwrap_or_default();
        let why = match there {
            None => format!(
                "huge pages of {} are not offered by the kernel here; it has {}",
                size_text(size),
                pools.shown()
            ),
            Some(there) => format!(
                "{count} huge pages of {} are needed{on}, and {there} are reserved: QEMU would not start",
                size_text(size)
            ),
        };
        let way = format!(
            "reserve them first, by the module `hugepages` (`size: {}`, `count: {count}`) or `kernel_args`",
            size_text(size).replace(" MiB", "M").replace(" GiB", "G")
        );
        for name in names {
            let mut one = Problems::of(name);
            one.add(Kind::CannotConverge, "memory_backing", &why, &way);
            problems.extend(one.all);
        }
    }
    Ok(problems)
}
