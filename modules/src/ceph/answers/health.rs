//! Health, state and versions of a cluster.
use serde::Deserialize;
use std::collections::BTreeMap;

/// `ceph health` and `ceph health detail`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Health {
    /// `HEALTH_OK`, `HEALTH_WARN` or `HEALTH_ERR`.
    #[serde(default)]
    pub status: String,
    /// What is not well, by code.
    #[serde(default)]
    pub checks: BTreeMap<String, HealthCheck>,
}

/// One code of a cluster's health.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct HealthCheck {
    /// `HEALTH_WARN` or `HEALTH_ERR`.
    #[serde(default)]
    pub severity: String,
    /// What is wrong in short.
    #[serde(default)]
    pub summary: Words,
    /// What is wrong in long.
    #[serde(default)]
    pub detail: Vec<Words>,
    /// Whether somebody has muted it.
    #[serde(default)]
    pub muted: bool,
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Words {
    /// The text.
    #[serde(default)]
    pub message: String,
}

/// `ceph status`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Status {
    /// The cluster's fsid.
    #[serde(default)]
    pub fsid: String,
    /// Its health.
    #[serde(default)]
    pub health: Health,
    /// Names of the mons in the quorum.
    #[serde(default)]
    pub quorum_names: Vec<String>,
    /// OSDs in numbers.
    #[serde(default)]
    pub osdmap: OsdCounts,
    /// Placement groups in numbers.
    #[serde(default)]
    pub pgmap: PgCounts,
}

/// OSDs in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OsdCounts {
    /// How many there are.
    #[serde(default)]
    pub num_osds: u32,
    /// How many are up.
    #[serde(default)]
    pub num_up_osds: u32,
    /// How many take part.
    #[serde(default)]
    pub num_in_osds: u32,
}

/// Placement groups in numbers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct PgCounts {
    /// How many there are.
    #[serde(default)]
    pub num_pgs: u32,
    /// How many are in each state.
    #[serde(default)]
    pub pgs_by_state: Vec<PgState>,
    /// Reads a second of all clients; left out where there are none.
    #[serde(default)]
    pub read_op_per_sec: f64,
    /// Writes a second of all clients; left out where there are none.
    #[serde(default)]
    pub write_op_per_sec: f64,
}

/// Placement groups in one state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct PgState {
    /// `active+clean`.
    #[serde(default)]
    pub state_name: String,
    /// How many.
    #[serde(default)]
    pub count: u32,
}

impl PgState {
    fn words(&self) -> Vec<&str> {
        self.state_name.split('+').collect()
    }

    /// Whether these serve. A scrub and the trimming of snapshots do not count.
    pub fn is_clean(&self) -> bool {
        let words = self.words();
        let only = words.iter().all(|word| {
            matches!(*word, "active" | "clean" | "scrubbing" | "deep" | "snaptrim" | "snaptrim_wait")
        });
        only && words.contains(&"active") && words.contains(&"clean")
    }

    /// Whether these serve, with however few copies.
    pub fn is_active(&self) -> bool {
        self.words().contains(&"active")
    }
}

impl PgCounts {
    /// How many are not active and clean; those that no state is told of are not.
    pub fn not_clean(&self) -> u32 {
        self.without(PgState::is_clean)
    }

    /// How many do not serve.
    pub fn not_active(&self) -> u32 {
        self.without(PgState::is_active)
    }

    fn without(&self, fine: impl Fn(&PgState) -> bool) -> u32 {
        let fine: u32 = self.pgs_by_state.iter().filter(|state| fine(state)).map(|state| state.count).sum();
        self.num_pgs.saturating_sub(fine)
    }
}

impl Status {
    /// Whether all placement groups are active and clean and all OSDs up. A scrub and the trimming of snapshots do not count.
    pub fn is_clean(&self) -> bool {
        self.pgmap.not_clean() == 0 && self.osdmap.num_up_osds == self.osdmap.num_osds
    }
}

/// `ceph versions`: how many daemons run which version, by kind and in all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Versions {
    /// All daemons.
    #[serde(default)]
    pub overall: BTreeMap<String, u32>,
    /// OSDs.
    #[serde(default)]
    pub osd: BTreeMap<String, u32>,
    /// Mons.
    #[serde(default)]
    pub mon: BTreeMap<String, u32>,
}

impl Versions {
    /// The oldest major version that runs, such as 16.
    pub fn oldest(&self) -> Option<u32> {
        let major = |text: &String| {
            let number = text.strip_prefix("ceph version ")?.split(['.', ' ']).next()?;
            number.parse().ok()
        };
        self.overall.keys().filter_map(major).min()
    }
}
