//! `nic_offload`: what a network card does by itself.
use super::card::{self, CARDS, named, there};
use super::features::{Feature, Features, switch, word};
use crate::files::place::{self, known};
use crate::files::text::TextFile;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{
    Act, Back, Change, Claim, DEADLINE, DeadMan, Diff, Effect, Evidence, Facts, HostPath, Match, Output,
    Read, Risk, RiskName, Row, Seen, Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// What a network card does by itself: checksums, segmentation, and what else `ethtool -k` lists.
///
/// Features are named as `ethtool -k` prints them, as the kernel calls them or by ethtool's short words: `rx`,
/// `rx-checksumming` and `rx-checksum` are one. One feature may carry others with it (`tx` off takes TSO along): the way
/// back sets every feature that can be changed to what it was asked to be before. A change may cut the link, so the host
/// takes it back by itself unless it is reached over a new connection (`dead_man:` on the task says how long it waits).
///
/// Receive checksums that had been off are turned on only with an `integrity_probe`, or with the waiver `data_loss`: a card
/// that marks damaged packets as good corrupts data silently, and no benchmark sees it. The probe runs on the host right
/// after the change; where it does not end with 0 the change is taken back.
///
/// Kept over boots by a udev rule that calls `ethtool` whenever the card appears or is renamed.
///
/// Errors: an unknown card or feature, with the nearest name. A feature that the driver lets nobody change, or that is off
/// though it was asked for since another one that it needs is off, cannot be reached: with the waiver `cannot_converge` the
/// rest is applied. Sources: ethtool(8), the kernel's Documentation/networking/netdev-features.rst.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicOffload {
    /// The network card.
    pub device: String,
    /// Features and whether they are on: `{rx: true, gro: true, lro: false}`.
    pub features: BTreeMap<String, bool>,
    /// A shell command that must end with 0 on the host after receive checksums were turned on: it sends data through the
    /// card and compares what arrives, damaged packets included.
    #[serde(default)]
    pub integrity_probe: Option<String>,
    /// Whether it is so after the next boot too.
    #[serde(default = "crate::argument::yes")]
    pub persist: bool,
}

/// A feature that was asked for, by its printed name.
struct Wish<'a> {
    printed: &'a str,
    on: bool,
    now: Feature,
}

impl NicOffload {
    fn look(&self) -> Row {
        card::row("ethtool-features", &self.device)
    }

    fn rule(&self) -> Result<HostPath, Stop> {
        known(&format!("/etc/udev/rules.d/90-tunerun-offload-{}.rules", self.device))
    }

    fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut reads = vec![Read::Glob(CARDS.to_owned()), Read::Ask(self.look())];
        reads.extend(place::first_reads(&self.rule()?));
        Ok(reads)
    }

    fn wishes<'a>(&'a self, features: &'a Features) -> Result<Vec<Wish<'a>>, Stop> {
        let mut wishes: Vec<Wish<'a>> = Vec::new();
        for (name, on) in &self.features {
            let Some(printed) = features.printed(name) else {
                let near = features.nearest(name).map(|near| format!("did you mean `{near}`? "));
                return Err(Stop::refused("features", format!("{} has no feature `{name}`", self.device))
                    .way_out(format!(
                        "{}`ethtool -k {}` lists them",
                        near.unwrap_or_default(),
                        self.device
                    )));
            };
            let now =
                features.get(printed).unwrap_or(Feature { active: false, requested: false, fixed: true });
            match wishes.iter().find(|wish| wish.printed == printed) {
                Some(wish) if wish.on != *on => {
                    return Err(Stop::refused(
                        "features",
                        format!("`{printed}` is asked for twice, on and off"),
                    ));
                }
                Some(_) => {}
                None => wishes.push(Wish { printed, on: *on, now }),
            }
        }
        Ok(wishes)
    }

    /// What `ethtool -K` is asked for: what differs and can be reached. What cannot is a risk.
    fn reachable<'a>(&self, wishes: &[Wish<'a>], change: &mut Change) -> Vec<(&'a str, bool)> {
        let turns_on = wishes.iter().any(|wish| wish.on && !wish.now.active && !wish.now.requested);
        let mut reachable = Vec::new();
        for wish in wishes.iter().filter(|wish| wish.now.active != wish.on) {
            let why = match wish.now {
                now if now.fixed => "its driver lets nobody change it",
                // Another feature that comes on in the same call may be the one that it waits for.
                now if now.requested == wish.on && !turns_on => {
                    "that was asked for already, and another feature that it needs is off"
                }
                _ => {
                    reachable.push((wish.printed, wish.on));
                    continue;
                }
            };
            let (name, state, device) = (wish.printed, switch(wish.on), &self.device);
            change.risks.push(Risk {
                name: RiskName::CannotConverge,
                why: format!("{name} of {device} cannot be turned {state}: {why} (`{}`)", wish.now.text()),
            });
        }
        reachable
    }

    fn set(&self, seen: &Output, features: &Features, wanted: &[(&str, bool)]) -> Step {
        let call = |words: Vec<String>| {
            Row::new("ethtool-set-features", [self.device.clone()].into_iter().chain(words))
        };
        let words = wanted.iter().flat_map(|(name, on)| [word(name), switch(*on).to_owned()]).collect();
        // What is stacked on the card (bridge, bond, VLAN) follows it.
        let spoils = || vec![Spoil::Answers("ethtool-features".to_owned())];
        let lines = wanted.iter().map(|(name, on)| format!("{name}: {}", switch(*on))).collect();
        Step::call_seen(
            Claim::new("nic", &format!("{}/features", self.device)),
            call(words),
            spoils(),
            (Read::Ask(self.look()), Seen::Output(seen.clone()), Match::Has(lines)),
            Back::Exactly(Act::Call { row: call(features.words()), spoils: spoils() }),
        )
    }

    /// Receive checksums that come on are proven by a probe, or somebody takes the risk.
    fn integrity(&self, wanted: &[(&str, bool)], change: &mut Change) {
        if !wanted.contains(&("rx-checksumming", true)) {
            return;
        }
        match &self.integrity_probe {
            Some(command) => {
                let claim = Claim::new("nic", &format!("{}/integrity", self.device));
                let row = Row::new("shell", [command.clone()]);
                change.steps.push(Step::call(claim, row, Vec::new(), Back::Nothing));
                change.diff.push(Diff::Note(format!("proven by: {command}")));
            }
            None => change.risks.push(Risk {
                name: RiskName::DataLoss,
                why: format!(
                    "receive checksums of {} had been off: a card that marks damaged packets as good corrupts data \
                     silently; give an `integrity_probe` that proves it does not, and look whether its firmware is known \
                     to do so",
                    self.device
                ),
            }),
        }
    }

    fn persisted(&self, facts: &Facts, wishes: &[Wish<'_>], change: &mut Change) -> Result<(), Stop> {
        if !self.persist {
            return Ok(());
        }
        let words: Vec<String> = wishes
            .iter()
            .filter(|wish| !wish.now.fixed)
            .map(|wish| format!("{} {}", word(wish.printed), switch(wish.on)))
            .collect();
        if words.is_empty() {
            return Ok(());
        }
        let path = self.rule()?;
        // A card that udev renames comes again by its new name, as a move.
        let text = format!(
            "# Made by tunerun: what {0} does by itself.\nACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"{0}\", \
             RUN+=\"/usr/bin/env PATH=/usr/sbin:/sbin:/usr/bin:/bin ethtool -K {0} {1}\"\n",
            self.device,
            words.join(" ")
        );
        TextFile::read(facts, &path)?.put(facts, Claim::file(&path), &text, change)?;
        Ok(())
    }

    fn evidence(&self, wishes: &[Wish<'_>], change: &mut Change) {
        for wish in wishes {
            change.evidence.push(Evidence::told(
                format!("{} of {} is {}", wish.printed, self.device, switch(wish.on)),
                format!("ethtool -k {}", self.device),
                (wish.now.active == wish.on, wish.now.requested == wish.on),
                wish.now.text(),
                Effect::Now,
            ));
        }
    }
}

impl Module for NicOffload {
    const NAME: &'static str = "nic_offload";
    const EXAMPLE: &'static str = "\
- name: The card checks what it receives
  nic_offload:
    device: eth0
    features: {rx: true, gro: true}
    integrity_probe: /usr/local/sbin/send-damaged-packets 192.0.2.7
  dead_man: 60
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "device"), ("dev", "device")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        named("device", &self.device)?;
        if self.features.is_empty() {
            return Err(Stop::refused("features", "which features? `features` is empty"));
        }
        facts.need(&self.first_reads()?)?;
        there(facts, "device", &self.device)?;
        let seen = card::told(facts, &self.look(), &format!("what {} does by itself", self.device))?;
        let features = Features::parse(&seen.text());
        let wishes = self.wishes(&features)?;
        let mut change = Change::default();
        let wanted = self.reachable(&wishes, &mut change);
        self.persisted(facts, &wishes, &mut change)?;
        if !wanted.is_empty() {
            change.steps.push(self.set(&seen, &features, &wanted));
            for wish in wishes.iter().filter(|wish| wanted.iter().any(|(name, _)| *name == wish.printed)) {
                change.diff.push(Diff::Value {
                    name: format!("{} of {}", wish.printed, self.device),
                    before: Some(wish.now.text().to_owned()),
                    after: Some(switch(wish.on).to_owned()),
                });
            }
            self.integrity(&wanted, &mut change);
            DeadMan::arm(&mut change, DEADLINE, format!("{} is set up anew", self.device));
        }
        self.evidence(&wishes, &mut change);
        change.result = json!({ "device": self.device, "features": self.features });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let look = || Read::Ask(card::row("ethtool-features", "eth0"));
        let told = |rx: &str, tso: &str| {
            Seen::Output(Output::ok(format!(
                "Features for eth0:\nrx-checksumming: {rx}\ntx-checksumming: on\n\ttx-checksum-ip-generic: on\n\
                 tcp-segmentation-offload: {tso}\n\ttx-tcp-segmentation: {tso}\nlarge-receive-offload: off [fixed]\n"
            )))
        };
        let host = |rx: &str, tso: &str| {
            Host::new()
                .dir("/etc/udev/rules.d")
                .value("/sys/class/net/eth0/address", "52:54:00:00:00:01")
                .answer(card::row("ethtool-features", "eth0"), told(rx, tso))
        };
        let set = |words: &[&str], rx: &str, tso: &str| {
            let words = ["eth0"].iter().chain(words).copied();
            (Row::new("ethtool-set-features", words), vec![(look(), told(rx, tso))])
        };
        let back = |rx: &'static str, tso: &'static str| {
            set(&["rx-checksum", rx, "tx-checksum-ip-generic", "on", "tx-tcp-segmentation", tso], rx, tso)
        };
        vec![
            Sample {
                about: "receive checksums on, with a probe",
                args: json!({ "device": "eth0", "features": { "rx": true, "lro": false }, "integrity_probe": "true" }),
                host: host("off", "on"),
                calls: vec![set(&["rx-checksum", "on"], "on", "on"), back("off", "on")],
            },
            Sample {
                about: "segmentation off, not kept",
                args: json!({ "device": "eth0", "features": { "tso": false }, "persist": false }),
                host: host("on", "on"),
                calls: vec![set(&["tso", "off"], "on", "off"), back("on", "on")],
            },
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::Standing;

    const VETH: &str = include_str!("../../../tests/data/corpus/topology/ethtool-k-veth.txt");

    fn host(text: &str) -> Host {
        Host::new()
            .dir("/etc/udev/rules.d")
            .value("/sys/class/net/eth0/address", "52:54:00:00:00:01")
            .answer(card::row("ethtool-features", "eth0"), Seen::Output(Output::ok(text)))
    }

    fn ask(text: &str, features: serde_json::Value) -> Change {
        planned::<NicOffload>(&host(text), json!({ "device": "eth0", "features": features }))
    }

    #[test]
    fn what_is_fixed_is_told_before_ethtool_is_called() {
        let change = ask(VETH, json!({ "ntuple": true, "gro": true }));
        assert!(change.steps.iter().all(|step| step.path().is_some()), "{:?}", change.steps);
        let [risk] = &change.risks[..] else { panic!("{:?}", change.risks) };
        assert_eq!(risk.name, RiskName::CannotConverge);
        assert!(risk.why.contains("ntuple-filters of eth0 cannot be turned on"), "{}", risk.why);
        let change = ask(VETH, json!({ "tx-lockless": true }));
        assert!(change.is_empty() && change.risks.is_empty(), "{change:?}");
    }

    #[test]
    fn asked_for_is_not_live() {
        let text = "rx-checksumming: on\ntx-checksumming: off\n\ttx-checksum-ip-generic: off\n\
            tcp-segmentation-offload: off\n\ttx-tcp-segmentation: off [requested on]\n";
        let change = ask(text, json!({ "tso": true }));
        assert!(change.risks[0].why.contains("another feature that it needs is off"), "{:?}", change.risks);
        assert!(
            matches!(&change.evidence[0].standing, Standing::Owed { seen, .. } if seen.contains("requested on"))
        );
        let both = ask(text, json!({ "tso": true, "tx": true }));
        let Act::Call { row, .. } = &both.steps.last().unwrap().act else { panic!("{both:?}") };
        assert_eq!(row.args, ["eth0", "tso", "on", "tx", "on"]);
    }

    #[test]
    fn receive_checksums_need_a_probe_or_a_waiver() {
        let text = "rx-checksumming: off\n";
        let change = ask(text, json!({ "rx": true }));
        assert!(change.risks.iter().any(|risk| risk.name == RiskName::DataLoss), "{:?}", change.risks);
        let args = json!({ "device": "eth0", "features": { "rx": true }, "integrity_probe": "probe it" });
        let change = planned::<NicOffload>(&host(text), args);
        assert!(change.risks.is_empty(), "{:?}", change.risks);
        let Act::Call { row, .. } = &change.steps.last().unwrap().act else { panic!("{change:?}") };
        assert_eq!(row.args, ["probe it"], "the probe comes after the change, and both go back together");
        assert!(ask("rx-checksumming: on\n", json!({ "rx": true })).risks.is_empty(), "it was on before");
    }

    #[test]
    fn a_change_arms_the_dead_man_and_no_change_does_not() {
        assert_eq!(ask(VETH, json!({ "rx": false })).dead_man.unwrap().seconds, DEADLINE);
        let file_only = ask(VETH, json!({ "rx": true }));
        assert!(file_only.dead_man.is_none() && file_only.steps.len() == 1, "{file_only:?}");
    }

    #[test]
    fn the_rule_sets_what_can_be_set() {
        let change = ask(VETH, json!({ "rx": false, "lro": false }));
        let Act::Put { image: crate::vocabulary::Image::File { content, .. }, .. } = &change.steps[0].act
        else {
            panic!("{:?}", change.steps)
        };
        let crate::vocabulary::Content::Bytes(bytes) = content else { panic!("{content:?}") };
        let text = bytes.text().unwrap();
        assert!(
            text.contains("KERNEL==\"eth0\"") && text.contains("ethtool -K eth0 rx-checksum off\""),
            "{text}"
        );
    }

    #[test]
    fn slips_are_named() {
        let refused = |args| refusal::<NicOffload>(&host(VETH), args);
        assert!(
            refused(json!({ "device": "eth1", "features": { "rx": true } })).contains("did you mean `eth0`")
        );
        assert!(refused(json!({ "device": "eth0", "features": { "ntupel": true } })).contains("`ntuple`"));
        assert!(
            refused(json!({ "device": "eth0; reboot", "features": { "rx": true } })).contains("not the name")
        );
        let twice = json!({ "device": "eth0", "features": { "rx": true, "rx-checksum": false } });
        assert!(refused(twice).contains("twice"));
        let bare = Host::new().value("/sys/class/net/eth0/address", "x");
        let why = refusal::<NicOffload>(&bare, json!({ "device": "eth0", "features": { "rx": true } }));
        assert!(why.contains("install the package `ethtool`"), "{why}");
    }
}
