//! `io_scheduler`: the scheduler of block devices.
use super::queue::Setting;
use crate::argument::Names;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::shape::Shape;
use crate::vocabulary::{Change, Facts, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The scheduler of block devices.
///
/// A device is named by the kernel (`nvme0n1`), by a pattern of such names (`nvme*n1`), or by a link that udev keeps
/// (`/dev/disk/by-id/…`). The scheduler is set at once, and a udev rule of our own file sets it whenever the device
/// appears, at boot too. Fast NVMe disks are served best by `none`; a guest's virtio disks too, since the host
/// schedules. Taken back, the rule goes first, and udev is waited for before the old value is written.
///
/// Errors: a device that is not there, or a partition (with the nearest name); a scheduler that the device does not
/// offer (with those that it does). Sources: the kernel's Documentation/block/switching-sched.rst, udev(7).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IoScheduler {
    /// The devices: names, patterns, or links below /dev; a list, or one text parted by commas.
    pub devices: Names,
    /// The scheduler: `none`, `mq-deadline`, `kyber`, `bfq`, or what else the kernel offers.
    pub scheduler: String,
    /// Whether it is so after the next boot too, by a udev rule.
    #[serde(default = "crate::argument::yes")]
    pub persist: bool,
}

impl Module for IoScheduler {
    const NAME: &'static str = "io_scheduler";
    const EXAMPLE: &'static str = "\
- name: Fast disks are not scheduled
  io_scheduler:
    devices: nvme*n1
    scheduler: none
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("device", "devices"), ("name", "devices")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let scheduler = self.scheduler.trim();
        if scheduler.is_empty() || !scheduler.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return Err(Stop::refused("scheduler", format!("`{scheduler}` is not the name of a scheduler")));
        }
        let setting = Setting {
            devices: &self.devices,
            file: "scheduler",
            value: scheduler.to_owned(),
            shape: Shape::Choice,
            persist: self.persist,
        };
        let mut change = Change::default();
        let devices = setting.plan(facts, &mut change)?;
        change.result = json!({ "devices": devices, "scheduler": scheduler });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        // The kernel shows all words with the chosen one in brackets; a host in memory shows what was written.
        let host = || {
            Host::new()
                .dir("/etc/udev/rules.d")
                .value("/sys/block/nvme0n1/queue/scheduler", "mq-deadline")
                .value("/sys/block/nvme1n1/queue/scheduler", "none")
                .link("/dev/disk/by-id/nvme-a", "../../nvme0n1")
        };
        let sample = |about, args| Sample { about, args, host: host(), calls: Vec::new() };
        vec![
            sample("a pattern", json!({ "devices": "nvme*n1", "scheduler": "none" })),
            sample("a link", json!({ "devices": "/dev/disk/by-id/nvme-a", "scheduler": "none" })),
            sample("not kept", json!({ "devices": ["nvme0n1"], "scheduler": "none", "persist": false })),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::{Act, Back, Diff, Standing};

    fn host() -> Host {
        Host::new()
            .dir("/etc/udev/rules.d")
            .value("/sys/block/nvme0n1/queue/scheduler", "[mq-deadline] kyber none")
            .value("/sys/block/nvme1n1/queue/scheduler", "[none] mq-deadline kyber")
            .link("/dev/disk/by-id/nvme-a", "../../nvme0n1")
    }

    #[test]
    fn it_is_set_now_and_kept_by_udev() {
        let change = planned::<IoScheduler>(&host(), json!({ "devices": "nvme*n1", "scheduler": "none" }));
        let [write, settled, rule] = &change.steps[..] else { panic!("{change:?}") };
        assert!(
            matches!(&rule.act, Act::Put { path, .. } if path.as_str() == "/etc/udev/rules.d/99-tunerun-block.rules")
        );
        assert!(matches!(&write.back, Back::Exactly(Act::Write { value, .. }) if value == "mq-deadline"));
        // Taken back, the rule goes first; udev holds it and is busy until it was told and waited for.
        assert!(
            matches!(&settled.back, Back::Exactly(Act::Call { row, .. }) if row.name == "udev-settled"),
            "{settled:?}"
        );
        let Diff::Text { after, .. } = &change.diff[0] else { panic!() };
        assert!(after.contains("KERNEL==\"nvme*n1\", ATTR{queue/scheduler}=\"none\""), "{after}");
        let standings: Vec<bool> = change
            .evidence
            .iter()
            .map(|evidence| matches!(evidence.standing, Standing::Live { .. }))
            .collect();
        assert_eq!(standings, [false, true]);
    }

    #[test]
    fn a_link_stays_right_when_disks_are_numbered_anew() {
        let change = planned::<IoScheduler>(
            &host(),
            json!({ "devices": "/dev/disk/by-id/nvme-a", "scheduler": "none" }),
        );
        let Diff::Text { after, .. } = &change.diff[0] else { panic!() };
        assert!(after.contains("SYMLINK==\"disk/by-id/nvme-a\""), "{after}");
        assert_eq!(change.steps.len(), 3);
    }

    #[test]
    fn what_is_not_offered_or_not_there() {
        let told = |devices: &str, scheduler: &str| {
            refusal::<IoScheduler>(&host(), json!({ "devices": devices, "scheduler": scheduler }))
        };
        assert!(told("nvme0n1", "deadline").contains("it offers mq-deadline, kyber, none"));
        assert!(told("nvme0n2", "none").contains("did you mean `nvme0n1`"));
        assert!(told("nvme0n1p1", "none").contains("name its disk"));
        assert!(told("../x", "none").contains("not the name"));
        assert!(told("", "none").contains("which devices"));
    }
}
