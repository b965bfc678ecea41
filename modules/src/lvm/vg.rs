//! `lvm_vg`: a volume group, its devices and its extent size.
use super::group::{self, Group};
use super::pv::{self, Standing, State};
use super::report::{answer, ask, before, nothing, rows};
use super::{samples, size};
use crate::argument::{Names, Scalar};
use crate::block::device;
use crate::files::place::known;
use crate::module::{Module, Sample};
use crate::shape::size_text;
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Facts, Match, Read, Row, Spoil, Step, Stop, all,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A volume group, its devices and its extent size.
///
/// Devices that are named and not in the group are added (empty ones become physical volumes first, see `lvm_pv`);
/// devices of the group that are not named stay in it, and the plan says so. A device leaves the group only when
/// `remove_pvs` names it and no volume uses it.
///
/// The extent size is fixed when the group is made. Of a group that is there it is changed where LVM's own dry run
/// (`vgchange --test -s`) says that everything still divides; else that is `cannot_converge`: make a new group with that
/// size and move the volumes, or accept the risk and keep the size. The largest size that is of use for disks of
/// virtual machines is 256 MiB.
///
/// The way back removes a group that this run made, as long as it holds no volumes.
///
/// Errors: a device that is in use, not empty, or of another group; a group that Ceph uses (`ceph.` tags), that lacks
/// devices, or is exported. Sources: vgcreate(8), vgchange(8), vgextend(8), lvmdevices(8).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LvmVg {
    /// The group's name.
    pub vg: String,
    /// Devices that belong to it: paths below /dev; a list, or one text parted by commas.
    #[serde(default)]
    pub devices: Names,
    /// Bytes of an extent: `256M`; a bare number is MiB. A new group has 4 MiB where it is not said.
    #[serde(default)]
    pub extent_size: Option<Scalar>,
    /// Whether there shall be such a group. `absent` removes one that holds no volumes.
    #[serde(default)]
    pub state: State,
    /// Devices that leave the group, each named; only those that no volume uses.
    #[serde(default)]
    pub remove_pvs: Names,
    /// Ansible's; only `false` is taken: devices that are not named stay in the group.
    #[serde(default)]
    pub remove_extra_pvs: bool,
    /// Whether a group that carries Ceph's tags is meant.
    #[serde(default)]
    pub of_ceph: bool,
}

const DEFAULT_EXTENT: u64 = 4 << 20;

impl LvmVg {
    fn wished(&self) -> Result<Option<u64>, Stop> {
        self.extent_size.as_ref().map(|text| size::extent_size("extent_size", &text.text())).transpose()
    }

    fn claim(&self) -> Claim {
        Claim::new("lvm", &self.vg)
    }

    fn check(&self) -> Result<(Vec<String>, Vec<String>), Stop> {
        size::name("vg", &self.vg)?;
        if self.remove_extra_pvs {
            return Err(Stop::refused("remove_extra_pvs", "devices leave a group only when they are named")
                .way_out("name them: `remove_pvs: [/dev/…]`"));
        }
        let (devices, leaving) =
            (pv::named("devices", &self.devices)?, pv::named("remove_pvs", &self.remove_pvs)?);
        if let Some(both) = leaving.iter().find(|device| devices.contains(device)) {
            return Err(Stop::refused("remove_pvs", format!("{both} is named in `devices` too")));
        }
        self.wished()?;
        Ok((devices, leaving))
    }

    /// Steps that make each device one that no group uses, or one of this group; those to be added are returned.
    fn spare(&self, facts: &Facts, devices: &[String], change: &mut Change) -> Result<Vec<String>, Stop> {
        let mut spare = Vec::new();
        for device in devices {
            match pv::standing(facts, "devices", device)? {
                Standing::In(group) if group == self.vg => continue,
                Standing::In(group) => {
                    return Err(Stop::refused(
                        "devices",
                        format!("{device} belongs to the volume group {group}"),
                    )
                    .way_out(format!("take it out of {group} first, by `lvm_vg` with `remove_pvs`")));
                }
                Standing::None => {
                    device::free(facts, "devices", device)?;
                    pv::create(facts, device, change)?;
                }
                Standing::Unlisted => {
                    return Err(Stop::refused(
                        "devices",
                        format!("{device} carries LVM's label, but LVM's devices file does not name it"),
                    )
                    .way_out("add it by an `lvm_pv` task first"));
                }
                Standing::Spare => {}
            }
            spare.push(device.clone());
        }
        Ok(spare)
    }

