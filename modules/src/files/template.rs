//! `template`: a file made from a template on the controller.
use super::copy::Copy;
use super::{Mode, is_false, is_true, yes};
use crate::host::Host;
use crate::vocabulary::{Bytes, Change, Facts, Owner, Stop};
use crate::{Module, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Renders a template of the controller and puts the text into a file of the host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Template {
    /// The template, found beside the playbook or in `templates/` of the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<String>,
    /// The file; a folder gets a file of the template's name.
    pub dest: String,
    /// The text (given by the runner, which renders the template).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub content: Option<Bytes>,
    /// The name of the template without its folders (given by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The mode of the template (given by the runner, for `mode: preserve`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_mode: Option<u32>,
    /// The mode of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The owner of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The group of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Owner>,
    /// Whether the old content is kept beside the file, under a name made from it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub backup: bool,
    /// Whether a file that is there already is replaced.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub force: bool,
    /// Whether a link is followed; else it is replaced by the file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub follow: bool,
    /// A command that must accept the new file before it is put in place; `%s` stands for its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validate: Option<String>,
    /// What ends the lines of the text (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newline_sequence: Option<String>,
    /// Whether the first newline behind a block goes (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim_blocks: Option<bool>,
    /// Whether blanks before a block go (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lstrip_blocks: Option<bool>,
    /// What begins an expression (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable_start_string: Option<String>,
    /// What ends an expression (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variable_end_string: Option<String>,
    /// What begins a block (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_start_string: Option<String>,
    /// What ends a block (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block_end_string: Option<String>,
    /// What begins a comment (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment_start_string: Option<String>,
    /// What ends a comment (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment_end_string: Option<String>,
    /// The encoding of the file: only `utf-8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_encoding: Option<String>,
    /// Accepted and not needed: a file that cannot be renamed over is written in place by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsafe_writes: bool,
}

impl Module for Template {
    const NAME: &'static str = "template";
    const EXAMPLE: &'static str = "\
- name: The cluster's configuration
  template:
    src: ceph.conf.j2
    dest: /etc/ceph/ceph.conf
    mode: '0644'
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let encoding = self.output_encoding.as_deref().unwrap_or("utf-8").to_lowercase();
        if encoding != "utf-8" && encoding != "utf8" {
            return Err(Stop::refused("output_encoding", format!("`{encoding}` is not supported")));
        }
        let copy = Copy {
            dest: self.dest.clone(),
            src: self.src.clone(),
            content: self.content.clone(),
            source: self.source.clone(),
            source_mode: self.source_mode,
            mode: self.mode.clone(),
            owner: self.owner.clone(),
            group: self.group.clone(),
            backup: self.backup,
            force: self.force,
            follow: self.follow,
            validate: self.validate.clone(),
            ..Copy::default()
        };
        copy.plan(facts)
    }

    fn samples() -> Vec<Sample> {
        let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
        vec![
            sample(
                "a template into a folder",
                json!({ "src": "t/ceph.conf.j2", "source": "ceph.conf.j2", "dest": "/etc/ceph", "content": "a\n" }),
                Host::new().dir("/etc/ceph"),
            ),
            sample(
                "a template over a file, with its mode and a backup",
                json!({ "src": "a.j2", "source": "a.j2", "dest": "/etc/a", "content": "é 'x' $(y)\n",
                        "mode": "preserve", "source_mode": 0o600, "backup": true }),
                Host::new().file("/etc/a", "old\n"),
            ),
            sample(
                "nothing was rendered yet",
                json!({ "src": "a.j2", "dest": "/etc/a" }),
                Host::new().dir("/etc"),
            ),
        ]
    }
}
