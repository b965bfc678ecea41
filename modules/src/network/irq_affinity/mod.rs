//! `irq_affinity`: which CPUs serve the interrupts of a device.
mod balancer;
mod kept;
mod placing;
mod samples;
#[cfg(test)]
mod tests;

use self::balancer::Balancer;
use self::placing::{Placing, placed};
use super::interrupts::{self, Interrupt};
use super::owner::Owner;
use crate::argument::Names;
use crate::cpu::topology::{self, Topology};
use crate::module::{Module, Sample};
use crate::shape::{CpuList, Shape};
use crate::vocabulary::{Change, Diff, Effect, Evidence, Facts, Read, Risk, RiskName, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use std::collections::BTreeMap;

/// Which CPUs serve the interrupts of a device.
///
/// Interrupts are found by their names (`virtio0-input.3`, `mlx5_comp3@pci:0000:21:00.0`, `eth0-TxRx-3`) at each plan,
/// since their numbers change from boot to boot. All interrupts of one queue, received and sent, go to one CPU. Where that
/// is follows from the host's own topology (`place`), from a list (`cpus`) or name by name (`map`); housekeeping CPUs are
/// left out, and the first threads of cores are used before the others. The result's `cpus` is the list that isolates the
/// same CPUs by `cpu_isolation`.
///
/// The evidence is where the kernel really serves each interrupt (`effective_affinity_list`): it may be elsewhere than
/// asked for, or move only with the next interrupt. Interrupts that the kernel spreads by itself (queues of NVMe and
/// virtio-blk, and what `managed` names) refuse the write (EIO): with the waiver `cannot_converge` the rest is placed. A
/// CPU without a free vector refuses it too (ENOSPC): then the step fails and the batch is taken back.
///
/// A running irqbalance moves interrupts away again, so that `irqbalance` must say what becomes of it. Kept over boots by
/// a unit of systemd that finds the names again (`tunerun-irq-affinity.service`); the way back finds them by name too.
///
/// Errors: a device or a name that no interrupt has, CPUs that do not run, a node that is not there. Sources: the kernel's
/// Documentation/core-api/irq/irq-affinity.rst and proc_sys, irqbalance(1).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IrqAffinity {
    /// The device: a network card, `virtio0`, `nvme0`, or a PCI address such as `0000:21:00.0`. Without it `queues` or `map`
    /// names interrupts of any device.
    #[serde(default)]
    pub device: Option<String>,
    /// Names of interrupts, or patterns of them; without it all that serve a queue of the device.
    #[serde(default)]
    pub queues: Names,
    /// Where the queues go.
    #[serde(default)]
    pub place: Place,
    /// NUMA nodes to use; without it the device's own node (`local`, `l3`), or all nodes (`split`).
    #[serde(default)]
    pub nodes: Vec<u32>,
    /// The CPUs to use, one queue after the other in this order: `64-111`. Instead of `place` and `nodes`.
    #[serde(default)]
    pub cpus: Option<String>,
    /// CPUs by name or pattern: `{virtio0-input.0: '5', 'virtio0-output.*': 8-15}`. Instead of all above; the longest name
    /// that matches counts.
    #[serde(default)]
    pub map: BTreeMap<String, String>,
    /// CPUs that serve none of these interrupts. CPU 0 is where much of the kernel's own work happens.
    #[serde(default = "zero")]
    pub housekeeping: String,
    /// Further names or patterns of interrupts that the kernel lets nobody move.
    #[serde(default)]
    pub managed: Names,
    /// What becomes of irqbalance where it runs.
    #[serde(default)]
    pub irqbalance: Balancer,
    /// Whether it is so after the next boot too.
    #[serde(default = "crate::argument::yes")]
    pub persist: bool,
}

fn zero() -> String {
    "0".to_owned()
}

/// Where queues go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// One after the other on the CPUs of the device's NUMA node, the highest CPU first.
    #[default]
    Local,
    /// As `local`, but in turn on each group of CPUs that shares a third-level cache.
    L3,
    /// The first half of the queues on the first node, the second half on the second one (and so on with more nodes), the
    /// highest CPU first.
    Split,
}

/// One interrupt and the CPUs that shall serve it.
struct Wish {
    interrupt: Interrupt,
    cpus: CpuList,
}

