//! Thin pools on captured answers of LVM.
use super::*;
use crate::host::Host;
use crate::trial::{planned, refusal};

fn host() -> Host {
    let host = samples::group(Host::new(), "vg0", 256 << 20, (2000, 2000), &["/dev/vdb"]);
    samples::no_volume(host, "vg0/thin")
}

fn args(more: serde_json::Value) -> serde_json::Value {
    let mut args = json!({ "vg": "vg0", "pool": "thin", "size": "300G", "chunk_size": "4M", "zero": false, "tenants": "one" });
    for (name, value) in more.as_object().unwrap() {
        args[name] = value.clone();
    }
    args
}

fn words(change: &Change) -> String {
    let Act::Call { row, .. } = &change.steps[0].act else { panic!() };
    format!("{} {}", row.name, row.args.join(" "))
}

fn pool(size: u64, chunk: u64, thin: &str) -> Host {
    samples::pool(host(), "vg0/thin", size, chunk, thin)
}

#[test]
fn a_pool_as_the_guide_makes_it() {
    let change = planned::<LvmThinPool>(&host(), args(json!({})));
    assert_eq!(words(&change), "lvcreate --type thin-pool -n thin -l 1200 -c 4096k -Zn vg0");
    assert!(change.risks.is_empty());
}

#[test]
fn a_share_is_given_to_lvm_as_a_share() {
    let change = planned::<LvmThinPool>(&host(), args(json!({ "size": "100%FREE" })));
    assert!(words(&change).contains("-l 100%FREE"), "{}", words(&change));
    assert!(
        planned::<LvmThinPool>(&pool(1 << 30, 4 << 20, "0"), args(json!({ "size": "100%FREE" }))).is_empty()
    );
}

#[test]
fn unzeroed_chunks_are_a_risk_where_several_tenants_are() {
    let change = planned::<LvmThinPool>(&host(), args(json!({ "tenants": "many" })));
    assert!(matches!(&change.risks[..], [Risk { name: RiskName::Security, .. }]));
}

#[test]
fn chunks_too_small_for_the_pool_are_refused() {
    let large = samples::group(Host::new(), "vg0", 1 << 30, (40_000, 40_000), &["/dev/vdb"]);
    let large = samples::no_volume(large, "vg0/thin");
    let why = refusal::<LvmThinPool>(&large, args(json!({ "size": "16T", "chunk_size": "64K" })));
    assert!(why.contains("too small for a pool of 16 TiB") && why.contains("128 KiB is the least"), "{why}");
    assert_eq!(
        planned::<LvmThinPool>(&large, args(json!({ "size": "15T", "chunk_size": "64K" }))).steps.len(),
        1
    );
}

#[test]
fn one_extent_more_is_as_good_and_smaller_never_comes() {
    let gib = |count: u64| count << 30;
    for (size, steps, risks) in
        [(gib(300), 0, 0), (gib(300) + (256 << 20), 0, 0), (gib(301), 0, 1), (gib(299), 1, 1)]
    {
        let change = planned::<LvmThinPool>(&pool(size, 4 << 20, "3"), args(json!({})));
        assert_eq!((change.steps.len(), change.risks.len()), (steps, risks), "{size}");
    }
}

#[test]
fn another_chunk_size_is_never_silently_ok() {
    let change = planned::<LvmThinPool>(&pool(300 << 30, 64 << 10, "0"), args(json!({})));
    assert!(change.is_empty());
    let [risk] = &change.risks[..] else { panic!("{change:?}") };
    assert!(risk.name == RiskName::CannotConverge && risk.why.contains("make a new pool"), "{}", risk.why);
}

#[test]
fn zeroing_is_changed_in_place() {
    let change = planned::<LvmThinPool>(&pool(300 << 30, 4 << 20, "0"), args(json!({ "zero": true })));
    assert_eq!(words(&change), "lvchange -Zy vg0/thin");
    assert!(matches!(&change.steps[0].back, Back::Exactly(Act::Call { row, .. }) if row.args[0] == "-Zn"));
}

#[test]
fn what_is_no_chunk_size() {
    for bad in ["32K", "100K", "2G", "x"] {
        assert!(matches!(
            crate::trial::plan::<LvmThinPool>(&host(), args(json!({ "chunk_size": bad }))),
            Err(Stop::Refused(_))
        ));
    }
}
