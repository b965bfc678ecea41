//! `smt`: whether the cores run two threads each.
use crate::files::place::known;
use crate::host::Host;
use crate::kernel::KernelArgs;
use crate::module::{Module, Sample};
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Evidence, Facts, Match, Read, Row, Seen, Spoil, Step, Stop, all,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Whether the cores of a host run more than one thread each (SMT, hyper-threading).
///
/// Live by the kernel's own switch, and at boot by `nosmt` on the kernel's command line, written as the module
/// `kernel_args` does. The numbers of the CPUs that stay do not change, but what lists of CPUs mean does: tasks behind it
/// that look at CPUs, nodes or interrupts are planned anew once it is done. Nothing else is restarted: daemons and guests
/// that are pinned to threads that go lose their pinning until they are started again.
///
/// Errors: threads that the firmware or `nosmt=force` keeps off cannot be turned on here; a machine without SMT has nothing
/// to turn off. Sources: the kernel's Documentation/ABI/testing/sysfs-devices-system-cpu, admin-guide/kernel-parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Smt {
    /// Whether cores run more than one thread.
    pub enabled: bool,
    /// Whether it is so after the next boot too.
    #[serde(default = "crate::argument::yes")]
    pub persist: bool,
}

const CONTROL: &str = "/sys/devices/system/cpu/smt/control";

/// What the kernel's switch reads where there is nothing to switch.
const WITHOUT: [&str; 2] = ["notsupported", "notimplemented"];

impl Smt {
    fn word(&self) -> &'static str {
        if self.enabled { "on" } else { "off" }
    }

    fn kept(&self, facts: &Facts) -> Result<Change, Stop> {
        let args = if self.enabled { json!({ "absent": ["nosmt"] }) } else { json!({ "args": "nosmt" }) };
        let task: KernelArgs = serde_json::from_value(args)
            .map_err(|why| Stop::failed(format!("nosmt cannot be said: {why}")))?;
        task.plan(facts).map_err(|stop| match stop {
            Stop::Refused(mut refusal) => {
                refusal.argument = Some("persist");
                let way_out = refusal.way_out.take().map(|way| format!("{way}; ")).unwrap_or_default();
                refusal.way_out = Some(format!("{way_out}or say `persist: false` to turn it for now alone"));
                Stop::Refused(refusal)
            }
            other => other,
        })
    }

    fn live(&self, facts: &Facts) -> Result<Option<(Step, String)>, Stop> {
        let path = known(CONTROL)?;
        let now = facts.value(&path)?.unwrap_or_else(|| "notimplemented".to_owned());
        let now = now.trim().to_owned();
        if now == self.word() || (!self.enabled && (now == "forceoff" || WITHOUT.contains(&now.as_str()))) {
            return Ok(None);
        }
        if WITHOUT.contains(&now.as_str()) {
            return Err(Stop::refused(
                "enabled",
                format!("this machine has no SMT to turn on ({CONTROL}: {now})"),
            )
            .way_out("the firmware may have turned it off: look there"));
        }
        if now == "forceoff" {
            return Err(Stop::refused("enabled", "SMT was turned off for good at boot (`nosmt=force`)")
                .way_out("take `nosmt=force` off the kernel's command line by `kernel_args`, and boot"));
        }
        let call = |value: &str| Row::new("smt-control", [value]);
        // What lists of CPUs mean is another thing afterwards.
        let spoils = || -> Result<Vec<Spoil>, Stop> {
            let mut spoils = Vec::new();
            for folder in ["/sys/devices/system", "/proc/irq", "/sys/fs/cgroup"] {
                spoils.push(Spoil::Below(known(folder)?));
            }
            spoils.extend(["interrupts", "lscpu"].map(|name| Spoil::Answers(name.to_owned())));
            Ok(spoils)
        };
        let back = Back::Exactly(Act::Call { row: call(&now), spoils: spoils()? });
        let after = Match::Exactly(Seen::Value(self.word().to_owned()));
        let look = (Read::text(&path), Seen::Value(now.clone()), after);
        Ok(Some((Step::call_seen(Claim::new("cpu", "smt"), call(self.word()), spoils()?, look, back), now)))
    }
}

