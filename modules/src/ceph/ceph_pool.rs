//! `ceph_pool`: pools, their settings and what they are for.
use super::cluster::{Cluster, Shell};
use crate::argument::Scalar;
use crate::host::Host;
use crate::module::{Module, Sample, Scope};
use crate::shape::Shape;
use crate::vocabulary::{
    Act, Back, Change, Claim, Diff, Effect, Evidence, Facts, Match, Output, Read, Risk, RiskName, Row, Seen,
    Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Pools, their settings and what they are for.
///
/// A pool that is not there is made; settings of one that is there are compared one by one. With `application: rbd` it
/// is also made ready for images (`rbd pool init`). The way back removes a pool that this run made, and only while it is
/// empty: the cluster must allow it (`mon_allow_pool_delete`). `state: absent` removes an empty pool and needs the
/// waiver `irreversible`; one with objects is never removed.
///
/// What is left where images were (their directory, their trash) counts as empty; an object in whatever namespace, an image
/// in the trash, mirroring do not: such a pool stays, and undo says so.
///
/// Errors: a setting that a pool has not, or that Ceph refuses. Source: Ceph's Documentation/rados/operations/pools.rst.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CephPool {
    /// The pool.
    pub name: String,
    /// Whether it shall be there.
    #[serde(default)]
    pub state: PoolState,
    /// How many placement groups, where it is made; of a pool that is there `pg_num` of `settings` changes it.
    #[serde(default)]
    pub pg_num: Option<u32>,
    /// How many copies.
    #[serde(default)]
    pub size: Option<u32>,
    /// With how many copies it still serves.
    #[serde(default)]
    pub min_size: Option<u32>,
    /// The CRUSH rule by its name.
    #[serde(default)]
    pub crush_rule: Option<String>,
    /// Further settings of `ceph osd pool set`: `{pg_autoscale_mode: "off", nosizechange: true}`.
    #[serde(default)]
    pub settings: BTreeMap<String, Scalar>,
    /// What it is for: `rbd`, `cephfs`, `rgw`, or a name of your own.
    #[serde(default)]
    pub application: Option<String>,
    /// How the cluster is reached.
    #[serde(default)]
    pub cluster: Cluster,
}

/// Whether a pool shall be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PoolState {
    /// It is there.
    #[default]
    Present,
    /// It is not.
    Absent,
}

/// What is said of a setting that the pool has no value of its own for.
const UNSET: &str = "(unset)";
/// What Ceph answers of a setting that there is not.
const EINVAL: i32 = 22;

/// One setting on its way.
struct Setting {
    name: String,
    wanted: String,
}

impl CephPool {
    fn settings(&self) -> Result<Vec<Setting>, Stop> {
        let plain = |name: &str| {
            !name.is_empty() && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
        };
        let mut settings: Vec<Setting> = [("size", self.size), ("min_size", self.min_size)]
            .into_iter()
            .filter_map(|(name, value)| Some(Setting { name: name.to_owned(), wanted: value?.to_string() }))
            .collect();
        settings.extend(
            self.crush_rule.iter().map(|rule| Setting { name: "crush_rule".into(), wanted: rule.clone() }),
        );
        for (name, value) in &self.settings {
            if !plain(name) {
                return Err(Stop::refused("settings", format!("`{name}` is no setting of a pool")));
            }
            if settings.iter().any(|setting| setting.name == *name) {
                return Err(Stop::refused("settings", format!("`{name}` is named twice")));
            }
            settings.push(Setting { name: name.clone(), wanted: value.text() });
        }
        Ok(settings)
    }

    fn check(&self) -> Result<(), Stop> {
        if self.name.is_empty() || self.name.starts_with(['-', '.']) || self.name.contains(['/', '\n']) {
            return Err(Stop::refused("name", format!("`{}` is no name of a pool", self.name)));
        }
        if self.size == Some(1) {
            return Err(Stop::refused("size", "a pool with one copy loses its data with the first disk")
                .way_out("a laboratory that wants it sets `mon_allow_pool_size_one`, and the size by `ceph osd pool set`"));
        }
        if self.application.as_ref().is_some_and(|name| name.is_empty() || name.starts_with('-')) {
            return Err(Stop::refused("application", "that is no application"));
        }
        Ok(())
    }

    fn state_row(&self, shell: &Shell) -> Row {
        shell.row("ceph-pool-state", [&self.name])
    }

