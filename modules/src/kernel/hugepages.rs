//! `hugepages`: how many huge pages the kernel keeps, in all or on each NUMA node.
use super::sysctl::{State, Sysctl};
use super::tmpfiles;
use crate::budget::{self, Asked};
use crate::files::place::known;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::shape::{Shape, parse_size, size_text};
use crate::vocabulary::{
    Change, Claim, Diff, Effect, Evidence, Facts, HostPath, Read, Seen, Step, Stop, all,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// How many huge pages the kernel keeps, in all or on each NUMA node.
///
/// The count is exact: where the kernel finds only 900 of 1,024 pages the step failed and is undone. Free memory is
/// looked at while planning, and so is what all settings of the host promise together: huge pages, OSDs, guests and a
/// reserve beyond the memory need `accept_risk: {memory: …}`. The count is kept over boots by `vm.nr_hugepages` (pages of the default size, in all) or
/// by a line of systemd-tmpfiles (other sizes, or by node); pages of 1 GiB are best reserved on the kernel's command
/// line, since later memory is in pieces (see the module `kernel_args`).
///
/// Errors: a size that this kernel does not offer, more than the memory at hand, fewer than are in use. Source: the
/// kernel's Documentation/admin-guide/mm/hugetlbpage.rst.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hugepages {
    /// The size of a page: `2M`, `1G`, or what else the machine offers.
    #[serde(default = "two_mebibytes")]
    pub size: String,
    /// How many pages, in all; the kernel spreads them over the nodes.
    #[serde(default)]
    pub count: Option<u64>,
    /// How many pages on each NUMA node: `{0: 512, 1: 512}`. Either this or `count`.
    #[serde(default)]
    pub nodes: Option<BTreeMap<String, u64>>,
    /// How many pages may be taken beyond that while they are asked for; stays as it is where it is not said.
    #[serde(default)]
    pub overcommit: Option<u64>,
    /// Whether it is so after the next boot too.
    #[serde(default = "crate::argument::yes")]
    pub persist: bool,
}

fn two_mebibytes() -> String {
    "2M".to_owned()
}

const SYSCTL: &str = "vm.nr_hugepages";

/// A node, its file of the count, and the count; without a node the machine's.
type Pool<'a> = (Option<&'a str>, HostPath, u64);

impl Hugepages {
    /// The size of a page in KiB.
    fn size(&self) -> Result<u64, Stop> {
        let bytes = parse_size(&self.size).map_err(|why| Stop::refused("size", why))?;
        match bytes {
            0..1024 => Err(Stop::refused("size", format!("`{}` is no size of a huge page", self.size))),
            bytes => Ok(bytes / 1024),
        }
    }

    fn folder(&self) -> Result<String, Stop> {
        Ok(format!("/sys/kernel/mm/hugepages/hugepages-{}kB", self.size()?))
    }

