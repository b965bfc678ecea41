//! The table of RPC methods that change something: how long they may take, what they touch, what their errors mean.
use crate::vocabulary::Row;
use serde_json::Value as Json;

/// What a method changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The block device that `name` says.
    Bdev,
    /// The NVMe controller that `name` says, and its block devices: the name followed by `n` and a number.
    Nvme,
    /// The vhost controller that `ctrlr` says.
    Controller,
    /// The slot `scsi_target_num` of the vhost controller that `ctrlr` says.
    Slot,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The method.
    pub name: &'static str,
    /// What it does, one sentence.
    pub about: &'static str,
    /// How long an answer is awaited, in seconds.
    pub seconds: u64,
    /// What it changes.
    pub on: On,
}

const fn row(name: &'static str, on: On, seconds: u64, about: &'static str) -> Method {
    Method { name, about, seconds, on }
}

/// Methods that change a target.
pub const SENDING: &[Method] = &[
    row("bdev_malloc_create", On::Bdev, 120, "makes a block device in huge page memory"),
    row("bdev_malloc_delete", On::Bdev, 60, "deletes a block device in memory, with what it holds"),
    row("bdev_aio_create", On::Bdev, 60, "opens a file or block device by Linux' asynchronous I/O"),
    row("bdev_aio_delete", On::Bdev, 60, "closes such a file"),
    row("bdev_uring_create", On::Bdev, 60, "opens a file or block device by io_uring"),
    row("bdev_uring_delete", On::Bdev, 60, "closes such a file"),
    row("bdev_nvme_attach_controller", On::Nvme, 120, "attaches an NVMe controller with its namespaces"),
    row("bdev_nvme_detach_controller", On::Nvme, 120, "detaches an NVMe controller"),
    row("vhost_create_scsi_controller", On::Controller, 60, "makes a vhost-user-scsi controller"),
    row("vhost_create_blk_controller", On::Controller, 60, "makes a vhost-user-blk controller"),
    row("vhost_delete_controller", On::Controller, 60, "deletes a vhost controller that nobody holds open"),
    row("vhost_scsi_controller_add_target", On::Slot, 60, "puts a block device into a slot"),
    row("vhost_scsi_controller_remove_target", On::Slot, 60, "takes a block device out of a slot"),
];

/// The row of a method.
pub fn method(name: &str) -> Option<&'static Method> {
    SENDING.iter().find(|row| row.name == name)
}

/// How long an answer is awaited, in seconds. Reading methods answer at once.
pub fn seconds(name: &str) -> u64 {
    method(name).map_or(30, |row| row.seconds)
}

pub(super) fn param<'a>(params: &'a Json, key: &str) -> &'a str {
    params.get(key).and_then(Json::as_str).unwrap_or_default()
}

/// Whether a method may change what a reading row takes. An unknown method may change everything.
pub fn touches(name: &str, params: &Json, row: &Row) -> bool {
    let Some(method) = method(name) else { return true };
    let arg = |at: usize| row.args.get(at).map_or("", String::as_str);
    let name = param(params, "name");
    let ctrlr = param(params, "ctrlr");
    match (row.name.as_str(), method.on) {
        ("spdk-version" | "spdk-reactors", _) => false,
        ("spdk-bdevs", On::Bdev | On::Nvme) => true,
        ("spdk-bdev", On::Bdev) => arg(0) == name,
        ("spdk-bdev", On::Nvme) => is_namespace_of(arg(0), name),
        ("spdk-nvme-controllers", On::Nvme) => true,
        ("spdk-nvme-controller", On::Nvme) => arg(0) == name,
        // Block devices that go are taken out of the slots that hold them.
        ("spdk-controllers", _) => true,
        ("spdk-slot", On::Bdev | On::Nvme) => {
            method.name.ends_with("delete") || method.name.contains("detach")
        }
        ("spdk-controller" | "spdk-sessions", On::Controller) => arg(0) == ctrlr,
        ("spdk-slot", On::Controller) => arg(0) == ctrlr,
        ("spdk-slot", On::Slot) => {
            let slot = params.get("scsi_target_num").and_then(Json::as_u64);
            arg(0) == ctrlr && slot.is_none_or(|slot| slot.to_string() == arg(1))
        }
        _ => false,
    }
}