    /// A pool that is made by this run.
    fn made(&self, facts: &Facts, shell: &Shell, fsid: &str, change: &mut Change) -> Result<(), Stop> {
        let row = self.state_row(shell);
        let before = facts.get(&Read::Ask(row.clone()))?;
        let mut words = vec![self.name.clone()];
        words.extend(self.pg_num.iter().map(u32::to_string));
        let remove = shell.row("ceph-pool-remove-empty", [&self.name]);
        let spoils_to = |word: &str| {
            let mut spoils = self.spoils();
            spoils.push(Spoil::Becomes(Read::Ask(row.clone()), Seen::Output(Output::ok(word))));
            spoils
        };
        let back = Back::Exactly(Act::Call { row: remove, spoils: spoils_to("gone\n") });
        let spoils = spoils_to("there\n");
        let after = Match::Exactly(Seen::Output(Output::ok("there\n")));
        change.steps.push(Step::call_seen(
            self.claim(fsid, "made"),
            shell.row("ceph-pool-create", words),
            spoils,
            (Read::Ask(row), before, after),
            back,
        ));
        change.diff.push(Diff::Value {
            name: format!("pool {}", self.name),
            before: None,
            after: Some(format!(
                "made{}",
                self.pg_num.map(|groups| format!(" with {groups} placement groups")).unwrap_or_default()
            )),
        });
        for setting in self.settings()? {
            // What a new pool has is the cluster's default, which is known only when it is made.
            let row = shell.row("ceph-pool-set", [&self.name, &setting.name, &setting.wanted]);
            let claim = self.claim(fsid, &setting.name);
            change.steps.push(Step::call(claim, row, Vec::new(), Back::Nothing));
            change.diff.push(Diff::Value {
                name: format!("pool {} {}", self.name, setting.name),
                before: None,
                after: Some(setting.wanted),
            });
        }
        if let Some(application) = &self.application {
            change.steps.extend(self.for_application(shell, fsid, application, Back::Nothing));
        }
        change.effect = Effect::CreationOnly;
        Ok(())
    }

    fn for_application(&self, shell: &Shell, fsid: &str, application: &str, back: Back) -> Vec<Step> {
        let row = shell.row("ceph-pool-application", [&self.name, application]);
        let mut steps = vec![Step::call(self.claim(fsid, "application"), row, self.spoils(), back)];
        if application == "rbd" {
            let init = shell.row("rbd-pool-init", [&self.name]);
            steps.push(Step::call(self.claim(fsid, "init"), init, Vec::new(), Back::Nothing));
        }
        steps
    }

    /// A pool that is there.
    fn kept(&self, facts: &Facts, shell: &Shell, fsid: &str, change: &mut Change) -> Result<(), Stop> {
        let settings = self.settings()?;
        let look = |setting: &Setting| shell.row("ceph-pool-setting", [&self.name, &setting.name]);
        let mut reads: Vec<Read> = settings.iter().map(look).map(Read::Ask).collect();
        if self.application.is_some() {
            reads.push(Read::Ask(self.applications_row(shell)));
        }
        facts.need(&reads)?;
        for setting in &settings {
            let row = look(setting);
            let now = self.setting_now(facts, shell, (&setting.name, &row))?;
            let same = same(&now, &setting.wanted);
            change.evidence.push(Evidence::told(
                format!("{} of pool {} is {}", setting.name, self.name, setting.wanted),
                "ceph osd pool get",
                (same, false),
                now.clone(),
                Effect::Now,
            ));
            if same {
                continue;
            }
            let set = |value: &str| shell.row("ceph-pool-set", [&self.name, &setting.name, value]);
            let before = facts.get(&Read::Ask(row.clone()))?;
            let back = match now.as_str() {
                UNSET => shell.row("ceph-pool-setting-unset", [&self.name, &setting.name]),
                now => set(now),
            };
            let back = Back::Exactly(Act::Call { row: back, spoils: self.spoils() });
            let after =
                Match::Alike { shape: shape_of(&setting.wanted), value: written(&now, &setting.wanted) };
            change.steps.push(Step::call_seen(
                self.claim(fsid, &setting.name),
                set(&setting.wanted),
                self.spoils(),
                (Read::Ask(row), before, after),
                back,
            ));
            change.diff.push(Diff::Value {
                name: format!("pool {} {}", self.name, setting.name),
                before: (now != UNSET).then_some(now),
                after: Some(setting.wanted.clone()),
            });
        }
        let Some(application) = &self.application else { return Ok(()) };
        let have = shell.text(facts, &self.applications_row(shell))?;
        if have.lines().any(|line| line.trim() == application) {
            return Ok(());
        }
        let gone = shell.row("ceph-pool-application-gone", [&self.name, application]);
        let back = Back::Exactly(Act::Call { row: gone, spoils: self.spoils() });
        change.steps.extend(self.for_application(shell, fsid, application, back));
        Ok(())
    }

