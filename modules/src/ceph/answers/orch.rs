//! The orchestrator's answers.
use serde::Deserialize;

/// `ceph orch status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OrchStatus {
    /// `cephadm` or `rook`.
    #[serde(default)]
    pub backend: Option<String>,
    /// Whether it answers.
    #[serde(default)]
    pub available: bool,
}

/// `ceph orch upgrade status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct UpgradeStatus {
    /// Whether an upgrade runs, paused or not.
    #[serde(default)]
    pub in_progress: bool,
    /// Where it goes.
    #[serde(default)]
    pub target_image: Option<String>,
}
