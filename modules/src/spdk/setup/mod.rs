//! `spdk_setup`: huge pages, and disks bound to a user-space driver.
mod bind;
mod boot;
mod disk;
mod samples;

use super::address::normal;
use crate::files::place::{self, known};
use crate::files::text::{TextFile, ended};
use crate::kernel::{Hugepages, Modprobe};
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Claim, Facts, Read, Row, Stop, all};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Huge pages, and disks bound to a user-space driver: what a target of SPDK needs of a host.
///
/// Only the disks in `devices` are touched: SPDK's own script takes every disk that it knows where no list is given, and
/// ends well where it bound nothing. A disk that is mounted, swapped to, held (LVM, MD, device mapper, bcache) or open
/// in a process is refused with what uses it, and looked at once more right before it is bound. One with a partition
/// table, a file system or another signature (Ceph and LVM members too) is refused with what was found, until `data`
/// names its serial number or its name in /dev/disk/by-id: then it is bound, and its data is the target's to overwrite.
///
/// Binding goes through sysfs (`driver_override`, `unbind`, `drivers_probe`) and is looked at by the driver link. It is
/// lost at a boot, so a unit binds the same disks again before file systems are mounted, after it has compared the
/// serial number; `persist: false` leaves that out. An undo gives a disk back to the driver that it had.
///
/// `vfio-pci` needs an IOMMU (or vfio's unsafe mode) and all of the disk's IOMMU group: other devices of the group that
/// the kernel still drives are told. Huge pages are counted exactly and by NUMA node, as in the module `hugepages`.
///
/// Errors: an address that is not there, that is no disk, a driver that this kernel does not have. Units: pages.
/// Sources: the kernel's Documentation/ABI/testing/sysfs-bus-pci and Documentation/driver-api/vfio.rst, SPDK's setup.sh.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpdkSetup {
    /// The disks: these and no others.
    #[serde(default)]
    pub devices: Vec<Device>,
    /// The driver that they are bound to.
    #[serde(default)]
    pub driver: Driver,
    /// Huge pages for the target and its guests.
    #[serde(default)]
    pub hugepages: Option<Pages>,
    /// The user that runs the target, where it is not root: it may lock memory without a limit from its next login on.
    #[serde(default)]
    pub user: Option<String>,
    /// Whether it is so after the next boot too.
    #[serde(default = "crate::argument::yes")]
    pub persist: bool,
}

/// A disk.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Its PCI address: 0000:5e:00.0.
    pub address: String,
    /// Its serial number or its name in /dev/disk/by-id, where it may be taken although data is on it.
    #[serde(default)]
    pub data: Option<String>,
}

/// Huge pages.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pages {
    /// The size of a page.
    #[serde(default = "two_mebibytes")]
    pub size: String,
    /// How many in all; the kernel spreads them over the nodes.
    #[serde(default)]
    pub count: Option<u64>,
    /// How many on each NUMA node: those of the disks and of the target's cores.
    #[serde(default)]
    pub nodes: Option<BTreeMap<String, u64>>,
}

fn two_mebibytes() -> String {
    "2M".to_owned()
}

/// A user-space driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Driver {
    /// With an IOMMU.
    #[default]
    #[serde(rename = "vfio-pci")]
    Vfio,
    /// Without one: any address of memory can be reached by the disk.
    #[serde(rename = "uio_pci_generic")]
    Uio,
}

impl Driver {
    fn name(self) -> &'static str {
        match self {
            Self::Vfio => "vfio-pci",
            Self::Uio => "uio_pci_generic",
        }
    }
}

/// Makes a planner of another module from arguments that this one makes.
fn of<M: Module>(args: Json) -> Result<M, Stop> {
    serde_json::from_value(args).map_err(|why| Stop::failed(why.to_string()))
}

impl SpdkSetup {
    /// Addresses with their devices, each once.
    fn addresses(&self) -> Result<Vec<(String, &Device)>, Stop> {
        let mut all: Vec<(String, &Device)> = Vec::new();
        for device in &self.devices {
            let address = normal("devices", &device.address)?;
            if all.iter().any(|(known, _)| *known == address) {
                return Err(Stop::refused("devices", format!("{address} is listed twice")));
            }
            all.push((address, device));
        }
        Ok(all)
    }

    fn pages(&self) -> Result<Option<Hugepages>, Stop> {
        let pages = self.hugepages.as_ref().map(|pages| {
            of(json!({ "size": pages.size, "count": pages.count, "nodes": pages.nodes, "persist": self.persist }))
        });
        pages.transpose()
    }

    fn module(&self) -> Result<Modprobe, Stop> {
        let persistent = if self.persist { "present" } else { "disabled" };
        of(json!({ "name": self.driver.name(), "persistent": persistent }))
    }

