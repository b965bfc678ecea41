//! Who would be locked out: sections with a mode of their own, sessions of the old protocol, connections not proven.
use super::Rung;
use crate::ceph::answers::{Stored, told};
use crate::ceph::cluster::Shell;
use crate::vocabulary::{Effect, Evidence, Facts, Stop};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Refuses where a section or mask has a mode of its own: it is heard of only at the next connection.
pub(super) fn no_other_section(dump: &[Stored]) -> Result<(), Stop> {
    let own: Vec<&Stored> = dump
        .iter()
        .filter(|stored| {
            super::DATA.contains(&stored.name.as_str()) || super::MON.contains(&stored.name.as_str())
        })
        .filter(|stored| stored.who() != "global")
        .collect();
    if own.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = own
        .iter()
        .map(|stored| format!("{} of {} is `{}`", stored.name, stored.who(), stored.value))
        .collect();
    let commands: Vec<String> =
        own.iter().map(|stored| format!("`ceph config rm {} {}`", stored.who(), stored.name)).collect();
    Err(Stop::failed(format!(
        "modes of their own win over `global`, and lock out at the next connection: {}",
        named.join(", ")
    ))
    .way_out(format!("remove them first: {}", commands.join(", "))))
}

/// One session that a mon has.
#[derive(Debug, Deserialize)]
struct Session {
    #[serde(default)]
    name: String,
    #[serde(default)]
    entity_name: String,
    #[serde(default)]
    con_type: String,
    #[serde(default)]
    remote_host: String,
    #[serde(default)]
    socket_addr: Address,
    #[serde(default)]
    addrs: Addresses,
}

impl Session {
    /// Whether it is connected by the old protocol: daemons have an address of both, clients one of what they speak.
    fn is_old(&self) -> bool {
        let only = &self.addrs.addrvec;
        self.socket_addr.kind == "v1" || (!only.is_empty() && only.iter().all(|address| address.kind == "v1"))
    }
}

#[derive(Debug, Default, Deserialize)]
struct Addresses {
    #[serde(default)]
    addrvec: Vec<Address>,
}

#[derive(Debug, Default, Deserialize)]
struct Address {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    addr: String,
}

/// The sessions of all mons: of one mon the list stands alone, of more each has a line `mon.a: […]`.
fn sessions(text: &str) -> Option<Vec<Session>> {
    if let Ok(sessions) = serde_json::from_str(text.trim()) {
        return Some(sessions);
    }
    let mut all = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (_, list) = line.split_once(": ")?;
        all.extend(serde_json::from_str::<Vec<Session>>(list.trim()).ok()?);
    }
    Some(all)
}

/// Refuses where somebody is connected by the old protocol, which has no encryption and no modes.
pub(super) fn can_all(facts: &Facts, shell: &Shell) -> Result<(), Stop> {
    let row = shell.plain("ceph-mon-sessions");
    let text = shell.text(facts, &row)?;
    let sessions = sessions(&text)
        .ok_or_else(|| Stop::failed("the mons' answer about their sessions cannot be read"))?;
    let old: Vec<String> = sessions
        .iter()
        .filter(|session| session.is_old())
        .map(|session| {
            let who = if session.entity_name.is_empty() { &session.name } else { &session.entity_name };
            let host = if session.remote_host.is_empty() { "" } else { &session.remote_host };
            format!("{} {who} at {} {host}", session.con_type, session.socket_addr.addr).trim_end().to_owned()
        })
        .collect();
    if old.is_empty() {
        return Ok(());
    }
    Err(Stop::refused(
        "modes",
        format!("{} sessions speak the old protocol, which has no modes: {}", old.len(), old.join("; ")),
    )
    .way_out(
        "let them connect by v2: port 3300, `ms_mode=` for kernel mounts, a newer client; then play again",
    ))
}

/// Refuses where the command that mends the mons' modes would not reach them.
pub(super) fn rescue(facts: &Facts, shell: &Shell) -> Result<(), Stop> {
    let row = shell.plain("ceph-rescue");
    shell.text(facts, &row).map(drop).map_err(|stop| {
        stop.blame("mon").way_out(
            "the command that would mend a lock-out must work first: `ceph --ms_mon_client_mode=\"secure crc\" fsid`",
        )
    })
}

