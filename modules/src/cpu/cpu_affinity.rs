//! `cpu_affinity`: the CPUs and the memory of a unit's processes.
use super::topology::{self, Topology};
use crate::files::place::{self, known};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::services::unit::{RUNNING, full_name, is_template, show};
use crate::services::{DropIn, SystemdUnit};
use crate::shape::CpuList;
use crate::vocabulary::{Change, Effect, Evidence, Facts, Output, Read, Seen, Standing, Stop, all};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The CPUs and the memory of the processes of a unit of systemd, by a group of CPUs that share a third-level cache, by NUMA
/// node, or by a list; computed from the host's own topology at each plan.
///
/// A drop-in says it (`CPUAffinity=`, `AllowedCPUs=`, `NUMAPolicy=`), and it is felt when the unit starts again. The evidence
/// is what the kernel says of the running process (`Cpus_allowed_list` in /proc/PID/status): `AllowedCPUs` needs the cpuset
/// controller, and where nobody gives it to the unit (a container, a hybrid control group) the answer is *applied, not live*.
/// Fewer CPUs may cost as much as they bring: pinning to one cache has been measured to help reads and to harm writes, so
/// judge it by both.
///
/// Errors: a unit that is not there, CPUs that do not run, a node or a cache that the host does not have. Sources:
/// systemd.exec(5), systemd.resource-control(5).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CpuAffinity {
    /// The unit, also a template such as `ceph-osd@.service`; a name without a kind is a service.
    pub unit: String,
    /// Numbers of groups of CPUs that share a third-level cache, from 0, in the order of their first CPU.
    #[serde(default)]
    pub l3: Vec<u32>,
    /// Numbers of NUMA nodes.
    #[serde(default)]
    pub nodes: Vec<u32>,
    /// A list of CPUs: `0-15`. Exactly one of `l3`, `nodes` and `cpus`.
    #[serde(default)]
    pub cpus: Option<String>,
    /// CPUs that are left out all the same, such as those that serve interrupts.
    #[serde(default)]
    pub without: Option<String>,
    /// Whether the second threads of cores are left out.
    #[serde(default)]
    pub first_threads: bool,
    /// What holds the processes on these CPUs.
    #[serde(default)]
    pub by: Vec<Holder>,
    /// Where memory comes from, on the nodes that these CPUs belong to; stays as it is where it is not said.
    #[serde(default)]
    pub memory: Option<Memory>,
    /// Whether the unit is started again once, after all changes of the host, where this changed and it runs.
    #[serde(default)]
    pub restart: bool,
}

/// What holds processes on CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Holder {
    /// The processes' own affinity, which they may change: `CPUAffinity`. What is taken where nothing is said.
    Affinity,
    /// The control group, which they cannot leave: `AllowedCPUs`.
    Cpuset,
}

/// Where memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Memory {
    /// These nodes alone; an allocation fails where they are full.
    Bind,
    /// These nodes first.
    Preferred,
    /// These nodes in turn.
    Interleave,
    /// The node of the CPU that asks.
    Local,
}

impl Memory {
    fn word(self) -> &'static str {
        match self {
            Self::Bind => "bind",
            Self::Preferred => "preferred",
            Self::Interleave => "interleave",
            Self::Local => "local",
        }
    }
}

/// The drop-in's name.
const NAME: &str = "50-tunerun-cpus";

