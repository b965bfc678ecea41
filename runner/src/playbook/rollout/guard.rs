//! `guard:` as people write it: what must hold before and after a host is touched.
use super::amounts::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What must hold around each host. Hosts that run daemons of Ceph get it unasked. Their cluster is reached as by modules of
/// Ceph: `ceph_via` and the other variables `ceph_…`. Hosts of the inventory that share one machine say by the variable
/// `ceph_daemons`, such as `[osd.0]`, which of its daemons are theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Guard {
    /// Health codes that may stand, beside those that are muted or stood at the start.
    pub allow: Vec<String>,
    /// Ask whether the daemons may stop, for all that are down or about to be. Default yes.
    pub ok_to_stop: bool,
    /// Keep the cluster from marking OSDs out.
    #[serde(deserialize_with = "noout")]
    pub noout: Noout,
    /// All daemons of the host are up again afterwards, not just its shell. Default yes.
    pub daemons_up: bool,
    /// How long to wait for all of it before the run ends as held. Default 30 min.
    pub timeout: Time,
    /// A command on the controller that must succeed before and after each host.
    pub command: Option<Vec<String>>,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            ok_to_stop: true,
            noout: Noout::default(),
            daemons_up: true,
            timeout: Time(std::time::Duration::from_secs(1800)),
            command: None,
        }
    }
}

/// YAML 1.1 reads the word `off` as `false`.
fn noout<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Noout, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Word(Noout),
        Flag(bool),
    }
    match Written::deserialize(deserializer)? {
        Written::Word(word) => Ok(word),
        Written::Flag(false) => Ok(Noout::Off),
        Written::Flag(true) => Err(serde::de::Error::custom("`noout` is lease or off")),
    }
}

/// How the cluster is kept from marking OSDs out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Noout {
    /// For the hosts that are touched, with a lease that ends by itself.
    #[default]
    Lease,
    /// Not at all.
    Off,
}
