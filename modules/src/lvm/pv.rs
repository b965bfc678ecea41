//! `lvm_pv`: devices that are LVM's physical volumes.
use super::report::{Fields, answer, ask, before, fault, nothing, rows};
use super::samples;
use crate::argument::Names;
use crate::block::device;
use crate::files::place::known;
use crate::module::{Module, Sample};
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Facts, HostPath, Match, Read, Row, Seen, Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Devices that are LVM's physical volumes.
///
/// A device is taken only if nothing is on it and nothing holds it: no signature (file system, partition table, RAID,
/// Ceph, ZFS …), no mount, no swap, no holder. What is found there is named, with the way to take it away by hand; a
/// module never does that. Paths below /dev/disk/by-id stay right when disks are numbered anew.
///
/// Where the host keeps a devices file (RHEL 9: /etc/lvm/devices/system.devices), LVM adds new devices to it itself, and
/// a device that carries LVM's label but is missing in the file is added. The way back takes the label away as long as
/// no group uses the device.
///
/// Errors: a device that is not there (with the nearest name), in use, or not empty; `state: absent` for a device of a
/// group. Sources: pvcreate(8), lvmdevices(8), wipefs(8).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LvmPv {
    /// The devices: paths below /dev; a list, or one text parted by commas.
    pub devices: Names,
    /// Whether they shall be physical volumes. `absent` takes LVM's label from a device that no group uses.
    #[serde(default)]
    pub state: State,
}

/// Whether something shall be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It is there.
    #[default]
    Present,
    /// It is not.
    Absent,
}

const DEVICES_FILE: &str = "/etc/lvm/devices/system.devices";

/// How a device stands with LVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is not a physical volume.
    None,
    /// It carries LVM's label, but LVM's devices file does not name it.
    Unlisted,
    /// It is one that no group uses.
    Spare,
    /// It belongs to this group.
    In(String),
}

/// The reads that tell how a device stands.
pub(crate) fn first_reads(device: &str) -> Vec<Read> {
    let file = known(DEVICES_FILE).ok().map(Read::Stat);
    [Read::Ask(rows::pv(device))].into_iter().chain(file).chain(device::reads(device)).collect()
}

/// How a device stands.
pub(crate) fn standing(facts: &Facts, argument: &'static str, device: &str) -> Result<Standing, Stop> {
    let output = facts.output(&rows::pv(device))?;
    let said = output.error_text();
    let unlisted = output.status == 5 && said.contains("devices file");
    let fields: Option<Fields> = match unlisted {
        true => None,
        false if said.contains("device not found") => {
            return Err(device::unreadable(facts, argument, device, &output));
        }
        // A partitioned disk is told by what is found on it.
        false if said.contains("device is partitioned") => None,
        false => ask(facts, &rows::pv(device)).map_err(|stop| stop.blame(argument))?,
    };
    match fields {
        Some(fields) if fields.get("vg_name").is_empty() => Ok(Standing::Spare),
        Some(fields) => Ok(Standing::In(fields.get("vg_name").to_owned())),
        None if device::held(facts, argument, device)?.as_deref() != Some("LVM2_member") => {
            Ok(Standing::None)
        }
        None if unlisted && facts.stat(&known(DEVICES_FILE)?)?.is_some() => Ok(Standing::Unlisted),
        None => Err(fault(&output).blame(argument)),
    }
}

/// The claim on a device.
pub(crate) fn claim(device: &str) -> Claim {
    Claim::new("lvm-pv", device)
}

/// What `pvs` will say of a device in a group; without a group in none.
pub(crate) fn in_group(device: &str, group: &str) -> Spoil {
    let seen = answer(&[("pv_fmt", "lvm2"), ("vg_name", group)]);
    Spoil::Becomes(Read::Ask(rows::pv(device)), seen)
}

fn no_volume(device: &str) -> Seen {
    nothing(&format!("  Failed to find physical volume \"{device}\".\n"))
}

fn spoils(device: &str, is_volume: bool) -> Result<Vec<Spoil>, Stop> {
    let read = |row| Spoil::Read(Read::Ask(row));
    let mut spoils = vec![read(device::signatures(device)), Spoil::Below(known("/etc/lvm/devices")?)];
    spoils.push(read(rows::pv_used(device)));
    spoils.push(match is_volume {
        true => in_group(device, ""),
        false => Spoil::Becomes(Read::Ask(rows::pv(device)), no_volume(device)),
    });
    let mut content = nothing("");
    if let Seen::Output(output) = &mut content {
        output.status = if is_volume { 0 } else { 2 };
        output.stdout = if is_volume { "LVM2_member\n" } else { "" }.into();
    }
    spoils.push(Spoil::Becomes(Read::Ask(device::content(device)), content));
    Ok(spoils)
}

