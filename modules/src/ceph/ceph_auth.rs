//! `ceph_auth`: clients of a cluster and what they may do.
use super::cluster::{Cluster, Shell};
use crate::host::Host;
use crate::module::{Module, Sample, Scope};
use crate::vocabulary::{
    Act, Back, Change, Claim, Content, Diff, Effect, Evidence, Facts, HostPath, Image, Match, Meta, Output,
    Read, Risk, RiskName, Row, Seen, Spoil, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;

/// Clients of a cluster and what they may do.
///
/// The caps of a client are compared whole, without regard to the order of kinds. A client that is there with other
/// caps gets the new ones (`auth get-or-create` would fail); its key stays. The key is never shown, planned or kept in
/// the journal; `keyring` has the host itself write it to a file that only root reads.
///
/// The way back removes a client that this run made, or sets the caps of before. `state: absent` needs the waiver
/// `irreversible`: a key that is made again is another one.
///
/// Errors: a name without its kind (`client.NAME`), a kind of daemon that has no caps. Source: Ceph's
/// Documentation/rados/operations/user-management.rst.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CephAuth {
    /// The client with its kind: `client.libvirt`.
    pub name: String,
    /// What it may do, by kind of daemon: `{mon: profile rbd, osd: "profile rbd pool=libvirt-pool"}`.
    #[serde(default)]
    pub caps: BTreeMap<String, String>,
    /// Whether it shall be there.
    #[serde(default)]
    pub state: AuthState,
    /// A file on the host that its keyring is written to, where there is none; one that is there must hold its key.
    #[serde(default)]
    pub keyring: Option<String>,
    /// How the cluster is reached.
    #[serde(default)]
    pub cluster: Cluster,
}

/// Whether a client shall be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthState {
    /// It is there.
    #[default]
    Present,
    /// It is not.
    Absent,
}

const KINDS: [&str; 4] = ["mds", "mgr", "mon", "osd"];
const ENOENT: i32 = 2;

impl CephAuth {
    fn check(&self) -> Result<(), Stop> {
        let valid = self
            .name
            .split_once('.')
            .is_some_and(|(kind, id)| matches!(kind, "client" | "osd" | "mgr" | "mds") && !id.is_empty())
            && !self.name.chars().any(|letter| letter.is_whitespace() || letter.is_control());
        if !valid {
            return Err(Stop::refused("name", format!("`{}` is no name of a client", self.name))
                .way_out(format!("write its kind before it: `client.{}`", self.name)));
        }
        for (kind, text) in &self.caps {
            if !KINDS.contains(&kind.as_str()) {
                return Err(Stop::refused("caps", format!("`{kind}` has no caps"))
                    .way_out("kinds are mon, osd, mgr and mds"));
            }
            if text.contains(['"', '\n']) || text.trim().is_empty() {
                return Err(Stop::refused("caps", format!("the caps for `{kind}` cannot be `{text}`")));
            }
        }
        if self.state == AuthState::Present && self.caps.is_empty() {
            return Err(Stop::refused("caps", "a client without caps can do nothing"));
        }
        Ok(())
    }

    /// As the row shows them: `mon = "profile rbd"`, sorted.
    fn lines(&self) -> Vec<String> {
        self.caps.iter().map(|(kind, text)| format!("{kind} = \"{text}\"")).collect()
    }

    fn words(&self, caps: &BTreeMap<String, String>) -> Vec<String> {
        let mut words = vec![self.name.clone()];
        words.extend(caps.iter().flat_map(|(kind, text)| [kind.clone(), text.clone()]));
        words
    }

    fn look(&self, shell: &Shell) -> Row {
        shell.row("ceph-auth-caps", [&self.name])
    }

    fn caps_step(
        &self,
        shell: &Shell,
        fsid: &str,
        (seen, now): (Seen, Option<&BTreeMap<String, String>>),
    ) -> Step {
        let spoils = vec![Spoil::Answers("ceph-auth-caps".to_owned())];
        let (row, back) = match now {
            None => ("ceph-auth-make", shell.row("ceph-auth-remove", [&self.name])),
            Some(now) => ("ceph-auth-set-caps", shell.row("ceph-auth-set-caps", self.words(now))),
        };
        let lines = self.lines().join("\n");
        let after = Match::Exactly(Seen::Output(Output::ok(format!("{lines}\n"))));
        let back = Back::Exactly(Act::Call { row: back, spoils: spoils.clone() });
        let look = Read::Ask(self.look(shell));
        let row = shell.row(row, self.words(&self.caps));
        Step::call_seen(self.claim(fsid), row, spoils, (look, seen, after), back)
    }