impl CpuAffinity {
    fn list(&self, topology: &Topology) -> Result<CpuList, Stop> {
        let ways = [!self.l3.is_empty(), !self.nodes.is_empty(), self.cpus.is_some()];
        if ways.iter().filter(|given| **given).count() != 1 {
            return Err(Stop::refused("cpus", "exactly one of `l3`, `nodes` and `cpus` says which CPUs"));
        }
        let mut all: Vec<u32> = Vec::new();
        for number in &self.l3 {
            let group = topology.l3.get(*number as usize).ok_or_else(|| {
                let why = format!("this host has {} groups of CPUs that share a third-level cache, and none with number {number}", topology.l3.len());
                Stop::refused("l3", why).way_out(if topology.l3.is_empty() { "use `nodes`" } else { "they are counted from 0" })
            })?;
            all.extend(group.iter());
        }
        for number in &self.nodes {
            all.extend(topology.node("nodes", *number)?.iter());
        }
        if let Some(text) = &self.cpus {
            all.extend(CpuList::parse(text).map_err(|why| Stop::refused("cpus", why))?.iter());
        }
        let without = CpuList::parse(self.without.as_deref().unwrap_or_default())
            .map_err(|why| Stop::refused("without", why))?;
        let list: CpuList = all
            .into_iter()
            .filter(|cpu| !without.contains(*cpu))
            .filter(|cpu| !self.first_threads || topology.is_first_thread(*cpu))
            .collect();
        let off: CpuList = list.iter().filter(|cpu| !topology.online.contains(*cpu)).collect();
        match (list.is_empty(), off.is_empty()) {
            (true, _) => Err(Stop::refused("without", "no CPU is left")),
            (_, false) => Err(Stop::refused("cpus", format!("CPU {off} does not run on this host"))
                .way_out(format!("it has: {}", topology.online))),
            _ => Ok(list),
        }
    }

    fn holders(&self) -> Vec<Holder> {
        if self.by.is_empty() { vec![Holder::Affinity] } else { self.by.clone() }
    }

    /// The text of the drop-in. An empty assignment clears what the unit says of it.
    fn text(&self, unit: &str, list: &CpuList, topology: &Topology) -> Result<String, Stop> {
        let (holders, service) = (self.holders(), unit.ends_with(".service"));
        if !service && (holders.contains(&Holder::Affinity) || self.memory.is_some()) {
            return Err(Stop::refused("by", format!("{unit} has no processes of its own to hold"))
                .way_out("say `by: [cpuset]` alone for a slice or a scope"));
        }
        let section = match unit.rsplit_once('.').map(|(_, kind)| kind) {
            Some("service") => "Service",
            Some("slice") => "Slice",
            Some("scope") => "Scope",
            _ => return Err(Stop::refused("unit", format!("{unit} runs no processes"))),
        };
        let mut text = format!("# Made by tunerun.\n[{section}]\n");
        if holders.contains(&Holder::Affinity) {
            text.push_str(&format!("CPUAffinity=\nCPUAffinity={list}\n"));
        }
        if holders.contains(&Holder::Cpuset) {
            text.push_str(&format!("AllowedCPUs=\nAllowedCPUs={list}\n"));
        }
        if let Some(memory) = self.memory {
            text.push_str(&format!("NUMAPolicy={}\n", memory.word()));
            if memory != Memory::Local {
                let nodes: CpuList = list.iter().filter_map(|cpu| topology.node_of(cpu)).collect();
                text.push_str(&format!("NUMAMask={nodes}\n"));
            }
        }
        Ok(text)
    }

    /// What the kernel says of the running process.
    fn evidence(&self, facts: &Facts, unit: &str, list: &CpuList, change: &mut Change) -> Result<(), Stop> {
        let what = format!("the processes of {unit} run on CPU {list}");
        let pid = main_process(facts, unit)?;
        let Some(pid) = pid else {
            let why = if is_template(unit) {
                "a template has no process: ask for its instances"
            } else {
                "it has no main process now"
            };
            change.evidence.push(Evidence::not_available(what, "/proc/PID/status", why));
            return Ok(());
        };
        let path = known(&format!("/proc/{pid}/status"))?;
        let Some(status) = facts.value(&path)? else {
            change.evidence.push(Evidence::not_available(what, path.as_str(), "it has just ended"));
            return Ok(());
        };
        let seen = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
            .unwrap_or_default()
            .trim()
            .to_owned();
        let live = CpuList::parse(&seen)
            .is_ok_and(|seen| !seen.is_empty() && seen.iter().all(|cpu| list.contains(cpu)));
        let written = change.steps.is_empty();
        let proof = format!("Cpus_allowed_list in {path}");
        let told = Evidence::told(what, proof, (live, written), seen.clone(), Effect::DaemonRestart);
        if matches!(told.standing, Standing::Owed { .. }) {
            let by = match self.holders().contains(&Holder::Cpuset) {
                true => "; where it was started since, nobody gives its control group the cpuset controller",
                false => ": it was not started since, or changes its affinity by itself",
            };
            change.notes.push(format!("applied, not live: {unit} may run on CPU {seen}{by}"));
        }
        change.evidence.push(told);
        Ok(())
    }
}