impl IrqAffinity {
    fn check(&self) -> Result<(), Stop> {
        let named = !self.queues.list().is_empty() || !self.map.is_empty();
        if self.device.is_none() && !named {
            return Err(Stop::refused(
                "device",
                "which interrupts? name a device, or interrupts by `queues`",
            )
            .way_out("`awk '{print $NF}' /proc/interrupts` shows their names"));
        }
        if !self.map.is_empty() && (self.cpus.is_some() || !self.nodes.is_empty()) {
            return Err(Stop::refused("map", "`map` says it all: neither `cpus` nor `nodes` goes with it"));
        }
        Ok(())
    }

    fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut reads = vec![Read::Ask(interrupts::row())];
        reads.extend(topology::first_reads()?);
        reads.extend(Owner::first_reads(self.device.as_deref())?);
        reads.extend(balancer::first_reads()?);
        if self.persist {
            reads.extend(kept::first_reads(&self.label())?);
        }
        Ok(reads)
    }

    /// What the map is called that the unit reads.
    fn label(&self) -> String {
        let name = self.device.clone().unwrap_or_else(|| {
            let mut names = self.queues.list();
            names.extend(self.map.keys().cloned());
            names.join("+")
        });
        name.chars()
            .map(
                |letter| if letter.is_ascii_alphanumeric() || "._-+".contains(letter) { letter } else { '-' },
            )
            .collect()
    }

    /// The interrupts that are meant. One that matches nothing is an error, never "ok".
    fn meant(&self, all: Vec<Interrupt>, device: &Owner) -> Result<Vec<Interrupt>, Stop> {
        let mut patterns = self.queues.list();
        patterns.extend(self.map.keys().cloned());
        let of_device: Vec<Interrupt> = all.into_iter().filter(|one| device.has(one)).collect();
        if of_device.is_empty() {
            return Err(Stop::refused("device", format!("no interrupt is of {}", device.name)).way_out(
                "is the card up? many drivers ask for their interrupts only then; else name them by `queues`",
            ));
        }
        if patterns.is_empty() {
            let queues: Vec<Interrupt> = of_device.into_iter().filter(|one| one.queue().is_some()).collect();
            if queues.is_empty() {
                return Err(Stop::refused(
                    "device",
                    format!("no interrupt of {} serves a queue", device.name),
                )
                .way_out("name its interrupts by `queues`"));
            }
            return Ok(queues);
        }
        for pattern in &patterns {
            if !of_device.iter().any(|one| one.is_meant_by(pattern)) {
                let near = crate::argument::nearest(pattern, of_device.iter().map(|one| one.name.as_str()));
                let hint = near.map_or_else(
                    || of_device.iter().take(6).map(|one| one.name.as_str()).collect::<Vec<_>>().join(", "),
                    |near| format!("did you mean `{near}`?"),
                );
                let argument = if self.map.contains_key(pattern) { "map" } else { "queues" };
                return Err(Stop::refused(
                    argument,
                    format!("no interrupt of {} is called `{pattern}`", device.name),
                )
                .way_out(hint));
            }
        }
        Ok(of_device.into_iter().filter(|one| patterns.iter().any(|name| one.is_meant_by(name))).collect())
    }

    fn wishes(&self, facts: &Facts, change: &mut Change) -> Result<(Vec<Wish>, Owner), Stop> {
        let device = Owner::read(facts, self.device.as_deref())?;
        let topology = Topology::read(facts)?;
        let meant = self.meant(interrupts::all(facts)?, &device)?;
        let placing = Placing {
            place: self.place,
            nodes: &self.nodes,
            cpus: self.cpus.as_deref(),
            map: &self.map,
            housekeeping: &self.housekeeping,
        };
        let wishes: Vec<Wish> = placed(&meant, &placing, &topology, device.node, &mut change.notes)?
            .into_iter()
            .zip(meant)
            .map(|(cpus, interrupt)| Wish { interrupt, cpus })
            .collect();
        let used: CpuList = wishes.iter().flat_map(|wish| wish.cpus.iter().collect::<Vec<_>>()).collect();
        if let (Some(node), Place::Local | Place::L3) = (device.node, self.place) {
            let far = used.iter().filter(|cpu| topology.node_of(*cpu) != Some(node)).count();
            if far > 0 {
                change.notes.push(format!(
                    "{far} of {} CPUs are not on node {node}, where {} sits: each packet crosses between nodes",
                    used.len(),
                    device.name
                ));
            }
        }
        Ok((wishes, device))
    }

    fn is_managed(&self, interrupt: &Interrupt) -> bool {
        interrupt.is_managed() || self.managed.list().iter().any(|name| interrupt.is_meant_by(name))
    }

    /// The writes, and where each interrupt is really served.
    fn live(&self, facts: &Facts, wishes: &[Wish], device: &Owner, change: &mut Change) -> Result<(), Stop> {
        let files = |wish: &Wish| -> Result<[Read; 2], Stop> {
            Ok([
                Read::text(&wish.interrupt.file("smp_affinity_list")?),
                Read::text(&wish.interrupt.file("effective_affinity_list")?),
            ])
        };
        let reads: Vec<Read> =
            wishes.iter().map(files).collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        facts.need(&reads)?;
        let shared = interrupts::shared(facts)?;
        let (mut stuck, mut elsewhere, mut unwritten) = (Vec::new(), Vec::new(), 0);
        for Wish { interrupt, cpus } in wishes {
            let path = interrupt.file("smp_affinity_list")?;
            let Some(now) = facts.value(&path)? else {
                return Err(Stop::failed(format!("{} is gone since it was listed", interrupt.name)));
            };
            let wanted = cpus.to_string();
            let written = Shape::CpuList.alike(&now, &wanted);
            let served = facts.value(&interrupt.file("effective_affinity_list")?)?;
            // Old kernels do not tell; the mask is all there is then.
            let served = served.filter(|served| !served.trim().is_empty()).unwrap_or_else(|| now.clone());
            let there = CpuList::parse(&served)
                .is_ok_and(|served| !served.is_empty() && served.iter().all(|cpu| cpus.contains(cpu)));
            if !there {
                elsewhere.push(format!("{} by {served}", interrupt.name));
            }
            if written || (there && self.is_managed(interrupt)) {
                continue;
            }
            unwritten += 1;
            if self.is_managed(interrupt) {
                stuck.push(format!("{} (served by {served}, not {wanted})", interrupt.name));
                continue;
            }
            change.diff.push(Diff::Value {
                name: format!("CPUs of {} (interrupt {})", interrupt.name, interrupt.number),
                before: Some(now.clone()),
                after: Some(wanted.clone()),
            });
            change.steps.push(interrupt.placed(&now, &wanted, shared.contains(&interrupt.name))?);
        }
        change.risks.extend(immovable(&stuck));
        let seen = match elsewhere.len() {
            0 => format!("all {} are", wishes.len()),
            many => format!("{many} of {} are not: {}", wishes.len(), elsewhere.join(", ")),
        };
        change.evidence.push(Evidence::told(
            format!("the interrupts of {} are served by the CPUs that they are placed on", device.name),
            "/proc/irq/*/effective_affinity_list",
            (elsewhere.is_empty(), unwritten == 0),
            seen.clone(),
            Effect::Now,
        ));
        if unwritten == 0 && !elsewhere.is_empty() {
            change.notes.push(format!("applied, but not live: {seen}; one moves with its next interrupt"));
        }
        Ok(())
    }
}

