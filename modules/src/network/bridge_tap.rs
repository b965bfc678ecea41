//! `bridge_tap`: a bridge with taps for guests, now and at boot.
mod kept;

use super::card::named;
use crate::argument::Names;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{
    Act, Back, Change, Claim, DEADLINE, DeadMan, Diff, Effect, Evidence, Facts, Match, Output, Read, Row,
    Seen, Spoil, Step, Stop,
};
use kept::Keeper;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A bridge with taps for guests and with cards, now and at boot.
///
/// What is missing is made and brought up by `ip`; what is there is joined. Kept over boots in the files of whatever sets up
/// the host's network: systemd-networkd, NetworkManager or ifupdown. A guest's QEMU takes such a tap by
/// `-netdev tap,ifname=tap1,script=no,downscript=no`. Joining a card takes its addresses out of use: where the host is
/// reached by it the link is cut, so that the host takes the change back by itself unless it is reached over a new
/// connection (`dead_man:` on the task says how long it waits).
///
/// Errors: a name that is no card's, a tap or a card that belongs to another bridge, a card that is not there. Sources:
/// ip-link(8), ip-tuntap(8), systemd.netdev(5), nm-settings-keyfile(5), interfaces(5).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BridgeTap {
    /// The bridge.
    pub bridge: String,
    /// The taps, made where they are missing.
    #[serde(default)]
    pub taps: Names,
    /// Cards of the host that join the bridge.
    #[serde(default)]
    pub cards: Names,
    /// The user that may open the taps; root alone where it is not said.
    #[serde(default)]
    pub owner: Option<String>,
    /// Whether the taps have several queues, as virtio-net with `mq=on` wants.
    #[serde(default)]
    pub multi_queue: bool,
    /// What makes it so at boot.
    #[serde(default)]
    pub persist: Keeper,
}

/// A card as the narrow look tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Link {
    master: String,
    up: bool,
}

fn look(name: &str) -> Row {
    Row::new("net-link", [name])
}

fn told(master: &str, up: bool) -> Seen {
    Seen::Output(Output::ok(format!("master={master}\nup={}\n", u8::from(up))))
}

fn link(facts: &Facts, name: &str) -> Result<(Option<Link>, Seen), Stop> {
    let output = facts.output(&look(name))?;
    let seen = Seen::Output(output.clone());
    if output.status != 0 {
        return Ok((None, seen));
    }
    let text = output.text();
    let of = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default().to_owned();
    Ok((Some(Link { master: of("master="), up: of("up=") == "1" }), seen))
}

