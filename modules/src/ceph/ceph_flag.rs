//! `ceph_flag`: flags of the OSD map, which end by themselves.
use super::answers::Crush;
use super::cluster::{Cluster, Shell};
use crate::argument::{Names, nearest};
use crate::files::place::known;
use crate::host::Host;
use crate::module::{Module, Sample, Scope};
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Evidence, Facts, Match, Output, Read, Row, Seen, Spoil, Step,
    Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Flags of the OSD map, such as `noout` while a host boots; they end by themselves.
///
/// A flag is set for CRUSH nodes (hosts, OSDs, device classes) or, without `nodes`, for the whole cluster. Before it is
/// set, the cluster's store is told that it is this program's (`tunerun/flag/FLAG/NODE`), and its end is armed on the host
/// that the cluster is reached by: that host takes the flag away after `lease` seconds, whether or not this program still
/// runs. Where systemd runs the host, a unit (`tunerun-flag-*.service`) keeps watch, which a boot of the host does not end;
/// elsewhere it is a process, and the plan says that a boot would end it.
///
/// A flag that somebody else had set stays and has no end. `state: absent` leaves it too, and says so, unless `whose:
/// anybody` takes it away: so a flag around an act may be set before it and taken away under `always:`.
///
/// Errors: a flag that is not one, a node that the CRUSH tree has not. Source: Ceph's
/// Documentation/rados/operations/health-checks.rst (OSD_FLAGS).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CephFlag {
    /// The flag: `noout`, `noup`, `nodown`, `noin` for nodes; for the whole cluster also `norebalance`, `nobackfill`,
    /// `norecover`, `noscrub`, `nodeep-scrub`, `notieragent`, `pause`.
    pub flag: String,
    /// CRUSH hosts, OSDs or device classes; none for the whole cluster.
    #[serde(default)]
    pub nodes: Names,
    /// Whether it shall be set.
    #[serde(default)]
    pub state: FlagState,
    /// After how many seconds it ends by itself; 0 for never.
    #[serde(default = "one_hour")]
    pub lease: u32,
    /// Whose flag `absent` takes away.
    #[serde(default)]
    pub whose: Whose,
    /// How the cluster is reached.
    #[serde(default)]
    pub cluster: Cluster,
}

/// Whether a flag shall be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FlagState {
    /// Set.
    #[default]
    Present,
    /// Not set.
    Absent,
}

/// Whose flag is taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Whose {
    /// One that this program set, in this run or an earlier one.
    #[default]
    Ours,
    /// One that anybody set.
    Anybody,
}

fn one_hour() -> u32 {
    3600
}

const OF_NODES: [&str; 4] = ["noout", "noup", "nodown", "noin"];
const OF_CLUSTER: [&str; 7] =
    ["norebalance", "nobackfill", "norecover", "noscrub", "nodeep-scrub", "notieragent", "pause"];

/// What is seen of a flag that is this program's, and of one that is not set.
const OURS: &str = "ours";
const UNSET: &str = "unset";
/// The whole cluster, among nodes.
const ALL: &str = ".";
/// Where systemd runs the host.
const SYSTEMD: &str = "/run/systemd/system";

impl CephFlag {
    fn check(&self) -> Result<(), Stop> {
        let of_nodes = OF_NODES.contains(&self.flag.as_str());
        if of_nodes || (self.nodes.list().is_empty() && OF_CLUSTER.contains(&self.flag.as_str())) {
            return Ok(());
        }
        if OF_CLUSTER.contains(&self.flag.as_str()) {
            return Err(Stop::refused("nodes", format!("`{}` is a flag of the whole cluster", self.flag))
                .way_out("leave `nodes` out"));
        }
        let all = OF_NODES.iter().chain(&OF_CLUSTER).copied();
        let stop = Stop::refused("flag", format!("`{}` is no flag of the OSD map", self.flag));
        Err(match nearest(&self.flag, all.clone()) {
            Some(near) => stop.way_out(format!("did you mean `{near}`?")),
            None => stop.way_out(format!("flags are: {}", all.collect::<Vec<_>>().join(", "))),
        })
    }

    /// Refuses nodes that are not there: for them Ceph answers with an error only after others were set.
    fn there(&self, tree: &Crush, nodes: &[String]) -> Result<(), Stop> {
        let names: Vec<&str> = tree.nodes.iter().chain(&tree.stray).map(|node| node.name.as_str()).collect();
        let classes: Vec<&str> = tree.osds().values().filter_map(|osd| osd.device_class.as_deref()).collect();
        for node in nodes.iter().filter(|node| *node != ALL) {
            if !names.contains(&node.as_str()) && !classes.contains(&node.as_str()) {
                let stop = Stop::refused("nodes", format!("the CRUSH tree has no `{node}`"));
                return Err(match nearest(node, names.iter().copied()) {
                    Some(near) => stop.way_out(format!("did you mean `{near}`?")),
                    None => stop.way_out("`ceph osd tree` lists them"),
                });
            }
        }
        Ok(())
    }

