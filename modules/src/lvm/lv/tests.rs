//! Volumes on captured answers of LVM.
use super::LvmLv;
use crate::host::Host;
use crate::lvm::report::{answer, rows};
use crate::lvm::samples;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Act, Back, Change, Output, Read, RiskName, Seen, Standing, Step, TaskId};
use serde_json::{Value as Json, json};

const MIB: u64 = 1 << 20;

fn host(extent: u64, all: u64, free: u64) -> Host {
    let host = samples::group(Host::new(), "vg0", extent, (all, free), &["/dev/vdb"]);
    samples::no_volume(samples::no_volume(host, "vg0/a"), "vg0/b")
}

fn there(size: u64) -> Host {
    samples::made(host(4 * MIB, 127, 20), "vg0/a", ("linear", size, "", ""))
}

fn a(size: &str) -> Json {
    json!({ "vg": "vg0", "lv": "a", "size": size })
}

fn words(change: &Change) -> String {
    let calls = change.steps.iter().map(|step| match &step.act {
        Act::Call { row, .. } => format!("{} {}", row.name, row.args.join(" ")),
        other => panic!("{other:?}"),
    });
    calls.collect::<Vec<_>>().join("; ")
}

fn risks(change: &Change) -> Vec<RiskName> {
    change.risks.iter().map(|risk| risk.name).collect()
}

#[test]
fn shares_are_counted_down_and_fixed_at_creation() {
    // 127 extents of 4 MiB: a quarter is 31, and all that is free behind it 96.
    assert_eq!(words(&planned::<LvmLv>(&host(4 * MIB, 127, 127), a("25%VG"))), "lvcreate -n a -l 31 vg0");
    let rest = json!({ "vg": "vg0", "lv": "b", "size": "100%FREE" });
    let host = samples::made(host(4 * MIB, 127, 96), "vg0/a", ("linear", 31 * 4 * MIB, "", ""));
    assert_eq!(words(&planned::<LvmLv>(&host, rest.clone())), "lvcreate -n b -l 96 vg0");
    let both = samples::made(host, "vg0/b", ("linear", 96 * 4 * MIB, "", ""));
    let full = samples::group(both, "vg0", 4 * MIB, (127, 0), &["/dev/vdb"]);
    assert!(planned::<LvmLv>(&full, a("25%VG")).is_empty());
    assert!(planned::<LvmLv>(&full, rest.clone()).is_empty());
    // The group has grown: what was fixed stays, unless growing is asked for.
    let grown = samples::group(full, "vg0", 4 * MIB, (227, 100), &["/dev/vdb"]);
    assert!(planned::<LvmLv>(&grown, a("25%VG")).is_empty());
    assert!(planned::<LvmLv>(&grown, rest.clone()).is_empty());
    let mut growing = rest;
    growing["grow"] = json!(true);
    assert_eq!(words(&planned::<LvmLv>(&grown, growing)), "lvextend -l 196 vg0/b");
}

#[test]
fn sizes_are_compared_in_extents() {
    assert!(planned::<LvmLv>(&there(1016 * MIB), a("1013m")).is_empty());
    assert!(planned::<LvmLv>(&there(1016 * MIB), a("1012m")).is_empty(), "one extent more is as good");
    let large = samples::made(host(32 * MIB, 100, 10), "vg0/a", ("linear", 128 * MIB, "", ""));
    assert!(planned::<LvmLv>(&large, a("100M")).is_empty());
    assert_eq!(words(&planned::<LvmLv>(&host(256 * MIB, 400, 400), a("100G"))), "lvcreate -n a -l 400 vg0");
}

#[test]
fn nothing_is_made_smaller() {
    let change = planned::<LvmLv>(&there(1016 * MIB), a("500M"));
    assert!(change.is_empty());
    assert_eq!(risks(&change), [RiskName::CannotConverge]);
    assert!(change.risks[0].why.contains("beside it and copy"), "{}", change.risks[0].why);
    assert!(
        refusal::<LvmLv>(&there(1016 * MIB), json!({ "vg": "vg0", "lv": "a", "size": "1G", "shrink": true }))
            .contains("never made smaller")
    );
    assert!(refusal::<LvmLv>(&there(1016 * MIB), a("+1G")).contains("every run"));
}

#[test]
fn larger_is_irreversible_and_needs_room() {
    let change = planned::<LvmLv>(&there(1016 * MIB), a("1060M"));
    assert_eq!(
        (words(&change).as_str(), risks(&change)),
        ("lvextend -l 265 vg0/a", vec![RiskName::Irreversible])
    );
    assert!(refusal::<LvmLv>(&there(1016 * MIB), a("2G")).contains("80 MiB are free"));
    assert!(refusal::<LvmLv>(&host(4 * MIB, 127, 10), a("100M")).contains("40 MiB are free"));
    assert!(refusal::<LvmLv>(&host(4 * MIB, 127, 0), a("100%FREE")).contains("nothing is free"));
}

