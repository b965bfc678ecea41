//! `ceph_msgr_mode`: whether a cluster's connections are encrypted, reached without locking anybody out.
mod peers;
mod rung;

pub use rung::Rung;

use super::answers::{Crush, MonDump, Stored};
use super::cluster::{Cluster, Shell};
use crate::host::Host;
use crate::module::{Module, Sample, Scope};
use crate::shape::Shape;
use crate::vocabulary::{
    Act, Activation, Back, Change, Claim, Diff, Effect, Facts, Match, Output, Read, Risk, RiskName, Row,
    Seen, Spoil, Step, Stop,
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
/// A task that would skip a rung is refused with the tasks that do not. Say `toward:` where a rung is only on the way:
/// a cluster that stands between the two is left alone, so that a playbook of rungs changes nothing when it is played again.
///
/// What the daemons hold must be what is stored: a mode in a ceph.conf or on a command line wins over the mons' database,
/// and is refused with the daemon that holds it.
///
/// New connections heed a mode at once, old ones never: when the order changes, the OSDs connect anew one after
/// another, each after it may stop and when all placement groups are clean again (about as long as a short restart;
/// clients wait for a moment). Clients and guests must connect anew by themselves.
///
/// Before one mode alone is required (`secure` or `crc`), the mons' sessions are looked at, and one that speaks the old
/// protocol is refused with its address; and `proof` must hold what `ceph_connections` saw on the OSD hosts, for each
/// OSD, and for each mon where `mon` asks for one mode. Kernel mounts follow the mount option `ms_mode=`, which nothing but a live connection tells.
///
/// The way back goes the same rungs down. Where the mons alone lock everybody out, this mends it:
/// `ceph --ms_mon_client_mode="secure crc" config rm global ms_mon_client_mode`; whether that command would reach the
/// mons is tried while planning, and the plan shows it.
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
    /// The rung that a later task goes to: where the cluster stands between `modes` (or `mon`) and this, nothing is done.
    #[serde(default)]
    pub toward: Option<Rung>,
    /// Whether OSDs connect anew when the order changes. Without it old connections stay as they are until a restart.
    #[serde(default = "crate::argument::yes")]
    pub reconnect: bool,
    /// How long to wait for each OSD and for clean placement groups, in seconds.
    #[serde(default = "five_minutes")]
    pub wait: u32,
    /// What `ceph_connections` registered, one result or lists of them: needed before one mode alone is required.
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
    toward: Option<Rung>,
    argument: &'static str,
    daemons: &'static str,
}

/// What becomes of a group.
#[derive(Clone, Copy, Default)]
struct Moved {
    /// Whether an option changes.
    any: bool,
    /// Whether connections between peers of this rung change: those that stand must be made anew.
    turned: bool,
}

/// One option of a group as it is stored.
struct Kept {
    name: &'static str,
    text: Option<String>,
    rung: Rung,
    seen: Seen,
}

impl CephMsgrMode {
    fn groups(&self) -> Vec<Group> {
        let data = Group {
            names: DATA,
            default: Rung::CrcSecure,
            wanted: self.modes,
            toward: self.toward,
            argument: "modes",
            daemons: "osd.*",
        };
        let mon = self.mon.map(|wanted| Group {
            names: MON,
            default: Rung::SecureCrc,
            wanted,
            toward: self.toward,
            argument: "mon",
            daemons: "mon.*",
        });
        std::iter::once(data).chain(mon).collect()
    }

    fn rows(&self, shell: &Shell) -> Vec<Row> {
        let mut rows = vec![shell.plain("ceph-config-dump"), shell.plain("ceph-osd-tree")];
        for group in self.groups() {
            rows.extend(group.names.map(|name| key_row(shell, name)));
        }
        if self.requires_one() {
            rows.push(shell.plain("ceph-mon-sessions"));
        }
        if self.mon.is_some() {
            rows.extend([shell.plain("ceph-rescue"), shell.plain("ceph-mon-dump")]);
        }
        rows
    }

    /// Whether one mode alone is asked for.
    fn requires_one(&self) -> bool {
        self.groups().iter().any(|group| !group.wanted.offers_both())
    }

