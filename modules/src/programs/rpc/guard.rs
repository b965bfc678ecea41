//! What must not be so right before a method is sent, whoever asks for it: an undo and `--force` too.
use super::sending::{On, is_namespace_of, method, param};
use crate::vocabulary::{Row, Seen};
use serde_json::Value as Json;

/// The rows to ask right before a method is sent.
pub fn guards(name: &str, params: &Json) -> Vec<Row> {
    let takes_away = ["delete", "remove", "detach"].iter().any(|word| name.contains(word));
    match method(name).map(|row| row.on) {
        Some(On::Controller | On::Slot) if takes_away => {
            vec![Row::new("spdk-sessions", [param(params, "ctrlr")])]
        }
        Some(On::Bdev | On::Nvme) if takes_away => vec![Row::new("spdk-controllers", Vec::<String>::new())],
        // A second export of one block device is accepted by the target, and two guests then write to one disk.
        Some(On::Slot) => vec![Row::new("spdk-controllers", Vec::<String>::new())],
        Some(On::Controller) if name == "vhost_create_blk_controller" => {
            vec![Row::new("spdk-controllers", Vec::<String>::new())]
        }
        _ => Vec::new(),
    }
}

/// Why a method may not be sent, by what its guards saw; none where it may.
pub fn forbids(name: &str, params: &Json, seen: &[(Row, Seen)]) -> Option<String> {
    for (row, seen) in seen {
        let text = match seen {
            Seen::Absent => continue,
            Seen::Value(text) => text,
            other => return Some(format!("{name} was not sent: {other:?} is said of {}", row.name)),
        };
        let Ok(json) = serde_json::from_str::<Json>(text) else {
            return Some(format!("{name} was not sent: {} said {text}", row.name));
        };
        let why = match row.name.as_str() {
            "spdk-sessions" => of_sessions(params, &json),
            _ => of_exports(name, params, &json),
        };
        if let Some(why) = why {
            return Some(format!("{name} was not sent: {why}"));
        }
    }
    None
}

/// A real target dies of the deletion of a controller that is held open, and all of its guests with it.
fn of_sessions(params: &Json, sessions: &Json) -> Option<String> {
    let names: Vec<&str> =
        sessions.as_array().map(|all| all.iter().filter_map(Json::as_str).collect()).unwrap_or_default();
    (!names.is_empty()).then(|| {
        format!(
            "{} is held open by the session {}: stop the guest or take its disk away first; a target may die of it",
            param(params, "ctrlr"),
            names.join(", ")
        )
    })
}

fn of_exports(name: &str, params: &Json, controllers: &Json) -> Option<String> {
    let wanted = |bdev: &str| match name {
        "vhost_scsi_controller_add_target" => bdev == param(params, "bdev_name"),
        "vhost_create_blk_controller" => bdev == param(params, "dev_name"),
        "bdev_nvme_detach_controller" => is_namespace_of(bdev, param(params, "name")),
        _ => bdev == param(params, "name"),
    };
    exports(controllers)
        .into_iter()
        .find(|(_, _, bdev)| wanted(bdev))
        .map(|(controller, place, bdev)| format!("{controller}{place} exports {bdev} already"))
        .map(|why| match name.contains("delete") || name.contains("detach") {
            true => why.replace(" already", "; take it out there first"),
            false => format!("{why}; two guests would write to one disk"),
        })
}

/// What the controllers export, as the row `spdk-controllers` tells it: controller, place, block device.
pub(crate) fn exports(controllers: &Json) -> Vec<(String, String, String)> {
    let mut found = Vec::new();
    for controller in controllers.as_array().map(Vec::as_slice).unwrap_or_default() {
        let name = param(controller, "name").to_owned();
        if let Some(bdev) = controller.get("bdev").and_then(Json::as_str) {
            found.push((name.clone(), String::new(), bdev.to_owned()));
        }
        let slots = controller.get("slots").and_then(Json::as_object);
        for (slot, bdev) in slots.into_iter().flatten() {
            let bdev = bdev.as_str().unwrap_or_default();
            found.push((name.clone(), format!(" (slot {slot})"), bdev.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn why(name: &str, params: &Json, seen: &Json) -> Option<String> {
        let rows = guards(name, params);
        let seen: Vec<(Row, Seen)> =
            rows.into_iter().map(|row| (row, Seen::Value(seen.to_string()))).collect();
        forbids(name, params, &seen)
    }

    #[test]
    fn what_is_held_open_stays() {
        let params = json!({ "ctrlr": "vhost.0", "scsi_target_num": 0 });
        for name in ["vhost_delete_controller", "vhost_scsi_controller_remove_target"] {
            assert!(why(name, &params, &json!(["vhost.0s0"])).unwrap().contains("vhost.0s0"));
            assert_eq!(why(name, &params, &json!([])), None);
        }
    }

    #[test]
    fn what_is_exported_is_neither_deleted_nor_exported_twice() {
        let all = json!([
            { "name": "vhost.0", "kind": "scsi", "slots": { "0": "Nvme0n1" } },
            { "name": "vhost.1", "kind": "blk", "bdev": "Malloc1", "slots": {} },
        ]);
        let name = |name: &str| json!({ "name": name });
        assert!(why("bdev_malloc_delete", &name("Malloc1"), &all).unwrap().contains("vhost.1"));
        assert!(why("bdev_nvme_detach_controller", &name("Nvme0"), &all).unwrap().contains("slot 0"));
        assert_eq!(why("bdev_malloc_delete", &name("Malloc2"), &all), None);
        let slot = json!({ "ctrlr": "vhost.2", "scsi_target_num": 0, "bdev_name": "Malloc1" });
        assert!(why("vhost_scsi_controller_add_target", &slot, &all).unwrap().contains("two guests"));
        let blk = json!({ "ctrlr": "vhost.2", "dev_name": "Nvme0n1" });
        assert!(why("vhost_create_blk_controller", &blk, &all).is_some());
    }

    #[test]
    fn what_cannot_be_told_forbids() {
        let params = json!({ "ctrlr": "vhost.0" });
        let seen = vec![(Row::new("spdk-sessions", ["vhost.0"]), Seen::Failed("no answer".to_owned()))];
        assert!(forbids("vhost_delete_controller", &params, &seen).is_some());
    }
}