    /// The keyring, written by the host itself: its text is a secret that nobody needs to see.
    fn keyring(&self, facts: &Facts, shell: &Shell, path: &HostPath) -> Result<Option<Step>, Stop> {
        if facts.stat(path)?.is_some() {
            let held =
                shell.text(facts, &shell.row("ceph-auth-keyring-held", [&self.name, path.as_str()]))?;
            if held.trim() == "same" {
                return Ok(None);
            }
            return Err(Stop::refused(
                "keyring",
                format!("{path} is there and does not hold the key of {}", self.name),
            )
            .way_out("name another file, or move that one away"));
        }
        let row = shell.row("ceph-auth-keyring", [self.name.as_str(), path.as_str()]);
        let meta = Meta { mode: Some(0o600), ..Meta::default() };
        let after = Match::Image(Image::File { content: Content::Same, meta });
        let back = Back::Exactly(Act::Put { path: path.clone(), image: Image::Absent, validate: None });
        let spoils = vec![Spoil::Below(path.clone())];
        // Its digest alone: undo takes away the file that was written, and no other one.
        let looked = (Read::digest(path), Seen::Absent, after);
        Ok(Some(Step::call_seen(Claim::file(path), row, spoils, looked, back)))
    }

    fn claim(&self, fsid: &str) -> Claim {
        Claim::new("ceph", &format!("{fsid}/auth/{}", self.name))
    }
}

/// The caps of the row's lines.
fn parsed(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| {
            let (kind, caps) = line.split_once('=')?;
            Some((kind.trim().to_owned(), caps.trim().trim_matches('"').to_owned()))
        })
        .collect()
}

fn shown(caps: &BTreeMap<String, String>) -> String {
    caps.iter().map(|(kind, text)| format!("{kind} \"{text}\"")).collect::<Vec<_>>().join(", ")
}