    /// The mons by their names: `mon.a`.
    fn mons(&self, facts: &Facts, shell: &Shell) -> Result<Vec<String>, Stop> {
        let dump: MonDump = shell.json(facts, &shell.plain("ceph-mon-dump"))?;
        Ok(dump.mons.iter().map(|mon| format!("mon.{}", mon.name)).collect())
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
        (fsid, group, kept): (&str, &Group, Vec<Kept>),
        change: &mut Change,
    ) -> Result<Moved, Stop> {
        let mut moved = Moved::default();
        for Kept { name, text, rung, seen } in kept {
            if group.is_there(rung) {
                continue;
            }
            moved.any = true;
            moved.turned |= rung.prefers() != group.wanted.prefers();
            peers::held(facts, shell, (group.daemons, name), rung)?;
            change.steps.push(set(shell, fsid, name, (text.as_deref(), seen), group.wanted));
            change.diff.push(Diff::Value {
                name: format!("global {name}"),
                before: Some(text.unwrap_or_else(|| format!("{rung} (default)"))),
                after: Some(group.wanted.to_string()),
            });
        }
        Ok(moved)
    }

    /// What is said of a change beside its steps.
    fn said(&self, change: &mut Change, moved: bool) {
        if moved && self.mon.is_none() {
            change.notes.push(
                "the mons' own connections follow `mon`, which is not said: their default is `secure crc`"
                    .to_owned(),
            );
        }
        if change.steps.is_empty() {
            return;
        }
        let is_far = self.toward.is_some_and(|rung| !rung.offers_both());
        if self.mon.is_some() || is_far {
            change.notes.push(format!("if the mons lock everybody out: `{RESCUE}`"));
        }
        if self.requires_one() || is_far {
            change
                .notes
                .push(format!("if daemons or clients hang: `{BACK}`, which the mons take all the while"));
        }
        if self.requires_one() {
            change.risks.push(Risk {
                name: RiskName::BlastRadiusCluster,
                why: format!(
                    "whoever cannot speak `{}` loses the cluster at its next connection",
                    self.modes
                ),
            });
        }
    }
}

/// What mends modes of the mons that lock everybody out.
const RESCUE: &str = "ceph --ms_mon_client_mode=\"secure crc\" config rm global ms_mon_client_mode";
/// What mends modes of data that let daemons and clients hang.
const BACK: &str =
    "for o in cluster service client; do ceph config set global ms_${o}_mode \"secure crc\"; done";

impl Group {
    /// What is stored of each option.
    fn kept(&self, facts: &Facts, shell: &Shell) -> Result<Vec<Kept>, Stop> {
        let mut kept = Vec::new();
        for name in self.names {
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
                .map_or(Some(self.default), Rung::parse)
                .ok_or_else(|| no_mode(name, text.as_deref()))?;
            kept.push(Kept { name, text, rung, seen });
        }
        Ok(kept)
    }

    /// Whether an option needs no change: it is on the rung that is wanted, or between that and where a later task goes.
    fn is_there(&self, rung: Rung) -> bool {
        let far = self.toward.unwrap_or(self.wanted);
        (self.wanted.min(far)..=self.wanted.max(far)).contains(&rung)
    }