impl Module for Smt {
    const NAME: &'static str = "smt";
    const EXAMPLE: &'static str = "\
- name: One thread a core
  smt:
    enabled: false
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let control = facts.need(&[Read::text(&known(CONTROL)?)]).map(|()| Change::default());
        let kept = if self.persist { self.kept(facts) } else { Ok(Change::default()) };
        let parts = all([control, kept])?;
        let mut change = parts.into_iter().next_back().unwrap_or_default();
        let now = facts.value(&known(CONTROL)?)?.unwrap_or_else(|| "notimplemented".to_owned());
        if let Some((step, before)) = self.live(facts)? {
            change.steps.push(step);
            let name = "threads of a core (SMT)".to_owned();
            change.diff.push(Diff::Value { name, before: Some(before), after: Some(self.word().to_owned()) });
            change.notes.push(
                "what lists of CPUs mean changes here: later tasks that look at CPUs are planned anew"
                    .to_owned(),
            );
            change.notes.retain(|note| !note.starts_with("a reboot is needed"));
            change.effect = Effect::Now;
        }
        let off = now.trim() != "on";
        change.evidence.push(Evidence::told(
            format!("cores run {}", if self.enabled { "all of their threads" } else { "one thread each" }),
            CONTROL,
            (off != self.enabled, false),
            now.trim(),
            Effect::Now,
        ));
        change.result = json!({ "enabled": self.enabled, "boot": change.result });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let debian = || {
            Host::new()
                .dir("/etc/default/grub.d")
                .file("/etc/default/grub", "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n")
                .file("/usr/sbin/grub-mkconfig", "")
                .file("/usr/sbin/update-grub", "")
                .value("/proc/cmdline", "root=/dev/sda1 quiet")
        };
        let read = || known(CONTROL).map(|path| Read::text(&path));
        let set = |value: &str| -> Vec<_> {
            let left = read().map(|read| vec![(read, Seen::Value(value.to_owned()))]).unwrap_or_default();
            vec![(Row::new("smt-control", [value]), left)]
        };
        let calls = || {
            let mut calls = [set("on"), set("off")].concat();
            calls.push((Row::new("update-grub", Vec::<String>::new()), Vec::new()));
            calls
        };
        let sample = |about, args, host: Host| Sample { about, args, host, calls: calls() };
        vec![
            sample("off", json!({ "enabled": false }), debian().value(CONTROL, "on")),
            sample(
                "off for now",
                json!({ "enabled": false, "persist": false }),
                Host::new().value(CONTROL, "on"),
            ),
            sample(
                "on for now",
                json!({ "enabled": true, "persist": false }),
                Host::new().value(CONTROL, "off"),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::{Standing, touches};

    #[test]
    fn live_and_at_boot() {
        let sample = &Smt::samples()[0];
        let change = planned::<Smt>(&sample.host, sample.args.clone());
        assert_eq!(change.steps.len(), 2, "{:?}", change.steps);
        assert!(change.result["boot"]["line"].as_str().unwrap().contains("nosmt"), "{}", change.result);
        let live = change.steps.last().unwrap();
        for path in [
            "/sys/devices/system/cpu/online",
            "/sys/devices/system/node/node0/cpulist",
            "/proc/irq/4/smp_affinity_list",
        ] {
            assert!(touches(&live.act, &Read::text(&known(path).unwrap())), "{path} is planned anew");
        }
    }

    #[test]
    fn what_cannot_be_turned_is_told() {
        let ask = |now: &str, enabled: bool| {
            (Host::new().value(CONTROL, now), json!({ "enabled": enabled, "persist": false }))
        };
        for (now, enabled, why) in [("forceoff", true, "nosmt=force"), ("notsupported", true, "firmware")] {
            let (host, args) = ask(now, enabled);
            assert!(refusal::<Smt>(&host, args).contains(why), "{now}");
        }
        let (host, args) = ask("notsupported", false);
        let change = planned::<Smt>(&host, args);
        assert!(
            change.is_empty() && matches!(change.evidence[0].standing, Standing::Live { .. }),
            "{change:?}"
        );
        let bare = planned::<Smt>(&Host::new(), json!({ "enabled": false, "persist": false }));
        assert!(bare.is_empty(), "a machine without the switch has nothing to turn off");
    }
}