    fn create(&self, facts: &Facts, devices: &[String], change: &mut Change) -> Result<(), Stop> {
        if devices.is_empty() {
            return Err(Stop::refused(
                "devices",
                format!("there is no volume group {}, and no devices to make it of", self.vg),
            ));
        }
        self.spare(facts, devices, change)?;
        let size = self.wished()?.unwrap_or(DEFAULT_EXTENT);
        let row = rows::vg(&self.vg);
        let back = Back::Exactly(Act::Call {
            row: Row::new("vgremove", [self.vg.clone()]),
            spoils: self.gone(devices)?,
        });
        let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::Exactly(vg_answer(size)));
        change.steps.push(Step::call_seen(
            self.claim(),
            self.make(size, devices),
            self.made(size, devices)?,
            look,
            back,
        ));
        change.diff.push(Diff::Value {
            name: format!("volume group {}", self.vg),
            before: None,
            after: Some(format!("{} in extents of {}", devices.join(", "), size_text(size))),
        });
        pv::unstable(devices, change);
        Ok(())
    }

    fn make(&self, size: u64, devices: &[String]) -> Row {
        let words = ["-s".to_owned(), format!("{size}b"), "--".to_owned(), self.vg.clone()];
        Row::new("vgcreate", words.into_iter().chain(devices.iter().cloned()))
    }

    fn around(&self) -> Result<Vec<Spoil>, Stop> {
        let mut spoils = group::spoils(&self.vg);
        spoils.push(Spoil::Answers("lvm-vg-disks".to_owned()));
        spoils.push(Spoil::Answers("lvm-vg-names".to_owned()));
        spoils.push(Spoil::Below(known("/etc/lvm/devices")?));
        Ok(spoils)
    }

    fn made(&self, size: u64, devices: &[String]) -> Result<Vec<Spoil>, Stop> {
        let mut spoils = self.around()?;
        spoils.push(Spoil::Becomes(Read::Ask(rows::vg(&self.vg)), vg_answer(size)));
        spoils.extend(devices.iter().map(|device| pv::in_group(device, &self.vg)));
        Ok(spoils)
    }

    fn gone(&self, devices: &[String]) -> Result<Vec<Spoil>, Stop> {
        let mut spoils = self.around()?;
        spoils.push(Spoil::Becomes(Read::Ask(rows::vg(&self.vg)), self.no_group()));
        spoils.extend(devices.iter().map(|device| pv::in_group(device, "")));
        Ok(spoils)
    }

    fn no_group(&self) -> crate::vocabulary::Seen {
        nothing(&format!("  Volume group \"{}\" not found\n", self.vg))
    }

    /// Another extent size of a group that is there.
    fn extents(&self, facts: &Facts, group: &Group, change: &mut Change) -> Result<(), Stop> {
        let Some(size) = self.wished()?.filter(|size| *size != group.extent) else { return Ok(()) };
        let dry = facts.output(&rows::fits(size, &self.vg))?;
        let (now, then) = (size_text(group.extent), size_text(size));
        if dry.status != 0 {
            let said = dry.error_text();
            let mut told = said.lines().map(str::trim).filter(|line| !line.is_empty());
            let reason = told.rfind(|line| !line.contains("TEST MODE") && !line.starts_with("WARNING"));
            let why = format!(
                "the volume group {} has extents of {now}, and they cannot become {then} in place ({}): make a new group \
                 with `extent_size: {then}` and move the volumes, or keep the size",
                self.vg,
                reason.unwrap_or("LVM does not say why")
            );
            super::cannot_converge(why, change);
            return Ok(());
        }
        let row = rows::vg(&self.vg);
        let tags = ask(facts, &row)?.map(|fields| fields.get("vg_tags").to_owned()).unwrap_or_default();
        let text = |size: u64| answer(&[("vg_extent_size", &size.to_string()), ("vg_tags", &tags)]);
        let spoils = |size| -> Vec<Spoil> {
            let mut spoils = group::spoils(&self.vg);
            spoils.push(Spoil::Becomes(Read::Ask(row.clone()), text(size)));
            spoils
        };
        let call = |size: u64| Row::new("vgchange-extent-size", [format!("{size}b"), self.vg.clone()]);
        let back = Back::Exactly(Act::Call { row: call(group.extent), spoils: spoils(group.extent) });
        let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::Exactly(text(size)));
        change.steps.push(Step::call_seen(self.claim(), call(size), spoils(size), look, back));
        change.diff.push(Diff::Value {
            name: format!("extents of the volume group {}", self.vg),
            before: Some(now),
            after: Some(then),
        });
        Ok(())
    }

    fn extend(&self, facts: &Facts, devices: &[String], change: &mut Change) -> Result<(), Stop> {
        let spare = self.spare(facts, devices, change)?;
        for device in &spare {
            let planned = change.steps.iter().any(|step| step.claim == pv::claim(device));
            self.member(facts, device, (true, planned), change)?;
        }
        pv::unstable(&spare, change);
        Ok(())
    }

    /// Puts a spare device into the group, or takes an unused one out of it.
    fn member(
        &self,
        facts: &Facts,
        device: &str,
        (joins, planned): (bool, bool),
        change: &mut Change,
    ) -> Result<(), Stop> {
        let row = rows::pv(device);
        let text =
            |joined: bool| answer(&[("pv_fmt", "lvm2"), ("vg_name", if joined { &self.vg } else { "" })]);
        let spoils = |joined: bool| -> Result<Vec<Spoil>, Stop> {
            let mut spoils = self.around()?;
            spoils.push(pv::in_group(device, if joined { &self.vg } else { "" }));
            Ok(spoils)
        };
        let call = |joins: bool| {
            let name = if joins { "vgextend" } else { "vgreduce" };
            Row::new(name, [self.vg.clone(), device.to_owned()])
        };
        let back = Back::Exactly(Act::Call { row: call(!joins), spoils: spoils(!joins)? });
        let seen = if planned { text(false) } else { before(facts, &row)? };
        let look = (Read::Ask(row.clone()), seen, Match::Exactly(text(joins)));
        let claim = Claim::new("lvm", &format!("{}/{device}", self.vg));
        change.steps.push(Step::call_seen(claim, call(joins), spoils(joins)?, look, back));
        let words =
            |joined: bool| Some(if joined { format!("in {}", self.vg) } else { "in no group".to_owned() });
        change.diff.push(Diff::Value { name: device.to_owned(), before: words(!joins), after: words(joins) });
        Ok(())
    }

    fn reduce(&self, facts: &Facts, leaving: &[String], change: &mut Change) -> Result<(), Stop> {
        for device in leaving {
            match pv::standing(facts, "remove_pvs", device)? {
                Standing::In(group) if group == self.vg => {}
                _ => continue,
            }
            let used = ask(facts, &rows::pv_used(device))?.and_then(|fields| fields.number("pv_used"));
            match used {
                Some(0) => self.member(facts, device, (false, false), change)?,
                used => {
                    let much = used.map_or_else(|| "part".to_owned(), size_text);
                    return Err(Stop::refused("remove_pvs", format!("volumes use {much} of {device}"))
                        .way_out(format!("move them to the other devices first: pvmove {device}")));
                }
            }
        }
        Ok(())
    }

    /// Says which devices of the group nobody named.
    fn others(&self, facts: &Facts, named: &[String], change: &mut Change) -> Result<(), Stop> {
        if named.is_empty() {
            return Ok(());
        }
        let text = match facts.output(&rows::disks(&self.vg)) {
            Ok(output) => output.text(),
            Err(Stop::Late(_)) => return Ok(()),
            Err(stop) => return Err(stop),
        };
        let mut known = named.to_vec();
        for answer in all(named.iter().map(|device| match ask(facts, &rows::pv_used(device)) {
            Err(Stop::Late(_)) => Ok(None),
            Err(stop @ Stop::Unread(_)) => Err(stop),
            other => Ok(other.ok().flatten()),
        }))? {
            known.extend(answer.map(|fields| fields.get("pv_name").to_owned()));
        }
        let disks = text.split_whitespace().filter_map(|word| word.strip_prefix("LVM2_PV_NAME="));
        let others: Vec<&str> = disks.filter(|disk| !known.iter().any(|name| name == disk)).collect();
        if !others.is_empty() {
            change.notes.push(format!(
                "{} stays in the volume group {} though no task names it; `remove_pvs` takes a device out",
                others.join(", "),
                self.vg
            ));
        }
        Ok(())
    }

    fn remove(&self, facts: &Facts, group: &Group, change: &mut Change) -> Result<(), Stop> {
        let room = group.room(facts)?;
        if room.free != room.all {
            return Err(Stop::refused("state", format!("the volume group {} holds volumes", self.vg))
                .way_out("remove them first, each by an `lvm_lv` task with `state: absent`"));
        }
        let text = facts.output(&rows::disks(&self.vg))?.text();
        let disks: Vec<String> = text
            .split_whitespace()
            .filter_map(|word| word.strip_prefix("LVM2_PV_NAME="))
            .map(str::to_owned)
            .collect();
        let row = rows::vg(&self.vg);
        let back = Back::Approximately {
            act: Act::Call { row: self.make(group.extent, &disks), spoils: self.made(group.extent, &disks)? },
            stays: "the volume group has another identifier, and no tags".to_owned(),
        };
        let look = (Read::Ask(row.clone()), before(facts, &row)?, Match::Exactly(self.no_group()));
        let call = Row::new("vgremove", [self.vg.clone()]);
        change.steps.push(Step::call_seen(self.claim(), call, self.gone(&disks)?, look, back));
        change.diff.push(Diff::Value {
            name: format!("volume group {}", self.vg),
            before: Some(disks.join(", ")),
            after: None,
        });
        Ok(())
    }
}