/// The number of a service's main process; none where it has none now.
fn main_process(facts: &Facts, unit: &str) -> Result<Option<u32>, Stop> {
    if is_template(unit) || !unit.ends_with(".service") {
        return Ok(None);
    }
    let text = facts.output(&show(unit))?.text();
    let pid = text.lines().find_map(|line| line.strip_prefix("MainPID=")?.trim().parse::<u32>().ok());
    Ok(pid.filter(|pid| *pid > 0))
}

impl Module for CpuAffinity {
    const NAME: &'static str = "cpu_affinity";
    const EXAMPLE: &'static str = "\
- name: The client stays on the CPUs of one cache, and on its node's memory
  cpu_affinity:
    unit: juicefs.service
    l3: [0]
    memory: preferred
    restart: true
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "unit"), ("service", "unit")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let unit = full_name(&self.unit).map_err(|stop| match stop {
            Stop::Refused(mut refusal) => {
                refusal.argument = Some("unit");
                Stop::Refused(refusal)
            }
            other => other,
        })?;
        let mut reads = topology::first_reads()?;
        reads.push(Read::Stat(known(RUNNING)?));
        reads.extend(place::whole_reads(&known(&format!("/etc/systemd/system/{unit}.d/{NAME}.conf"))?));
        if !is_template(&unit) {
            reads.push(Read::Ask(show(&unit)));
        }
        facts.need(&reads)?;
        // What the process says shares a round with the processors.
        let process = match main_process(facts, &unit)? {
            Some(pid) => facts.need(&[Read::text(&known(&format!("/proc/{pid}/status"))?)]),
            None => Ok(()),
        };
        let topology = Topology::read(facts);
        all([process, topology.as_ref().map(|_| ()).map_err(Clone::clone)])?;
        let topology = topology?;
        let list = self.list(&topology)?;
        let text = self.text(&unit, &list, &topology)?;
        let drop_in: DropIn =
            serde_json::from_value(json!({ "name": NAME, "content": text, "restart": self.restart }))
                .map_err(|why| Stop::failed(format!("the drop-in cannot be said: {why}")))?;
        let task = SystemdUnit { name: Some(unit.clone()), drop_in: Some(drop_in), ..SystemdUnit::default() };
        let mut change = task.plan(facts).map_err(|stop| match stop {
            Stop::Refused(mut refusal) => {
                refusal.argument = Some("unit");
                Stop::Refused(refusal)
            }
            other => other,
        })?;
        self.evidence(facts, &unit, &list, &mut change)?;
        change.result = json!({ "unit": unit, "cpus": list.to_string() });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let sample = |about, args| Sample { about, args, host: host("0-15"), calls: Vec::new() };
        vec![
            sample("one cache", json!({ "unit": "ceph-osd@1", "l3": [1], "memory": "bind" })),
            sample(
                "a node by its control group",
                json!({ "unit": "ceph-osd@1.service", "nodes": [1], "by": ["cpuset"] }),
            ),
        ]
    }
}

