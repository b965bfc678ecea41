//! Who would be locked out: sections with a mode of their own, sessions of the old protocol, connections not proven.
use super::Rung;
use crate::ceph::answers::Stored;
use crate::ceph::cluster::Shell;
use crate::vocabulary::{Facts, Stop};
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
        .filter(|session| session.socket_addr.kind == "v1")
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

/// Refuses where an OSD's connections were not seen to be as they must be.
pub(super) fn proven(proof: Option<&Json>, osds: &[i64], modes: Rung) -> Result<(), Stop> {
    let way_out = "ask the OSD hosts first, in an earlier play or task: `ceph_connections: {require: MODE}` with `register: live`, then `proof: \"{{ groups.osds | map('extract', hostvars, 'live') | list }}\"`";
    let results: Vec<&Json> = match proof {
        None => {
            return Err(Stop::refused(
                "proof",
                format!("nothing shows that all live connections are `{modes}`"),
            )
            .way_out(way_out));
        }
        Some(Json::Array(results)) => results.iter().collect(),
        Some(one) => vec![one],
    };
    let mut shown: BTreeSet<i64> = BTreeSet::new();
    let mut other = Vec::new();
    for line in results.iter().flat_map(|result| lines(result)) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [osd, _, peer, mode] = words.as_slice() else { continue };
        let Some(id) = osd.strip_prefix("osd.").and_then(|id| id.parse().ok()) else { continue };
        shown.insert(id);
        if *mode != modes.as_str() {
            other.push(format!("{osd} with {peer} ({mode})"));
        }
    }
    if !other.is_empty() {
        return Err(Stop::refused(
            "proof",
            format!("connections that are not `{modes}`: {}", other.join(", ")),
        )
        .way_out("let these peers connect anew (restart or migrate guests, mount again), and look again"));
    }
    let missing: Vec<String> =
        osds.iter().filter(|id| !shown.contains(id)).map(|id| format!("osd.{id}")).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Stop::refused("proof", format!("no connection was seen of {}", missing.join(", "))).way_out(way_out))
}

fn lines(result: &Json) -> Vec<&str> {
    match &result["stdout_lines"] {
        Json::Array(lines) => lines.iter().filter_map(Json::as_str).collect(),
        _ => result["stdout"].as_str().map(|text| text.lines().collect()).unwrap_or_default(),
    }
}
