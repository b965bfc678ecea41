//! `spdk_vhost` on targets in memory that answer as a real one did.
use super::SpdkVhost;
use super::samples::{as_unit, host, listed, target, wanted, with_all, without_unit};
use crate::host::{Host, Target};
use crate::trial::{planned, refusal};
use crate::vocabulary::{Act, Back, Change, Effect, RiskName, Standing};
use serde_json::{Value as Json, json};

const SOCKET: &str = "/var/tmp/spdk.sock";
const CONFIG: &str = "/etc/spdk/tunerun-vhost.json";

fn served(target: Target) -> Host {
    host().serve(SOCKET, target)
}

fn methods(change: &Change) -> Vec<&str> {
    let sent = change.steps.iter().filter_map(|step| match &step.act {
        Act::Rpc { method, .. } => Some(method.as_str()),
        _ => None,
    });
    sent.collect()
}

fn apply(host: &mut Host, change: &Change) {
    for step in &change.steps {
        host.act(&step.act).unwrap();
    }
}

fn scsi(slots: Json) -> Json {
    json!({ "controllers": [{ "name": "vhost.0", "kind": "scsi", "slots": slots }] })
}

#[test]
fn a_second_run_changes_nothing() {
    let mut host = served(target());
    let change = planned::<SpdkVhost>(&host, wanted());
    assert_eq!(
        methods(&change),
        [
            "bdev_nvme_attach_controller",
            "bdev_malloc_create",
            "bdev_malloc_create",
            "bdev_aio_create",
            "vhost_create_scsi_controller",
            "vhost_scsi_controller_add_target",
            "vhost_scsi_controller_add_target",
            "vhost_create_blk_controller",
            "vhost_create_scsi_controller",
            "vhost_scsi_controller_add_target",
        ]
    );
    apply(&mut host, &change);
    let again = planned::<SpdkVhost>(&host, wanted());
    assert_eq!(methods(&again), [""; 0]);
    assert!(again.steps.is_empty());
    assert!(again.evidence.iter().all(|told| matches!(told.standing, Standing::Live { .. })), "{again:?}");
}

#[test]
fn what_the_list_does_not_hold_any_more_goes_and_strangers_stay() {
    let all = with_all(target(), wanted())
        .with("bdev_malloc_create", json!({ "name": "Theirs", "num_blocks": 16, "block_size": 512 }));
    let mut host = served(all).file(CONFIG, listed(wanted()));
    let change = planned::<SpdkVhost>(&host, json!({}));
    let sent = methods(&change);
    assert_eq!(sent.len(), 10, "{sent:?}");
    assert!(sent[0].starts_with("vhost_"), "exports go before what they export: {sent:?}");
    assert!(change.risks.iter().any(|risk| risk.name == RiskName::DataLoss));
    assert!(change.notes.iter().any(|note| note.contains("Theirs")), "{:?}", change.notes);
    apply(&mut host, &change);
    assert!(planned::<SpdkVhost>(&host, json!({})).steps.is_empty());
}

#[test]
fn a_controller_that_is_held_open_stays() {
    let held = with_all(target(), wanted()).session("vhost.0");
    let why = refusal::<SpdkVhost>(&served(held).file(CONFIG, listed(wanted())), json!({}));
    assert!(why.contains("vhost.0s0") && why.contains("die"), "{why}");
}

#[test]
fn a_disk_in_a_held_slot_is_not_changed() {
    let malloc = |name: &str| json!({ "name": name, "num_blocks": 1024, "block_size": 512 });
    let all = target()
        .with("bdev_malloc_create", malloc("A"))
        .with("bdev_malloc_create", malloc("B"))
        .with("vhost_create_scsi_controller", json!({ "ctrlr": "vhost.0" }))
        .with(
            "vhost_scsi_controller_add_target",
            json!({ "ctrlr": "vhost.0", "scsi_target_num": 0, "bdev_name": "A" }),
        );
    let change = planned::<SpdkVhost>(&served(all.clone()), scsi(json!({ "0": "B" })));
    assert_eq!(methods(&change), ["vhost_scsi_controller_remove_target", "vhost_scsi_controller_add_target"]);
    let why = refusal::<SpdkVhost>(&served(all.session("vhost.0")), scsi(json!({ "0": "B" })));
    assert!(why.contains("slot 0 holds A"), "{why}");
}

