//! `nic_queues`: how many queues a network card has, and which CPUs they ask for.
#[cfg(test)]
mod tests;

use super::card::{self, CARDS, named, there};
use crate::argument::Scalar;
use crate::files::place::{self, known};
use crate::files::udev::{self, Rule};
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::shape::{CpuList, Shape};
use crate::vocabulary::{
    Act, Back, Change, Claim, DEADLINE, DeadMan, Diff, Effect, Evidence, Facts, HostPath, Match, Output,
    Read, Risk, RiskName, Row, Seen, Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// How many queues a network card has, and which CPUs they ask for: `ethtool -L`, RPS and XPS.
///
/// The number of queues is changed for the whole card, which most drivers do by taking it down for a moment: a change may
/// cut the link, so the host takes it back by itself unless it is reached over a new connection (`dead_man:` on the task
/// says how long it waits). Which queues there will be is known only afterwards: name `channels` in a task of their own
/// before the one that sets RPS or XPS.
///
/// RPS and XPS are set on every queue that is there, and by a udev rule on every queue that comes later: a card that is
/// set up anew makes new queues with the kernel's own choice.
///
/// Errors: an unknown card, more queues than the card may have, CPUs that do not run. A card with a single queue has no XPS:
/// that is said. Sources: ethtool(8), the kernel's Documentation/networking/scaling.rst.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NicQueues {
    /// The network card.
    pub device: String,
    /// How many queues: `{combined: 48}`, or `{rx: 4, tx: 4}` where the card tells them apart.
    #[serde(default)]
    pub channels: BTreeMap<Channel, u32>,
    /// CPUs that take over received packets from the one that was interrupted: `off`, or a list such as `0-15`.
    #[serde(default)]
    pub rps: Option<Cpus>,
    /// CPUs that choose a queue to send by: `off` lets the kernel choose by a hash, or a list for every queue.
    #[serde(default)]
    pub xps: Option<Cpus>,
    /// Entries of each receive queue's flow table; 0 turns receive flow steering off.
    #[serde(default)]
    pub rps_flows: Option<u32>,
    /// Whether it is so after the next boot, and on queues that come later, too.
    #[serde(default = "crate::argument::yes")]
    pub persist: bool,
}

/// Kinds of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Channel {
    /// Queues that receive and send.
    Combined,
    /// Queues that receive.
    Rx,
    /// Queues that send.
    Tx,
    /// Queues for anything else.
    Other,
}

impl Channel {
    const ALL: [Self; 4] = [Self::Rx, Self::Tx, Self::Other, Self::Combined];

    fn word(self) -> &'static str {
        match self {
            Self::Combined => "combined",
            Self::Rx => "rx",
            Self::Tx => "tx",
            Self::Other => "other",
        }
    }

    fn printed(self) -> &'static str {
        match self {
            Self::Combined => "Combined:",
            Self::Rx => "RX:",
            Self::Tx => "TX:",
            Self::Other => "Other:",
        }
    }
}

/// A list of CPUs, or `off`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Cpus(Scalar);

impl Cpus {
    fn mask(&self, argument: &'static str, online: &CpuList) -> Result<String, Stop> {
        let text = match &self.0 {
            Scalar::Truth(false) => "off".to_owned(),
            other => other.text(),
        };
        if text == "off" {
            return Ok("0".to_owned());
        }
        let cpus = CpuList::parse(&text)
            .map_err(|why| Stop::refused(argument, why).way_out("`off`, or a list such as 0-15"))?;
        let off: CpuList = cpus.iter().filter(|cpu| !online.contains(*cpu)).collect();
        match (cpus.is_empty(), off.is_empty()) {
            (true, _) => Err(Stop::refused(argument, "no CPU is named").way_out("`off` turns it off")),
            (_, false) => Err(Stop::refused(argument, format!("CPU {off} does not run on this host"))
                .way_out(format!("it has: {online}"))),
            _ => Ok(cpus.mask()),
        }
    }
}

/// What `ethtool -l` prints: what may be, and what is; a kind that the card does not have is not there.
type Counts = BTreeMap<Channel, (u32, u32)>;