    fn node(
        &self,
        facts: &Facts,
        shell: &Shell,
        (fsid, node): (&str, &str),
        change: &mut Change,
    ) -> Result<(), Stop> {
        let look = shell.row("ceph-flag", [self.flag.as_str(), node]);
        let now = shell.text(facts, &look)?.trim().to_owned();
        let (is_set, is_ours, wanted) = (now != UNSET, now == OURS, self.state == FlagState::Present);
        let shown = if node == ALL { "the cluster" } else { node };
        let word = |is_set: bool| if is_set { "set" } else { "unset" };
        change.evidence.push(Evidence::told(
            format!("{} is {} for {shown}", self.flag, word(wanted)),
            "ceph osd dump",
            (is_set == wanted, false),
            now.clone(),
            Effect::Now,
        ));
        if is_set && !is_ours && (wanted || self.whose == Whose::Ours) {
            let then = if wanted { "and has no end" } else { "`whose: anybody` takes it away" };
            change.notes.push(format!("{} of {shown} was set by somebody else: it stays; {then}", self.flag));
            return Ok(());
        }
        if is_set == wanted {
            return Ok(());
        }
        change.steps.push(self.turned(facts, shell, (fsid, node), &now)?);
        change.diff.push(Diff::Value {
            name: format!("{} of {shown}", self.flag),
            before: Some(word(is_set).to_owned()),
            after: Some(word(wanted).to_owned()),
        });
        if wanted && self.lease > 0 && facts.stat(&known(SYSTEMD)?)?.is_none() {
            change.notes.push(format!(
                "no systemd runs the host that keeps watch: after a boot of it nothing takes {} of {shown} away",
                self.flag
            ));
        }
        Ok(())
    }

    /// Sets the flag with its end, or takes both away. A flag of ours that is somebody else's by the time of undo is a
    /// conflict, and not ours to take back.
    fn turned(
        &self,
        facts: &Facts,
        shell: &Shell,
        (fsid, node): (&str, &str),
        now: &str,
    ) -> Result<Step, Stop> {
        let words = [self.flag.as_str(), node];
        let look = Read::Ask(shell.row("ceph-flag", words));
        let spoils_to = |word: &str| {
            vec![
                Spoil::Becomes(look.clone(), one_word(word)),
                Spoil::Answers("ceph-osd-dump".to_owned()),
                Spoil::Answers("ceph-health".to_owned()),
            ]
        };
        let set = |seconds: &str| shell.row("ceph-flag-set", [seconds, &self.flag, node]);
        let unset = || shell.row("ceph-flag-unset", words);
        let lease = self.lease.to_string();
        let (row, back, wanted) = match (self.state, now) {
            (FlagState::Present, _) => (set(&lease), unset(), OURS),
            (FlagState::Absent, OURS) => (unset(), set(&lease), UNSET),
            (FlagState::Absent, _) => (unset(), set("-"), UNSET),
        };
        let back = Back::Exactly(Act::Call { row: back, spoils: spoils_to(now) });
        let claim = Claim::new("ceph", &format!("{fsid}/flag/{node}/{}", self.flag));
        let (spoils, before) = (spoils_to(wanted), facts.get(&look)?);
        Ok(Step::call_seen(claim, row, spoils, (look, before, said(wanted)), back))
    }
}

/// A look that answers by one word.
fn said(word: &str) -> Match {
    Match::Exactly(one_word(word))
}

fn one_word(word: &str) -> Seen {
    Seen::Output(Output::ok(format!("{word}\n")))
}

