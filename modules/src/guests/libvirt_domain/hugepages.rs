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
    host: BTreeMap<u64, Pool>,
    /// Pages by node and size.
    nodes: BTreeMap<(u32, u64), Pool>,
}

/// The huge pages of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pool {
    /// How many are reserved.
    all: u64,
    /// How many of them somebody has, or has been promised.
    used: u64,
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
        let of = |path: &HostPath, name: &str| known(&path.as_str().replace("nr_hugepages", name));
        let mut reads: Vec<Read> = paths.iter().map(Read::text).collect();
        for path in &paths {
            reads
                .extend([Read::text(&of(path, "free_hugepages")?), Read::text(&of(path, "resv_hugepages")?)]);
        }
        facts.need(&reads)?;
        let number_in = |path: &HostPath| -> Result<Option<u64>, Stop> {
            Ok(facts.value(path)?.and_then(|text| text.trim().parse::<u64>().ok()))
        };
        for path in paths {
            let Some(all) = number_in(&path)? else { continue };
            let free = number_in(&of(&path, "free_hugepages")?)?.unwrap_or(all);
            // Nodes do not tell what was promised and not touched yet.
            let promised = number_in(&of(&path, "resv_hugepages")?)?.unwrap_or(0);
            let pool = Pool { all, used: all.saturating_sub(free) + promised };
            let number = |mark: &str| {
                let rest = path.as_str().split(mark).nth(1)?;
                rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse::<u64>().ok()
            };
            let Some(size) = number("/hugepages-").map(|kib| kib * 1024) else { continue };
            match number("/node/node").and_then(|node| u32::try_from(node).ok()) {
                Some(node) => pools.nodes.insert((node, size), pool),
                None => pools.host.insert(size, pool),
            };
        }
        Ok(pools)
    }

    fn shown(&self) -> String {
        let pools: Vec<String> =
            self.host.iter().map(|(size, pool)| format!("{} of {}", pool.all, size_text(*size))).collect();
        if pools.is_empty() { "none".to_owned() } else { pools.join(", ") }
    }

    /// The pages of a size, on some nodes or in all.
    fn pool(&self, size: u64, nodes: Option<&CpuList>) -> Option<Pool> {
        let host = self.host.get(&size).copied()?;
        let Some(nodes) = nodes else { return Some(host) };
        let on = nodes.iter().filter_map(|node| self.nodes.get(&(node, size)));
        Some(
            on.fold(Pool::default(), |sum, pool| Pool {
                all: sum.all + pool.all,
                used: sum.used + pool.used,
            }),
        )
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

/// A size of pages, and the nodes that they come from.
type Kept = (u64, Option<String>);

/// What the task's guests have now: they give it back before they are started anew.
fn had(pools: &Pools, domains: &[Domain], size: u64) -> u64 {
    let live = domains.iter().filter_map(|domain| Document::parse(domain.live.as_deref()?).ok());
    let needs = live.filter_map(|document| need(pools, document.root()));
    needs.filter(|(own, ..)| *own == size).map(|(_, count, _)| count).sum()
}

/// Checks that all guests of the task together find their pages.
pub(super) fn together(
    task: &LibvirtDomain,
    sight: &Sight,
    domains: &[Domain],
    plans: &[Planned],
) -> Result<Vec<Problem>, Stop> {
    let Some(pools) = sight.pools.as_ref().filter(|_| asked(task)) else { return Ok(Vec::new()) };
    let mut problems = Vec::new();
    let mut needs: BTreeMap<Kept, (u64, Vec<&str>)> = BTreeMap::new();
    for (domain, planned) in domains.iter().zip(plans) {
        let document = Document::parse(&planned.after).map_err(Stop::failed)?;
        let Some((size, count, nodes)) = need(pools, document.root()) else { continue };
        let sum = needs.entry((size, nodes)).or_default();
        sum.0 += count;
        sum.1.push(&domain.name);
    }
    for ((size, nodes), (count, names)) in needs {
        let list = nodes.as_deref().and_then(|nodes| CpuList::parse(nodes).ok());
        let pool = pools.pool(size, list.as_ref());
        let others = pool.map_or(0, |pool| pool.used.saturating_sub(had(pools, domains, size)));
        if pool.is_some_and(|pool| pool.all.saturating_sub(others) >= count) {
            continue;
        }
        let on = nodes.map(|nodes| format!(" on node {nodes}")).unwrap_or_default();
        let used = if others > 0 { format!(", {others} of them in use by others") } else { String::new() };
        let why = match pool {
            None => format!(
                "huge pages of {} are not offered by the kernel here; it has {}",
                size_text(size),
                pools.shown()
            ),
            Some(pool) => format!(
                "{count} huge pages of {} are needed{on}, and {} are reserved{used}: QEMU would not start",
                size_text(size),
                pool.all
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
