//! One disk: whether it may be given away, and the step that binds it.
use super::disk::{find, serial, uses};
use super::{Device, Driver, lsblk};
use crate::files::place::known;
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Evidence, Facts, HostPath, Kind, Match, Output, Read, Row, Seen,
    Spoil, Step, Stop,
};
use serde_json::Value as Json;

const NO_IOMMU: &str = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode";
const GROUPS: &str = "/sys/kernel/iommu_groups/*";

/// How a disk stands now.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// Its address.
    pub address: String,
    /// The driver that it is bound to; none where it is bound to none.
    pub driver: Option<String>,
    /// Its block devices.
    pub blocks: Vec<String>,
    /// Its serial number, where a block device tells it.
    pub serial: Option<String>,
    /// What a person named it by, to take it although data is on it.
    data: Option<String>,
}

fn folder(address: &str) -> String {
    format!("/sys/bus/pci/devices/{address}")
}

fn driver_of(address: &str) -> Row {
    Row::new("pci-driver", [address])
}

/// Who holds its disks or their partitions open.
pub(super) fn openers(address: &str) -> Row {
    Row::new("pci-disk-openers", [address])
}

fn globs(address: &str) -> [String; 2] {
    let folder = folder(address);
    [format!("{folder}/nvme/nvme*/nvme*n*"), format!("{folder}/virtio*/block/*")]
}

fn group(address: &str) -> String {
    format!("{}/iommu_group/devices/*", folder(address))
}

/// What is looked at of one disk in the first round.
pub(super) fn first_reads(address: &str) -> Result<Vec<Read>, Stop> {
    let mut reads = vec![
        Read::Ask(driver_of(address)),
        Read::Ask(openers(address)),
        Read::text(&known(&format!("{}/class", folder(address)))?),
        Read::Glob(group(address)),
    ];
    reads.extend(globs(address).map(Read::Glob));
    Ok(reads)
}

/// What is looked at of the machine.
pub(super) fn iommu_reads() -> Result<Vec<Read>, Stop> {
    Ok(vec![Read::Glob(GROUPS.to_owned()), Read::text(&known(NO_IOMMU)?)])
}

/// Refuses vfio where there is no IOMMU.
pub(super) fn has_iommu(facts: &Facts, driver: Driver) -> Result<(), Stop> {
    if driver != Driver::Vfio || !facts.names(GROUPS)?.is_empty() {
        return Ok(());
    }
    match facts.value(&known(NO_IOMMU)?)?.as_deref().map(str::trim) {
        Some("Y" | "y" | "1") => Ok(()),
        _ => Err(Stop::refused("driver", "vfio-pci needs an IOMMU, and this kernel has no IOMMU group")
            .way_out(
                "switch it on in the firmware and by `kernel_args` (intel_iommu=on or amd_iommu=on), or use \
             `driver: uio_pci_generic` where no guest is to be trusted with less",
            )),
    }
}

impl Standing {
    /// Looks at a disk.
    ///
    /// # Errors
    /// Refuses what is not there, and what is no disk.
    pub fn read(facts: &Facts, address: &str, device: &Device) -> Result<Self, Stop> {
        let output = facts.output(&driver_of(address))?;
        if output.status != 0 {
            return Err(Stop::refused("devices", format!("this host has no PCI device {address}"))
                .way_out("`lspci -D` lists them; addresses move when cards are put in or taken out"));
        }
        let driver = Some(output.text().trim().to_owned()).filter(|driver| driver != "none");
        let class = facts.value(&known(&format!("{}/class", folder(address)))?)?.unwrap_or_default();
        if !class.trim().starts_with("0x01") {
            return Err(Stop::refused(
                "devices",
                format!("{address} is no disk: its PCI class is {}", class.trim()),
            )
            .way_out("name the address of an NVMe or virtio disk"));
        }
        let [nvme, virtio] = globs(address);
        let mut blocks: Vec<String> =
            facts.names(&nvme)?.iter().map(|path| without_path(path.name())).collect();
        blocks.extend(facts.names(&virtio)?.iter().map(|path| path.name().to_owned()));
        blocks.sort();
        blocks.dedup();
        let mut standing =
            Self { address: address.to_owned(), driver, blocks, serial: None, data: device.data.clone() };
        standing.serial = standing.serial_of(facts)?;
        Ok(standing)
    }