/// Refuses where the connections of a daemon were not seen to be as they must be: of the daemons that are named, and of
/// their kind alone.
pub(super) fn proven(proof: Option<&Json>, daemons: &[String], modes: Rung) -> Result<(), Stop> {
    let way_out = "ask the hosts of these daemons first, in an earlier play or task: `ceph_connections: {require: MODE}` (`mons: NAME` for mons) with `register: live`, then `proof: \"{{ groups.osds | map('extract', hostvars, 'live') | list }}\"`";
    let Some(proof) = proof else {
        return Err(Stop::refused("proof", format!("nothing shows that all live connections are `{modes}`"))
            .way_out(way_out));
    };
    let kind = daemons.first().and_then(|daemon| daemon.split('.').next()).unwrap_or("osd");
    let connections: Vec<Connection<'_>> = connections(proof)
        .into_iter()
        .filter(|connection| connection.daemon.split('.').next() == Some(kind))
        .collect();
    let shown: BTreeSet<&str> = connections.iter().map(|connection| connection.daemon).collect();
    let other: Vec<String> = connections
        .iter()
        .filter(|connection| connection.mode != modes.as_str())
        .map(|connection| format!("{} with {} ({})", connection.daemon, connection.peer, connection.mode))
        .collect();
    if !other.is_empty() {
        return Err(Stop::refused(
            "proof",
            format!("connections that are not `{modes}`: {}", other.join(", ")),
        )
        .way_out("let these peers connect anew (restart or migrate guests, mount again), and look again"));
    }
    let missing: Vec<&str> =
        daemons.iter().map(String::as_str).filter(|daemon| !shown.contains(daemon)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Stop::refused("proof", format!("no connection was seen of {}", missing.join(", "))).way_out(way_out))
}

/// Whether live connections are as the modes have them, by what was seen of them.
pub(super) fn evidence(proof: Option<&Json>, modes: Rung) -> Evidence {
    let (what, looked) = (format!("connections are {}", modes.prefers()), "live connections");
    let Some(proof) = proof else {
        let why =
            "options tell nothing of connections that stand; `ceph_connections` looks at them, for `proof`";
        return Evidence::not_available(what, looked, why);
    };
    let connections = connections(proof);
    let right = connections.iter().filter(|connection| connection.mode == modes.prefers()).count();
    let is_live = right > 0 && right == connections.len();
    let seen = format!("{right} of {} are", connections.len());
    Evidence::told(what, looked, (is_live, false), seen, Effect::Now)
}

/// Refuses where a daemon holds another mode than the one that is stored: something nearer to it wins, and what is set
/// here would not reach it.
pub(super) fn held(
    facts: &Facts,
    shell: &Shell,
    (daemons, name): (&str, &str),
    stored: Rung,
) -> Result<(), Stop> {
    let row = super::held_row(shell, daemons, name);
    let output = facts.output(&row)?;
    let told = told(&output, daemons, name);
    if told.is_empty() && output.status != 0 {
        return Err(shell.trouble(&row, &output));
    }
    let other: Vec<(&String, &String)> =
        told.iter().filter(|(_, value)| Rung::parse(value) != Some(stored)).collect();
    let Some((daemon, _)) = other.first() else { return Ok(()) };
    let named: Vec<String> =
        other.iter().map(|(daemon, value)| format!("{daemon} holds `{value}`")).collect();
    Err(Stop::failed(format!(
        "{name} is `{stored}` in the mons' database, and {}: a ceph.conf, a command line or an override wins over it, and would lock the daemon out",
        named.join(", ")
    ))
    .way_out(format!("`ceph config show {daemon}` says where it comes from: take it out there, then play again")))
}

/// One connection that was seen.
struct Connection<'a> {
    daemon: &'a str,
    peer: &'a str,
    mode: &'a str,
}

/// What `ceph_connections` registered, one result or lists of them.
fn connections(proof: &Json) -> Vec<Connection<'_>> {
    let line = |line| {
        let words: Vec<&str> = str::split_whitespace(line).collect();
        let [daemon, _, peer, mode] = words.as_slice() else { return None };
        (daemon.starts_with("osd.") || daemon.starts_with("mon.")).then_some(Connection {
            daemon,
            peer,
            mode,
        })
    };
    match proof {
        Json::Array(results) => results.iter().flat_map(connections).collect(),
        result => lines(result).into_iter().filter_map(line).collect(),
    }
}

fn lines(result: &Json) -> Vec<&str> {
    match &result["stdout_lines"] {
        Json::Array(lines) => lines.iter().filter_map(Json::as_str).collect(),
        _ => result["stdout"].as_str().map(|text| text.lines().collect()).unwrap_or_default(),
    }
}