/// Makes an empty device a physical volume.
pub(crate) fn create(facts: &Facts, device: &str, change: &mut Change) -> Result<(), Stop> {
    let row = rows::pv(device);
    let remove = Act::Call { row: Row::new("pvremove", [device]), spoils: spoils(device, false)? };
    let back = match facts.stat(&known(DEVICES_FILE)?)? {
        None => Back::Exactly(remove),
        Some(_) => Back::Approximately {
            act: remove,
            stays: "an entry of LVM's devices file and the counter in it".to_owned(),
        },
    };
    let look = (
        Read::Ask(row.clone()),
        before(facts, &row)?,
        Match::Exactly(answer(&[("pv_fmt", "lvm2"), ("vg_name", "")])),
    );
    change.steps.push(Step::call_seen(
        claim(device),
        Row::new("pvcreate", [device]),
        spoils(device, true)?,
        look,
        back,
    ));
    diff(device, "empty", "a physical volume", change);
    Ok(())
}

/// Adds a device that carries LVM's label to the devices file.
fn list(facts: &Facts, device: &str, change: &mut Change) -> Result<(), Stop> {
    let row = rows::pv(device);
    let spoils = || -> Result<Vec<Spoil>, Stop> {
        let answers =
            ["lvm-pv", "lvm-pv-used", "lvm-vg", "lvm-vg-room", "lvm-vg-disks", "lvm-lv", "lvm-pool"];
        let mut spoils: Vec<Spoil> = answers.map(|name| Spoil::Answers(name.to_owned())).into();
        spoils.push(Spoil::Below(known("/etc/lvm/devices")?));
        Ok(spoils)
    };
    let back = Back::Approximately {
        act: Act::Call { row: Row::new("lvmdevices-remove", [device]), spoils: spoils()? },
        stays: "the counter in LVM's devices file".to_owned(),
    };
    let look = (
        Read::Ask(row.clone()),
        before(facts, &row)?,
        Match::Has(vec![super::report::line("pv_fmt", "lvm2")]),
    );
    change.steps.push(Step::call_seen(
        claim(device),
        Row::new("lvmdevices-add", [device]),
        spoils()?,
        look,
        back,
    ));
    diff(device, "not in LVM's devices file", "in LVM's devices file", change);
    Ok(())
}

fn remove(facts: &Facts, device: &str, change: &mut Change) -> Result<(), Stop> {
    let row = rows::pv(device);
    let back = Back::Approximately {
        act: Act::Call { row: Row::new("pvcreate", [device]), spoils: spoils(device, true)? },
        stays: "the physical volume has another identifier".to_owned(),
    };
    let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::Exactly(no_volume(device)));
    change.steps.push(Step::call_seen(
        claim(device),
        Row::new("pvremove", [device]),
        spoils(device, false)?,
        look,
        back,
    ));
    diff(device, "a physical volume", "empty", change);
    Ok(())
}

fn diff(device: &str, before: &str, after: &str, change: &mut Change) {
    change.diff.push(Diff::Value {
        name: device.to_owned(),
        before: Some(before.to_owned()),
        after: Some(after.to_owned()),
    });
}

/// The devices that an argument names; each checked, each once.
pub(crate) fn named(argument: &'static str, names: &Names) -> Result<Vec<String>, Stop> {
    let mut devices: Vec<String> = Vec::new();
    for name in names.list() {
        device::check(argument, &name)?;
        let path = HostPath::new(&name).map_err(|why| Stop::refused(argument, why))?.to_string();
        if devices.contains(&path) {
            return Err(Stop::refused(argument, format!("{path} is named twice")));
        }
        devices.push(path);
    }
    Ok(devices)
}

/// A note where a name may mean another disk after a boot.
pub(crate) fn unstable(devices: &[String], change: &mut Change) {
    let moving = |device: &&String| {
        let name = device.strip_prefix("/dev/").unwrap_or_default();
        name.starts_with("sd") && !name.contains('/')
    };
    if let Some(device) = devices.iter().find(moving) {
        change.notes.push(format!(
            "{device} may be another disk after a boot: a path below /dev/disk/by-id stays right"
        ));
    }
}