    fn disks(&self, facts: &Facts) -> Result<Vec<Json>, Stop> {
        let output = facts.output(&lsblk())?;
        let answer: Json = serde_json::from_str(&output.text()).unwrap_or_default();
        match answer.get("blockdevices").and_then(Json::as_array) {
            Some(devices) => Ok(devices.clone()),
            None => Err(Stop::refused(
                "devices",
                format!("{}: whether it is in use cannot be told: lsblk gives no answer", self.address),
            )
            .way_out("install the package `util-linux`")),
        }
    }

    fn serial_of(&self, facts: &Facts) -> Result<Option<String>, Stop> {
        if self.blocks.is_empty() {
            return Ok(None);
        }
        let disks = self.disks(facts)?;
        let found = self.blocks.iter().find_map(|block| serial(find(&disks, block)?));
        Ok(found.map(str::to_owned))
    }

    /// The step that binds it, or none where it is bound.
    ///
    /// # Errors
    /// Refuses a disk that is in use, or holds data that nobody gave away.
    pub fn bind(&self, facts: &Facts, driver: Driver) -> Result<Option<(Step, Diff)>, Stop> {
        if self.driver.as_deref() == Some(driver.name()) {
            return Ok(None);
        }
        self.is_free(facts)?;
        let known_driver = self.driver.as_deref();
        if !matches!(
            known_driver,
            None | Some("nvme" | "virtio-pci" | "vfio-pci" | "uio_pci_generic" | "igb_uio")
        ) {
            let own = known_driver.unwrap_or_default();
            return Err(Stop::refused(
                "devices",
                format!("{} is driven by {own}: whether its disks are in use cannot be told", self.address),
            )
            .way_out("only NVMe and virtio disks can be bound; unbind it yourself first if that is meant"));
        }
        let before = self.driver.clone().unwrap_or_else(|| "none".to_owned());
        Ok(Some((self.step(&before, driver.name())?, self.diff(&before, driver.name()))))
    }

    fn step(&self, before: &str, after: &str) -> Result<Step, Stop> {
        let answer = |driver: &str| Seen::Output(Output::ok(format!("{driver}\n")));
        let spoils = || -> Result<Vec<Spoil>, Stop> {
            let mut spoils = vec![
                Spoil::Read(Read::Ask(driver_of(&self.address))),
                Spoil::Answers("lsblk".to_owned()),
                Spoil::Answers("findmnt".to_owned()),
            ];
            for path in [&*folder(&self.address), "/sys/block", "/sys/class/block", "/dev"] {
                spoils.push(Spoil::Below(known(path)?));
            }
            Ok(spoils)
        };
        let row = |driver: &str| Row::new("pci-bind", [self.address.as_str(), driver]);
        let back = Back::Exactly(Act::Call { row: row(before), spoils: spoils()? });
        let look = (Read::Ask(driver_of(&self.address)), answer(before), Match::Exactly(answer(after)));
        let claim = Claim::new("pci", &format!("{}/driver", self.address));
        Ok(Step::call_seen(claim, row(after), spoils()?, look, back))
    }

    fn diff(&self, before: &str, after: &str) -> Diff {
        let disks = if self.blocks.is_empty() {
            String::new()
        } else {
            format!(" ({} goes from the kernel)", self.blocks.join(", "))
        };
        Diff::Value {
            name: format!("driver of {}{disks}", self.address),
            before: Some(before.to_owned()),
            after: Some(after.to_owned()),
        }
    }