/// Whether a block device is a namespace of an NVMe controller: `Nvme0n1` of `Nvme0`.
pub(super) fn is_namespace_of(bdev: &str, controller: &str) -> bool {
    let rest = bdev.strip_prefix(controller).and_then(|rest| rest.strip_prefix('n'));
    rest.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
}

/// What an error of a method means, with what to do, where the target's own words do not tell.
pub fn explained(name: &str, params: &Json, code: i64, message: &str) -> String {
    let said = format!("{name}: {message} ({code})");
    let more = match (name, code, message) {
        (_, -32601, _) => "the target is of another version, or built without this method",
        (_, -1, _) => "the target was started with --wait-for-rpc and waits for `framework_start_init`",
        ("bdev_malloc_create", -12, _) => {
            "the memory comes from the target's huge pages at once: give the host more huge pages and the target more \
             memory (-s), or make the device smaller"
        }
        ("bdev_nvme_attach_controller", -19, _) => {
            "the target answers this for an address that is absent, malformed or not bound to a user-space driver; the \
             reason is in its log alone (journalctl -u of its unit)"
        }
        ("bdev_aio_create" | "bdev_uring_create", -22, _) => {
            "the file's size must be a multiple of the block size, and a disk of 4096-byte sectors needs 4096"
        }
        ("bdev_aio_create" | "bdev_uring_create", -2, _) => "there is no such file on the host",
        (_, -17, _) | (_, -32602, "File exists") => "somebody else has made it since: plan again",
        ("vhost_delete_controller", -32602, "Device or resource busy") => {
            "a guest holds it open: stop the guest or take its disk away first"
        }
        ("vhost_scsi_controller_remove_target", -32602, "Device or resource busy") => "the slot is empty",
        ("vhost_create_scsi_controller" | "vhost_create_blk_controller", -32602, "Invalid argument") => {
            "the cores may not be the target's"
        }
        ("vhost_create_scsi_controller" | "vhost_create_blk_controller", -32602, "Input/output error") => {
            "the path of its socket is taken or cannot be written"
        }
        _ => "",
    };
    let shown = param(params, if params.get("ctrlr").is_some() { "ctrlr" } else { "name" });
    let said = if shown.is_empty() { said } else { format!("{said} for {shown}") };
    if more.is_empty() { said } else { format!("{said}: {more}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn touches_are_as_narrow_as_the_thing() {
        let bdev = json!({ "name": "Malloc0" });
        let row = |name: &str, args: &[&str]| Row::new(name, args.iter().copied());
        assert!(touches("bdev_malloc_create", &bdev, &row("spdk-bdev", &["Malloc0"])));
        assert!(!touches("bdev_malloc_create", &bdev, &row("spdk-bdev", &["Malloc1"])));
        assert!(touches("bdev_malloc_create", &bdev, &row("spdk-bdevs", &[])));
        assert!(!touches("bdev_malloc_create", &bdev, &row("spdk-slot", &["vhost.0", "0"])));
        let nvme = json!({ "name": "Nvme0" });
        assert!(touches("bdev_nvme_attach_controller", &nvme, &row("spdk-bdev", &["Nvme0n1"])));
        assert!(!touches("bdev_nvme_attach_controller", &nvme, &row("spdk-bdev", &["Nvme0"])));
        let slot = json!({ "ctrlr": "vhost.0", "scsi_target_num": 1 });
        assert!(touches("vhost_scsi_controller_add_target", &slot, &row("spdk-slot", &["vhost.0", "1"])));
        assert!(!touches("vhost_scsi_controller_add_target", &slot, &row("spdk-slot", &["vhost.0", "0"])));
        assert!(!touches("vhost_scsi_controller_add_target", &slot, &row("spdk-controller", &["vhost.0"])));
        assert!(touches("anything_else", &slot, &row("spdk-version", &[])));
    }

    #[test]
    fn no_memory_names_the_huge_pages() {
        let words = explained("bdev_malloc_create", &json!({ "name": "M" }), -12, "Cannot allocate memory");
        assert!(words.contains("huge pages"), "{words}");
    }
}