impl BridgeTap {
    fn check(&self) -> Result<(Vec<String>, Vec<String>), Stop> {
        named("bridge", &self.bridge)?;
        let (taps, cards) = (self.taps.list(), self.cards.list());
        taps.iter().try_for_each(|name| named("taps", name))?;
        cards.iter().try_for_each(|name| named("cards", name))?;
        let mut all: Vec<&String> = taps.iter().chain(&cards).chain([&self.bridge]).collect();
        all.sort_unstable();
        if all.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Stop::refused("taps", "one name is given twice"));
        }
        if let Some(owner) = &self.owner
            && !owner.chars().all(|letter| letter.is_ascii_alphanumeric() || "._-".contains(letter))
        {
            return Err(Stop::refused("owner", format!("`{owner}` is not the name of a user")));
        }
        Ok((taps, cards))
    }

    fn spoils(name: &str) -> Vec<Spoil> {
        let mut spoils =
            vec![Spoil::Read(Read::Ask(look(name))), Spoil::Read(Read::Glob(super::card::CARDS.to_owned()))];
        spoils.extend(["ip-address", "ip-route"].map(|name| Spoil::Answers(name.to_owned())));
        spoils
    }

    /// Makes what is missing; `make` and `unmake` are the words of the calls.
    fn made(&self, name: &str, seen: Seen, make: Row, unmake: Row, change: &mut Change) {
        change.diff.push(Diff::Value {
            name: format!("card {name}"),
            before: None,
            after: Some("made".to_owned()),
        });
        change.steps.push(Step::call_seen(
            Claim::new("net", name),
            make,
            Self::spoils(name),
            (Read::Ask(look(name)), seen, Match::Status(0)),
            Back::Exactly(Act::Call { row: unmake, spoils: Self::spoils(name) }),
        ));
    }

    /// Brings a card up, in its bridge.
    fn joined(&self, name: &str, link: Option<&Link>, seen: Seen, master: &str, change: &mut Change) {
        let now = link.cloned().unwrap_or(Link { master: String::new(), up: false });
        if now.master == master && now.up {
            return;
        }
        let set = |link: &Link| {
            let mut words = vec!["set".to_owned(), "dev".to_owned(), name.to_owned()];
            match link.master.as_str() {
                "" if master.is_empty() => {}
                "" => words.push("nomaster".to_owned()),
                of => words.extend(["master".to_owned(), of.to_owned()]),
            }
            words.push(if link.up { "up" } else { "down" }.to_owned());
            Row::new("ip-link", words)
        };
        let wanted = Link { master: master.to_owned(), up: true };
        let shown = |link: &Link| {
            let bridge = if link.master.is_empty() { "in no bridge" } else { link.master.as_str() };
            format!("{bridge}, {}", if link.up { "up" } else { "down" })
        };
        change.diff.push(Diff::Value {
            name: format!("card {name}"),
            before: link.map(shown),
            after: Some(shown(&wanted)),
        });
        change.steps.push(Step::call_seen(
            Claim::new("net", &format!("{name}/link")),
            set(&wanted),
            Self::spoils(name),
            (Read::Ask(look(name)), seen, Match::Exactly(told(master, true))),
            Back::Exactly(Act::Call { row: set(&now), spoils: Self::spoils(name) }),
        ));
    }

    fn elsewhere(&self, argument: &'static str, name: &str, link: &Link) -> Result<(), Stop> {
        if link.master.is_empty() || link.master == self.bridge {
            return Ok(());
        }
        Err(Stop::refused(argument, format!("{name} belongs to {}", link.master))
            .way_out(format!("take it out of there first: `ip link set dev {name} nomaster`")))
    }

    /// What makes a tap, and what takes it away.
    fn tap_rows(&self, tap: &str) -> (Row, Row) {
        let words = |verb: &str| -> Vec<String> {
            let several = self.multi_queue.then_some("multi_queue");
            [verb, "dev", tap, "mode", "tap"].into_iter().chain(several).map(str::to_owned).collect()
        };
        let mut make = words("add");
        make.extend(self.owner.iter().flat_map(|owner| ["user".to_owned(), owner.clone()]));
        (Row::new("ip-tuntap", make), Row::new("ip-tuntap", words("del")))
    }

    fn live(
        &self,
        facts: &Facts,
        taps: &[String],
        cards: &[String],
        change: &mut Change,
    ) -> Result<(), Stop> {
        let bridge = &self.bridge;
        let (there, seen) = link(facts, bridge)?;
        if there.is_none() {
            let words = |word: &str| {
                ["add", "name"].map(str::to_owned).into_iter().chain([
                    bridge.clone(),
                    "type".to_owned(),
                    word.to_owned(),
                ])
            };
            let unmake = Row::new("ip-link", ["delete", "dev", bridge]);
            self.made(bridge, seen.clone(), Row::new("ip-link", words("bridge")), unmake, change);
        }
        self.joined(bridge, there.as_ref(), seen, "", change);
        for tap in taps {
            let (there, seen) = link(facts, tap)?;
            match &there {
                Some(link) => self.elsewhere("taps", tap, link)?,
                None => {
                    let (make, unmake) = self.tap_rows(tap);
                    self.made(tap, seen.clone(), make, unmake, change);
                }
            }
            self.joined(tap, there.as_ref(), seen, bridge, change);
        }
        for card in cards {
            let (there, seen) = link(facts, card)?;
            let Some(link) = &there else {
                super::card::there(facts, "cards", card)?;
                return Err(Stop::refused("cards", format!("this host has no network card {card}")));
            };
            self.elsewhere("cards", card, link)?;
            let steps = change.steps.len();
            self.joined(card, there.as_ref(), seen, bridge, change);
            if change.steps.len() > steps {
                DeadMan::arm(
                    change,
                    DEADLINE,
                    format!("{card} joins {bridge}, and its own addresses answer no more"),
                );
            }
        }
        Ok(())
    }
}