/// The risk of interrupts that the kernel keeps to itself.
fn immovable(stuck: &[String]) -> Option<Risk> {
    let (these, them) = match stuck.len() {
        0 => return None,
        1 => ("this interrupt", "it"),
        _ => ("these interrupts", "them"),
    };
    let why =
        format!("the kernel spreads {these} by itself and lets nobody move {them}: {}", stuck.join(", "));
    Some(Risk { name: RiskName::CannotConverge, why })
}

impl Module for IrqAffinity {
    const NAME: &'static str = "irq_affinity";
    const EXAMPLE: &'static str = "\
- name: Half of the queues on each node, received and sent on one core
  irq_affinity:
    device: eth0
    place: split
    irqbalance: stop
  register: irqs
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "device"), ("dev", "device")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        facts.need(&self.first_reads()?)?;
        let mut change = Change::default();
        let (wishes, device) = self.wishes(facts, &mut change)?;
        let own: Vec<(String, String)> =
            wishes.iter().map(|wish| (wish.interrupt.name.clone(), wish.cpus.to_string())).collect();
        balancer::settle(facts, self.irqbalance, &mut change)?;
        if self.persist {
            kept::keep(facts, &self.label(), &own, &mut change)?;
        }
        self.live(facts, &wishes, &device, &mut change)?;
        let used: CpuList = wishes.iter().flat_map(|wish| wish.cpus.iter().collect::<Vec<_>>()).collect();
        let queues: Map<String, serde_json::Value> =
            own.into_iter().map(|(name, cpus)| (name, json!(cpus))).collect();
        change.result =
            json!({ "device": device.name, "node": device.node, "cpus": used.to_string(), "queues": queues });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::samples()
    }
}
