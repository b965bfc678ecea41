//! `ceph_msgr_mode`: whether a cluster's connections are encrypted, reached without locking anybody out.
mod peers;
mod rung;

pub use rung::Rung;

use super::answers::{Crush, Stored};
use super::cluster::{Cluster, Shell};
use crate::host::Host;
use crate::module::{Module, Sample, Scope};
use crate::shape::Shape;
use crate::vocabulary::{
    Act, Activation, Back, Change, Claim, Diff, Effect, Evidence, Facts, Match, Output, Read, Risk, RiskName,
    Row, Seen, Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Whether a cluster's connections are encrypted, reached without locking anybody out.
///
/// Sets `ms_cluster_mode`, `ms_service_mode` and `ms_client_mode` by `modes`, and the three `ms_mon_*_mode` by `mon`, in
/// section `global` of the mons' database. Ceph itself takes any text for them and then hangs; a daemon that insists on
/// what its peers do not offer is cut off without a word and without a health warning. So a task goes one rung of the
/// ladder `crc`, `crc secure`, `secure crc`, `secure`: both modes are offered everywhere before one of them is required.
/// A task that would skip a rung is refused with the tasks that do not.
///
/// New connections heed a mode at once, old ones never: when the order changes, the OSDs connect anew one after
/// another, each after it may stop and when all placement groups are clean again (about as long as a short restart;
/// clients wait for a moment). Clients and guests must connect anew by themselves.
///
/// Before one mode alone is required (`secure` or `crc`), the mons' sessions are looked at, and one that speaks the old
/// protocol is refused with its address; and `proof` must hold what `ceph_connections` saw on the OSD hosts, for each
/// OSD. Kernel mounts follow the mount option `ms_mode=`, which nothing but a live connection tells.
///
/// The way back goes the same rungs down. Where the mons alone lock everybody out, this mends it:
/// `ceph --ms_mon_client_mode="secure crc" config rm global ms_mon_client_mode`; whether that command would reach the
/// mons is tried while planning.
///
/// Errors: a stored value that is no mode, the three unlike, a section or mask with a mode of its own, a rung skipped,
/// sessions that cannot, OSDs that are not in the proof. Source: Ceph's Documentation/rados/configuration/msgr2.rst, and
/// trials on 16.2.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CephMsgrMode {
    /// The rung of data: `crc secure` (Ceph's default), `secure crc`, `secure` or `crc`.
    pub modes: Rung,
    /// The rung of the mons' connections; stays as it is where it is not said. Ceph's default is `secure crc`.
    #[serde(default)]
    pub mon: Option<Rung>,
    /// Whether OSDs connect anew when the order changes. Without it old connections stay as they are until a restart.
    #[serde(default = "crate::argument::yes")]
    pub reconnect: bool,
    /// How long to wait for each OSD and for clean placement groups, in seconds.
    #[serde(default = "five_minutes")]
    pub wait: u32,
    /// What `ceph_connections` registered, one result or a list of them: needed before one mode alone is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Json>,
    /// How the cluster is reached.
    #[serde(default)]
    pub cluster: Cluster,
}

fn five_minutes() -> u32 {
    300
}

/// The options of data, in the order in which they are set.
const DATA: [&str; 3] = ["ms_cluster_mode", "ms_service_mode", "ms_client_mode"];
/// The options of the mons' connections: what the mons offer before what their clients insist on.
const MON: [&str; 3] = ["ms_mon_cluster_mode", "ms_mon_service_mode", "ms_mon_client_mode"];
const ENOENT: i32 = 2;

/// One group of three options on its way.
struct Group {
    names: [&'static str; 3],
    default: Rung,
    wanted: Rung,
    argument: &'static str,
}

impl CephMsgrMode {
    fn groups(&self) -> Vec<Group> {
        let data = Group { names: DATA, default: Rung::CrcSecure, wanted: self.modes, argument: "modes" };
        let mon =
            self.mon.map(|wanted| Group { names: MON, default: Rung::SecureCrc, wanted, argument: "mon" });
        std::iter::once(data).chain(mon).collect()
    }

    fn rows(&self, shell: &Shell) -> Vec<Row> {
        let mut rows = vec![shell.plain("ceph-config-dump"), shell.plain("ceph-osd-tree")];
        rows.extend(self.groups().iter().flat_map(|group| group.names).map(|name| key_row(shell, name)));
        if self.requires_one() {
            rows.push(shell.plain("ceph-mon-sessions"));
        }
        if self.mon.is_some() {
            rows.push(shell.plain("ceph-rescue"));
        }
        rows
    }

    /// Whether one mode alone is asked for.
    fn requires_one(&self) -> bool {
        self.groups().iter().any(|group| !group.wanted.offers_both())
    }