fn vg_answer(extent: u64) -> crate::vocabulary::Seen {
    answer(&[("vg_extent_size", &extent.to_string()), ("vg_tags", "")])
}

impl Module for LvmVg {
    const NAME: &'static str = "lvm_vg";
    const EXAMPLE: &'static str = "\
- name: A group for the guests' disks, in extents of 256 MiB
  lvm_vg:
    vg: win_pool
    devices: [/dev/nvme1n1p1]
    extent_size: 256M
";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("name", "vg"), ("pvs", "devices"), ("pesize", "extent_size")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let (devices, leaving) = self.check()?;
        let mut reads = Group::first_reads(&self.vg);
        reads.extend(devices.iter().chain(&leaving).flat_map(|device| pv::first_reads(device)));
        reads.extend(devices.iter().chain(&leaving).map(|device| Read::Ask(rows::pv_used(device))));
        reads.push(Read::Ask(rows::disks(&self.vg)));
        facts.need(&reads)?;
        let mut change = Change { effect: Effect::CreationOnly, ..Change::default() };
        match (self.state, Group::find(facts, &self.vg)?) {
            (State::Absent, None) => {}
            (State::Absent, Some(group)) => {
                group.guard(facts, self.of_ceph)?;
                self.remove(facts, &group, &mut change)?;
            }
            (State::Present, None) => self.create(facts, &devices, &mut change)?,
            (State::Present, Some(group)) => {
                group.guard(facts, self.of_ceph)?;
                self.extents(facts, &group, &mut change)?;
                self.extend(facts, &devices, &mut change)?;
                self.reduce(facts, &leaving, &mut change)?;
                self.others(facts, &devices, &mut change)?;
            }
        }
        change.result = json!({ "vg": self.vg, "devices": devices });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::vg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Host;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::{Output, RiskName, Seen};