impl Module for BridgeTap {
    const NAME: &'static str = "bridge_tap";
    const EXAMPLE: &'static str = "\
- name: A tap for the guest, there after the next boot too
  bridge_tap:
    bridge: kvmbr0
    taps: [tap1]
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "bridge")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let (taps, cards) = self.check()?;
        let names = || taps.iter().chain(&cards).chain([&self.bridge]);
        let mut reads: Vec<Read> = names().map(|name| Read::Ask(look(name))).collect();
        reads.push(Read::Glob(super::card::CARDS.to_owned()));
        reads.extend(kept::first_reads(self, &taps)?);
        facts.need(&reads)?;
        let mut change = Change::default();
        kept::keep(self, facts, &taps, &cards, &mut change)?;
        self.live(facts, &taps, &cards, &mut change)?;
        for name in taps.iter().chain(&cards) {
            let (there, _) = link(facts, name)?;
            let live = there.as_ref().is_some_and(|link| link.master == self.bridge && link.up);
            let seen = there.map_or("it is not there".to_owned(), |link| {
                format!("master={} up={}", link.master, u8::from(link.up))
            });
            let what = format!("{name} is up in {}", self.bridge);
            let proof = format!("/sys/class/net/{name}/master");
            change.evidence.push(Evidence::told(what, proof, (live, false), seen, Effect::Now));
        }
        change.result = json!({ "bridge": self.bridge, "taps": taps, "cards": cards });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let left = |name: &str, master: &str, up: bool| vec![(Read::Ask(look(name)), told(master, up))];
        let gone = |name: &str| {
            let seen = Seen::Output(Output { status: 1, ..Output::ok("") });
            vec![(Read::Ask(look(name)), seen)]
        };
        let ip = |words: &[&str]| Row::new("ip-link", words.iter().copied());
        let tap = |words: &[&str]| Row::new("ip-tuntap", words.iter().copied());
        let calls = vec![
            (ip(&["add", "name", "kvmbr0", "type", "bridge"]), left("kvmbr0", "", false)),
            (ip(&["set", "dev", "kvmbr0", "up"]), left("kvmbr0", "", true)),
            (ip(&["set", "dev", "kvmbr0", "down"]), left("kvmbr0", "", false)),
            (ip(&["delete", "dev", "kvmbr0"]), gone("kvmbr0")),
            (tap(&["add", "dev", "tap1", "mode", "tap"]), left("tap1", "", false)),
            (tap(&["del", "dev", "tap1", "mode", "tap"]), gone("tap1")),
            (ip(&["set", "dev", "tap1", "master", "kvmbr0", "up"]), left("tap1", "kvmbr0", true)),
            (ip(&["set", "dev", "tap1", "nomaster", "down"]), left("tap1", "", false)),
            (ip(&["set", "dev", "eth1", "master", "kvmbr0", "up"]), left("eth1", "kvmbr0", true)),
            (ip(&["set", "dev", "eth1", "nomaster", "up"]), left("eth1", "", true)),
        ];
        let host = || {
            ["kvmbr0", "tap1"]
                .iter()
                .fold(Host::new().dir("/etc/systemd/network"), |host, name| {
                    host.answer(look(name), Seen::Output(Output { status: 1, ..Output::ok("") }))
                })
                .answer(look("eth1"), told("", true))
                .value("/sys/class/net/eth1/address", "52:54:00:00:00:02")
        };
        let sample = |about, args| Sample { about, args, host: host(), calls: calls.clone() };
        vec![
            sample(
                "a bridge and a tap",
                json!({ "bridge": "kvmbr0", "taps": "tap1", "persist": "networkd" }),
            ),
            sample(
                "a card joins, not kept",
                json!({ "bridge": "kvmbr0", "cards": ["eth1"], "persist": "no" }),
            ),
        ]
    }
}

#[cfg(test)]
mod tests;
