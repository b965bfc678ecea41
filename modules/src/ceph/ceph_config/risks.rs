//! Options that take a protection away: they need a waiver.
use crate::vocabulary::{Risk, RiskName};

/// What must be shown to get in.
const REQUIRED: [&str; 3] = ["auth_client_required", "auth_cluster_required", "auth_service_required"];

/// The risk of giving an option a value.
pub(super) fn risk(name: &str, value: &str) -> Option<Risk> {
    let words: Vec<&str> = value.split([',', ' ', ';', '\t']).filter(|word| !word.is_empty()).collect();
    let why = if REQUIRED.contains(&name) && words.contains(&"none") {
        format!(
            "{name} = {value}: cephx is not asked for, so whoever reaches the cluster's network reads and writes all of it"
        )
    } else if name == "auth_allow_insecure_global_id_reclaim" && value == "true" {
        "old clients may take the place of others (CVE-2021-20288)".to_owned()
    } else {
        return None;
    };
    Some(Risk { name: RiskName::Security, why })
}