    fn two() -> Host {
        samples::empty_disk(
            samples::empty_disk(samples::no_group(Host::new(), "vg0"), "/dev/vdb"),
            "/dev/vdc",
        )
    }

    fn calls(change: &Change) -> Vec<String> {
        let call = |step: &Step| match &step.act {
            Act::Call { row, .. } => format!("{} {}", row.name, row.args.join(" ")),
            other => panic!("{other:?}"),
        };
        change.steps.iter().map(call).collect()
    }

    #[test]
    fn a_group_of_large_extents_on_empty_disks() {
        let args = json!({ "vg": "vg0", "devices": ["/dev/vdb", "/dev/vdc"], "extent_size": "256M" });
        let change = planned::<LvmVg>(&two(), args);
        assert_eq!(
            calls(&change),
            ["pvcreate /dev/vdb", "pvcreate /dev/vdc", "vgcreate -s 268435456b -- vg0 /dev/vdb /dev/vdc"]
        );
        assert!(change.steps.iter().all(|step| matches!(step.back, Back::Exactly(_))));
    }

    #[test]
    fn disks_that_nobody_named_stay() {
        let host = samples::group(Host::new(), "vg0", 4 << 20, (254, 254), &["/dev/vdb", "/dev/vdc"]);
        let host = samples::empty_disk(host, "/dev/vdd");
        let change = planned::<LvmVg>(&host, json!({ "vg": "vg0", "devices": "/dev/vdb,/dev/vdd" }));
        assert_eq!(calls(&change), ["pvcreate /dev/vdd", "vgextend vg0 /dev/vdd"]);
        assert!(
            change.notes.iter().any(|note| note.contains("/dev/vdc stays in the volume group")),
            "{:?}",
            change.notes
        );
        let why =
            refusal::<LvmVg>(&host, json!({ "vg": "vg0", "devices": "/dev/vdb", "remove_extra_pvs": true }));
        assert!(why.contains("`remove_pvs"), "{why}");
    }