    /// The files of counts and what each shall hold, by node.
    fn pools(&self) -> Result<Vec<Pool<'_>>, Stop> {
        match (self.count, &self.nodes) {
            (Some(count), None) => {
                Ok(vec![(None, known(&format!("{}/nr_hugepages", self.folder()?))?, count)])
            }
            (None, Some(nodes)) if !nodes.is_empty() => nodes
                .iter()
                .map(|(node, count)| {
                    if node.is_empty() || !node.bytes().all(|digit| digit.is_ascii_digit()) {
                        return Err(Stop::refused("nodes", format!("`{node}` is not the number of a node")));
                    }
                    let folder = format!("/sys/devices/system/node/node{node}/hugepages");
                    let path = known(&format!("{folder}/hugepages-{}kB/nr_hugepages", self.size()?))?;
                    Ok((Some(node.as_str()), path, *count))
                })
                .collect(),
            _ => Err(Stop::refused("count", "either `count` or `nodes` must be given")),
        }
    }

    fn setting(&self) -> Option<Sysctl> {
        Sysctl::parts(SYSCTL, &self.count?.to_string(), State::Present)
    }

    /// Whether `vm.nr_hugepages` means this size.
    fn is_default(&self, facts: &Facts) -> Result<bool, Stop> {
        Ok(memory(facts, None, "Hugepagesize:")? == self.size()?)
    }

    fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut paths = vec![known("/proc/cmdline")?, meminfo(None)?];
        for (node, path, _) in self.pools()? {
            paths.extend(path.parent().and_then(|folder| folder.join("free_hugepages").ok()));
            paths.extend([path, meminfo(node)?]);
        }
        if self.overcommit.is_some() {
            paths.push(self.overcommit_path()?);
        }
        let mut reads: Vec<Read> = paths.iter().map(Read::text).collect();
        reads.push(Read::Glob("/sys/kernel/mm/hugepages/*".to_owned()));
        reads.extend(budget::first_reads()?);
        if self.persist {
            // Which of the two keeps it is known only when the page size of the kernel is.
            if let Some(setting) = self.setting() {
                reads.extend(setting.first_reads()?);
            }
            reads.extend(tmpfiles::first_reads()?);
        }
        Ok(reads)
    }

    fn overcommit_path(&self) -> Result<HostPath, Stop> {
        known(&format!("{}/nr_overcommit_hugepages", self.folder()?))
    }

    /// What makes it so at boot.
    fn kept(&self, facts: &Facts, pools: &[Pool<'_>], change: &mut Change) -> Result<(), Stop> {
        if !self.persist {
            return Ok(());
        }
        match self.setting() {
            Some(setting) if self.is_default(facts)? => setting.persisted(facts, change),
            _ => {
                let values: Vec<_> =
                    pools.iter().map(|(_, path, count)| (path.as_str(), Some(count.to_string()))).collect();
                tmpfiles::persist(facts, &values, change)
            }
        }
    }

    /// What makes it so now.
    fn live(&self, facts: &Facts, pools: Vec<Pool<'_>>, change: &mut Change) -> Result<(), Stop> {
        for pool in pools {
            self.pool(facts, pool, change)?;
        }
        if let Some(count) = self.overcommit {
            let path = self.overcommit_path()?;
            let now = facts.value(&path)?.ok_or_else(|| self.not_offered(facts, None))?;
            if !Shape::Number.alike(&now, &count.to_string()) {
                let claim = Claim::new("hugepages", &format!("{}/overcommit", self.size));
                let value = count.to_string();
                let (name, before) = (format!("huge pages {} beyond", self.size), Some(now.clone()));
                change.steps.push(Step::write(claim, path, Seen::Value(now), &value, Shape::Number));
                change.diff.push(Diff::Value { name, before, after: Some(value) });
            }
        }
        Ok(())
    }

    fn pool(&self, facts: &Facts, pool: Pool<'_>, change: &mut Change) -> Result<(), Stop> {
        let (node, path, count) = pool;
        let Some(now) = facts.value(&path)? else { return Err(self.not_offered(facts, node)) };
        let have: u64 = now.trim().parse().map_err(|_| Stop::failed(format!("{path} holds `{now}`")))?;
        let on = node.map(|node| format!(" on node {node}")).unwrap_or_default();
        change.evidence.push(Evidence::told(
            format!("{count} huge pages of {}{on}", self.size),
            path.as_str(),
            (have == count, false),
            now.trim(),
            Effect::Now,
        ));
        if have == count {
            return Ok(());
        }
        let size = self.size()?;
        if count < have {
            let free = path
                .parent()
                .map(|folder| folder.join("free_hugepages"))
                .transpose()
                .map_err(Stop::failed)?;
            let free = free.map(|free| facts.value(&free)).transpose()?.flatten();
            let used = have.saturating_sub(free.and_then(|free| free.trim().parse().ok()).unwrap_or(have));
            if count < used {
                return Err(Stop::refused("count", format!("{used} pages of {} are in use", self.size))
                    .way_out("stop the guests or daemons that use them in an earlier task, or ask for at least as many"));
            }
        } else {
            enough(facts, node, (count - have).saturating_mul(size), change)?;
        }
        let name = match node {
            None => self.size.clone(),
            Some(node) => format!("node{node}/{}", self.size),
        };
        let claim = Claim::new("hugepages", &name);
        change.steps.push(Step::write(claim, path, Seen::Value(now), &count.to_string(), Shape::Number));
        change.diff.push(Diff::Value {
            name: format!("huge pages {name}"),
            before: Some(have.to_string()),
            after: Some(count.to_string()),
        });
        Ok(())
    }

    /// Whether the host has the memory for it, besides what else is promised.
    fn promised(&self, facts: &Facts, pools: &[Pool<'_>], change: &mut Change) -> Result<(), Stop> {
        if change.steps.is_empty() {
            return Ok(());
        }
        let size = self.size()?.saturating_mul(1024);
        let mut now = budget::pools_now(facts)?;
        let mut count = now.get(&size).copied().unwrap_or(0);
        for (_, path, wanted) in pools {
            let have = facts.value(path)?.and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
            count = count.saturating_add(*wanted).saturating_sub(have);
        }
        now.insert(size, count);
        let source = "this task".to_owned();
        budget::judge(facts, &Asked { pools: Some(now), source, ..Asked::default() }, change)
    }

    fn not_offered(&self, facts: &Facts, node: Option<&str>) -> Stop {
        let line = match known("/proc/cmdline").map(|path| facts.value(&path)) {
            Ok(Ok(line)) => line.unwrap_or_default(),
            _ => String::new(),
        };
        let sizes = facts.names("/sys/kernel/mm/hugepages/*").unwrap_or_default();
        let names: Vec<&str> =
            sizes.iter().filter_map(|size| size.name().strip_prefix("hugepages-")).collect();
        let words = match node {
            Some(node) if !names.is_empty() => format!("node {node} offers no pages of {}", self.size),
            _ => format!("this kernel offers no pages of {}", self.size),
        };
        let hint = if line.contains("default_hugepagesz=") {
            " (with `default_hugepagesz=` on the kernel's command line other sizes may be left out)"
        } else {
            ""
        };
        let offered = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Stop::refused("size", format!("{words}{hint}")).way_out(format!("it offers: {offered}"))
    }
}

fn meminfo(node: Option<&str>) -> Result<HostPath, Stop> {
    known(&match node {
        None => "/proc/meminfo".to_owned(),
        Some(node) => format!("/sys/devices/system/node/node{node}/meminfo"),
    })
}

/// A line of meminfo, in KiB.
fn memory(facts: &Facts, node: Option<&str>, name: &str) -> Result<u64, Stop> {
    let text = facts.value(&meminfo(node)?)?.unwrap_or_default();
    let value = text.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| *word != name).skip(1);
        words.next()?.parse().ok()
    });
    Ok(value.unwrap_or(0))
}