fn counts(text: &str) -> Counts {
    let (most, now) = text.split_once("Current hardware settings:").unwrap_or((text, ""));
    let of = |part: &str, channel: Channel| -> Option<u32> {
        part.lines().find_map(|line| line.trim().strip_prefix(channel.printed()))?.trim().parse().ok()
    };
    Channel::ALL
        .into_iter()
        .filter_map(|channel| Some((channel, (of(most, channel)?, of(now, channel)?))))
        .filter(|(_, (most, _))| *most > 0)
        .collect()
}

impl NicQueues {
    fn look(&self) -> Row {
        card::row("ethtool-channels", &self.device)
    }

    fn pattern(&self, way: &str, file: &str) -> String {
        format!("/sys/class/net/{}/queues/{way}-*/{file}", self.device)
    }

    fn rule(&self) -> Result<HostPath, Stop> {
        known(&format!("/etc/udev/rules.d/90-tunerun-queues-{}.rules", self.device))
    }

    /// The files of queues that are asked for: the argument, the way, the file, the value.
    fn files(&self, facts: &Facts) -> Result<Vec<(&'static str, &'static str, &'static str, String)>, Stop> {
        let mut files = Vec::new();
        if self.rps.is_some() || self.xps.is_some() {
            let online = facts.value(&known("/sys/devices/system/cpu/online")?)?.unwrap_or_default();
            let online = CpuList::parse(&online).map_err(Stop::failed)?;
            if let Some(rps) = &self.rps {
                files.push(("rps", "rx", "rps_cpus", rps.mask("rps", &online)?));
            }
            if let Some(xps) = &self.xps {
                files.push(("xps", "tx", "xps_cpus", xps.mask("xps", &online)?));
            }
        }
        files.extend(self.rps_flows.map(|flows| ("rps_flows", "rx", "rps_flow_cnt", flows.to_string())));
        Ok(files)
    }

    fn first_reads(&self) -> Result<Vec<Read>, Stop> {
        let mut reads =
            vec![Read::Glob(CARDS.to_owned()), Read::text(&known("/sys/devices/system/cpu/online")?)];
        if !self.channels.is_empty() {
            reads.push(Read::Ask(self.look()));
        }
        for (way, file) in [("rx", "rps_cpus"), ("tx", "xps_cpus"), ("rx", "rps_flow_cnt")] {
            reads.push(Read::Glob(self.pattern(way, file)));
        }
        reads.extend(place::first_reads(&self.rule()?));
        Ok(reads)
    }

    /// The step that changes how many queues there are; none where that is so.
    fn channels(&self, facts: &Facts, change: &mut Change) -> Result<Option<Step>, Stop> {
        if self.channels.is_empty() {
            return Ok(None);
        }
        let seen = card::told(facts, &self.look(), &format!("how many queues {} has", self.device))?;
        let counts = counts(&seen.text());
        let wanted = self.other_counts(&counts, change)?;
        if wanted.is_empty() {
            return Ok(None);
        }
        let call = |after: bool| {
            let words = wanted.iter().flat_map(|(channel, now, count)| {
                [channel.word().to_owned(), if after { count } else { now }.to_string()]
            });
            Row::new("ethtool-set-channels", [self.device.clone()].into_iter().chain(words))
        };
        let below = |path: &str| known(path).map(Spoil::Below);
        let queues = format!("/sys/class/net/{}/queues", self.device);
        let mut spoils = vec![below(&queues)?, below("/proc/irq")?];
        spoils.extend(["ethtool-channels", "interrupts"].map(|name| Spoil::Answers(name.to_owned())));
        for (channel, now, count) in &wanted {
            change.diff.push(Diff::Value {
                name: format!("{} queues of {}", channel.word(), self.device),
                before: Some(now.to_string()),
                after: Some(count.to_string()),
            });
        }
        Ok(Some(Step::call_seen(
            Claim::new("nic", &format!("{}/channels", self.device)),
            call(true),
            spoils.clone(),
            (
                Read::Ask(self.look()),
                Seen::Output(seen.clone()),
                Match::Exactly(Seen::Output(after(&seen, &wanted))),
            ),
            Back::Exactly(Act::Call { row: call(false), spoils }),
        )))
    }