#[test]
fn another_geometry_is_told_with_both() {
    let other =
        target().with("bdev_malloc_create", json!({ "name": "M", "num_blocks": 2048, "block_size": 4096 }));
    let args = json!({ "bdevs": [{ "name": "M", "kind": "malloc", "size": "1M" }] });
    let change = planned::<SpdkVhost>(&served(other), args);
    assert_eq!(methods(&change), [""; 0]);
    let risk = &change.risks[0];
    assert_eq!(risk.name, RiskName::CannotConverge);
    assert!(risk.why.contains("4096") && risk.why.contains("\"block_size\":512"), "{}", risk.why);
}

#[test]
fn blocks_that_no_guest_can_use_are_refused() {
    let args =
        json!({ "bdevs": [{ "name": "Malloc0", "kind": "malloc", "size": "512M", "block_size": 8192 }] });
    assert!(refusal::<SpdkVhost>(&served(target()), args).contains("0 bytes"));
    let theirs =
        target().with("bdev_malloc_create", json!({ "name": "M8", "num_blocks": 16, "block_size": 8192 }));
    assert!(refusal::<SpdkVhost>(&served(theirs), scsi(json!({ "0": "M8" }))).contains("8192"));
}

#[test]
fn cores_are_those_that_the_target_runs_on() {
    // The document starts the target with 0x3, its log shows one core, and a controller is pinned to the other.
    let one = Target::new(&[0], 1 << 30)
        .with("bdev_malloc_create", json!({ "name": "M", "num_blocks": 16, "block_size": 512 }));
    let args =
        json!({ "controllers": [{ "name": "vhost.1", "kind": "blk", "cpumask": "0x2", "bdev": "M" }] });
    let why = refusal::<SpdkVhost>(&served(one), args);
    assert!(why.contains("core 1") && why.contains("runs on: 0"), "{why}");
}

#[test]
fn no_block_device_is_exported_twice() {
    let malloc = json!({ "name": "M", "num_blocks": 1024, "block_size": 512 });
    let why = refusal::<SpdkVhost>(
        &served(target().with("bdev_malloc_create", malloc.clone())),
        scsi(json!({ "0": "M", "1": "M" })),
    );
    assert!(why.contains("twice"), "{why}");
    let theirs = target()
        .with("bdev_malloc_create", malloc)
        .with("vhost_create_blk_controller", json!({ "ctrlr": "theirs", "dev_name": "M" }));
    let why = refusal::<SpdkVhost>(&served(theirs), scsi(json!({ "0": "M" })));
    assert!(why.contains("theirs exports already"), "{why}");
}

#[test]
fn slots_are_said_and_are_those_of_a_controller() {
    let one =
        || target().with("bdev_malloc_create", json!({ "name": "M", "num_blocks": 16, "block_size": 512 }));
    // A target would choose a slot by itself for -1, and another one each time.
    for slot in ["8", "-1", "a", ""] {
        let why = refusal::<SpdkVhost>(&served(one()), scsi(json!({ slot: "M" })));
        assert!(why.contains(&format!("`{slot}` is not a slot")) && why.contains("0 to 7"), "{why}");
    }
    let change = planned::<SpdkVhost>(&served(one()), scsi(json!({ "7": "M" })));
    let sent: Vec<&Json> = change
        .steps
        .iter()
        .filter_map(|step| match &step.act {
            Act::Rpc { method, params, .. } if method == "vhost_scsi_controller_add_target" => Some(params),
            _ => None,
        })
        .collect();
    assert_eq!(sent, [&json!({ "ctrlr": "vhost.0", "scsi_target_num": 7, "bdev_name": "M" })]);
    let blk = json!({ "controllers": [{ "name": "v", "kind": "blk", "bdev": "M", "slots": { "0": "M" } }] });
    assert!(refusal::<SpdkVhost>(&served(one()), blk).contains("has no slots"));
}

#[test]
fn a_disk_moves_from_one_slot_to_another() {
    let mut args = wanted();
    args["controllers"][0]["slots"] = json!({ "0": "Nvme0n1", "3": "Malloc0" });
    let mut host = served(with_all(target(), wanted())).file(CONFIG, listed(wanted()));
    let change = planned::<SpdkVhost>(&host, args.clone());
    assert_eq!(methods(&change), ["vhost_scsi_controller_remove_target", "vhost_scsi_controller_add_target"]);
    apply(&mut host, &change);
    assert!(planned::<SpdkVhost>(&host, args).steps.is_empty());
}

