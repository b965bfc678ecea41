//! LVM: physical volumes, volume groups, volumes, thin pools and its configuration.
mod conf;
mod group;
mod lv;
mod pv;
mod report;
mod samples;
mod size;
mod thin_pool;
mod vg;
mod wanted;

use crate::vocabulary::{Change, Risk, RiskName};

pub use conf::LvmConf;
pub use lv::LvmLv;
pub use pv::LvmPv;
pub use thin_pool::LvmThinPool;
pub use vg::LvmVg;

/// What a reason says where a group is Ceph's.
const OF_CEPH: &str =
    "set `of_ceph: true` on the task if that is meant; Ceph's own tool for its volumes is ceph-volume";

/// Names what stays as it is: the rest is applied where somebody accepts that.
fn cannot_converge(why: String, change: &mut Change) {
    change.notes.push(format!("left as it is: {why}"));
    change.risks.push(Risk { name: RiskName::CannotConverge, why });
}