    /// The kinds of queues whose number is another than wanted: kind, number now, number wanted.
    fn other_counts(&self, counts: &Counts, change: &mut Change) -> Result<Vec<(Channel, u32, u32)>, Stop> {
        let mut wanted = Vec::new();
        for (channel, count) in &self.channels {
            let word = channel.word();
            let Some((most, now)) = counts.get(channel) else {
                let kinds: Vec<&str> = counts.keys().map(|channel| channel.word()).collect();
                return Err(Stop::refused(
                    "channels",
                    format!("{} has no queues of the kind `{word}`", self.device),
                )
                .way_out(format!("it has: {}", kinds.join(", "))));
            };
            change.evidence.push(Evidence::told(
                format!("{} has {count} {word} queues", self.device),
                format!("ethtool -l {}", self.device),
                (now == count, false),
                now.to_string(),
                Effect::Now,
            ));
            if count > most || *count == 0 && *channel == Channel::Combined && counts.len() == 1 {
                change.risks.push(Risk {
                    name: RiskName::CannotConverge,
                    why: format!("{} may have 1 to {most} {word} queues, not {count}", self.device),
                });
            } else if now != count {
                wanted.push((*channel, *now, *count));
            }
        }
        Ok(wanted)
    }

    /// The writes to the queues that are there.
    fn queues(&self, facts: &Facts, change: &mut Change) -> Result<(), Stop> {
        let files = self.files(facts)?;
        let mut paths: Vec<(usize, HostPath)> = Vec::new();
        for (at, (argument, way, file, _)) in files.iter().enumerate() {
            let names = facts.names(&self.pattern(way, file))?;
            if *argument == "xps" && names.len() < 2 {
                change.notes.push(format!("{} has a single queue to send by, which has no XPS", self.device));
                continue;
            }
            paths.extend(names.into_iter().map(|path| (at, path)));
        }
        let reads: Vec<Read> = paths.iter().map(|(_, path)| Read::text(path)).collect();
        facts.need(&reads)?;
        let mut odd: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (at, path) in &paths {
            let (_, _, file, value) = &files[*at];
            let Some(now) = facts.value(path)? else { continue };
            let shape = if *file == "rps_flow_cnt" { Shape::Number } else { Shape::CpuMask };
            let odd = odd.entry(file).or_default();
            if shape.alike(&now, value) {
                continue;
            }
            let queue = path.parent().map(|queue| queue.name().to_owned()).unwrap_or_default();
            odd.push(format!("{queue} has {now}"));
            let claim = Claim::new("nic", &format!("{}/{queue}/{file}", self.device));
            let (before, after) = (Some(now.clone()), Some(value.clone()));
            change.diff.push(Diff::Value {
                name: format!("{file} of {} {queue}", self.device),
                before,
                after,
            });
            change.steps.push(Step::write(claim, path.clone(), Seen::Value(now), value, shape));
        }
        for (file, odd) in odd {
            let what = format!("every queue of {} has the wanted {file}", self.device);
            let seen = if odd.is_empty() { "all have".to_owned() } else { odd.join(", ") };
            let proof = format!("/sys/class/net/{}/queues/*/{file}", self.device);
            change.evidence.push(Evidence::told(what, proof, (odd.is_empty(), false), seen, Effect::Now));
        }
        Ok(())
    }

    /// The rules by which it is so on cards and queues that come later. Each says one thing, so that tasks on one card
    /// leave each other's alone.
    fn persisted(&self, facts: &Facts, change: &mut Change) -> Result<(), Stop> {
        if !self.persist {
            return Ok(());
        }
        let device = &self.device;
        let mut rules = vec![Rule {
            head: format!("# Made by tunerun: the queues of {device}."),
            rest: String::new(),
            name: "about".to_owned(),
        }];
        if !self.channels.is_empty() {
            let words: Vec<String> =
                self.channels.iter().map(|(channel, count)| format!("{} {count}", channel.word())).collect();
            rules.push(Rule {
                head: format!(
                    "ACTION==\"add|move\", SUBSYSTEM==\"net\", KERNEL==\"{device}\", \
                     RUN+=\"/usr/bin/env PATH=/usr/sbin:/sbin:/usr/bin:/bin ethtool -L {device} "
                ),
                rest: format!("{}\"", words.join(" ")),
                name: "channels".to_owned(),
            });
        }
        // Each queue is an event of its own, also those that a later change makes.
        for (_, way, file, value) in self.files(facts)? {
            rules.push(Rule {
                head: format!(
                    "ACTION==\"add\", SUBSYSTEM==\"queues\", KERNEL==\"{way}-*\", DEVPATH==\"*/net/{device}/queues/*\", ATTR{{{file}}}="
                ),
                rest: format!("\"{value}\""),
                name: file.to_owned(),
            });
        }
        udev::keep(facts, self.rule()?.as_str(), &rules, change)?;
        Ok(())
    }
}