    /// What a pool has for a setting; [`UNSET`] where it has no value of its own.
    fn setting_now(&self, facts: &Facts, shell: &Shell, (name, row): (&str, &Row)) -> Result<String, Stop> {
        let output = facts.output(row)?;
        match output.status {
            0 => Ok(output.text().trim().to_owned()),
            EINVAL => Err(Stop::refused("settings", format!("a pool has no setting `{name}`"))
                .way_out("`ceph osd pool get POOL all` lists them")),
            _ => Err(shell.trouble(row, &output).blame("settings")),
        }
    }

    fn applications_row(&self, shell: &Shell) -> Row {
        shell.row("ceph-pool-applications", [&self.name])
    }

    fn gone(&self, facts: &Facts, shell: &Shell, fsid: &str, change: &mut Change) -> Result<(), Stop> {
        let row = self.state_row(shell);
        let before = facts.get(&Read::Ask(row.clone()))?;
        let mut spoils = self.spoils();
        spoils.push(Spoil::Becomes(Read::Ask(row.clone()), Seen::Output(Output::ok("gone\n"))));
        let after = Match::Exactly(Seen::Output(Output::ok("gone\n")));
        change.steps.push(Step::call_seen(
            self.claim(fsid, "made"),
            shell.row("ceph-pool-remove-empty", [&self.name]),
            spoils,
            (Read::Ask(row), before, after),
            Back::None { why: "a pool that is made again has another number and other settings".to_owned() },
        ));
        change.risks.push(Risk {
            name: RiskName::Irreversible,
            why: format!("the pool {} is removed, where it is empty", self.name),
        });
        Ok(())
    }

    fn spoils(&self) -> Vec<Spoil> {
        ["ceph-osd-dump", "ceph-pool-setting", "ceph-pool-applications", "ceph-health"]
            .map(|name| Spoil::Answers(name.to_owned()))
            .to_vec()
    }

    fn claim(&self, fsid: &str, part: &str) -> Claim {
        Claim::new("ceph", &format!("{fsid}/pool/{}/{part}", self.name))
    }
}

/// Whether two values of a setting mean the same: `on` is `true` is `1`.
fn same(now: &str, wanted: &str) -> bool {
    now == wanted
        || Shape::Number.alike(now, wanted)
        || truth(now).is_some_and(|now| Some(now) == truth(wanted))
}