impl Module for CephFlag {
    const NAME: &'static str = "ceph_flag";
    const SCOPE: Scope = Scope::Cluster;
    const EXAMPLE: &'static str = "\
- name: OSDs of this host stay in while it boots
  ceph_flag:
    flag: noout
    nodes: h0
    lease: 1800
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("name", "flag")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        let mut nodes = self.nodes.list();
        if nodes.is_empty() {
            nodes.push(ALL.to_owned());
        }
        let shell = self.cluster.shell(facts)?;
        let mut rows: Vec<Row> = vec![shell.plain("ceph-osd-tree")];
        for node in &nodes {
            rows.push(shell.row("ceph-flag", [self.flag.as_str(), node]));
        }
        facts.need(&[Read::Stat(known(SYSTEMD)?)])?;
        shell.need(facts, &rows)?;
        let fsid = shell.fsid(facts)?;
        if self.state == FlagState::Present {
            self.there(&shell.json(facts, &shell.plain("ceph-osd-tree"))?, &nodes)?;
        }
        let mut change = Change { cluster: Some(fsid.clone()), ..Change::default() };
        for node in &nodes {
            self.node(facts, &shell, (&fsid, node), &mut change)?;
        }
        change.result = json!({ "fsid": fsid, "flag": self.flag, "nodes": nodes });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let cluster = Cluster { by: Some(super::cluster::By::Host), ..Cluster::default() };
        let Ok(shell) = cluster.shell(&Facts::default()) else { return Vec::new() };
        let answer = |text: &str| Seen::Output(Output::ok(text));
        let none = Seen::Output(Output { status: 2, stdout: "".into(), stderr: "".into() });
        let words = ["noout", "h0"];
        let flag = Read::Ask(shell.row("ceph-flag", words));
        let tree = r#"{"nodes":[{"id":-2,"name":"h0","type":"host","children":[0]},{"id":0,"name":"osd.0","type":"osd","device_class":"ssd"}],"stray":[]}"#;
        let host = |set: &str| {
            Host::new()
                .file("/usr/bin/ceph", "#!")
                .file("/etc/ceph/ceph.conf", "[global]\n")
                .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
                .answer(shell.plain("ceph-orch-status"), none.clone())
                .answer(shell.plain("ceph-osd-tree"), answer(tree))
                .answer(shell.row("ceph-flag", words), answer(set))
        };
        let set = |seconds: &str| shell.row("ceph-flag-set", [seconds, "noout", "h0"]);
        let calls = || {
            vec![
                (set("3600"), vec![(flag.clone(), answer("ours\n"))]),
                (set("0"), vec![(flag.clone(), answer("ours\n"))]),
                (set("-"), vec![(flag.clone(), answer("set\n"))]),
                (shell.row("ceph-flag-unset", words), vec![(flag.clone(), answer("unset\n"))]),
            ]
        };
        let sample = |about, args, host| Sample { about, args, host, calls: calls() };
        vec![
            sample("set, with its end", json!({ "flag": "noout", "nodes": "h0" }), host("unset\n")),
            sample("set by somebody else", json!({ "flag": "noout", "nodes": "h0" }), host("set\n")),
            sample("without an end", json!({ "flag": "noout", "nodes": "h0", "lease": 0 }), host("unset\n")),
            sample(
                "taken away",
                json!({ "flag": "noout", "nodes": "h0", "state": "absent" }),
                host("ours\n"),
            ),
            sample(
                "taken away from somebody else",
                json!({ "flag": "noout", "nodes": "h0", "state": "absent", "whose": "anybody" }),
                host("set\n"),
            ),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    fn host() -> Host {
        CephFlag::samples()[0].host.clone()
    }

    #[test]
    fn a_flag_is_set_with_its_end() {
        let change = planned::<CephFlag>(&host(), json!({ "flag": "noout", "nodes": "h0" }));
        assert_eq!(rows(&change), ["ceph-flag-set"]);
        let Act::Call { row, .. } = &change.steps[0].act else { panic!() };
        assert_eq!(row.args[5..], ["3600", "noout", "h0"]);
    }

    fn rows(change: &Change) -> Vec<&str> {
        let acts = change.steps.iter().filter_map(|step| match &step.act {
            Act::Call { row, .. } => Some(row.name.as_str()),
            _ => None,
        });
        acts.collect()
    }

    #[test]
    fn what_somebody_else_set_stays_and_that_is_said() {
        let host = CephFlag::samples()[1].host.clone();
        let change = planned::<CephFlag>(&host, json!({ "flag": "noout", "nodes": "h0" }));
        assert!(change.is_empty() && change.notes[0].contains("has no end"), "{:?}", change.notes);
        let absent = json!({ "flag": "noout", "nodes": "h0", "state": "absent" });
        let change = planned::<CephFlag>(&host, absent.clone());
        assert!(change.is_empty() && change.notes[0].contains("whose: anybody"), "{:?}", change.notes);
        let mut anybody = absent;
        anybody["whose"] = json!("anybody");
        assert_eq!(rows(&planned::<CephFlag>(&host, anybody)), ["ceph-flag-unset"]);
    }

    #[test]
    fn what_is_ours_goes_with_its_end_and_comes_back_with_it() {
        let host = CephFlag::samples()[3].host.clone();
        let change = planned::<CephFlag>(&host, json!({ "flag": "noout", "nodes": "h0", "state": "absent" }));
        let Back::Exactly(Act::Call { row, .. }) = &change.steps[0].back else { panic!() };
        assert_eq!((rows(&change), row.args[5].as_str()), (vec!["ceph-flag-unset"], "3600"));
    }

    #[test]
    fn a_watch_that_a_boot_ends_is_said() {
        let change = planned::<CephFlag>(&host(), json!({ "flag": "noout", "nodes": "h0" }));
        assert!(change.notes[0].contains("after a boot"), "{:?}", change.notes);
        let change = planned::<CephFlag>(&host().dir(SYSTEMD), json!({ "flag": "noout", "nodes": "h0" }));
        assert!(change.notes.is_empty(), "{:?}", change.notes);
    }

    #[test]
    fn flags_and_nodes_that_are_not_there_are_refused() {
        assert!(refusal::<CephFlag>(&host(), json!({ "flag": "nout" })).contains("did you mean `noout`?"));
        assert!(
            refusal::<CephFlag>(&host(), json!({ "flag": "noscrub", "nodes": "h0" }))
                .contains("whole cluster")
        );
    }
}