    fn is_free(&self, facts: &Facts) -> Result<(), Stop> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        let disks = self.disks(facts)?;
        let openers = self.openers(facts)?;
        for block in &self.blocks {
            let disk = find(&disks, block).ok_or_else(|| {
                Stop::refused("devices", format!("{}: lsblk does not tell of {block}", self.address))
            })?;
            let mut uses = uses(disk);
            uses.opened(block, &openers);
            if !uses.held.is_empty() {
                return Err(Stop::refused(
                    "devices",
                    format!("{} ({block}) is in use: {}", self.address, uses.held.join("; ")),
                )
                .way_out(
                    "unmount it, take it out of its volume group or array, end what holds it open, or choose another \
                     disk; no argument overrides this",
                ));
            }
            if !uses.data.is_empty() && !self.is_given(facts, disk, block)? {
                let own =
                    serial(disk).map_or(String::new(), |serial| format!(" (its serial number is {serial})"));
                return Err(Stop::refused(
                    "devices",
                    format!("{} ({block}) is not blank: {}", self.address, uses.data.join("; ")),
                )
                .way_out(format!(
                    "if that is of no use any more, wipe it (`wipefs --all /dev/{block}`), or name its serial number or \
                     its name in /dev/disk/by-id by `data:`{own}"
                )));
            }
        }
        Ok(())
    }

    /// What holds the disks open, as the host tells it.
    fn openers(&self, facts: &Facts) -> Result<String, Stop> {
        let output = facts.output(&openers(&self.address))?;
        if output.status == 0 {
            return Ok(output.text());
        }
        let why = format!("{}: whether a process holds it open cannot be told", self.address);
        Err(Stop::refused("devices", format!("{why}: {}", output.error_text().trim()))
            .way_out("`ls -l /proc/[0-9]*/fd` must answer; set `become: true` on the task"))
    }

    /// Whether a person gave this very disk away, with what is on it.
    fn is_given(&self, facts: &Facts, disk: &Json, block: &str) -> Result<bool, Stop> {
        let Some(data) = self.data.as_deref().map(str::trim).filter(|data| !data.is_empty()) else {
            return Ok(false);
        };
        if serial(disk) == Some(data) {
            return Ok(true);
        }
        let name = data.strip_prefix("/dev/disk/by-id/").unwrap_or(data);
        if name.contains('/') {
            return Ok(false);
        }
        let path = HostPath::new("/dev/disk/by-id").and_then(|folder| folder.join(name));
        let path = path.map_err(|why| Stop::refused("devices", why))?;
        Ok(match facts.stat(&path)?.map(|node| node.kind) {
            Some(Kind::Link { target }) => target.rsplit('/').next() == Some(block),
            _ => false,
        })
    }

    /// Tells what else the kernel drives of its IOMMU group: vfio opens a group only as a whole.
    pub fn group(&self, facts: &Facts, driver: Driver, change: &mut Change) -> Result<(), Stop> {
        if driver != Driver::Vfio {
            return Ok(());
        }
        let others: Vec<String> = facts
            .names(&group(&self.address))?
            .iter()
            .map(|path| path.name().to_owned())
            .filter(|name| *name != self.address)
            .collect();
        let reads: Vec<Read> = others.iter().map(|other| Read::Ask(driver_of(other))).collect();
        facts.need(&reads)?;
        for other in others {
            let driver = facts.output(&driver_of(&other))?.text().trim().to_owned();
            if !matches!(driver.as_str(), "none" | "vfio-pci" | "pcieport" | "") {
                change.notes.push(format!(
                    "{} shares its IOMMU group with {other}, which {driver} drives: the target cannot open the disk until \
                     the whole group is off the kernel",
                    self.address
                ));
            }
        }
        Ok(())
    }

    /// The evidence.
    pub fn told(&self, driver: &str, change: &mut Change) {
        let seen = self.driver.as_deref().unwrap_or("none");
        change.evidence.push(Evidence::told(
            format!("{} is driven by {driver}", self.address),
            format!("{}/driver", folder(&self.address)),
            (seen == driver, false),
            seen,
            Effect::Now,
        ));
    }
}

/// `nvme0c1n1` is one path of the disk `nvme0n1`.
fn without_path(name: &str) -> String {
    let Some((head, tail)) = name.split_once('c') else { return name.to_owned() };
    match tail.split_once('n') {
        Some((path, rest)) if path.bytes().all(|digit| digit.is_ascii_digit()) => format!("{head}n{rest}"),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::without_path;

    #[test]
    fn paths_of_one_disk_are_one_disk() {
        for (name, disk) in [("nvme0n1", "nvme0n1"), ("nvme0c1n1", "nvme0n1"), ("nvme10c12n3", "nvme10n3")] {
            assert_eq!(without_path(name), disk);
        }
    }
}