/// What `ethtool -l` prints afterwards.
fn after(seen: &Output, wanted: &[(Channel, u32, u32)]) -> Output {
    let mut current = false;
    let mut text = String::new();
    for line in seen.text().lines() {
        current |= line.starts_with("Current hardware settings:");
        let channel = wanted.iter().find(|(channel, ..)| current && line.starts_with(channel.printed()));
        match channel {
            Some((channel, now, count)) => {
                let rest = line.trim_start_matches(channel.printed());
                text.push_str(&format!(
                    "{}{}",
                    channel.printed(),
                    rest.replacen(&now.to_string(), &count.to_string(), 1)
                ));
            }
            None => text.push_str(line),
        }
        text.push('\n');
    }
    Output::ok(text)
}

impl Module for NicQueues {
    const NAME: &'static str = "nic_queues";
    const EXAMPLE: &'static str = "\
- name: Neither RPS nor XPS, on the queues that come later too
  nic_queues:
    device: eth0
    rps: off
    xps: off
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "device"), ("dev", "device")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        named("device", &self.device)?;
        let files = self.rps.is_some() || self.xps.is_some() || self.rps_flows.is_some();
        if self.channels.is_empty() && !files {
            return Err(Stop::refused(
                "channels",
                "nothing is asked for: name `channels`, `rps`, `xps` or `rps_flows`",
            ));
        }
        facts.need(&self.first_reads()?)?;
        there(facts, "device", &self.device)?;
        let mut change = Change::default();
        let channels = self.channels(facts, &mut change)?;
        if channels.is_some() && files {
            return Err(Stop::refused(
                "channels",
                "which queues there will be is known only after their number changed",
            )
            .way_out("set `channels` in a task of their own before this one"));
        }
        let sets_up = channels.is_some();
        match channels {
            Some(step) => change.steps.push(step),
            None => self.queues(facts, &mut change)?,
        }
        self.persisted(facts, &mut change)?;
        if sets_up {
            DeadMan::arm(&mut change, DEADLINE, format!("{} is set up anew", self.device));
        }
        change.result = json!({ "device": self.device });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let told = |rx: u32, tx: u32| {
            Seen::Output(Output::ok(format!(
                "Channel parameters for eth0:\nPre-set maximums:\nRX:\t\t4\nTX:\t\t4\nOther:\t\tn/a\nCombined:\tn/a\n\
                 Current hardware settings:\nRX:\t\t{rx}\nTX:\t\t{tx}\nOther:\t\tn/a\nCombined:\tn/a\n"
            )))
        };
        let look = || card::row("ethtool-channels", "eth0");
        let host = || {
            let mut host = Host::new()
                .dir("/etc/udev/rules.d")
                .value("/sys/class/net/eth0/address", "52:54:00:00:00:01")
                .value("/sys/devices/system/cpu/online", "0-7")
                .answer(look(), told(4, 4));
            for queue in 0..4 {
                let at = "/sys/class/net/eth0/queues";
                host = host
                    .value(&format!("{at}/rx-{queue}/rps_cpus"), "00")
                    .value(&format!("{at}/rx-{queue}/rps_flow_cnt"), "0")
                    .value(&format!("{at}/tx-{queue}/xps_cpus"), &format!("0{}", 1 << queue));
            }
            host
        };
        let set = |rx: u32, tx: u32| {
            let words = ["eth0".to_owned(), "rx".to_owned(), rx.to_string(), "tx".to_owned(), tx.to_string()];
            (Row::new("ethtool-set-channels", words), vec![(Read::Ask(look()), told(rx, tx))])
        };
        vec![
            Sample {
                about: "fewer queues",
                args: json!({ "device": "eth0", "channels": { "rx": 2, "tx": 1 } }),
                host: host(),
                calls: vec![set(2, 1), set(4, 4)],
            },
            Sample {
                about: "XPS off, RPS on two CPUs",
                args: json!({ "device": "eth0", "rps": "2-3", "xps": "off", "rps_flows": 4096 }),
                host: host(),
                calls: Vec::new(),
            },
        ]
    }
}