    /// Refuses what skips a rung.
    fn may_go(&self, kept: &[Kept]) -> Result<(), Stop> {
        for Kept { rung, .. } in kept.iter().filter(|kept| !self.is_there(kept.rung)) {
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

fn held_row(shell: &Shell, daemons: &str, name: &str) -> Row {
    shell.row("ceph-tell-config-get", [daemons, name])
}

fn no_mode(name: &str, text: Option<&str>) -> Stop {
    Stop::failed(format!(
        "{name} is stored as `{}`, which is no mode: Ceph takes it and every new connection hangs",
        text.unwrap_or_default()
    ))
    .way_out(format!("remove it first: `ceph config rm global {name}`"))
}

fn set(shell: &Shell, fsid: &str, name: &str, (text, seen): (Option<&str>, Seen), wanted: Rung) -> Step {
    let look = Read::Ask(key_row(shell, name));
    let spoils = |becomes: Seen| {
        let mut spoils = ["ceph-config-dump", "ceph-config-show", "ceph-tell-config-get"]
            .map(|name| Spoil::Answers(name.to_owned()))
            .to_vec();
        spoils.push(Spoil::Becomes(look.clone(), becomes));
        spoils
    };
    let act = |value: &str| shell.row("ceph-config-set", ["global", name, "--", value]);
    let back = match text {
        Some(text) => act(text),
        None => shell.row("ceph-config-rm", ["global", name]),
    };
    let back = Back::Exactly(Act::Call { row: back, spoils: spoils(seen.clone()) });
    let there = spoils(Seen::Output(Output::ok(wanted.as_str())));
    let claim = Claim::new("ceph", &format!("{fsid}/config/global/{name}"));
    let after = Match::Alike { shape: Shape::Words, value: wanted.to_string() };
    let row = act(wanted.as_str());
    Step::call_seen(claim, row, there, (look, seen, after), back)
}

impl Module for CephMsgrMode {
    const NAME: &'static str = "ceph_msgr_mode";
    const SCOPE: Scope = Scope::Cluster;
    const EXAMPLE: &'static str = "\
- name: Encryption is preferred, and both modes are offered
  ceph_msgr_mode:
    modes: secure crc
    mon: secure crc
    toward: secure
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("mode", "modes")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let shell = self.cluster.shell(facts)?;
        let rows = self.rows(&shell);
        shell.need(facts, &rows)?;
        // Where nonsense is stored, no daemon can be asked: refused before that.
        let mut groups = Vec::new();
        let mut more = vec![shell.plain("ceph-fsid"), shell.plain("ceph-orch-status")];
        for group in self.groups() {
            let kept = group.kept(facts, &shell)?;
            let moves = kept.iter().filter(|kept| !group.is_there(kept.rung));
            more.extend(moves.map(|kept| held_row(&shell, group.daemons, kept.name)));
            groups.push((group, kept));
        }
        shell.need(facts, &more)?;
        let fsid = shell.fsid(facts)?;
        shell.no_upgrade(facts)?;
        let dump: Vec<Stored> = shell.json(facts, &shell.plain("ceph-config-dump"))?;
        peers::no_other_section(&dump)?;
        let mut change = Change { cluster: Some(fsid.clone()), ..Change::default() };
        let mut data = Moved::default();
        for (group, kept) in groups {
            group.may_go(&kept)?;
            let moved = self.group(facts, &shell, (&fsid, &group, kept), &mut change)?;
            if moved.any && !group.wanted.offers_both() {
                peers::can_all(facts, &shell)?;
            }
            match group.argument {
                "mon" if moved.any => {
                    peers::rescue(facts, &shell)?;
                    if !group.wanted.offers_both() {
                        peers::proven(self.proof.as_ref(), &self.mons(facts, &shell)?, group.wanted)?;
                    }
                }
                "mon" => {}
                _ => data = moved,
            }
        }
        let osds = self.osds(facts, &shell)?;
        if data.any && !self.modes.offers_both() {
            let daemons: Vec<String> = osds.iter().map(|id| format!("osd.{id}")).collect();
            peers::proven(self.proof.as_ref(), &daemons, self.modes)?;
        }
        if data.turned && self.reconnect && self.modes.offers_both() && !osds.is_empty() {
            let ids = osds.iter().map(i64::to_string);
            let operands = std::iter::once(self.wait.to_string()).chain(ids);
            change.then.insert(Activation::Reload(shell.row_within("ceph-osd-reconnect", 30, operands)));
            change.notes.push(format!(
                "{} OSDs connect anew one after another; clients and guests must connect anew by themselves",
                osds.len()
            ));
        }
        self.said(&mut change, data.any);
        change.evidence.push(peers::evidence(self.proof.as_ref(), self.modes));
        change.effect = Effect::Now;
        change.result = json!({ "fsid": fsid, "modes": self.modes, "mon": self.mon, "osds": osds });
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
            let held = match stored() {
                Seen::Output(output) if output.status == 0 => output.text(),
                _ => Rung::CrcSecure.to_string(),
            };
            host = host
                .answer(key_row(&shell, name), stored())
                .answer(held_row(&shell, "osd.*", name), answer(&json!({ name: held }).to_string()));
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
        sample(
            "past a rung on the way",
            json!({ "modes": "secure crc", "toward": "secure" }),
            host(&|| answer("secure")),
        ),
        sample("a rung skipped", json!({ "modes": "secure" }), host(&none)),
    ]
}

#[cfg(test)]
mod tests;
