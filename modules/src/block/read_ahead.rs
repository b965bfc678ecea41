//! `read_ahead`: how far the kernel reads ahead on block devices.
use super::queue::Setting;
use crate::argument::{Names, Scalar};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::shape::{Shape, parse_size};
use crate::vocabulary::{Change, Facts, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// How far the kernel reads ahead on block devices.
///
/// It is set at once, and a udev rule of our own file sets it whenever the device appears, at boot too. A volume of LVM
/// keeps its own read-ahead: see `lvm_lv`. File systems that are mounted take a new value at their next mount.
///
/// Errors: as of `io_scheduler`. Sources: the kernel's Documentation/ABI/stable/sysfs-block, udev(7).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadAhead {
    /// The devices: names, patterns, or links below /dev; a list, or one text parted by commas.
    pub devices: Names,
    /// How far: `none`, or a size such as `128K` or `4M`; a bare number is KiB, as in the kernel's file.
    pub size: Scalar,
    /// Whether it is so after the next boot too, by a udev rule.
    #[serde(default = "crate::argument::yes")]
    pub persist: bool,
}

impl ReadAhead {
    fn kib(&self) -> Result<u64, Stop> {
        let text = self.size.text();
        if let Ok(kib) = text.parse::<u64>() {
            return Ok(kib);
        }
        if text == "none" {
            return Ok(0);
        }
        match parse_size(&text) {
            Ok(bytes) if bytes.is_multiple_of(1024) => Ok(bytes / 1024),
            Ok(_) => Err(Stop::refused("size", format!("`{text}` is not a whole number of KiB"))),
            Err(why) => Err(Stop::refused("size", why)),
        }
    }
}

impl Module for ReadAhead {
    const NAME: &'static str = "read_ahead";
    const EXAMPLE: &'static str = "\
- name: Nothing is read ahead on the guests' disk
  read_ahead:
    devices: nvme1n1
    size: none
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("device", "devices"), ("name", "devices")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let kib = self.kib()?;
        let setting = Setting {
            devices: &self.devices,
            file: "read_ahead_kb",
            value: kib.to_string(),
            shape: Shape::Number,
            persist: self.persist,
        };
        let mut change = Change::default();
        let devices = setting.plan(facts, &mut change)?;
        if let Some(volume) = devices.iter().find(|device| device.starts_with("dm-")) {
            change.notes.push(format!(
                "{volume} may be a volume of LVM, which sets its own read-ahead: use `lvm_lv`"
            ));
        }
        change.result = json!({ "devices": devices, "kib": kib });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let host =
            || Host::new().dir("/etc/udev/rules.d").value("/sys/block/nvme1n1/queue/read_ahead_kb", "128");
        let sample = |about, args| Sample { about, args, host: host(), calls: Vec::new() };
        vec![
            sample("none", json!({ "devices": "nvme1n1", "size": "none" })),
            sample("not kept", json!({ "devices": "/dev/nvme1n1", "size": "4M", "persist": false })),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::Act;

    #[test]
    fn sizes_are_kib_in_the_kernels_file() {
        let host = ReadAhead::samples()[0].host.clone();
        for (size, kib) in [(json!("none"), "0"), (json!("4M"), "4096"), (json!(512), "512")] {
            let change =
                planned::<ReadAhead>(&host, json!({ "devices": "nvme1n1", "size": size, "persist": false }));
            assert!(matches!(&change.steps[0].act, Act::Write { value, .. } if value == kib), "{change:?}");
        }
        assert!(
            planned::<ReadAhead>(&host, json!({ "devices": "nvme1n1", "size": "128K", "persist": false }))
                .is_empty()
        );
        assert!(
            refusal::<ReadAhead>(&host, json!({ "devices": "nvme1n1", "size": "1000B" })).contains("KiB")
        );
        let volume = host.value("/sys/block/dm-3/queue/read_ahead_kb", "128");
        assert!(
            planned::<ReadAhead>(&volume, json!({ "devices": "dm-3", "size": 0 })).notes[0]
                .contains("`lvm_lv`")
        );
    }
}