    /// The OSDs in the order of connecting anew: CRUSH host by CRUSH host.
    fn osds(&self, facts: &Facts, shell: &Shell) -> Result<Vec<i64>, Stop> {
        let tree: Crush = shell.json(facts, &shell.plain("ceph-osd-tree"))?;
        let mut osds: Vec<i64> = Vec::new();
        for host in tree.names("host") {
            osds.extend(tree.bucket("host", host).map(|bucket| tree.below(bucket)).unwrap_or_default());
        }
        osds.extend(tree.osds().keys());
        let mut seen = std::collections::BTreeSet::new();
        osds.retain(|id| seen.insert(*id));
        let up = tree.osds();
        Ok(osds
            .into_iter()
            .filter(|id| up.get(id).is_some_and(|osd| osd.status.as_deref() == Some("up")))
            .collect())
    }

    fn group(
        &self,
        facts: &Facts,
        shell: &Shell,
        (fsid, group): (&str, &Group),
        change: &mut Change,
    ) -> Result<bool, Stop> {
        let mut stored = Vec::new();
        for name in group.names {
            let row = key_row(shell, name);
            let seen = facts.get(&Read::Ask(row.clone()))?;
            let text = match &seen {
                Seen::Output(output) if output.status == 0 => Some(output.text().trim().to_owned()),
                Seen::Output(output) if output.status == ENOENT => None,
                Seen::Output(output) => return Err(shell.trouble(&row, output)),
                _ => return Err(Stop::failed(format!("the stored value of {name} cannot be read"))),
            };
            let rung = text
                .as_deref()
                .map_or(Some(group.default), Rung::parse)
                .ok_or_else(|| no_mode(name, text.as_deref()))?;
            stored.push((name, text, rung, seen));
        }
        let rungs: Vec<Rung> = stored.iter().map(|(_, _, rung, _)| *rung).collect();
        group.may_go(&rungs)?;
        let mut moved = false;
        for (name, text, rung, seen) in stored {
            if rung == group.wanted {
                continue;
            }
            moved = true;
            change.steps.push(set(shell, fsid, name, (text.as_deref(), seen), group.wanted));
            change.diff.push(Diff::Value {
                name: format!("global {name}"),
                before: Some(text.unwrap_or_else(|| format!("{rung} (default)"))),
                after: Some(group.wanted.to_string()),
            });
        }
        Ok(moved)
    }
}

impl Group {
    /// Refuses what skips a rung.
    fn may_go(&self, rungs: &[Rung]) -> Result<(), Stop> {
        for rung in rungs {
            let way = rung.way_to(self.wanted);
            if way.len() > 1 {
                let tasks: Vec<String> = way
                    .iter()
                    .map(|rung| format!("`ceph_msgr_mode: {{{}: {rung}}}`", self.argument))
                    .collect();
                return Err(Stop::refused(
                    self.argument,
                    format!("from `{rung}` to `{}` skips a rung: daemons that connect meanwhile would find no mode in common and hang", self.wanted),
                )
                .way_out(format!("go one rung a task: {}", tasks.join(", then "))));
            }
        }
        Ok(())
    }
}

fn key_row(shell: &Shell, name: &str) -> Row {
    shell.row("ceph-config-key-get", [format!("config/global/{name}")])
}

fn no_mode(name: &str, text: Option<&str>) -> Stop {
    Stop::failed(format!(
        "{name} is stored as `{}`, which is no mode: Ceph takes it and every new connection hangs",
        text.unwrap_or_default()
    ))
    .way_out(format!("remove it first: `ceph config rm global {name}`"))
}

fn set(shell: &Shell, fsid: &str, name: &str, (text, seen): (Option<&str>, Seen), wanted: Rung) -> Step {
    let spoils =
        vec![Spoil::Answers("ceph-config-dump".to_owned()), Spoil::Answers("ceph-config-show".to_owned())];
    let act = |value: &str| shell.row("ceph-config-set", ["global", name, "--", value]);
    let back = match text {
        Some(text) => act(text),
        None => shell.row("ceph-config-rm", ["global", name]),
    };
    let back = Back::Exactly(Act::Call { row: back, spoils: spoils.clone() });
    let claim = Claim::new("ceph", &format!("{fsid}/config/global/{name}"));
    let after = Match::Alike { shape: Shape::Words, value: wanted.to_string() };
    let look = Read::Ask(key_row(shell, name));
    Step::call_seen(claim, act(wanted.as_str()), spoils, (look, seen, after), back)
}

impl Module for CephMsgrMode {
    const NAME: &'static str = "ceph_msgr_mode";
    const SCOPE: Scope = Scope::Cluster;
    const EXAMPLE: &'static str = "\
- name: Encryption is preferred, and both modes are offered
  ceph_msgr_mode:
    modes: secure crc
    mon: secure crc
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("mode", "modes")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let shell = self.cluster.shell(facts)?;
        let rows = self.rows(&shell);
        shell.need(facts, &rows)?;
        let fsid = shell.fsid(facts)?;
        shell.no_upgrade(facts)?;
        let dump: Vec<Stored> = shell.json(facts, &shell.plain("ceph-config-dump"))?;
        peers::no_other_section(&dump)?;
        let mut change = Change { cluster: Some(fsid.clone()), ..Change::default() };
        let mut moved = false;
        for group in self.groups() {
            let one = self.group(facts, &shell, (&fsid, &group), &mut change)?;
            if one && !group.wanted.offers_both() {
                peers::can_all(facts, &shell)?;
            }
            if one && group.argument == "mon" {
                peers::rescue(facts, &shell)?;
            }
            moved |= one && group.argument == "modes";
        }
        let osds = self.osds(facts, &shell)?;
        if moved && !self.modes.offers_both() {
            peers::proven(self.proof.as_ref(), &osds, self.modes)?;
        }
        if moved && self.reconnect && self.modes.offers_both() && !osds.is_empty() {
            let ids = osds.iter().map(i64::to_string);
            let operands = std::iter::once(self.wait.to_string()).chain(ids);
            change.then.insert(Activation::Reload(shell.row_within("ceph-osd-reconnect", 30, operands)));
            change.notes.push(format!(
                "{} OSDs connect anew one after another; clients and guests must connect anew by themselves",
                osds.len()
            ));
        }
        if moved && self.mon.is_none() {
            change.notes.push(
                "the mons' own connections follow `mon`, which is not said: their default is `secure crc`"
                    .to_owned(),
            );
        }
        change.evidence.push(Evidence::not_available(
            format!("connections are {}", self.modes),
            "live connections",
            "options tell nothing of connections that stand; `ceph_connections` looks at them",
        ));
        change.effect = Effect::Now;
        change.result = json!({ "fsid": fsid, "modes": self.modes, "mon": self.mon, "osds": osds });
        if !change.steps.is_empty() && self.requires_one() {
            change.risks.push(Risk {
                name: RiskName::BlastRadiusCluster,
                why: format!(
                    "whoever cannot speak `{}` loses the cluster at its next connection",
                    self.modes
                ),
            });
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples()
    }
}

fn samples() -> Vec<Sample> {
    let cluster = Cluster { by: Some(super::cluster::By::Host), ..Cluster::default() };
    let Ok(shell) = cluster.shell(&Facts::default()) else { return Vec::new() };
    let answer = |text: &str| Seen::Output(Output::ok(text));
    let none = || Seen::Output(Output { status: ENOENT, stdout: "".into(), stderr: "Error ENOENT: ".into() });
    let tree = r#"{"nodes":[{"id":-1,"name":"default","type":"root","children":[-2]},{"id":-2,"name":"h0","type":"host","children":[0]},{"id":0,"name":"osd.0","type":"osd","status":"up"}],"stray":[]}"#;
    let host = |stored: &dyn Fn() -> Seen| {
        let mut host = Host::new()
            .file("/usr/bin/ceph", "#!")
            .file("/etc/ceph/ceph.conf", "[global]\n")
            .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
            .answer(shell.plain("ceph-orch-status"), none())
            .answer(shell.plain("ceph-config-dump"), answer("[]"))
            .answer(shell.plain("ceph-osd-tree"), answer(tree));
        for name in DATA {
            host = host.answer(key_row(&shell, name), stored());
        }
        host
    };
    let calls = || {
        let mut calls = Vec::new();
        for name in DATA {
            for rung in Rung::ALL {
                let row = shell.row("ceph-config-set", ["global", name, "--", rung.as_str()]);
                calls.push((row, vec![(Read::Ask(key_row(&shell, name)), answer(rung.as_str()))]));
            }
            let row = shell.row("ceph-config-rm", ["global", name]);
            calls.push((row, vec![(Read::Ask(key_row(&shell, name)), none())]));
        }
        calls
    };
    let sample = |about, args, host| Sample { about, args, host, calls: calls() };
    vec![
        sample("encryption is preferred", json!({ "modes": "secure crc" }), host(&none)),
        sample("as it is already", json!({ "modes": "crc secure" }), host(&none)),
        sample("one rung down", json!({ "modes": "secure crc" }), host(&|| answer("secure"))),
        sample("a rung skipped", json!({ "modes": "secure" }), host(&none)),
    ]
}

#[cfg(test)]
mod tests;