#[test]
fn read_ahead_is_changed_in_place_and_proven() {
    let mut args = a("1016M");
    args["read_ahead"] = json!("none");
    let change = planned::<LvmLv>(&there(1016 * MIB), args.clone());
    assert_eq!(words(&change), "lvchange -r none vg0/a");
    assert!(
        matches!(&change.steps[0].back, Back::Exactly(Act::Call { row, .. }) if row.args == ["-r", "auto", "vg0/a"])
    );
    assert!(matches!(change.evidence[0].standing, Standing::Absent { .. }));
    let kept = there(1016 * MIB).answer(rows::read_ahead("vg0/a"), answer(&[("lv_read_ahead", "0")]));
    let standing = |kernel: &str| {
        let live = answer(&[("lv_kernel_read_ahead", kernel), ("lv_active", "active")]);
        let change = planned::<LvmLv>(&kept.clone().answer(rows::live("vg0/a"), live), args.clone());
        assert!(change.is_empty());
        change.evidence[0].standing.clone()
    };
    assert!(matches!(standing("0"), Standing::Live { .. }));
    assert!(matches!(standing("131072"), Standing::Owed { .. }));
    assert!(matches!(standing("-1"), Standing::NotAvailable { .. }));
    args["read_ahead"] = json!(256);
    assert!(refusal::<LvmLv>(&kept, args).contains("sectors"));
}

#[test]
fn another_kind_of_volume_is_said() {
    let host = samples::pool(host(4 * MIB, 1000, 10), "vg0/pool", 100 << 20, 4 << 20, "1");
    let thin = json!({ "vg": "vg0", "lv": "a", "size": "100M", "thinpool": "pool" });
    let plain = samples::made(host.clone(), "vg0/a", ("linear", 100 << 20, "", ""));
    let change = planned::<LvmLv>(&plain, thin.clone());
    assert_eq!((change.is_empty(), risks(&change)), (true, vec![RiskName::CannotConverge]));
    let right = samples::made(host.clone(), "vg0/a", ("thin,sparse", 100 << 20, "pool", ""));
    assert!(planned::<LvmLv>(&right, thin).is_empty());
    let over = planned::<LvmLv>(&host, json!({ "vg": "vg0", "lv": "a", "size": "1G", "thinpool": "pool" }));
    assert!(over.notes[0].contains("full pool"), "{:?}", over.notes);
    let why =
        refusal::<LvmLv>(&host, json!({ "vg": "vg0", "lv": "a", "size": "50%FREE", "thinpool": "pool" }));
    assert!(why.contains("no share"), "{why}");
}

#[test]
fn ansibles_looseness() {
    assert!(
        refusal::<LvmLv>(&there(MIB), json!({ "vg": "vg0", "thinpool": "t", "size": "1G" }))
            .contains("`lvm_thin_pool`")
    );
    let gone = json!({ "vg": "vg0", "lv": "a", "state": "absent", "force": true });
    let change = planned::<LvmLv>(&there(1016 * MIB), gone.clone());
    assert_eq!(
        (words(&change).as_str(), risks(&change)),
        ("lvremove vg0/a", vec![RiskName::Irreversible, RiskName::DataLoss])
    );
    assert!(planned::<LvmLv>(&host(4 * MIB, 127, 20), gone).is_empty());
}

#[test]
fn ceph_volumes_and_unknown_groups() {
    let ceph = there(1016 * MIB)
        .answer(rows::tags("vg0"), Seen::Output(Output::ok("  LVM2_LV_TAGS= LVM2_LV_TAGS=ceph.osd_id=7\n")));
    assert!(refusal::<LvmLv>(&ceph, a("2G")).contains("Ceph's"));
    let host = samples::no_group(host(4 * MIB, 127, 20), "root_gv");
    let host = samples::no_volume(host, "root_gv/a");
    let why = refusal::<LvmLv>(&host, json!({ "vg": "root_gv", "lv": "a", "size": "1G" }));
    assert!(why.contains("did you mean `root_vg`"), "{why}");
}

/// A chain of tasks is planned before the first of them is done.
#[test]
fn a_chain_is_planned_whole() {
    use crate::lvm::{LvmPv, LvmThinPool, LvmVg};
    use crate::module::Planner;
    let host = samples::no_group(samples::empty_disk(Host::new(), "/dev/vdb"), "vg0");
    let host = ["thin", "a", "snap"]
        .iter()
        .fold(host, |host, name| samples::no_volume(host, &format!("vg0/{name}")));
    fn planner<M: crate::Module + Send + Sync>(args: Json) -> Box<dyn Planner> {
        Box::new(serde_json::from_value::<M>(args).unwrap())
    }
    let tasks = [
        planner::<LvmPv>(json!({ "devices": "/dev/vdb" })),
        planner::<LvmVg>(json!({ "vg": "vg0", "devices": "/dev/vdb", "extent_size": "256M" })),
        planner::<LvmThinPool>(
            json!({ "vg": "vg0", "pool": "thin", "size": "4G", "chunk_size": "4M", "zero": false, "tenants": "one" }),
        ),
        planner::<LvmLv>(
            json!({ "vg": "vg0", "lv": "a", "thinpool": "thin", "size": "2G", "read_ahead": "none" }),
        ),
        planner::<LvmLv>(json!({ "vg": "vg0", "lv": "a", "snapshot": "snap" })),
    ];
    let mut reads: std::collections::BTreeSet<Read> = Default::default();
    let mut steps: Vec<(TaskId, Step)> = Vec::new();
    for (number, task) in tasks.iter().enumerate() {
        let change = loop {
            let mut facts = host.facts(reads.clone());
            for (id, step) in &steps {
                facts.plan(*id, [step.clone()]);
            }
            let before = reads.len();
            reads.extend(task.reads(&facts));
            if reads.len() == before {
                break task.plan(&facts).unwrap_or_else(|stop| panic!("task {number}: {stop:?}"));
            }
        };
        assert_eq!(change.steps.len(), 1, "task {number}: {:?}", change.steps);
        let id = TaskId(u32::try_from(number).unwrap());
        steps.extend(change.steps.into_iter().map(|step| (id, step)));
    }
}
