//! Drop-ins of units: files below /etc/systemd/system/UNIT.d.
use crate::argument::Scalar;
use crate::files::place::known;
use crate::files::text::{TextFile, ended};
use crate::vocabulary::{Change, Claim, Facts, HostPath, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One drop-in of a unit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DropIn {
    /// The file's name without `.conf`: `/etc/systemd/system/UNIT.d/NAME.conf`. Drop-ins are read in the order of
    /// their names.
    pub name: String,
    /// The whole text; either this or `settings`.
    #[serde(default)]
    pub content: Option<String>,
    /// Sections, their settings and values; a list is one line a value, and an empty text clears what the unit
    /// said before: `{Service: {CPUAffinity: 0-15, ExecStart: ["", /usr/bin/x]}}`.
    #[serde(default)]
    pub settings: Option<BTreeMap<String, BTreeMap<String, Values>>>,
    /// Whether the file is there.
    #[serde(default)]
    pub state: Presence,
    /// Whether the unit is started again once, after all changes of the host, where the drop-in changed and the
    /// unit runs.
    #[serde(default)]
    pub restart: bool,
}

/// Whether a drop-in is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// It is.
    #[default]
    Present,
    /// It is not.
    Absent,
}

/// One value of a setting, or several lines of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Values {
    /// One line.
    One(Setting),
    /// One line each.
    Many(Vec<Setting>),
}

/// A value of a setting: text, number, or a truth value, which systemd writes `yes` and `no`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Setting(Scalar);

impl Setting {
    fn text(&self) -> String {
        match &self.0 {
            Scalar::Truth(true) => "yes".to_owned(),
            Scalar::Truth(false) => "no".to_owned(),
            other => other.text(),
        }
    }
}

impl DropIn {
    /// Where the file is.
    pub fn path(&self, unit: &str) -> Result<HostPath, Stop> {
        let name = self.name.strip_suffix(".conf").unwrap_or(&self.name);
        if name.is_empty() || name.contains('/') || name.starts_with('.') {
            return Err(Stop::refused("drop_in", format!("`{}` is not the name of a drop-in", self.name)));
        }
        known(&format!("/etc/systemd/system/{unit}.d/{name}.conf"))
    }

    fn text(&self) -> Result<String, Stop> {
        match (&self.content, &self.settings) {
            (Some(content), None) => Ok(ended(content)),
            (None, Some(settings)) => written(settings),
            _ => Err(Stop::refused(
                "drop_in",
                format!("drop-in `{}` needs `content` or `settings`", self.name),
            )
            .way_out("give one of the two")),
        }
    }

    /// Adds the steps to a change; says whether there are any.
    pub fn plan(&self, facts: &Facts, unit: &str, change: &mut Change) -> Result<bool, Stop> {
        let path = self.path(unit)?;
        let file = TextFile::read(facts, &path)?;
        match self.state {
            Presence::Absent => Ok(file.remove(Claim::file(&path), change)),
            Presence::Present => file.put(facts, Claim::file(&path), &self.text()?, change),
        }
    }
}

fn written(settings: &BTreeMap<String, BTreeMap<String, Values>>) -> Result<String, Stop> {
    let mut text = String::new();
    for (section, lines) in settings {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[{section}]\n"));
        for (name, values) in lines {
            let values = match values {
                Values::One(value) => std::slice::from_ref(value),
                Values::Many(values) => values,
            };
            for value in values {
                let value = value.text();
                if value.contains('\n') || name.contains(['\n', '=']) {
                    return Err(Stop::refused("drop_in", format!("the setting {name} is not one line")));
                }
                text.push_str(&format!("{name}={value}\n"));
            }
        }
    }
    Ok(text)
}