#[test]
fn names_are_offered_and_sockets_fit() {
    let args = json!({ "bdevs": [{ "name": "Malloc0", "kind": "malloc", "size": "1M" }],
        "controllers": [{ "name": "vhost.0", "kind": "blk", "bdev": "Maloc0" }] });
    assert!(refusal::<SpdkVhost>(&served(target()), args).contains("did you mean `Malloc0`"));
    let long = json!({ "controllers": [{ "name": "v".repeat(107), "kind": "scsi" }] });
    assert!(refusal::<SpdkVhost>(&served(target()), long).contains("107"));
    for (bdev, words) in [
        (json!({ "name": "M", "kind": "malloc" }), "needs `size`"),
        (json!({ "name": "M", "kind": "malloc", "size": "1000" }), "number of blocks"),
        (json!({ "name": "M", "kind": "malloc", "size": "1M", "file": "/x" }), "means nothing"),
        (json!({ "name": "N", "kind": "nvme", "address": "nvme0" }), "PCI address"),
        (json!({ "name": "a/b", "kind": "malloc", "size": "1M" }), "not the name"),
    ] {
        let why = refusal::<SpdkVhost>(&served(target()), json!({ "bdevs": [bdev] }));
        assert!(why.contains(words), "{why}");
    }
}

#[test]
fn a_disk_that_the_kernel_drives_is_refused() {
    let host = served(target()).answer(
        crate::vocabulary::Row::new("pci-driver", ["0000:02:00.0"]),
        crate::vocabulary::Seen::Output(crate::vocabulary::Output::ok("nvme\n")),
    );
    let why = refusal::<SpdkVhost>(&host, wanted());
    assert!(why.contains("kernel's nvme") && why.contains("spdk_setup"), "{why}");
}

#[test]
fn a_target_that_is_not_there_is_started_with_its_list() {
    let change = planned::<SpdkVhost>(&without_unit(), as_unit());
    assert_eq!(methods(&change), [""; 0], "the target makes all of it as it starts");
    let text = format!("{:?}", change.steps);
    for words in ["-m 0x3", "-s 2048", "-c /etc/spdk/tunerun-vhost.json", "LimitMEMLOCK=infinity"] {
        assert!(text.contains(words), "{words}");
    }
    assert!(text.contains("Before=libvirtd.service virtqemud.service libvirt-guests.service"));
    assert!(change.evidence.iter().all(|told| !matches!(told.standing, Standing::Live { .. })));
}

#[test]
fn a_target_that_nobody_serves_is_told() {
    assert!(refusal::<SpdkVhost>(&host(), wanted()).contains("nobody serves"));
    let foreign = without_unit().serve(SOCKET, target());
    assert!(refusal::<SpdkVhost>(&foreign, as_unit()).contains("somebody else"));
    assert!(refusal::<SpdkVhost>(&host().deny(SOCKET), wanted()).contains("may not be connected to"));
    let strange = served(target()).file(
        CONFIG,
        "{\"subsystems\": [{\"subsystem\": \"nbd\", \"config\": [{\"method\": \"nbd_start_disk\"}]}]}",
    );
    assert!(refusal::<SpdkVhost>(&strange, wanted()).contains("nbd_start_disk"));
}

#[test]
fn what_is_made_has_its_exact_way_back() {
    let change = planned::<SpdkVhost>(&served(target()), wanted());
    let exact = change.steps.iter().all(|step| matches!(step.back, Back::Exactly(_)));
    assert!(exact && change.effect == Effect::Now);
}

#[test]
fn the_list_is_what_a_real_target_saves() {
    let saved = include_str!("../../../../tests/data/spdk-rpc/save_config_output.json");
    let saved: Json = serde_json::from_str(saved).unwrap();
    let listed: Json = serde_json::from_str(&listed(wanted())).unwrap();
    let entries = |all: &Json, subsystem: &str| -> Vec<Json> {
        let parts = all["subsystems"].as_array().unwrap();
        let part = parts.iter().find(|part| part["subsystem"] == subsystem).unwrap();
        part["config"].as_array().unwrap().clone()
    };
    for (subsystem, method) in [
        ("bdev", "bdev_malloc_create"),
        ("bdev", "bdev_aio_create"),
        ("bdev", "bdev_wait_for_examine"),
        ("vhost_scsi", "vhost_create_scsi_controller"),
        ("vhost_scsi", "vhost_scsi_controller_add_target"),
        ("vhost_blk", "vhost_create_blk_controller"),
    ] {
        let of = |all: &Json| entries(all, subsystem).into_iter().find(|entry| entry["method"] == method);
        let (own, real) = (of(&listed).unwrap(), of(&saved).unwrap());
        let keys = own["params"].as_object().cloned().unwrap_or_default();
        for key in keys.keys() {
            assert!(real["params"].get(key).is_some(), "{method} is saved without `{key}`");
        }
    }
}