fn truth(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Some(true),
        "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// A value in the words in which Ceph shows this setting.
fn written(now: &str, wanted: &str) -> String {
    match (now, truth(wanted)) {
        ("true" | "false", Some(value)) => value.to_string(),
        _ => wanted.to_owned(),
    }
}

fn shape_of(wanted: &str) -> Shape {
    if wanted.parse::<u64>().is_ok() { Shape::Number } else { Shape::Words }
}

impl Module for CephPool {
    const NAME: &'static str = "ceph_pool";
    const SCOPE: Scope = Scope::Cluster;
    const EXAMPLE: &'static str = "\
- name: A pool for the guests' images
  ceph_pool:
    name: libvirt-pool
    pg_num: 128
    application: rbd
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("pool", "name"), ("rule_name", "crush_rule")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        let settings = self.settings()?;
        let shell = self.cluster.shell(facts)?;
        let row = self.state_row(&shell);
        shell.need(facts, [&row])?;
        let fsid = shell.fsid(facts)?;
        let there = shell.text(facts, &row)?.trim() == "there";
        let mut change = Change { cluster: Some(fsid.clone()), ..Change::default() };
        match (self.state, there) {
            (PoolState::Present, false) => self.made(facts, &shell, &fsid, &mut change)?,
            (PoolState::Present, true) => self.kept(facts, &shell, &fsid, &mut change)?,
            (PoolState::Absent, true) => self.gone(facts, &shell, &fsid, &mut change)?,
            (PoolState::Absent, false) => {}
        }
        let names: Vec<&str> = settings.iter().map(|setting| setting.name.as_str()).collect();
        change.result = json!({ "fsid": fsid, "pool": self.name, "was_there": there, "settings": names });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let cluster = Cluster { by: Some(super::cluster::By::Host), ..Cluster::default() };
        let Ok(shell) = cluster.shell(&Facts::default()) else { return Vec::new() };
        let answer = |text: &str| Seen::Output(Output::ok(text));
        let none = Seen::Output(Output { status: 2, stdout: "".into(), stderr: "".into() });
        let state = Read::Ask(shell.row("ceph-pool-state", ["vms"]));
        let size = Read::Ask(shell.row("ceph-pool-setting", ["vms", "size"]));
        let host = |there: &str| {
            Host::new()
                .file("/usr/bin/ceph", "#!")
                .file("/etc/ceph/ceph.conf", "[global]\n")
                .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
                .answer(shell.plain("ceph-orch-status"), none.clone())
                .answer(shell.row("ceph-pool-state", ["vms"]), answer(there))
                .answer(shell.row("ceph-pool-setting", ["vms", "size"]), answer("3\n"))
                .answer(shell.row("ceph-pool-applications", ["vms"]), answer("rbd\n"))
        };
        let set = |value: &str| shell.row("ceph-pool-set", ["vms", "size", value]);
        let calls = || {
            vec![
                (shell.row("ceph-pool-create", ["vms", "32"]), vec![(state.clone(), answer("there\n"))]),
                (shell.row("ceph-pool-remove-empty", ["vms"]), vec![(state.clone(), answer("gone\n"))]),
                (set("2"), vec![(size.clone(), answer("2\n"))]),
                (set("3"), vec![(size.clone(), answer("3\n"))]),
            ]
        };
        let sample = |about, args, host| Sample { about, args, host, calls: calls() };
        vec![
            sample("made", json!({ "name": "vms", "pg_num": 32 }), host("gone\n")),
            sample("fewer copies", json!({ "name": "vms", "size": 2 }), host("there\n")),
            sample("as it is", json!({ "name": "vms", "size": 3, "application": "rbd" }), host("there\n")),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    #[test]
    fn a_pool_of_this_run_goes_only_while_it_is_empty() {
        let host = CephPool::samples()[0].host.clone();
        let change = planned::<CephPool>(&host, json!({ "name": "vms", "pg_num": 32, "application": "rbd" }));
        let Back::Exactly(Act::Call { row, .. }) = &change.steps[0].back else { panic!() };
        assert_eq!(row.name, "ceph-pool-remove-empty");
        assert_eq!(change.steps.len(), 3, "made, for rbd, ready for images");
    }

    #[test]
    fn a_setting_without_a_value_of_its_own_goes_back_to_that() {
        let cluster = Cluster { by: Some(crate::ceph::cluster::By::Host), ..Cluster::default() };
        let shell = cluster.shell(&Facts::default()).unwrap();
        let host = CephPool::samples()[1].host.clone();
        let row = shell.row("ceph-pool-setting", ["vms", "compression_mode"]);
        let args = json!({ "name": "vms", "settings": { "compression_mode": "force" } });
        let unset = host.clone().answer(row.clone(), Seen::Output(Output::ok("(unset)\n")));
        let change = planned::<CephPool>(&unset, args.clone());
        let Back::Exactly(Act::Call { row: back, .. }) = &change.steps[0].back else { panic!() };
        assert_eq!(back.name, "ceph-pool-setting-unset");
        let wrong = Seen::Output(Output { status: EINVAL, stdout: "".into(), stderr: "EINVAL".into() });
        assert!(
            refusal::<CephPool>(&host.answer(row, wrong), args).contains("no setting `compression_mode`")
        );
    }

    #[test]
    fn truth_is_compared_by_meaning() {
        for (now, wanted, is) in
            [("true", "1", true), ("off", "off", true), ("false", "yes", false), ("3", "03", true)]
        {
            assert_eq!(same(now, wanted), is, "{now} {wanted}");
        }
    }

    #[test]
    fn removing_needs_a_waiver() {
        let host = CephPool::samples()[1].host.clone();
        let change = planned::<CephPool>(&host, json!({ "name": "vms", "state": "absent" }));
        assert_eq!(change.risks[0].name, RiskName::Irreversible);
        assert!(refusal::<CephPool>(&host, json!({ "name": "-x" })).contains("no name"));
    }
}