/// A host whose daemon may run on some CPUs.
fn host(allowed: &str) -> Host {
    let unit = "ceph-osd@1.service";
    let shown = format!(
        "Id={unit}\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\nMainPID=77\nNeedDaemonReload=no\nType=simple\n"
    );
    topology::machines::machine(2, 8, 4, false)
        .dir("/etc/systemd/system")
        .dir(RUNNING)
        .answer(show(unit), Seen::Output(Output::ok(shown)))
        .value(
            "/proc/77/status",
            &format!("Name:\tceph-osd\nCpus_allowed:\tffff\nCpus_allowed_list:\t{allowed}\n"),
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::{Act, Content, Image};

    fn text(change: &Change) -> String {
        let content = change.steps.iter().find_map(|step| match &step.act {
            Act::Put { image: Image::File { content: Content::Bytes(bytes), .. }, .. } => {
                bytes.text().map(str::to_owned)
            }
            _ => None,
        });
        content.unwrap_or_else(|| panic!("{change:?}"))
    }

    fn ask(args: serde_json::Value) -> Change {
        planned::<CpuAffinity>(&host("0-15"), args)
    }

    #[test]
    fn caches_and_nodes_are_computed() {
        let l3 = ask(json!({ "unit": "ceph-osd@1", "l3": [3], "memory": "bind" }));
        assert_eq!(
            text(&l3),
            "# Made by tunerun.\n[Service]\nCPUAffinity=\nCPUAffinity=12-15\nNUMAPolicy=bind\nNUMAMask=1\n"
        );
        let node = ask(json!({ "unit": "ceph-osd@1", "nodes": [0], "without": "0-1", "by": ["cpuset"] }));
        assert!(text(&node).contains("AllowedCPUs=2-7\n"), "{}", text(&node));
        let template = ask(json!({ "unit": "ceph-osd@.service", "cpus": "4-5" }));
        assert!(
            template
                .steps
                .iter()
                .any(|step| step.path().is_some_and(|path| path.as_str().contains("ceph-osd@.service.d")))
        );
        assert!(matches!(template.evidence[0].standing, Standing::NotAvailable { .. }));
    }

    #[test]
    fn applied_is_not_live() {
        let args = json!({ "unit": "ceph-osd@1", "l3": [0], "by": ["cpuset"] });
        let first = ask(args.clone());
        assert!(matches!(&first.evidence[0].standing, Standing::Absent { seen } if seen == "0-15"));
        let applied = |allowed: &str| {
            let path = "/etc/systemd/system/ceph-osd@1.service.d/50-tunerun-cpus.conf";
            planned::<CpuAffinity>(&host(allowed).file(path, text(&first)), args.clone())
        };
        let owed = applied("0-15");
        assert!(owed.is_empty(), "{:?}", owed.steps);
        assert!(matches!(&owed.evidence[0].standing, Standing::Owed { .. }), "{:?}", owed.evidence);
        assert!(
            owed.notes.iter().any(|note| note.starts_with("applied, not live") && note.contains("cpuset")),
            "{:?}",
            owed.notes
        );
        assert!(matches!(applied("0-3").evidence[0].standing, Standing::Live { .. }));
        assert!(matches!(applied("2").evidence[0].standing, Standing::Live { .. }), "fewer is within");
    }

    #[test]
    fn what_the_host_does_not_have_is_refused() {
        let refused = |args| refusal::<CpuAffinity>(&host("0-15"), args);
        assert!(refused(json!({ "unit": "ceph-osd@1", "l3": [4] })).contains("4 groups"));
        assert!(refused(json!({ "unit": "ceph-osd@1", "nodes": [2] })).contains("no NUMA node 2"));
        assert!(refused(json!({ "unit": "ceph-osd@1", "cpus": "15-16" })).contains("CPU 16 does not run"));
        assert!(refused(json!({ "unit": "ceph-osd@1", "cpus": "1", "nodes": [0] })).contains("exactly one"));
        assert!(
            refused(json!({ "unit": "ceph-osd@1", "cpus": "1", "without": "1" })).contains("no CPU is left")
        );
        assert!(refused(json!({ "unit": "a.slice", "cpus": "1" })).contains("by: [cpuset]"));
        assert!(
            refused(json!({ "unit": "a.socket", "cpus": "1", "by": ["cpuset"] })).contains("no processes")
        );
    }
}
