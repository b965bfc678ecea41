//! `ping`: whether a host answers.
use super::reboot::BOOT_ID;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, HostPath, Read, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Whether a host answers; nothing changes. The result is `ping`, the text of `data`.
///
/// Errors: a host that cannot be looked at. Source: Ansible's module of that name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// What is given back.
    #[serde(default = "pong")]
    pub data: String,
}

fn pong() -> String {
    "pong".to_owned()
}

impl Module for Ping {
    const NAME: &'static str = "ping";
    const EXAMPLE: &'static str = "\
- name: The host answers
  ping: {}
";

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        facts.get(&Read::text(&HostPath::new(BOOT_ID).map_err(Stop::failed)?))?;
        Ok(Change::nothing(json!({ "ping": self.data })))
    }

    fn samples() -> Vec<Sample> {
        vec![Sample {
            about: "it answers",
            args: json!({}),
            host: Host::new().value(BOOT_ID, "1"),
            calls: Vec::new(),
        }]
    }
}
