//! `reboot`: the host boots, proven by another boot id.
use crate::commands::line_words;
use crate::files::place::known;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{
    Back, Change, Claim, Diff, Effect, Facts, Goal, Match, Read, Row, Seen, Spoil, Step, Stop, Wait,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The host boots, proven by another boot id.
///
/// The evidence is /proc/sys/kernel/random/boot_id, which must be another one over a new connection, and
/// `test_command`, which must end well. A reboot takes along what is owed until then, and makes every value of the
/// kernel unknown to later tasks, but no file. It leaves nothing to undo: an undo that restores what counts at boot
/// says that a boot is owed, and makes it with `undo --reboot`.
///
/// Where an earlier `kernel_args` of the play changed the kernel line, it is a *try-boot*: the boot loader boots the new
/// line once (GRUB by `next_entry` and an entry in custom.cfg, systemd-boot by LoaderEntryOneShot), with `panic=30` and,
/// where there is a watchdog, `systemd.watchdog_sec`. The line becomes the default only after the host came back with
/// it. A host that comes back with the old line has failed the task. Where the boot loader cannot clear a one-shot
/// (/boot on LVM, md RAID, btrfs, ZFS), the boot is refused unless the task accepts the risk `no_try_boot`.
///
/// A host that does not come back within `reboot_timeout`, and not after `power_cycle` either, is lost: exit code 17.
///
/// All times are seconds. Errors: a host whose boot id cannot be read. Sources: random(4), systemctl(1).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reboot {
    /// How long the host may take until it answers again.
    #[serde(default = "ten_minutes")]
    pub reboot_timeout: u32,
    /// How long to wait before it boots.
    #[serde(default)]
    pub pre_reboot_delay: u32,
    /// How long to wait after it answers again.
    #[serde(default)]
    pub post_reboot_delay: u32,
    /// How long one try to connect may take; the connection's own time-out where it is not said.
    #[serde(default)]
    pub connect_timeout: Option<u32>,
    /// A command of the controller that powers the host off and on, such as a call of its BMC
    /// (`ipmitool -H {{ bmc }} chassis power cycle`). It is run once where the host has not come back after
    /// `reboot_timeout`; then it is waited as long once more. Words are parted as by a shell, no shell runs.
    #[serde(default)]
    pub power_cycle: Option<String>,
    /// What is said to people who are logged in.
    #[serde(default)]
    pub msg: Option<String>,
    /// A command that must end well before the host counts as up.
    #[serde(default = "whoami")]
    pub test_command: String,
}

fn ten_minutes() -> u32 {
    600
}

fn whoami() -> String {
    "whoami".to_owned()
}

/// Another one at every boot.
pub(crate) const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

impl Module for Reboot {
    const NAME: &'static str = "reboot";
    const EXAMPLE: &'static str = "\
- name: Boot into the new kernel line
  reboot:
    reboot_timeout: 900
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("reboot_timeout_sec", "reboot_timeout"),
        ("pre_reboot_delay_sec", "pre_reboot_delay"),
        ("post_reboot_delay_sec", "post_reboot_delay"),
        ("connect_timeout_sec", "connect_timeout"),
        ("boot_timeout", "reboot_timeout"),
    ];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let path = known(BOOT_ID)?;
        let look = Read::text(&path);
        // The plan shows the boot id of now; after an earlier planned reboot it is another one that nobody knows.
        let before = facts.seen(&look).cloned().ok_or_else(|| Stop::Unread(vec![look.clone()]))?;
        let Seen::Value(id) = &before else {
            return Err(Stop::failed(format!("{BOOT_ID} cannot be read: a reboot could not be proven here")));
        };
        let test = line_words(&self.test_command).map_err(|why| Stop::refused("test_command", why))?;
        let power_cycle = match &self.power_cycle {
            Some(command) => line_words(command).map_err(|why| Stop::refused("power_cycle", why))?,
            None => Vec::new(),
        };
        let row = Row::new("reboot", self.msg.iter().map(|msg| format!("--message={msg}")));
        let diff = Diff::Note(format!("boots; the boot id of now is {}", id.trim()));
        let look = (look, before, Match::Changed);
        let step =
            Step::call_seen(Claim::new("host", "boot"), row, vec![Spoil::Volatile], look, Back::Nothing);
        Ok(Change {
            result: json!({ "rebooted": true }),
            steps: vec![step],
            wait: Some(Wait {
                goal: Goal::Boot { test, trial: None, power_cycle },
                timeout: self.reboot_timeout,
                delay: self.pre_reboot_delay,
                sleep: 1,
                settle: self.post_reboot_delay,
                message: None,
            }),
            effect: Effect::HostReboot,
            diff: vec![diff],
            ..Change::default()
        })
    }

    fn samples() -> Vec<Sample> {
        let host = Host::new().value(BOOT_ID, "9299a168-29a3-4cf7-8af4-50c5cdda6045");
        vec![Sample { about: "a boot", args: json!({}), host, calls: Vec::new() }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{facts, planned, refusal};
    use crate::vocabulary::HostPath;
    use crate::vocabulary::{Activation, TaskId};

    #[test]
    fn another_boot_id_is_the_evidence() {
        let host = Reboot::samples()[0].host.clone();
        let change = planned::<Reboot>(&host, json!({ "pre_reboot_delay": 5, "msg": "tuning" }));
        let step = &change.steps[0];
        assert!(step.after.proves(&step.before, &Seen::Value("other".to_owned())));
        assert!(!step.after.proves(&step.before, &step.before));
        let crate::vocabulary::Act::Call { row, .. } = &step.act else { panic!() };
        assert_eq!(Activation::of_row(row), Some(Activation::Reboot));
        assert_eq!(row.args, ["--message=tuning"]);
        assert!(refusal::<Reboot>(&Host::new(), json!({})).contains("proven"));
    }

    #[test]
    fn values_are_late_after_it_and_files_are_not() {
        let host =
            Reboot::samples()[0].host.clone().value("/proc/sys/vm/swappiness", "60").file("/etc/x", "");
        let module: Reboot = serde_json::from_value(json!({})).unwrap();
        let change = Module::plan(&module, &facts(&host, &module)).unwrap();
        let value = HostPath::new("/proc/sys/vm/swappiness").unwrap();
        let file = HostPath::new("/etc/x").unwrap();
        let mut facts = host.facts([Read::text(&value), Read::text(&file)]);
        facts.plan(TaskId(3), change.steps);
        assert_eq!(facts.value(&value), Err(Stop::Late(TaskId(3))));
        assert!(facts.node(&file).unwrap().is_some());
    }
}
