//! What a disk is used for, by what lsblk tells of it.
use serde_json::Value as Json;

/// What stands against giving a disk away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    /// What uses it now: never allowed.
    pub held: Vec<String>,
    /// What lies on it: allowed where a person names the disk for it.
    pub data: Vec<String>,
}

impl Uses {
    /// Adds the processes that hold a disk or its partitions open, of the lines `DEVICE PROCESS NAME`.
    pub fn opened(&mut self, block: &str, openers: &str) {
        for line in openers.lines() {
            let mut words = line.splitn(3, ' ');
            let (Some(device), Some(process)) = (words.next(), words.next()) else { continue };
            let device = device.strip_prefix("/dev/").unwrap_or(device);
            let rest = device.strip_prefix(block).map(|rest| rest.trim_start_matches('p'));
            if rest.is_some_and(|rest| rest.bytes().all(|digit| digit.is_ascii_digit())) {
                let who = words.next().unwrap_or("a process");
                self.held.push(format!("{device} is held open by {who} (process {process})"));
            }
        }
    }
}

fn text<'a>(device: &'a Json, key: &str) -> Option<&'a str> {
    device.get(key).and_then(Json::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn name(device: &Json) -> &str {
    text(device, "kname").or_else(|| text(device, "name")).unwrap_or("a device without a name")
}

/// All places where a device is mounted; `[SWAP]` counts. Older versions of lsblk tell one.
fn mounts(device: &Json) -> Vec<&str> {
    let many = device.get("mountpoints").and_then(Json::as_array);
    let many = many.into_iter().flatten().filter_map(Json::as_str);
    let mut all: Vec<&str> = many.chain(text(device, "mountpoint")).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The device with a kernel name, in lsblk's trees.
pub(super) fn find<'a>(devices: &'a [Json], kname: &str) -> Option<&'a Json> {
    devices.iter().find_map(|device| match name(device) == kname {
        true => Some(device),
        false => find(device.get("children").and_then(Json::as_array)?, kname),
    })
}

/// Serial number, as lsblk tells it.
pub(super) fn serial(device: &Json) -> Option<&str> {
    text(device, "serial")
}

/// Walks a disk with all that lies on it.
pub(super) fn uses(disk: &Json) -> Uses {
    let mut uses = Uses::default();
    walk(disk, true, &mut uses);
    uses
}

fn walk(device: &Json, is_part: bool, uses: &mut Uses) {
    for place in mounts(device) {
        uses.held.push(match place {
            "[SWAP]" => format!("{} is swapped to", name(device)),
            place => format!("{} is mounted on {place}", name(device)),
        });
    }
    if is_part {
        if let Some(table) = text(device, "pttype").filter(|_| text(device, "type") != Some("part")) {
            uses.data.push(format!("{} has a partition table type {table}", name(device)));
        }
        if let Some(kind) = text(device, "fstype") {
            uses.data.push(format!("{} holds {}", name(device), kind_of(kind)));
        }
    }
    for child in device.get("children").and_then(Json::as_array).into_iter().flatten() {
        let is_partition = text(child, "type") == Some("part");
        if !is_partition {
            let kind = text(child, "type").unwrap_or("something");
            let called = text(child, "name").filter(|called| *called != name(child));
            let called = called.map_or(String::new(), |called| format!(" {called}"));
            uses.held.push(format!("{} is held by {} ({kind}{called})", name(device), name(child)));
        }
        walk(child, is_partition, uses);
    }
}

fn kind_of(fstype: &str) -> String {
    match fstype {
        "LVM2_member" => "a physical volume of LVM".to_owned(),
        "linux_raid_member" => "a part of an MD array".to_owned(),
        "ceph_bluestore" => "an OSD of Ceph".to_owned(),
        "crypto_LUKS" => "an encrypted volume".to_owned(),
        "swap" => "swap space".to_owned(),
        other => format!("a file system or signature of {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn holders_are_walked_to_their_end() {
        let disk = json!({ "name": "nvme0n1", "type": "disk", "pttype": "gpt", "children": [
            { "name": "nvme0n1p1", "type": "part", "fstype": "LVM2_member", "pttype": "gpt", "children": [
                { "name": "vg0-root", "kname": "dm-0", "type": "lvm", "fstype": "xfs", "mountpoints": ["/srv"] } ] } ] });
        let uses = uses(&disk);
        assert_eq!(uses.held, ["nvme0n1p1 is held by dm-0 (lvm vg0-root)", "dm-0 is mounted on /srv"]);
        assert_eq!(
            uses.data,
            ["nvme0n1 has a partition table type gpt", "nvme0n1p1 holds a physical volume of LVM"]
        );
    }

    #[test]
    fn those_who_hold_it_open_are_named() {
        let mut uses = Uses::default();
        uses.opened("nvme0n1", "/dev/nvme0n1 71 qemu-system-x86\n/dev/nvme0n1p2 8 mkfs my disk\n");
        assert_eq!(
            uses.held,
            [
                "nvme0n1 is held open by qemu-system-x86 (process 71)",
                "nvme0n1p2 is held open by mkfs my disk (process 8)"
            ]
        );
        let mut free = Uses::default();
        free.opened("nvme0n1", "\n");
        free.opened("nvme0n2", "/dev/nvme0n1 71 qemu\n");
        assert_eq!(free, Uses::default());
    }

    #[test]
    fn a_blank_disk_is_free() {
        let blank = json!({ "name": "nvme1n1", "type": "disk", "fstype": null, "mountpoints": [null] });
        assert_eq!(uses(&blank), Uses::default());
        let swap = json!({ "name": "nvme1n1", "type": "disk", "fstype": "swap", "mountpoint": "[SWAP]" });
        assert_eq!(uses(&swap).held, ["nvme1n1 is swapped to"]);
        assert_eq!(uses(&swap).data, ["nvme1n1 holds swap space"]);
    }
}
