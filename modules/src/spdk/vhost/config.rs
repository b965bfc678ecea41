//! The list in SPDK's own JSON, which a target reads as it starts: what is ours, over restarts and reboots.
use super::wishes::{Object, Wishes, of_slot};
use crate::files::text::TextFile;
use crate::vocabulary::{Change, Claim, Facts, HostPath, Row, Stop};
use serde_json::{Value as Json, json};

/// What the file holds now.
#[derive(Clone, Debug)]
pub(super) struct Own {
    file: TextFile,
    path: HostPath,
    /// The objects in it, in the order of their making.
    pub objects: Vec<Object>,
}

impl Own {
    /// Reads the file.
    ///
    /// # Errors
    /// Refuses a file that somebody else has written.
    pub fn read(facts: &Facts, path: &HostPath) -> Result<Self, Stop> {
        let file = TextFile::read(facts, path).map_err(|stop| stop.blame("config"))?;
        let objects = match file.text.trim() {
            "" => Vec::new(),
            text => objects(text).map_err(|why| {
                Stop::refused("config", format!("{path} is not a list that this module wrote: {why}"))
                    .way_out("name another file by `config:`, or move that one away")
            })?,
        };
        Ok(Self { file, path: path.clone(), objects })
    }

    /// Adds what makes it hold the wishes.
    pub fn put(&self, facts: &Facts, wishes: &Wishes, change: &mut Change) -> Result<bool, Stop> {
        self.file.put(facts, Claim::file(&self.path), &text(wishes), change)
    }
}

/// The text for some wishes. Sorted in subsystems as the target starts them; what is made is awaited before vhost
/// begins.
pub(super) fn text(wishes: &Wishes) -> String {
    let entry = |object: &Object| json!({ "method": object.make.0, "params": object.make.1 });
    let mut bdevs: Vec<Json> = wishes.bdevs.iter().map(entry).collect();
    bdevs.push(json!({ "method": "bdev_wait_for_examine" }));
    let (mut scsi, mut blk) = (Vec::new(), Vec::new());
    for export in &wishes.exports {
        match export.bdev {
            Some(_) => blk.push(entry(&export.object)),
            None => {
                scsi.push(entry(&export.object));
                scsi.extend(export.slots.iter().map(|slot| entry(&slot.2)));
            }
        }
    }
    let all = json!({ "subsystems": [
        { "subsystem": "bdev", "config": bdevs },
        { "subsystem": "vhost_scsi", "config": scsi },
        { "subsystem": "vhost_blk", "config": blk },
    ] });
    format!("{all:#}\n")
}

/// The objects of such a text.
fn objects(text: &str) -> Result<Vec<Object>, String> {
    let all: Json = serde_json::from_str(text).map_err(|why| why.to_string())?;
    let subsystems = all.get("subsystems").and_then(Json::as_array).ok_or("it has no `subsystems`")?;
    let mut found = Vec::new();
    for subsystem in subsystems {
        for entry in subsystem.get("config").and_then(Json::as_array).into_iter().flatten() {
            let method = entry.get("method").and_then(Json::as_str).unwrap_or_default();
            if method == "bdev_wait_for_examine" {
                continue;
            }
            let params = entry.get("params").cloned().unwrap_or_default();
            found.push(object(method, params).ok_or_else(|| format!("`{method}` is none of its methods"))?);
        }
    }
    Ok(found)
}

/// An object by what made it. What it is, is looked at where it is taken away.
fn object(method: &str, params: Json) -> Option<Object> {
    let text = |key: &str| params.get(key).and_then(Json::as_str);
    let (make, take, row) = match method {
        "bdev_malloc_create" => ("bdev_malloc_create", "bdev_malloc_delete", "spdk-bdev"),
        "bdev_aio_create" => ("bdev_aio_create", "bdev_aio_delete", "spdk-bdev"),
        "bdev_uring_create" => ("bdev_uring_create", "bdev_uring_delete", "spdk-bdev"),
        "bdev_nvme_attach_controller" => {
            ("bdev_nvme_attach_controller", "bdev_nvme_detach_controller", "spdk-nvme-controller")
        }
        "vhost_create_scsi_controller" => {
            ("vhost_create_scsi_controller", "vhost_delete_controller", "spdk-controller")
        }
        "vhost_create_blk_controller" => {
            ("vhost_create_blk_controller", "vhost_delete_controller", "spdk-controller")
        }
        "vhost_scsi_controller_add_target" => {
            let number = params.get("scsi_target_num")?.as_u64()?;
            return Some(of_slot(text("ctrlr")?, number, text("bdev_name")?));
        }
        _ => return None,
    };
    let key = if take == "vhost_delete_controller" { "ctrlr" } else { "name" };
    let name = text(key)?.to_owned();
    let (title, claim) = match key {
        "ctrlr" => (format!("controller {name}"), format!("vhost/{name}")),
        _ => (format!("bdev {name}"), format!("bdev/{name}")),
    };
    let mut by = json!({});
    by[key] = json!(name);
    Some(Object {
        title,
        claim,
        make: (make, params.clone()),
        take: (take, by),
        look: Row::new(row, [name]),
        is: Json::Null,
        memory: make == "bdev_malloc_create",
    })
}
