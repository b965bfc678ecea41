//! `lvm_lv`: volumes, thin volumes and snapshots.
use super::group::Group;
use super::pv::State;
use super::report::{ask, rows};
use super::size::{self, Wish};
use super::{samples, wanted::Kind};
use crate::argument::{Names, Scalar};
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Effect, Facts, Read, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

mod changing;
mod making;
mod read_ahead;
#[cfg(test)]
mod tests;

/// Volumes, thin volumes and snapshots.
///
/// Sizes are rounded up to whole extents and compared in extents; one extent more than asked for is as good. A share
/// (`100%FREE`, `25%VG`, `50%PVS`) is fixed when the volume is made: later runs leave its size alone, unless `grow: true`
/// asks for it. A volume is never made smaller: that is `cannot_converge`. Larger it becomes where the size says so;
/// that has no way back, since what is written beyond the old end would be lost with it (`irreversible`).
///
/// With `thinpool` the volume is thin: its size is what it shows, and `lvm_thin_pool` makes the pool. With `snapshot`
/// a snapshot of the volume `lv` is made; of a thin volume it is thin and has no size of its own.
///
/// Read-ahead is kept in LVM's metadata and felt at once; whether the kernel has it is told by `lv_kernel_read_ahead`.
/// Virtual machines' disks are best without (`read_ahead: none`): the guest reads ahead by itself.
///
/// The way back removes a volume that this run made, as long as no file system and no partition table is on it.
///
/// Errors: a group or pool that is not there (with the nearest name), a group that Ceph uses, too little room, a size
/// that would change at every run (`+5G`). Sources: lvcreate(8), lvextend(8), lvchange(8), lvmthin(7).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LvmLv {
    /// The volume group.
    pub vg: String,
    /// The volume's name; with `snapshot` the name of what the snapshot is of.
    #[serde(default)]
    pub lv: Option<String>,
    /// Its size: `100G`, a bare number is MiB; or a share: `100%FREE`, `25%VG`, `50%PVS`.
    #[serde(default)]
    pub size: Option<Scalar>,
    /// The thin pool that it takes its blocks from.
    #[serde(default)]
    pub thinpool: Option<String>,
    /// The name of a snapshot of `lv`.
    #[serde(default)]
    pub snapshot: Option<String>,
    /// Devices that its extents are taken from when it is made: paths below /dev.
    #[serde(default)]
    pub pvs: Names,
    /// How far is read ahead: `none`, `auto` (the kernel's own choice), or a size such as `128K`.
    #[serde(default)]
    pub read_ahead: Option<Scalar>,
    /// Whether a volume that is made is active at once. An inactive one is neither zeroed nor wiped.
    #[serde(default = "crate::argument::yes")]
    pub active: bool,
    /// Whether a volume whose size is a share takes what has become free since.
    #[serde(default)]
    pub grow: bool,
    /// Whether the file system on it becomes larger with it.
    #[serde(default)]
    pub resizefs: bool,
    /// Ansible's; only `false` is taken: nothing is ever made smaller.
    #[serde(default)]
    pub shrink: bool,
    /// Ansible's, and not needed: a removal is accepted by `accept_risk`.
    #[serde(default)]
    pub force: bool,
    /// Whether there shall be such a volume. `absent` removes it with what it holds.
    #[serde(default)]
    pub state: State,
    /// Whether a group that carries Ceph's tags is meant.
    #[serde(default)]
    pub of_ceph: bool,
}

impl LvmLv {
    /// The name of what is made: the snapshot's, or the volume's.
    fn name(&self) -> Result<&str, Stop> {
        let Some(lv) = &self.lv else {
            let stop = Stop::refused("lv", "which volume? `lv` is not set");
            return Err(match self.thinpool {
                Some(_) => stop.way_out("a pool itself is made by `lvm_thin_pool`"),
                None => stop,
            });
        };
        size::name("lv", lv)?;
        match &self.snapshot {
            Some(snapshot) => size::name("snapshot", snapshot).map(|()| snapshot.as_str()),
            None => Ok(lv),
        }
    }