impl Module for CephAuth {
    const NAME: &'static str = "ceph_auth";
    const SCOPE: Scope = Scope::Cluster;
    const EXAMPLE: &'static str = "\
- name: libvirt may use images of its pool
  ceph_auth:
    name: client.libvirt
    caps:
      mon: profile rbd
      osd: profile rbd pool=libvirt-pool
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        let keyring = self
            .keyring
            .as_ref()
            .map(|path| HostPath::new(path))
            .transpose()
            .map_err(|why| Stop::refused("keyring", why))?;
        let shell = self.cluster.shell(facts)?;
        let look = self.look(&shell);
        shell.need(facts, [&look])?;
        let fsid = shell.fsid(facts)?;
        let seen = facts.get(&Read::Ask(look.clone()))?;
        let now = match &seen {
            Seen::Output(output) if output.status == 0 => Some(parsed(&output.text())),
            Seen::Output(output) if output.status == ENOENT => None,
            Seen::Output(output) => return Err(shell.trouble(&look, output)),
            _ => return Err(Stop::failed("the caps of the client cannot be read")),
        };
        let mut change = Change { cluster: Some(fsid.clone()), ..Change::default() };
        let is_so = now.as_ref() == Some(&self.caps);
        match self.state {
            AuthState::Present => {
                change.evidence.push(Evidence::told(
                    format!("{} may {}", self.name, shown(&self.caps)),
                    "ceph auth get",
                    (is_so, false),
                    now.as_ref().map_or_else(|| "no such client".to_owned(), shown),
                    Effect::Now,
                ));
                if !is_so {
                    change.steps.push(self.caps_step(&shell, &fsid, (seen, now.as_ref())));
                    change.diff.push(Diff::Value {
                        name: format!("caps of {}", self.name),
                        before: now.as_ref().map(shown),
                        after: Some(shown(&self.caps)),
                    });
                }
                if let Some(path) = &keyring {
                    change.steps.extend(self.keyring(facts, &shell, path)?);
                }
            }
            AuthState::Absent if now.is_some() => {
                let row = shell.row("ceph-auth-remove", [&self.name]);
                let back = Back::None { why: "a key that is made again is another one".to_owned() };
                let spoils = vec![Spoil::Answers("ceph-auth-caps".to_owned())];
                let looked = (Read::Ask(look), seen, Match::Status(ENOENT));
                change.steps.push(Step::call_seen(self.claim(&fsid), row, spoils, looked, back));
                change.risks.push(Risk {
                    name: RiskName::Irreversible,
                    why: format!("whoever uses the key of {} loses the cluster", self.name),
                });
            }
            AuthState::Absent => {}
        }
        change.result = json!({ "fsid": fsid, "name": self.name, "was_there": now.is_some() });
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        let cluster = Cluster { by: Some(super::cluster::By::Host), ..Cluster::default() };
        let Ok(shell) = cluster.shell(&Facts::default()) else { return Vec::new() };
        let answer = |text: &str| Seen::Output(Output::ok(text));
        let none =
            || Seen::Output(Output { status: ENOENT, stdout: "".into(), stderr: "Error ENOENT".into() });
        let name = "client.libvirt";
        let look = Read::Ask(shell.row("ceph-auth-caps", [name]));
        let host = |seen: Seen| {
            Host::new()
                .file("/usr/bin/ceph", "#!")
                .file("/etc/ceph/ceph.conf", "[global]\n")
                .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
                .answer(shell.plain("ceph-orch-status"), none())
                .answer(shell.row("ceph-auth-caps", [name]), seen)
        };
        let caps = ["mon", "profile rbd", "osd", "profile rbd pool=vms"];
        let wanted = "mon = \"profile rbd\"\nosd = \"profile rbd pool=vms\"\n";
        let old = "mon = \"allow r\"\n";
        let with = |words: &[&'static str]| [&[name], words].concat();
        let calls = || {
            vec![
                (shell.row("ceph-auth-make", with(&caps)), vec![(look.clone(), answer(wanted))]),
                (shell.row("ceph-auth-remove", [name]), vec![(look.clone(), none())]),
                (shell.row("ceph-auth-set-caps", with(&caps)), vec![(look.clone(), answer(wanted))]),
                (
                    shell.row("ceph-auth-set-caps", with(&["mon", "allow r"])),
                    vec![(look.clone(), answer(old))],
                ),
            ]
        };
        let args = json!({ "name": name, "caps": { "osd": "profile rbd pool=vms", "mon": "profile rbd" } });
        let sample = |about, seen| Sample { about, args: args.clone(), host: host(seen), calls: calls() };
        vec![sample("made", none()), sample("other caps", answer(old)), sample("as it is", answer(wanted))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{planned, refusal};

    #[test]
    fn caps_of_before_come_back_and_the_key_is_never_seen() {
        let sample = &CephAuth::samples()[1];
        let change = planned::<CephAuth>(&sample.host, sample.args.clone());
        let Back::Exactly(Act::Call { row, .. }) = &change.steps[0].back else { panic!() };
        assert_eq!(row.args[5..], ["client.libvirt", "mon", "allow r"]);
        let text = serde_json::to_string(&change).unwrap();
        assert!(!text.contains("key ="), "{text}");
    }

    #[test]
    fn names_and_kinds_are_checked() {
        let host = Host::new();
        let caps = json!({ "mon": "allow r" });
        assert!(
            refusal::<CephAuth>(&host, json!({ "name": "libvirt", "caps": caps })).contains("client.libvirt")
        );
        assert!(
            refusal::<CephAuth>(&host, json!({ "name": "client.a", "caps": { "ods": "x" } }))
                .contains("no caps")
        );
        assert!(refusal::<CephAuth>(&host, json!({ "name": "client.a" })).contains("can do nothing"));
    }

    #[test]
    fn removing_needs_a_waiver() {
        let host = CephAuth::samples()[2].host.clone();
        let change = planned::<CephAuth>(&host, json!({ "name": "client.libvirt", "state": "absent" }));
        assert_eq!(change.risks[0].name, RiskName::Irreversible);
    }
}
