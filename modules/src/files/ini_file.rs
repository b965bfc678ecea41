//! `ini_file`: one option of a file of sections.
use super::attributes::Attributes;
use super::edit::Edit;
use super::lineinfile::State;
use super::{Mode, is_false, is_true, place, yes};
use crate::host::Host;
use crate::regex::{narrow, widen};
use crate::vocabulary::{Bytes, Change, Claim, Facts, Owner, Stop};
use crate::{Module, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

mod sections;

use sections::Sections;

/// Ensures that an option of a section has a value, or that an option or a section is not there. All other bytes of
/// the file stay as they are, its kind of newline too.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IniFile {
    /// The file; links are followed and edited at their target.
    pub path: String,
    /// The section; without one the option stands before the first section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The option; without one the task is about the section as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    /// The value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Several values, one line each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<String>>,
    /// `present` sets the option, `absent` takes it away, or the section where no option is named.
    #[serde(default)]
    pub state: State,
    /// Whether other lines of the same option go.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub exclusive: bool,
    /// Whether an option may stand without a value and without `=`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_no_value: bool,
    /// Whether no blanks are put around `=`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub no_extra_spaces: bool,
    /// Whether a line that differs in blanks around `=` alone stays as it is.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ignore_spaces: bool,
    /// Whether a missing file is made, with its folders; else it is a refusal.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub create: bool,
    /// Accepted and not needed: links are always followed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub follow: bool,
    /// Whether the old content is kept beside the file, under a name made from it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub backup: bool,
    /// The mode of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The owner of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The group of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Owner>,
    /// Accepted and not needed: a file that cannot be renamed over is written in place by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsafe_writes: bool,
}

impl Module for IniFile {
    const NAME: &'static str = "ini_file";
    const EXAMPLE: &'static str = "\
- name: OSDs may use eight gibibytes
  ini_file:
    path: /etc/ceph/ceph.conf
    section: osd
    option: osd_memory_target
    value: '8589934592'
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("dest", "path")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        let place = place::open(facts, "path", &self.path)?;
        let text = place::bytes("path", &place)?;
        if text.is_none() && !self.create {
            return Err(Stop::refused("path", format!("{} is not there", place.path))
                .way_out("say `create: true` if the file shall be made"));
        }
        let old = text.clone().unwrap_or_default();
        let (after, message) = self.with(old.as_slice());
        if text.is_none() && message.is_none() {
            return Ok(Change::nothing(json!({ "path": self.path, "msg": "OK" })));
        }
        let after = if message.is_some() { after } else { old.as_slice().to_vec() };
        let part = format!(
            "[{}] {}",
            self.section.as_deref().unwrap_or_default(),
            self.option.as_deref().unwrap_or_default()
        );
        let edit = Edit {
            claim: Claim::part(&place.path, part.trim()),
            attributes: Attributes {
                mode: self.mode.as_ref(),
                owner: self.owner.as_ref(),
                group: self.group.as_ref(),
                source: None,
            },
            backup: self.backup,
            validate: None,
            folders: true,
            argument: "path",
        };
        let mut edited = edit.to(facts, &place, Some(Bytes::from(after)))?;
        // The message is about the content alone, as in Ansible.
        edited.attributes = false;
        Ok(edited.with(&place.path, message.unwrap_or("OK"), &[]))
    }

    fn samples() -> Vec<Sample> {
        samples()
    }
}

impl IniFile {
    fn check(&self) -> Result<(), Stop> {
        if self.value.is_some() && self.values.is_some() {
            return Err(Stop::refused("value", "`value` and `values` exclude each other"));
        }
        let no_value = self.value.is_none() && self.values.as_ref().is_none_or(Vec::is_empty);
        if self.state == State::Present && !self.allow_no_value && no_value {
            return Err(Stop::refused("value", "a value is needed with `state: present`")
                .way_out("say `allow_no_value: true` for an option that stands alone"));
        }
        if self.state == State::Absent && self.section.is_none() && self.option.is_none() {
            return Err(Stop::refused("section", "neither a section nor an option is named"));
        }
        let texts = [&self.section, &self.option, &self.value].into_iter().flatten();
        if texts.chain(self.values.iter().flatten()).any(|text| text.contains(['\n', '\r'])) {
            return Err(Stop::refused("value", "a newline would begin another line of the file"));
        }
        if matches!(self.mode, Some(Mode::Preserve)) {
            return Err(Stop::refused("mode", "there is no source whose mode could be preserved"));
        }
        Ok(())
    }

    /// The text after and what was done; nothing where nothing is to be done.
    fn with(&self, text: &[u8]) -> (Vec<u8>, Option<&'static str>) {
        let wide = |text: &String| widen(text.as_bytes());
        let mut values: Vec<String> = Vec::new();
        for value in self.value.iter().chain(self.values.iter().flatten()).map(wide) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        let section = self.section.as_ref().filter(|section| !section.is_empty()).map(wide);
        let option = self.option.as_ref().filter(|option| !option.is_empty()).map(wide);
        let mut file = Sections::new(&widen(text), section.as_deref(), self);
        match (self.state, &option) {
            (State::Present, Some(option)) => file.set(option, values),
            (State::Present, None) => file.ensure_section(None, &[]),
            (State::Absent, Some(option)) => file.unset(option, &values),
            (State::Absent, None) => file.drop_section(),
        }
        let message = file.message();
        (narrow(&file.text()), message)
    }
}

fn samples() -> Vec<Sample> {
    let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
    let conf = "; global\r\n[global]\r\nfsid = x\r\n\r\n[osd]\r\n#osd_memory_target = 1\r\n";
    vec![
        sample(
            "an option that is commented out is set, newlines stay",
            json!({ "path": "/etc/ceph/ceph.conf", "section": "osd", "option": "osd_memory_target",
                    "value": "8G 'q' \"$(w)\" é", "backup": true }),
            Host::new().file("/etc/ceph/ceph.conf", conf),
        ),
        sample(
            "a file is made",
            json!({ "path": "/etc/new/a.conf", "section": "a", "option": "b", "values": ["1", "2"], "mode": "0600" }),
            Host::new().dir("/etc"),
        ),
        sample(
            "a section goes",
            json!({ "path": "/etc/ceph/ceph.conf", "section": "osd", "state": "absent" }),
            Host::new().file("/etc/ceph/ceph.conf", conf),
        ),
        sample(
            "a value with a newline is refused",
            json!({ "path": "/etc/a", "section": "osd", "option": "x", "value": "a\nb" }),
            Host::new().file("/etc/a", conf),
        ),
        sample(
            "an option without a value",
            json!({ "path": "/etc/a", "section": "mysqld", "option": "skip-name-resolve", "allow_no_value": true }),
            Host::new().file("/etc/a", b"[mysqld]\n\xff = 1\n\n"),
        ),
    ]
}
