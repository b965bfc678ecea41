//! `ceph_flag`: flags of the OSD map, which end by themselves.
use super::answers::Crush;
use super::cluster::{Cluster, Shell};
use crate::argument::{Names, nearest};
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
/// set, its end is armed on the host that the cluster is reached by: a process there takes the flag away after `lease`
/// seconds, whether or not this program still runs. A flag that somebody else had set stays, and has no end.
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

fn one_hour() -> u32 {
    3600
}

const OF_NODES: [&str; 4] = ["noout", "noup", "nodown", "noin"];
const OF_CLUSTER: [&str; 7] =
    ["norebalance", "nobackfill", "norecover", "noscrub", "nodeep-scrub", "notieragent", "pause"];

/// The whole cluster, among nodes.
const ALL: &str = ".";

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
        let words = [self.flag.as_str(), node];
        let look = shell.row("ceph-flag", words);
        let now = shell.text(facts, &look)?.trim().to_owned();
        let wanted = if self.state == FlagState::Present { "set" } else { "unset" };
        let shown = if node == ALL { "the cluster" } else { node };
        change.evidence.push(Evidence::told(
            format!("{} is {wanted} for {shown}", self.flag),
            "ceph osd dump",
            (now == wanted, false),
            now.clone(),
            Effect::Now,
        ));
        if now == wanted {
            return Ok(());
        }
        let claim = || Claim::new("ceph", &format!("{fsid}/flag/{node}/{}", self.flag));
        let spoils_to = |word: &str| {
            vec![
                Spoil::Becomes(Read::Ask(look.clone()), one_word(word)),
                Spoil::Answers("ceph-osd-dump".to_owned()),
                Spoil::Answers("ceph-health".to_owned()),
            ]
        };
        let call = |name: &str| shell.row(name, words);
        if self.state == FlagState::Present && self.lease > 0 {
            change.steps.push(self.armed(facts, shell, (fsid, node))?);
        }
        let (row, back) = match self.state {
            FlagState::Present => (call("ceph-flag-set"), call("ceph-flag-unset")),
            FlagState::Absent => (call("ceph-flag-unset"), call("ceph-flag-set")),
        };
        let back = Back::Exactly(Act::Call { row: back, spoils: spoils_to(&now) });
        let (after, spoils) = (said(wanted), spoils_to(wanted));
        let before = facts.get(&Read::Ask(look.clone()))?;
        change.steps.push(Step::call_seen(claim(), row, spoils, (Read::Ask(look), before, after), back));
        change.diff.push(Diff::Value {
            name: format!("{} of {shown}", self.flag),
            before: Some(now),
            after: Some(wanted.to_owned()),
        });
        if self.state == FlagState::Absent {
            change.steps.push(self.disarmed(facts, shell, (fsid, node))?);
        }
        Ok(())
    }

    fn lease_look(&self, facts: &Facts, shell: &Shell, node: &str) -> Result<(Read, Seen), Stop> {
        let look = Read::Ask(shell.row("ceph-lease", [self.flag.as_str(), node]));
        let seen = facts.get(&look)?;
        Ok((look, seen))
    }

    /// Arms the end, before the flag is set.
    fn armed(&self, facts: &Facts, shell: &Shell, (fsid, node): (&str, &str)) -> Result<Step, Stop> {
        let seconds = self.lease.to_string();
        let row = shell.row("ceph-lease-arm", [seconds.as_str(), &self.flag, node]);
        let end = shell.row("ceph-lease-end", [self.flag.as_str(), node]);
        let (look, seen) = self.lease_look(facts, shell, node)?;
        let after = said("armed");
        let claim = Claim::new("ceph", &format!("{fsid}/lease/{node}/{}", self.flag));
        let back = Back::Exactly(Act::Call { row: end, spoils: Vec::new() });
        let spoils = vec![Spoil::Becomes(look.clone(), one_word("armed"))];
        Ok(Step::call_seen(claim, row, spoils, (look, seen, after), back))
    }

    /// Takes the end away, after the flag.
    fn disarmed(&self, facts: &Facts, shell: &Shell, (fsid, node): (&str, &str)) -> Result<Step, Stop> {
        let row = shell.row("ceph-lease-end", [self.flag.as_str(), node]);
        let (look, seen) = self.lease_look(facts, shell, node)?;
        let after = said("none");
        let claim = Claim::new("ceph", &format!("{fsid}/lease/{node}/{}", self.flag));
        let spoils = vec![Spoil::Becomes(look.clone(), one_word("none"))];
        Ok(Step::call_seen(claim, row, spoils, (look, seen, after), Back::Nothing))
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
            rows.push(shell.row("ceph-lease", [self.flag.as_str(), node]));
        }
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
        let (flag, lease) =
            (Read::Ask(shell.row("ceph-flag", words)), Read::Ask(shell.row("ceph-lease", words)));
        let tree = r#"{"nodes":[{"id":-2,"name":"h0","type":"host","children":[0]},{"id":0,"name":"osd.0","type":"osd","device_class":"ssd"}],"stray":[]}"#;
        let host = |set: &str, armed: &str| {
            Host::new()
                .file("/usr/bin/ceph", "#!")
                .file("/etc/ceph/ceph.conf", "[global]\n")
                .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
                .answer(shell.plain("ceph-orch-status"), none.clone())
                .answer(shell.plain("ceph-osd-tree"), answer(tree))
                .answer(shell.row("ceph-flag", words), answer(set))
                .answer(shell.row("ceph-lease", words), answer(armed))
        };
        let arm = |seconds: &str| shell.row("ceph-lease-arm", [seconds, "noout", "h0"]);
        let calls = || {
            vec![
                (arm("3600"), vec![(lease.clone(), answer("armed\n"))]),
                (shell.row("ceph-lease-end", words), vec![(lease.clone(), answer("none\n"))]),
                (shell.row("ceph-flag-set", words), vec![(flag.clone(), answer("set\n"))]),
                (shell.row("ceph-flag-unset", words), vec![(flag.clone(), answer("unset\n"))]),
            ]
        };
        let sample = |about, args, host| Sample { about, args, host, calls: calls() };
        vec![
            sample("set, with its end", json!({ "flag": "noout", "nodes": "h0" }), host("unset\n", "none\n")),
            sample(
                "set by somebody else",
                json!({ "flag": "noout", "nodes": "h0" }),
                host("set\n", "none\n"),
            ),
            sample(
                "without an end",
                json!({ "flag": "noout", "nodes": "h0", "lease": 0 }),
                host("unset\n", "none\n"),
            ),
            sample(
                "taken away",
                json!({ "flag": "noout", "nodes": "h0", "state": "absent" }),
                host("set\n", "armed\n"),
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
    fn the_end_is_armed_before_the_flag_is_set() {
        let change = planned::<CephFlag>(&host(), json!({ "flag": "noout", "nodes": "h0" }));
        let names: Vec<&str> = change
            .steps
            .iter()
            .filter_map(|step| match &step.act {
                Act::Call { row, .. } => Some(row.name.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(names, ["ceph-lease-arm", "ceph-flag-set"]);
    }

    #[test]
    fn what_somebody_else_set_stays() {
        let host = CephFlag::samples()[1].host.clone();
        assert!(planned::<CephFlag>(&host, json!({ "flag": "noout", "nodes": "h0" })).is_empty());
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
