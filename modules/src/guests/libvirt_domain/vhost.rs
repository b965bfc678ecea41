//! vhost-user devices as QEMU's own arguments, and where QEMU puts devices that libvirt does not know.
use super::wish::VhostUserScsi;
use crate::guests::virsh::Version;
use serde_json::json;

/// Since this version a device may be written as JSON; libvirt writes its own so.
const JSON: Version = Version(6, 2, 0);

fn is_json(qemu: Option<Version>) -> bool {
    qemu.is_some_and(|version| version >= JSON)
}

/// The value of `-device`. QEMU makes devices of the older form before those of JSON: one without a place of its own
/// would take the first free slot, which libvirt has given to another device, and the guest would not start.
pub(super) fn device(device: &VhostUserScsi, qemu: Option<Version>) -> String {
    let id = format!("{}-scsi", device.id);
    if is_json(qemu) {
        let mut all = json!({ "driver": "vhost-user-scsi-pci", "id": id, "chardev": device.id });
        let numbers = [("num_queues", device.queues), ("bootindex", device.bootindex)];
        for (name, number) in numbers.into_iter().filter_map(|(name, number)| Some((name, number?))) {
            all[name] = json!(number);
        }
        return all.to_string();
    }
    let mut text = format!("vhost-user-scsi-pci,id={id},chardev={}", device.id);
    if let Some(queues) = device.queues {
        text.push_str(&format!(",num_queues={queues}"));
    }
    if let Some(index) = device.bootindex {
        text.push_str(&format!(",bootindex={index}"));
    }
    text
}

/// Devices of PCI that would take the place of one of libvirt's.
pub(super) fn misplaced(arguments: &[(String, Option<String>)], qemu: Option<Version>) -> Option<String> {
    let values = arguments.iter().filter(|(option, _)| matches!(option.as_str(), "-device" | "--device"));
    let strays: Vec<&str> = values
        .filter_map(|(_, value)| value.as_deref())
        .filter(|value| !value.starts_with('{') && !value.contains("addr=") && value.contains("-pci"))
        .collect();
    (is_json(qemu) && !strays.is_empty()).then(|| {
        format!(
            "{}: QEMU makes it before libvirt's own devices and may give it a slot that one of them has: write `addr=`, or \
             the device as JSON",
            strays.join("; ")
        )
    })
}