impl Module for LvmPv {
    const NAME: &'static str = "lvm_pv";
    const EXAMPLE: &'static str = "\
- name: The fast disk is LVM's
  lvm_pv:
    devices: /dev/nvme1n1p1
";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("device", "devices"), ("pvs", "devices"), ("name", "devices")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let devices = named("devices", &self.devices)?;
        if devices.is_empty() {
            return Err(Stop::refused("devices", "which devices? `devices` is empty"));
        }
        let reads: Vec<Read> = devices.iter().flat_map(|device| first_reads(device)).collect();
        facts.need(&reads)?;
        let mut change =
            Change { effect: Effect::CreationOnly, ..Change::nothing(json!({ "devices": devices })) };
        for device in &devices {
            match (self.state, standing(facts, "devices", device)?) {
                (State::Present, Standing::None) => {
                    device::free(facts, "devices", device)?;
                    create(facts, device, &mut change)?;
                }
                (State::Present, Standing::Unlisted) => list(facts, device, &mut change)?,
                (State::Present, Standing::Spare | Standing::In(_)) | (State::Absent, Standing::None) => {}
                (State::Absent, Standing::Spare) => remove(facts, device, &mut change)?,
                (State::Absent, Standing::Unlisted) => {
                    return Err(Stop::refused(
                        "devices",
                        format!("{device} carries LVM's label, but LVM does not see it"),
                    )
                    .way_out(format!("add it by hand first: lvmdevices --adddev {device}")));
                }
                (State::Absent, Standing::In(group)) => {
                    return Err(Stop::refused(
                        "devices",
                        format!("{device} belongs to the volume group {group}"),
                    )
                    .way_out("take it out of the group first, by `lvm_vg` with `remove_pvs`"));
                }
            }
        }
        if !change.is_empty() {
            unstable(&devices, &mut change);
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::pv()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::Output;

    fn host() -> Host {
        samples::empty_disk(Host::new(), "/dev/vdb")
    }

    fn said(words: &str) -> Seen {
        nothing(words)
    }

    #[test]
    fn an_empty_disk_becomes_a_physical_volume_and_back() {
        let change = planned::<LvmPv>(&host(), json!({ "devices": "/dev/vdb" }));
        let [step] = &change.steps[..] else { panic!("{change:?}") };
        assert!(matches!(&step.act, Act::Call { row, .. } if *row == Row::new("pvcreate", ["/dev/vdb"])));
        assert!(matches!(&step.back, Back::Exactly(Act::Call { row, .. }) if row.name == "pvremove"));
        let spare = samples::volume(host(), "/dev/vdb", "");
        assert!(planned::<LvmPv>(&spare, json!({ "devices": "/dev/vdb" })).is_empty());
    }

    #[test]
    fn a_signed_disk_is_never_touched() {
        let signed = host().answer(device::content("/dev/vdb"), Seen::Output(Output::ok("ceph_bluestore\n")));
        let why = refusal::<LvmPv>(&signed, json!({ "devices": ["/dev/vdb"] }));
        assert!(why.contains("it holds ceph_bluestore") && why.contains("wipefs -a /dev/vdb"), "{why}");
        let parted = host()
            .answer(rows::pv("/dev/vdb"), said("  Cannot use /dev/vdb: device is partitioned\n"))
            .answer(
                device::signatures("/dev/vdb"),
                Seen::Output(Output::ok("# offset,uuid,label,type\n0x200,,,gpt\n")),
            );
        assert!(refusal::<LvmPv>(&parted, json!({ "devices": ["/dev/vdb"] })).contains("it holds gpt"));
    }

    #[test]
    fn a_label_that_the_devices_file_does_not_name_is_added_to_it() {
        let host = host()
            .file(DEVICES_FILE, "VERSION=1.1.1\n")
            .answer(rows::pv("/dev/vdb"), said("  Cannot use /dev/vdb: device is not in devices file\n"))
            .answer(device::content("/dev/vdb"), Seen::Output(Output::ok("LVM2_member\n")));
        let change = planned::<LvmPv>(&host, json!({ "devices": "/dev/vdb" }));
        assert!(matches!(&change.steps[0].act, Act::Call { row, .. } if row.name == "lvmdevices-add"));
        let filtered = host.answer(
            rows::pv("/dev/vdb"),
            said("  Cannot use /dev/vdb: device is rejected by filter config\n"),
        );
        assert!(refusal::<LvmPv>(&filtered, json!({ "devices": "/dev/vdb" })).contains("filter"));
    }

    #[test]
    fn a_label_goes_only_where_no_group_uses_it() {
        let used = samples::volume(host(), "/dev/vdb", "vg0");
        let why = refusal::<LvmPv>(&used, json!({ "devices": "/dev/vdb", "state": "absent" }));
        assert!(why.contains("belongs to the volume group vg0"), "{why}");
    }

    #[test]
    fn strangers_and_twins_are_refused() {
        assert!(refusal::<LvmPv>(&host(), json!({ "devices": "/etc/passwd" })).contains("below /dev"));
        assert!(refusal::<LvmPv>(&host(), json!({ "devices": "/dev/vdb,/dev/vdb" })).contains("twice"));
        assert!(refusal::<LvmPv>(&host(), json!({ "devices": "" })).contains("which devices"));
        let sda = samples::empty_disk(Host::new(), "/dev/sda");
        assert!(planned::<LvmPv>(&sda, json!({ "devices": "/dev/sda" })).notes[0].contains("by-id"));
    }
}
