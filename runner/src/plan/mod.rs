//! A plan as a file: reviewed by people, then applied exactly as it was reviewed.
//!
//! The file says what the plan was made from, with which options, and what it asks of each host. Equal plans of many
//! hosts are held once, by the SHA-256 of their text, and so are the contents of files; the file's own name is the
//! digest of all of it, so that a file that was edited or damaged is told apart.
pub mod approval;
mod compare;
mod seal;
mod store;

pub use compare::{Difference, differences, unreviewed};
pub(crate) use seal::is_private;
pub use store::{parse, to_text};

use crate::engine::walk::Walked;
use modules::vocabulary::{Activation, Bytes, Digest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// The version of the file's format.
pub const FORMAT: u16 = 1;

/// A plan that was saved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Saved {
    /// [`FORMAT`].
    pub format: u16,
    /// The digest of all that follows.
    pub id: String,
    /// The program's version.
    pub version: String,
    /// When it was made, RFC 3339 in UTC.
    pub made_at: String,
    /// Who made it, and where.
    pub by: String,
    /// The folder that relative names start from.
    pub folder: String,
    /// What it was made from.
    pub made_from: Vec<Origin>,
    /// What was asked for.
    pub options: Options,
    /// Hosts that could not be reached while planning: the plan does not speak of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// Each host's plan, by the digest of its text.
    #[schemars(with = "BTreeMap<String, String>")]
    pub hosts: BTreeMap<String, Digest>,
    /// The plans.
    pub plans: BTreeMap<String, Vec<Part>>,
    /// Contents of files that others than their owner may read, by digest.
    #[schemars(with = "BTreeMap<String, Json>")]
    pub contents: BTreeMap<String, Bytes>,
}

/// A file or a program's answer that a plan was made from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// What it is for.
    pub kind: OriginKind,
    /// Its path.
    pub name: String,
    /// SHA-256 of its bytes.
    pub digest: String,
}

/// What an [`Origin`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OriginKind {
    /// Plays, tasks and roles.
    Playbook,
    /// Hosts and groups.
    Inventory,
    /// What tasks bring to hosts: sources of copies, templates, scripts.
    Source,
    /// Variables: group_vars, host_vars, vars and defaults of roles, `-e @FILE`.
    Vars,
}

impl OriginKind {
    /// As people say it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Playbook => "playbook",
            Self::Inventory => "inventory",
            Self::Source => "source",
            Self::Vars => "vars",
        }
    }
}

/// What was asked for when the plan was made. `apply` asks for the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Options {
    /// The playbook.
    pub playbook: String,
    /// `-i`.
    pub inventories: Vec<String>,
    /// `--limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// `--tags`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// `--skip-tags`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skip_tags: Vec<String>,
    /// `--start-at-task`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at_task: Option<String>,
    /// `-e`, as it was typed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Vec<String>,
    /// `--vault-password-file`: names of files, never what is in them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub vault_password_files: Vec<String>,
    /// `--no-probes`.
    #[serde(default)]
    pub no_probes: bool,
    /// `--late`: parts that are decided later may be decided while the plan is applied.
    #[serde(default)]
    pub late: bool,
}

/// What one task asks of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// The task's name in its place: play, includes, number, item.
    pub key: String,
    /// What people call it.
    pub title: String,
    /// The loop's item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The module.
    pub module: String,
    /// The host that it acts on, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The cluster that it changes, by its fsid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// What it comes to.
    #[serde(flatten)]
    pub what: Asks,
}

impl Part {
    /// Title and item.
    pub fn name(&self) -> String {
        match &self.label {
            Some(label) => format!("{} [{label}]", self.title),
            None => self.title.clone(),
        }
    }
}

/// What a part comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum Asks {
    /// A change.
    Change {
        /// Its steps, each with claim, look, before, after and act; contents by digest.
        steps: Vec<Json>,
        /// What the states call for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[schemars(with = "Vec<Json>")]
        then: Vec<Activation>,
        /// Names of accepted risks.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        risks: Vec<String>,
    },
    /// Decided later.
    Late {
        /// After what.
        on: String,
    },
    /// A change that holds a secret. It is not in the file: it is decided again when the plan is applied.
    Open,
    /// It waits.
    Pause,
    /// It will fail.
    Fails {
        /// Why.
        why: String,
    },
}

impl Saved {
    /// Adds a host's plan.
    pub fn add(&mut self, host: &str, walked: &Walked) {
        let parts = seal::parts(host, walked, Some(&mut self.contents));
        let text = serde_json::to_vec(&parts).unwrap_or_default();
        let digest = Digest::of(&text);
        self.hosts.insert(host.to_owned(), digest);
        self.plans.entry(digest.to_string()).or_insert(parts);
    }

    /// What the plan asks of a host; nothing where it does not speak of it.
    pub fn parts(&self, host: &str) -> Option<&[Part]> {
        self.plans.get(&self.hosts.get(host)?.to_string()).map(Vec::as_slice)
    }

    /// Parts of any host that are not decided, by title.
    pub fn open(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .plans
            .values()
            .flatten()
            .filter_map(|part| match &part.what {
                Asks::Late { on } => Some(format!("{} (decided after {on})", part.name())),
                Asks::Open => Some(format!("{} (a secret is in it, which is not saved)", part.name())),
                _ => None,
            })
            .collect();
        names.dedup();
        names
    }

    /// What the plan was made from and has changed since, in words: one line for each file.
    pub fn moved(&self, now: &[Origin]) -> Vec<String> {
        let find = |of: &[Origin], wanted: &Origin| of.iter().find(|one| one.name == wanted.name).cloned();
        let mut lines = Vec::new();
        for then in &self.made_from {
            let kind = then.kind.word();
            match find(now, then) {
                Some(origin) if origin.digest == then.digest => {}
                Some(_) => lines.push(format!("{kind} {} has changed", then.name)),
                None => lines.push(format!("{kind} {} is not read any more", then.name)),
            }
        }
        for origin in now {
            if find(&self.made_from, origin).is_none() {
                lines.push(format!("{} {} is new", origin.kind.word(), origin.name));
            }
        }
        lines
    }
}
