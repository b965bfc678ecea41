//! Options: as they are stored, what they are, and as daemons hold them.
use crate::vocabulary::Output;
use serde::{Deserialize, Deserializer};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// One line of `ceph config dump`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Stored {
    /// `global`, `osd`, `osd.3` …
    pub section: String,
    /// The option.
    pub name: String,
    /// Its value, as the mons wrote it.
    #[serde(default, deserialize_with = "text")]
    pub value: String,
    /// `host:h0`, `class:ssd`, both with `/` between, or nothing.
    #[serde(default)]
    pub mask: String,
}

impl Stored {
    /// The section with its mask: `osd/class:ssd`.
    pub fn who(&self) -> String {
        if self.mask.is_empty() { self.section.clone() } else { format!("{}/{}", self.section, self.mask) }
    }
}

/// `ceph config help NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OptionHelp {
    /// The option.
    #[serde(default)]
    pub name: String,
    /// `bool`, `int`, `uint`, `float`, `size`, `secs`, `millisecs`, `str`, `addr`, `addrvec`, `uuid`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// One sentence.
    #[serde(default)]
    pub desc: String,
    /// The default, as text.
    #[serde(default, deserialize_with = "text")]
    pub default: String,
    /// Another default that daemons have; empty where it is the same.
    #[serde(default, deserialize_with = "text")]
    pub daemon_default: String,
    /// The least value; empty where there is none.
    #[serde(default, deserialize_with = "text")]
    pub min: String,
    /// The greatest value; empty where there is none.
    #[serde(default, deserialize_with = "text")]
    pub max: String,
    /// The values that it may have; empty where any will do.
    #[serde(default, deserialize_with = "list")]
    pub enum_values: Vec<String>,
    /// What Ceph says of changing it while a daemon runs; wrong both ways, see [`OptionHelp::flags`].
    #[serde(default)]
    pub can_update_at_runtime: bool,
    /// `runtime`, `startup`, `no_mon_update`, `cluster_create`, `create`.
    #[serde(default, deserialize_with = "list")]
    pub flags: Vec<String>,
    /// Who uses it: `rbd`, `mon` …; often nothing.
    #[serde(default, deserialize_with = "list")]
    pub services: Vec<String>,
}

impl OptionHelp {
    /// Whether it has a flag.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }

    /// The default that daemons have.
    pub fn of_daemons(&self) -> &str {
        if self.daemon_default.is_empty() { &self.default } else { &self.daemon_default }
    }
}

/// One line of `ceph config show DAEMON`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct DaemonOption {
    /// The option.
    pub name: String,
    /// The value that the daemon has.
    #[serde(default, deserialize_with = "text")]
    pub value: String,
    /// `default`, `file`, `mon`, `override`, `env`, `cmdline`.
    #[serde(default)]
    pub source: String,
    /// `mon` where the daemon did not take the stored value: it needs a restart.
    #[serde(default)]
    pub ignores: Option<String>,
}

/// The answers of `ceph tell WHOM config get NAME`, by daemon. Of many daemons each has a line `osd.0: {…}`; of one
/// the object stands alone, and `alone` is its name.
pub fn told(output: &Output, alone: &str, name: &str) -> BTreeMap<String, String> {
    let text = output.text();
    let value = |text: &str| {
        let object: BTreeMap<String, Json> = serde_json::from_str(text.trim()).ok()?;
        object.get(name).map(plain)
    };
    if let Some(value) = value(&text) {
        return BTreeMap::from([(alone.to_owned(), value)]);
    }
    let daemon = |line: &str| {
        let (daemon, object) = line.split_once(": ")?;
        Some((daemon.trim().to_owned(), value(object)?))
    };
    text.lines().filter_map(daemon).collect()
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(plain(&Json::deserialize(from)?))
}

fn list<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Ok(match Json::deserialize(from)? {
        Json::Array(values) => values.iter().map(plain).collect(),
        _ => Vec::new(),
    })
}
