//! The files that make a bridge and its taps at boot, for whatever sets up the host's network.
use super::BridgeTap;
use crate::files::place::{self, known};
use crate::files::text::TextFile;
use crate::services::unit::active_look;
use crate::vocabulary::{
    Change, Claim, Content, Diff, Facts, HostPath, Image, Kind, Meta, Read, Row, Seen, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What makes a bridge and its taps at boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Keeper {
    /// Whatever sets up the host's network: told by which service runs.
    #[default]
    Auto,
    /// systemd-networkd.
    Networkd,
    /// NetworkManager.
    #[serde(rename = "networkmanager")]
    NetworkManager,
    /// ifupdown's /etc/network/interfaces.d.
    Ifupdown,
    /// Nothing: it is gone after the next boot.
    No,
}

const SERVICES: [(Keeper, &str); 2] =
    [(Keeper::NetworkManager, "NetworkManager.service"), (Keeper::Networkd, "systemd-networkd.service")];
const INTERFACES: &str = "/etc/network/interfaces";

/// One file: where, its text, its mode.
type File = (String, String, Option<u32>);

/// What is read first.
pub(super) fn first_reads(task: &BridgeTap, taps: &[String]) -> Result<Vec<Read>, Stop> {
    let mut reads = Vec::new();
    if task.persist == Keeper::Auto {
        reads.extend(SERVICES.iter().map(|(_, unit)| active_look(unit)));
    }
    if matches!(task.persist, Keeper::Auto | Keeper::Ifupdown) {
        reads.push(Read::text(&known(INTERFACES)?));
    }
    let keepers: &[Keeper] = match &task.persist {
        Keeper::Auto => &[Keeper::Networkd, Keeper::NetworkManager, Keeper::Ifupdown],
        one => std::slice::from_ref(one),
    };
    for keeper in keepers {
        for (path, ..) in files(task, *keeper, taps, &task.cards.list()) {
            reads.extend(place::first_reads(&known(&path)?));
        }
    }
    Ok(reads)
}

/// What sets up the network of this host.
fn keeper(task: &BridgeTap, facts: &Facts) -> Result<Keeper, Stop> {
    if task.persist != Keeper::Auto {
        return Ok(task.persist);
    }
    for (keeper, unit) in SERVICES {
        let output = facts.output(&Row::new("systemctl-active", [unit]))?;
        if output.status == 0 && output.text().trim() == "ActiveState=active" {
            return Ok(keeper);
        }
    }
    if facts.node(&known(INTERFACES)?)?.is_some() {
        return Ok(Keeper::Ifupdown);
    }
    Err(Stop::refused(
        "persist",
        "neither systemd-networkd, nor NetworkManager, nor ifupdown sets up this host's network",
    )
    .way_out("say which one by `persist`, or `persist: no`"))
}

/// Adds the files.
pub(super) fn keep(
    task: &BridgeTap,
    facts: &Facts,
    taps: &[String],
    cards: &[String],
    change: &mut Change,
) -> Result<(), Stop> {
    let keeper = keeper(task, facts)?;
    if keeper == Keeper::Ifupdown {
        let node = facts.node(&known(INTERFACES)?)?;
        let text = node.as_ref().and_then(|node| node.bytes()?.text().map(str::to_owned)).unwrap_or_default();
        let sources = |line: &str| {
            line.trim_start().starts_with("source") && line.contains("/etc/network/interfaces.d")
        };
        if !text.lines().any(sources) {
            return Err(Stop::refused(
                "persist",
                format!("{INTERFACES} does not take in /etc/network/interfaces.d"),
            )
            .way_out("put `source /etc/network/interfaces.d/*` there by `lineinfile` first"));
        }
    }
    for (path, text, mode) in files(task, keeper, taps, cards) {
        let path = known(&path)?;
        match mode {
            None => drop(TextFile::read(facts, &path)?.put(facts, Claim::file(&path), &text, change)?),
            Some(mode) => private(facts, path, &text, mode, change)?,
        }
    }
    Ok(())
}

/// A file with a mode of its own: NetworkManager refuses connections that others may read.
fn private(facts: &Facts, path: HostPath, text: &str, mode: u32, change: &mut Change) -> Result<(), Stop> {
    let node = facts.node(&path)?;
    let same = node.as_ref().is_some_and(|node| {
        node.kind == Kind::File
            && node.mode == mode
            && node.bytes().and_then(|bytes| bytes.text()) == Some(text)
    });
    if same {
        return Ok(());
    }
    change.steps.extend(place::folders(facts, &path, &Meta::default())?);
    change.diff.push(Diff::Note(format!("{path} is put in place")));
    let image = Image::File {
        content: Content::Bytes(text.into()),
        meta: Meta { mode: Some(mode), ..Meta::default() },
    };
    change.steps.push(Step::put(Claim::file(&path), path, node.map_or(Seen::Absent, Seen::Node), image));
    Ok(())
}

fn files(task: &BridgeTap, keeper: Keeper, taps: &[String], cards: &[String]) -> Vec<File> {
    match keeper {
        Keeper::Networkd => networkd(task, taps, cards),
        Keeper::NetworkManager => network_manager(task, taps, cards),
        Keeper::Ifupdown => vec![ifupdown(task, taps, cards)],
        Keeper::No | Keeper::Auto => Vec::new(),
    }
}

const MADE: &str = "# Made by tunerun.\n";

fn networkd(task: &BridgeTap, taps: &[String], cards: &[String]) -> Vec<File> {
    let bridge = &task.bridge;
    let file = |name: &str, kind: &str, text: String| {
        (format!("/etc/systemd/network/50-tunerun-{name}.{kind}"), format!("{MADE}{text}"), None)
    };
    let mut files = vec![
        file(bridge, "netdev", format!("[NetDev]\nName={bridge}\nKind=bridge\n")),
        file(
            bridge,
            "network",
            format!(
                "[Match]\nName={bridge}\n\n[Link]\nRequiredForOnline=no\n\n[Network]\nConfigureWithoutCarrier=yes\nLinkLocalAddressing=no\n"
            ),
        ),
    ];
    for tap in taps {
        let mut text = format!("[NetDev]\nName={tap}\nKind=tap\n\n[Tap]\n");
        text.push_str(if task.multi_queue { "MultiQueue=yes\n" } else { "MultiQueue=no\n" });
        text.extend(task.owner.iter().map(|owner| format!("User={owner}\n")));
        files.push(file(tap, "netdev", text));
    }
    for port in taps.iter().chain(cards) {
        let text = format!(
            "[Match]\nName={port}\n\n[Link]\nRequiredForOnline=no\n\n[Network]\nBridge={bridge}\nConfigureWithoutCarrier=yes\n"
        );
        files.push(file(port, "network", text));
    }
    files
}

fn network_manager(task: &BridgeTap, taps: &[String], cards: &[String]) -> Vec<File> {
    let bridge = &task.bridge;
    let file = |name: &str, text: String| {
        let path = format!("/etc/NetworkManager/system-connections/tunerun-{name}.nmconnection");
        (path, format!("{MADE}{text}"), Some(0o600))
    };
    let off = "[ipv4]\nmethod=disabled\n\n[ipv6]\nmethod=disabled\n";
    let mut files = vec![file(
        bridge,
        format!(
            "[connection]\nid=tunerun-{bridge}\ntype=bridge\ninterface-name={bridge}\n\n[bridge]\nstp=false\n\n{off}"
        ),
    )];
    for tap in taps {
        let mut text = format!(
            "[connection]\nid=tunerun-{tap}\ntype=tun\ninterface-name={tap}\nmaster={bridge}\nslave-type=bridge\n\n[tun]\nmode=2\n"
        );
        text.push_str(if task.multi_queue { "multi-queue=true\n" } else { "" });
        text.extend(task.owner.iter().map(|owner| format!("owner={owner}\n")));
        files.push(file(tap, text));
    }
    for card in cards {
        let text = format!(
            "[connection]\nid=tunerun-{card}\ntype=ethernet\ninterface-name={card}\nmaster={bridge}\nslave-type=bridge\n"
        );
        files.push(file(card, text));
    }
    files
}

fn ifupdown(task: &BridgeTap, taps: &[String], cards: &[String]) -> File {
    let bridge = &task.bridge;
    let mut text = format!(
        "{MADE}auto {bridge}\niface {bridge} inet manual\n    pre-up ip link add name {bridge} type bridge\n    up ip link set dev {bridge} up\n"
    );
    for tap in taps {
        let queues = if task.multi_queue { " multi_queue" } else { "" };
        let owner = task.owner.as_ref().map(|owner| format!(" user {owner}")).unwrap_or_default();
        text.push_str(&format!("    up ip tuntap add dev {tap} mode tap{queues}{owner}\n"));
    }
    for port in taps.iter().chain(cards) {
        text.push_str(&format!("    up ip link set dev {port} master {bridge} up\n"));
    }
    for tap in taps {
        let queues = if task.multi_queue { " multi_queue" } else { "" };
        text.push_str(&format!("    down ip tuntap del dev {tap} mode tap{queues}\n"));
    }
    text.push_str(&format!("    post-down ip link delete dev {bridge}\n"));
    (format!("/etc/network/interfaces.d/tunerun-{bridge}"), text, None)
}
