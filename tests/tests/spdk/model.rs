//! The target in memory against the recorded answers: it may lie about nothing that a module relies on.
use crate::bed::{case, cases};
use modules::host::Target;
use serde_json::{Value as Json, json};

fn malloc(name: &str, num_blocks: u64, block_size: u64) -> (&'static str, Json) {
    ("bdev_malloc_create", json!({ "name": name, "num_blocks": num_blocks, "block_size": block_size }))
}

/// States in which the recorded requests met a target.
fn states() -> Vec<Target> {
    let empty = Target::new(&[1], 1900 << 20);
    let with = |target: Target, steps: &[(&str, Json)]| {
        steps.iter().fold(target, |target, (method, params)| target.with(method, params.clone()))
    };
    let uuid = (
        "bdev_malloc_create",
        json!({ "name": "Mu", "num_blocks": 16, "block_size": 512,
        "uuid": "8f1f0f1e-1111-4222-8333-444455556666" }),
    );
    let aio =
        ("bdev_aio_create", json!({ "name": "Aio0", "filename": "/var/tmp/aio0.img", "block_size": 4096 }));
    let scsi = ("vhost_create_scsi_controller", json!({ "ctrlr": "vhost.0", "cpumask": "0x2" }));
    let slot = (
        "vhost_scsi_controller_add_target",
        json!({ "ctrlr": "vhost.0", "scsi_target_num": 0, "bdev_name": "Malloc0" }),
    );
    let blk =
        |name: &str, bdev: &str| ("vhost_create_blk_controller", json!({ "ctrlr": name, "dev_name": bdev }));
    let bdevs = with(
        empty.clone(),
        &[
            malloc("Malloc0", 1024, 512),
            malloc("Malloc1", 1024, 512),
            malloc("Malloc2", 2048, 4096),
            malloc("Malloc3", 2048, 4096),
            malloc("Small0", 2048, 512),
            malloc("Small4k", 2048, 4096),
            malloc("Malloc4k", 2048, 4096),
            uuid,
            aio,
        ],
    );
    let scsi = with(bdevs.clone(), &[scsi]);
    let slots = with(scsi.clone(), &[slot]);
    let both = with(
        slots.clone(),
        &[
            blk("vhost.1", "Small4k"),
            (
                "vhost_scsi_controller_add_target",
                json!({ "ctrlr": "vhost.0", "scsi_target_num": 1, "bdev_name": "Malloc0" }),
            ),
        ],
    );
    let two = with(
        slots.clone(),
        &[(
            "vhost_scsi_controller_add_target",
            json!({ "ctrlr": "vhost.0", "scsi_target_num": 2, "bdev_name": "Malloc0" }),
        )],
    );
    let held = both.clone().session("vhost.0").session("vhost.1");
    let aio_alone = with(empty.clone(), &[malloc("Small0", 2048, 512)]);
    let full = with(empty.clone(), &[malloc("Malloc0", 1_048_576, 512), malloc("Malloc1", 262_144, 4096)]);
    vec![empty, bdevs, scsi, slots, both, two, held, aio_alone, full]
}

/// What is the target's own affair: ids, counters, and whole lists of its objects.
fn comparable(answer: &Json) -> Option<Json> {
    if let Some(error) = answer.get("error") {
        return Some(error.clone());
    }
    match answer.get("result")? {
        Json::Object(_) => None,
        Json::Array(all) if !all.is_empty() => None,
        result => Some(result.clone()),
    }
}

#[test]
fn recorded_answers_come_from_some_state() {
    let states = states();
    let (mut compared, mut wrong) = (0, Vec::new());
    for name in cases() {
        let recorded = case(&name);
        let request = &recorded["request"];
        let method = request["method"].as_str().unwrap_or_default();
        let known = [
            "bdev_malloc",
            "bdev_aio",
            "bdev_get_bdevs",
            "bdev_nvme_attach",
            "bdev_nvme_detach",
            "bdev_nvme_get",
            "vhost_create",
            "vhost_delete",
            "vhost_get",
            "vhost_scsi",
        ];
        if !known.iter().any(|known| method.starts_with(known)) || name.starts_with("wait_for_rpc") {
            continue;
        }
        let Some(wanted) = comparable(&recorded["response"]) else { continue };
        compared += 1;
        let answers: Vec<Json> =
            states.iter().filter_map(|state| comparable(&state.clone().answer(request)?)).collect();
        if !answers.contains(&wanted) {
            wrong.push(format!("{name}: {request} became {wanted}, the model says {answers:?}"));
        }
    }
    assert!(compared >= 75, "only {compared} recorded answers are compared");
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_target_dies_of_the_deletion_of_a_controller_that_is_held_open() {
    let mut target = states().remove(6);
    let delete = |name: &str| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "vhost_delete_controller",
        "params": { "ctrlr": name } })
    };
    let busy = target.answer(&delete("vhost.1")).unwrap();
    assert_eq!(busy["error"], case("blk_delete_with_client_2")["response"]["error"]);
    assert_eq!(target.answer(&delete("vhost.0")).unwrap()["result"], json!(true));
    let next = json!({ "jsonrpc": "2.0", "id": 2, "method": "vhost_get_controllers" });
    assert_eq!(target.answer(&next), None);
    assert!(target.is_dead());
}