/// Refuses more than the memory at hand, and says where the kernel must free some first.
fn enough(facts: &Facts, node: Option<&str>, need: u64, change: &mut Change) -> Result<(), Stop> {
    let at_hand = match node {
        None => memory(facts, None, "MemAvailable:")?,
        // The kernel counts what can be freed for the whole machine alone.
        Some(_) => memory(facts, node, "MemFree:")? + memory(facts, node, "FilePages:")?,
    };
    let place = node.map_or("this host".to_owned(), |node| format!("node {node}"));
    let text = |kib: u64| size_text(kib.saturating_mul(1024));
    if need > at_hand {
        return Err(Stop::refused(
            "count",
            format!("{} more are needed and {place} has {} to give", text(need), text(at_hand)),
        )
        .way_out("ask for fewer, stop what uses the memory, or reserve them at boot by `kernel_args`"));
    }
    let free = memory(facts, node, "MemFree:")?;
    if need > free {
        change.notes.push(format!(
            "{} of {} must be freed on {place} first: where it is in pieces the step fails and is undone",
            text(need - free),
            text(need)
        ));
    }
    Ok(())
}

impl Module for Hugepages {
    const NAME: &'static str = "hugepages";
    const EXAMPLE: &'static str = "\
- name: Two gibibytes of huge pages for the guests
  hugepages:
    size: 2M
    count: 1024
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let pools = self.pools()?;
        facts.need(&self.first_reads()?)?;
        let mut change = Change::default();
        let kept = self.kept(facts, &pools, &mut change);
        if self.persist && self.size()? >= 1 << 20 {
            change.notes.push(format!(
                "pages of {} may not be found late in a boot: reserve them by `kernel_args` with hugepagesz={} hugepages=N",
                self.size, self.size
            ));
        }
        let live = self.live(facts, pools.clone(), &mut change);
        let promised = self.promised(facts, &pools, &mut change);
        all([kept, live, promised])?;
        change.result = json!({ "size": self.size, "count": self.count, "nodes": self.nodes });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let host = || {
            let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
            let node = "/sys/devices/system/node/node0";
            Host::new()
                .dir("/etc/sysctl.d")
                .value("/proc/meminfo", MEMINFO)
                .value("/proc/cmdline", "quiet")
                .value("/proc/sys/vm/nr_hugepages", "0")
                .value(&format!("{pool}/nr_hugepages"), "0")
                .value(&format!("{pool}/free_hugepages"), "0")
                .value(&format!("{pool}/nr_overcommit_hugepages"), "0")
                .value(&format!("{node}/meminfo"), "Node 0 MemFree: 8000000 kB\nNode 0 FilePages: 1000 kB")
                .value(&format!("{node}/hugepages/hugepages-2048kB/nr_hugepages"), "0")
                .value(&format!("{node}/hugepages/hugepages-2048kB/free_hugepages"), "0")
        };
        let sample = |about, args| Sample { about, args, host: host(), calls: Vec::new() };
        vec![
            sample("in all", json!({ "count": 1024, "overcommit": 16 })),
            sample("by node", json!({ "nodes": { "0": 512 } })),
            sample("not kept", json!({ "count": 8, "persist": false })),
        ]
    }
}