    /// Lets a user lock memory: pam_limits(8) reads it at a login.
    fn memlock(&self, facts: &Facts, change: &mut Change) -> Result<(), Stop> {
        let Some(user) = &self.user else { return Ok(()) };
        let fine = |letter: char| letter.is_ascii_alphanumeric() || "_.-@%".contains(letter);
        if user.is_empty() || !user.chars().all(fine) {
            return Err(Stop::refused("user", format!("`{user}` is not the name of a user")));
        }
        let path = known(LIMITS)?;
        let file = TextFile::read(facts, &path)?;
        let line = format!("{user} - memlock unlimited");
        if file.text.lines().any(|known| known.split_whitespace().eq(line.split_whitespace())) {
            return Ok(());
        }
        file.put(facts, Claim::part(&path, user), &format!("{}{line}\n", ended(&file.text)), change)?;
        change.notes.push(format!("{user} may lock memory from its next login on"));
        Ok(())
    }
}

const LIMITS: &str = "/etc/security/limits.d/90-tunerun-spdk.conf";

impl Module for SpdkSetup {
    const NAME: &'static str = "spdk_setup";
    const EXAMPLE: &'static str = "\
- name: Eight gibibytes of huge pages and one disk for SPDK
  spdk_setup:
    hugepages: { size: 2M, nodes: { 0: 4096 } }
    driver: vfio-pci
    devices:
      - address: '0000:02:00.0'
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let addresses = self.addresses()?;
        let (pages, module) = (self.pages()?, self.module()?);
        let mut reads: Vec<Read> = Vec::new();
        for (address, _) in &addresses {
            reads.extend(bind::first_reads(address)?);
        }
        if !addresses.is_empty() {
            reads.push(Read::Ask(lsblk()));
            reads.extend(bind::iommu_reads()?);
            if self.persist {
                reads.extend(boot::first_reads()?);
            }
        }
        if self.user.is_some() {
            reads.extend(place::first_reads(&known(LIMITS)?));
        }
        // What these plan is asked for in the same round.
        let first = |plan: Result<Change, Stop>| crate::vocabulary::missing(plan);
        reads.extend(pages.iter().flat_map(|pages| first(pages.plan(facts))));
        if !addresses.is_empty() {
            reads.extend(first(module.plan(facts)));
        }
        facts.need(&reads)?;
        let mut change = Change::default();
        if let Some(pages) = &pages {
            join(&mut change, pages.plan(facts).map_err(|stop| about("hugepages", stop, ""))?);
        }
        let limits = self.memlock(facts, &mut change);
        let bound = self.bound(facts, &addresses, &module, &mut change);
        all([limits, bound])?;
        let names: Vec<&str> = addresses.iter().map(|(address, _)| address.as_str()).collect();
        change.result = json!({ "devices": names, "driver": self.driver.name() });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::all()
    }
}

impl SpdkSetup {
    fn bound(
        &self,
        facts: &Facts,
        addresses: &[(String, &Device)],
        module: &Modprobe,
        change: &mut Change,
    ) -> Result<(), Stop> {
        if addresses.is_empty() {
            return Ok(());
        }
        bind::has_iommu(facts, self.driver)?;
        let mut binds = Vec::new();
        let disks =
            all(addresses.iter().map(|(address, device)| bind::Standing::read(facts, address, device)))?;
        for disk in &disks {
            disk.told(self.driver.name(), change);
            binds.extend(disk.bind(facts, self.driver)?);
        }
        all(disks.iter().map(|disk| disk.group(facts, self.driver, change)))?;
        join(
            change,
            module.plan(facts).map_err(|stop| {
                about("driver", stop, &format!("{} cannot be loaded: ", self.driver.name()))
            })?,
        );
        for (step, diff) in binds {
            change.steps.push(step);
            change.diff.push(diff);
        }
        if self.persist {
            boot::persist(facts, &disks, self.driver.name(), change)?;
        }
        Ok(())
    }
}

/// A refusal by another module is about an argument of this one.
fn about(argument: &'static str, stop: Stop, words: &str) -> Stop {
    match stop {
        Stop::Refused(mut refusal) => {
            refusal.argument = Some(argument);
            refusal.why = format!("{words}{}", refusal.why);
            Stop::Refused(refusal)
        }
        other => other,
    }
}

fn lsblk() -> Row {
    Row::new("lsblk", Vec::<String>::new())
}

/// Adds what another module plans.
fn join(change: &mut Change, other: Change) {
    change.steps.extend(other.steps);
    change.then.extend(other.then);
    change.risks.extend(other.risks);
    change.diff.extend(other.diff);
    change.notes.extend(other.notes);
    change.evidence.extend(other.evidence);
    change.effect = change.effect.max(other.effect);
}

#[cfg(test)]
mod tests;
