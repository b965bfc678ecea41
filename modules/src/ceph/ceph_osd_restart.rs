//! `ceph_osd_restart`: OSDs of a host started again, one after another, while the cluster serves.
use super::ceph_connections::osds_here;
use super::cluster::Cluster;
use crate::argument::Names;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Back, Change, Claim, Effect, Facts, Match, Output, Read, Seen, Spoil, Step, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// OSDs of a host started again, one after another, while the cluster serves.
///
/// Each OSD is stopped only when `ceph osd ok-to-stop` says that no placement group loses service by it, together with all
/// OSDs that are about to stop elsewhere: that is said in the cluster's store (`tunerun/stopping/osd.N`) before it is
/// asked, so that hosts and controllers that restart OSDs at the same time see each other. The next OSD follows once this
/// one is up in a newer map and placement groups are as clean as they were at the beginning. An OSD that is not in the map
/// is refused: Ceph calls it fine to stop. It is an act at the task's place, as a handler or a task; the evidence is a newer
/// map in which the OSD came up. It leaves no state, so there is nothing to take back.
///
/// Set `noout` around it by `ceph_flag` where restarts may be long, and take it away under `always:`. Errors: an OSD that
/// may not stop within `wait` seconds, placement groups that are not clean within that time; OSDs behind it are left
/// alone. Source: Ceph's Documentation/rados/operations/operating.rst.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CephOsdRestart {
    /// The numbers of OSDs on this host; else all whose folder stands in `/var/lib/ceph/osd`.
    #[serde(default)]
    pub osds: Names,
    /// How long to wait for each, in seconds: to stop, and for clean placement groups.
    #[serde(default = "ten_minutes")]
    pub wait: u32,
    /// The unit of an OSD, with `%` for its number; else by who runs the cluster: `ceph-osd@%.service`, or cephadm's.
    #[serde(default)]
    pub unit: Option<String>,
    /// How the cluster is reached.
    #[serde(default)]
    pub cluster: Cluster,
}

/// What Ceph answers of an OSD that the map has not: ENOENT, EINVAL.
const MISSING: [i32; 2] = [2, 22];

fn ten_minutes() -> u32 {
    600
}

impl Module for CephOsdRestart {
    const NAME: &'static str = "ceph_osd_restart";
    const EXAMPLE: &'static str = "\
- name: OSDs read options that only a start reads
  ceph_osd_restart:
    wait: 900
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        if self.wait == 0 {
            return Err(Stop::refused("wait", "an OSD needs some time to start"));
        }
        if self.unit.as_ref().is_some_and(|unit| unit.matches('%').count() != 1 || unit.starts_with('-')) {
            return Err(Stop::refused("unit", "one `%` stands for the number of the OSD"));
        }
        let ids = osds_here(&self.osds, facts)?;
        let shell = self.cluster.shell(facts)?;
        let looks: Vec<_> = ids.iter().map(|id| shell.row("ceph-osd-up-from", [id])).collect();
        shell.need(facts, &looks)?;
        let unit = match &self.unit {
            Some(unit) => unit.clone(),
            None => shell.layout(facts)?.unit("osd", '%'),
        };
        let mut change = Change { effect: Effect::Now, ..Change::default() };
        for (id, look) in ids.iter().zip(looks) {
            let epoch = facts.output(&look)?;
            match epoch.status {
                0 => {}
                status if MISSING.contains(&status) => {
                    return Err(Stop::refused("osds", format!("the map has no osd.{id}"))
                        .way_out("`ceph osd tree` lists the OSDs that there are"));
                }
                _ => return Err(shell.trouble(&look, &epoch)),
            }
            let row = shell.row("ceph-osd-restart", [&self.wait.to_string(), &unit, id]);
            let spoils = ["ceph-osd-up-from", "ceph-tell-config-get", "ceph-config-show"]
                .map(|name| Spoil::Answers(name.to_owned()));
            let before = facts.get(&Read::Ask(look.clone()))?;
            let looked = (Read::Ask(look), before, Match::Changed);
            let claim = Claim::new("ceph", &format!("osd.{id}/start"));
            change.steps.push(Step::call_seen(claim, row, spoils.to_vec(), looked, Back::Nothing));
        }
        change.result = json!({ "osds": ids, "unit": unit });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let cluster = Cluster { by: Some(super::cluster::By::Host), ..Cluster::default() };
        let Ok(shell) = cluster.shell(&Facts::default()) else { return Vec::new() };
        let answer = |text: &str| Seen::Output(Output::ok(text));
        let none = Seen::Output(Output { status: 2, stdout: "".into(), stderr: "".into() });
        let look = shell.row("ceph-osd-up-from", ["0"]);
        let host = Host::new()
            .file("/usr/bin/ceph", "#!")
            .file("/etc/ceph/ceph.conf", "[global]\n")
            .dir("/var/lib/ceph/osd/ceph-0")
            .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
            .answer(shell.plain("ceph-orch-status"), none)
            .answer(look.clone(), answer("12\n"));
        let restart = shell.row("ceph-osd-restart", ["600", "ceph-osd@%.service", "0"]);
        let calls = vec![(restart, vec![(Read::Ask(look), answer("15\n"))])];
        vec![Sample { about: "all OSDs of the host", args: json!({}), host, calls }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};
    use crate::vocabulary::Act;

    #[test]
    fn an_osd_that_is_not_in_the_map_is_refused() {
        let host = CephOsdRestart::samples().remove(0).host;
        let cluster = Cluster { by: Some(crate::ceph::cluster::By::Host), ..Cluster::default() };
        let look = cluster.shell(&Facts::default()).unwrap().row("ceph-osd-up-from", ["77"]);
        let none = Seen::Output(Output { status: 2, stdout: "".into(), stderr: "".into() });
        let host = host.answer(look, none);
        assert!(refusal::<CephOsdRestart>(&host, json!({ "osds": 77 })).contains("no osd.77"));
    }

    #[test]
    fn a_unit_of_its_own_has_one_place_for_the_number() {
        let host = CephOsdRestart::samples().remove(0).host;
        assert!(refusal::<CephOsdRestart>(&host, json!({ "unit": "osd" })).contains("one `%`"));
        let change = planned::<CephOsdRestart>(&host, json!({ "unit": "my-osd-%" }));
        let Act::Call { row, .. } = &change.steps[0].act else { panic!() };
        assert_eq!(row.args[5..], ["600", "my-osd-%", "0"]);
    }
}
