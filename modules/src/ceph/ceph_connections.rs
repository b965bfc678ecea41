//! `ceph_connections`: which connections of a host's OSDs and mons are really encrypted.
use super::cluster::Cluster;
use crate::argument::Names;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Back, Change, Claim, Effect, Facts, Step, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Which connections of a host's OSDs and mons are really encrypted.
///
/// Options tell nothing of connections that stand already. So the daemons' messages are logged for some seconds
/// (`debug_ms` 5, set back to what it was however the look ends), and their logs are read: a connection whose frames
/// have no cipher is `crc`. Only connections with traffic in that time are seen; heartbeats make some between OSDs.
/// The log grows by thousands of lines a second under load.
///
/// `register` holds a line for each connection in `stdout_lines`: the daemon, its address, the peer's, and `crc`, `secure` or
/// `v1` (the old protocol, never encrypted). `ceph_msgr_mode` takes that as its `proof`. It changes nothing that stays,
/// so say `changed_when: false`.
///
/// Errors: a connection that is not as `require` says, with both addresses; a daemon without traffic; a log that is not
/// on this host (in a container, or in journald). Source: trials on Ceph 16.2, which has neither counters nor a dump of
/// its messenger.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CephConnections {
    /// The numbers of OSDs on this host; else all whose folder stands in `/var/lib/ceph/osd`, or none where `mons` are
    /// named.
    #[serde(default)]
    pub osds: Names,
    /// The names of mons on this host, such as `a`.
    #[serde(default)]
    pub mons: Names,
    /// How long to look, in seconds.
    #[serde(default = "ten")]
    pub seconds: u32,
    /// What every connection must be; the task fails where one is not.
    #[serde(default)]
    pub require: Require,
    /// How the cluster is reached.
    #[serde(default)]
    pub cluster: Cluster,
}

/// What connections must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Require {
    /// Anything.
    #[default]
    Any,
    /// Encrypted.
    Secure,
    /// Not encrypted.
    Crc,
}

fn ten() -> u32 {
    10
}

/// Folders of OSDs: `ceph-3`.
const OSDS: &str = "/var/lib/ceph/osd/*-*";

/// The numbers of OSDs that are named, or whose folders are on the host.
pub(super) fn osds_here(named: &Names, facts: &Facts) -> Result<Vec<String>, Stop> {
    let mut ids: Vec<String> = named.list();
    if ids.is_empty() {
        let folders = facts.names(OSDS)?;
        ids = folders.iter().filter_map(|path| path.name().rsplit('-').next().map(str::to_owned)).collect();
    }
    for id in &mut ids {
        *id = id.trim().trim_start_matches("osd.").to_owned();
        if id.is_empty() || !id.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Stop::refused("osds", format!("`{id}` is not the number of an OSD")));
        }
    }
    if ids.is_empty() {
        return Err(Stop::refused("osds", "this host has no folder of an OSD in /var/lib/ceph/osd")
            .way_out("name the numbers of its OSDs, or leave the host out"));
    }
    ids.sort_by_key(|id| id.parse::<u64>().unwrap_or(u64::MAX));
    ids.dedup();
    Ok(ids)
}

impl Module for CephConnections {
    const NAME: &'static str = "ceph_connections";
    const EXAMPLE: &'static str = "\
- name: Every live connection of these OSDs is encrypted
  ceph_connections:
    require: secure
  register: live
  changed_when: false
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        if !(1..=600).contains(&self.seconds) {
            return Err(Stop::refused("seconds", "between 1 and 600 seconds can be looked at"));
        }
        let mons = self.mons.list();
        if let Some(wrong) = mons.iter().find(|name| name.is_empty() || name.contains(['/', ' ', '*', '\'']))
        {
            return Err(Stop::refused("mons", format!("`{wrong}` is not the name of a mon")));
        }
        let ids = match mons.is_empty() || !self.osds.list().is_empty() {
            true => osds_here(&self.osds, facts)?,
            false => Vec::new(),
        };
        let daemons: Vec<String> = ids
            .iter()
            .map(|id| format!("osd.{id}"))
            .chain(mons.iter().map(|name| format!("mon.{}", name.trim_start_matches("mon."))))
            .collect();
        let shell = self.cluster.shell(facts)?;
        let must = match self.require {
            Require::Any => "any",
            Require::Secure => "secure",
            Require::Crc => "crc",
        };
        let operands = [self.seconds.to_string(), must.to_owned()].into_iter().chain(daemons.iter().cloned());
        let row = shell.row("ceph-connections", operands);
        let claim = Claim::new("ceph", &format!("connections/{}", daemons.join(",")));
        Ok(Change {
            steps: vec![Step::call(claim, row, Vec::new(), Back::Nothing)],
            answer: Some(0),
            effect: Effect::Now,
            result: json!({ "osds": ids, "mons": mons }),
            ..Change::default()
        })
    }

    fn samples() -> Vec<Sample> {
        let host = Host::new()
            .file("/usr/bin/ceph", "#!")
            .file("/etc/ceph/ceph.conf", "[global]\n")
            .dir("/var/lib/ceph/osd/ceph-0")
            .dir("/var/lib/ceph/osd/ceph-12");
        let sample = |about, args: Json| Sample { about, args, host: host.clone(), calls: Vec::new() };
        vec![
            sample("all OSDs of the host", json!({ "require": "secure" })),
            sample("one OSD", json!({ "osds": "osd.12", "seconds": 3 })),
            sample("a mon", json!({ "mons": "a" })),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::Act;

    #[test]
    fn the_osds_of_the_host_are_found_by_their_folders() {
        let host = CephConnections::samples()[0].host.clone();
        let change = planned::<CephConnections>(&host, json!({}));
        let Act::Call { row, .. } = &change.steps[0].act else { panic!() };
        assert_eq!(row.args[5..], ["10", "any", "osd.0", "osd.12"]);
        let change = planned::<CephConnections>(&host, json!({ "mons": ["a"] }));
        let Act::Call { row, .. } = &change.steps[0].act else { panic!() };
        assert_eq!(row.args[5..], ["10", "any", "mon.a"], "only what is named");
        assert!(change.steps[0].is_act());
    }

    #[test]
    fn a_host_without_osds_is_refused() {
        let host = Host::new().file("/usr/bin/ceph", "#!").file("/etc/ceph/ceph.conf", "");
        assert!(refusal::<CephConnections>(&host, json!({})).contains("no folder of an OSD"));
        assert!(refusal::<CephConnections>(&host, json!({ "osds": ["x"] })).contains("not the number"));
    }
}