    #[test]
    fn a_named_disk_leaves_only_unused() {
        let host = samples::group(Host::new(), "vg0", 4 << 20, (254, 254), &["/dev/vdb", "/dev/vdc"]);
        let args = json!({ "vg": "vg0", "remove_pvs": "/dev/vdc" });
        assert_eq!(calls(&planned::<LvmVg>(&host, args.clone())), ["vgreduce vg0 /dev/vdc"]);
        let used = host
            .answer(rows::pv_used("/dev/vdc"), answer(&[("pv_name", "/dev/vdc"), ("pv_used", "1073741824")]));
        assert!(refusal::<LvmVg>(&used, args).contains("pvmove /dev/vdc"));
    }

    #[test]
    fn another_extent_size_where_it_divides_and_else_it_is_said() {
        let host = samples::group(Host::new(), "vg0", 4 << 20, (254, 254), &["/dev/vdb"]);
        let args = json!({ "vg": "vg0", "extent_size": 2 });
        let fits = host.clone().answer(rows::fits(2 << 20, "vg0"), Seen::Output(Output::ok("")));
        let change = planned::<LvmVg>(&fits, args);
        assert_eq!(calls(&change), ["vgchange-extent-size 2097152b vg0"]);
        assert!(
            matches!(&change.steps[0].back, Back::Exactly(Act::Call { row, .. }) if row.args[0] == "4194304b")
        );
        let words = "  TEST MODE: Metadata will NOT be updated and volumes will not be (de)activated.\n  New extent size is not a perfect fit\n";
        let none = Output { status: 5, stdout: "".into(), stderr: words.into() };
        let stuck = host.answer(rows::fits(256 << 20, "vg0"), Seen::Output(none));
        let change = planned::<LvmVg>(&stuck, json!({ "vg": "vg0", "extent_size": "256M" }));
        assert!(change.steps.is_empty());
        let [risk] = &change.risks[..] else { panic!("{change:?}") };
        assert_eq!(risk.name, RiskName::CannotConverge);
        assert!(
            risk.why.contains("not a perfect fit") && risk.why.contains("make a new group"),
            "{}",
            risk.why
        );
    }

    #[test]
    fn the_groups_of_others_are_left_alone() {
        let ceph = samples::group(Host::new(), "vg0", 4 << 20, (254, 0), &["/dev/vdb"]).answer(
            rows::tags("vg0"),
            answer(&[("lv_tags", "ceph.cluster_name=ceph,ceph.osd_id=7,ceph.type=block")]),
        );
        let args = json!({ "vg": "vg0", "devices": "/dev/vdb" });
        assert!(refusal::<LvmVg>(&ceph, args.clone()).contains("Ceph's"));
        assert!(
            planned::<LvmVg>(&ceph, json!({ "vg": "vg0", "devices": "/dev/vdb", "of_ceph": true }))
                .is_empty()
        );
        let other = samples::volume(two(), "/dev/vdb", "root_vg");
        assert!(refusal::<LvmVg>(&other, args.clone()).contains("belongs to the volume group root_vg"));
        let missing = samples::group(Host::new(), "vg0", 4 << 20, (254, 0), &["/dev/vdb"]).answer(
            rows::room("vg0"),
            answer(&[
                ("vg_extent_count", "254"),
                ("vg_free_count", "0"),
                ("vg_missing_pv_count", "1"),
                ("vg_exported", ""),
            ]),
        );
        assert!(refusal::<LvmVg>(&missing, args).contains("are missing"));
    }

    #[test]
    fn a_group_goes_only_empty() {
        let full = samples::group(Host::new(), "vg0", 4 << 20, (254, 100), &["/dev/vdb"]);
        assert!(refusal::<LvmVg>(&full, json!({ "vg": "vg0", "state": "absent" })).contains("holds volumes"));
    }
}