/// A machine with 8 GB to give.
const MEMINFO: &str =
    "MemTotal: 16000000 kB\nMemFree: 1000000 kB\nMemAvailable: 8000000 kB\nHugepagesize: 2048 kB";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    fn host() -> Host {
        Hugepages::samples()[0].host.clone()
    }

    #[test]
    fn nine_hundred_of_a_thousand_is_a_failed_step() {
        let change = planned::<Hugepages>(&host(), json!({ "count": 1024 }));
        let step = change.steps.last().unwrap();
        assert!(step.after.holds(&Seen::Value("1024".to_owned())));
        assert!(!step.after.holds(&Seen::Value("900".to_owned())));
        assert_eq!(change.steps.len(), 2, "kept over boots too");
        assert!(change.notes[0].contains("must be freed"), "{:?}", change.notes);
    }

    #[test]
    fn too_many_and_too_few_are_refused() {
        assert!(refusal::<Hugepages>(&host(), json!({ "count": 5000 })).contains("to give"));
        let pool = "/sys/kernel/mm/hugepages/hugepages-2048kB";
        let used = host()
            .value(&format!("{pool}/nr_hugepages"), "100")
            .value(&format!("{pool}/free_hugepages"), "40");
        assert!(refusal::<Hugepages>(&used, json!({ "count": 10 })).contains("60 pages"));
        assert_eq!(planned::<Hugepages>(&used, json!({ "count": 60, "persist": false })).steps.len(), 1);
    }

    #[test]
    fn a_size_that_is_not_offered_is_told_with_the_reason() {
        let host = host().value("/proc/cmdline", "default_hugepagesz=2M");
        let why = refusal::<Hugepages>(&host, json!({ "size": "1G", "count": 2 }));
        assert!(why.contains("default_hugepagesz") && why.contains("2048kB"), "{why}");
        assert!(refusal::<Hugepages>(&host, json!({ "size": "2M" })).contains("`count` or `nodes`"));
        assert!(refusal::<Hugepages>(&host, json!({ "nodes": { "a": 2 } })).contains("number of a node"));
    }

    #[test]
    fn each_node_is_kept_at_boot() {
        let node = "/sys/devices/system/node/node1";
        let host = host()
            .value(&format!("{node}/meminfo"), "Node 1 MemFree: 8000000 kB\nNode 1 FilePages: 1000 kB")
            .value(&format!("{node}/hugepages/hugepages-2048kB/nr_hugepages"), "0")
            .value(&format!("{node}/hugepages/hugepages-2048kB/free_hugepages"), "0");
        let args = json!({ "nodes": { "0": 512, "1": 256 } });
        let mut after = host.clone();
        for step in planned::<Hugepages>(&host, args.clone()).steps {
            after.act(&step.act).unwrap();
        }
        assert!(planned::<Hugepages>(&after, args).is_empty(), "both nodes have their line");
    }

    #[test]
    fn nodes_are_kept_by_tmpfiles() {
        let change = planned::<Hugepages>(&host(), json!({ "nodes": { "0": 512 } }));
        assert!(
            change
                .steps
                .iter()
                .any(|step| step.path().is_some_and(|path| path.as_str().starts_with("/etc/tmpfiles.d")))
        );
    }
}