    /// Group and name, as LVM writes them.
    fn target(&self) -> Result<String, Stop> {
        Ok(format!("{}/{}", self.vg, self.name()?))
    }

    fn kind(&self) -> Result<Kind, Stop> {
        match (&self.snapshot, &self.thinpool) {
            (Some(_), Some(_)) => Err(Stop::refused("thinpool", "a snapshot lies where its origin lies")),
            (Some(_), None) => Ok(Kind::Snapshot(self.lv.clone().unwrap_or_default())),
            (None, Some(pool)) => size::name("thinpool", pool).map(|()| Kind::Thin(pool.clone())),
            (None, None) => Ok(Kind::Plain),
        }
    }

    fn wish(&self) -> Result<Option<Wish>, Stop> {
        self.size.as_ref().map(Wish::parse).transpose()
    }

    fn check(&self) -> Result<Kind, Stop> {
        size::name("vg", &self.vg)?;
        self.name()?;
        if self.shrink {
            return Err(Stop::refused(
                "shrink",
                "a volume is never made smaller here: what lay behind its new end would be lost",
            )
            .way_out("make a smaller volume beside it and copy"));
        }
        let kind = self.kind()?;
        let share = matches!(self.wish()?, Some(Wish::Share(..)));
        if matches!(kind, Kind::Thin(_)) && share {
            return Err(Stop::refused(
                "size",
                "a thin volume has no share of anything: its size is what it shows",
            )
            .way_out("write bytes, such as `100G`"));
        }
        if self.grow && !share {
            return Err(Stop::refused("grow", "`grow` is for sizes that are shares, such as `100%FREE`"));
        }
        read_ahead::wished(self.read_ahead.as_ref())?;
        super::pv::named("pvs", &self.pvs)?;
        Ok(kind)
    }

    fn first_reads(&self, kind: &Kind) -> Result<Vec<Read>, Stop> {
        let target = self.target()?;
        let mut reads = Group::first_reads(&self.vg);
        reads.extend([rows::lv(&target), rows::read_ahead(&target), rows::live(&target)].map(Read::Ask));
        let other = match kind {
            Kind::Plain => None,
            Kind::Thin(other) | Kind::Snapshot(other) => Some(format!("{}/{other}", self.vg)),
        };
        reads.extend(other.map(|other| Read::Ask(rows::lv(&other))));
        Ok(reads)
    }
}

impl Module for LvmLv {
    const NAME: &'static str = "lvm_lv";
    const EXAMPLE: &'static str = "\
- name: A disk for the guest vm1, without read-ahead
  lvm_lv:
    vg: win_pool
    lv: vm1
    size: 100G
    read_ahead: none
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "lv")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let kind = self.check()?;
        facts.need(&self.first_reads(&kind)?)?;
        let mut change = Change::nothing(json!({ "vg": self.vg, "lv": self.name()? }));
        if self.state == State::Absent && Group::find(facts, &self.vg)?.is_none() {
            return Ok(change);
        }
        let group = Group::get(facts, &self.vg, self.of_ceph)?;
        let target = self.target()?;
        match (self.state, ask(facts, &rows::lv(&target))?) {
            (State::Absent, None) => {}
            (State::Absent, Some(now)) => self.remove(facts, &target, &now, &mut change)?,
            (State::Present, None) => {
                change.effect = Effect::CreationOnly;
                self.make(facts, &group, &kind, &mut change)?;
            }
            (State::Present, Some(now)) => {
                if self.is_kind(&kind, &now, &mut change) {
                    self.resize(facts, &group, &kind, &now, &mut change)?;
                    self.change_read_ahead(facts, &target, &mut change)?;
                }
            }
        }
        if self.state == State::Present {
            self.prove(facts, &target, &mut change)?;
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::lv()
    }
}
