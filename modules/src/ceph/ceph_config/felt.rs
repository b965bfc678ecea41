//! When an option is felt: by its flags, and by a table where its flags say nothing.
use crate::ceph::answers::OptionHelp;
use crate::vocabulary::Effect;

/// When an option is felt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Felt {
    /// By running daemons, at once.
    AtOnce,
    /// When a daemon starts again; until then a running daemon says its old value.
    AtStart,
    /// When a daemon starts again; a running daemon says the new value at once and does not use it.
    AtStartThoughTold,
    /// When a client starts or connects anew.
    ByClients,
    /// Only by what is made from then on.
    AtCreation,
    /// Ceph says nothing about it.
    Unsure,
}

/// Options without flags that running daemons take, by what their code does with them.
const AT_ONCE: [&str; 14] = [
    "auth_allow_insecure_global_id_reclaim",
    "mon_allow_pool_delete",
    "mon_max_pg_per_osd",
    "mon_osd_down_out_interval",
    "mon_target_pg_per_osd",
    "mon_warn_on_pool_no_redundancy",
    "osd_client_message_cap",
    "osd_deep_scrub_interval",
    "osd_enable_op_tracker",
    "osd_heartbeat_grace",
    "osd_max_scrubs",
    "osd_memory_target_autotune",
    "osd_pool_default_pg_autoscale_mode",
    "osd_pool_default_size",
];

/// Options whose flags say that a running daemon takes them, or say nothing, and that are used at start alone.
const AT_START: [&str; 9] = [
    "bluestore_cache_size",
    "bluestore_cache_size_hdd",
    "bluestore_cache_size_ssd",
    "ms_async_max_op_threads",
    "ms_async_op_threads",
    "ms_bind_ipv6",
    "ms_bind_msgr1",
    "ms_bind_msgr2",
    "ms_dispatch_throttle_bytes",
];

/// Options of scrubbing are read at each turn.
const AT_ONCE_BEGIN: [&str; 2] = ["osd_scrub_", "debug_"];

/// When an option is felt. `can_update_at_runtime` alone is wrong in both directions.
pub(super) fn felt(help: &OptionHelp) -> Felt {
    let name = help.name.as_str();
    if AT_START.contains(&name) {
        return Felt::AtStartThoughTold;
    }
    if help.has("create") || help.has("cluster_create") {
        return Felt::AtCreation;
    }
    if help.has("startup") {
        return Felt::AtStart;
    }
    if help.services.iter().any(|service| service == "rbd") || name.starts_with("rbd_") {
        return Felt::ByClients;
    }
    if help.has("runtime")
        || AT_ONCE.contains(&name)
        || AT_ONCE_BEGIN.iter().any(|begin| name.starts_with(begin))
    {
        return Felt::AtOnce;
    }
    if help.can_update_at_runtime { Felt::Unsure } else { Felt::AtStart }
}

impl Felt {
    /// As an effect.
    pub fn effect(self) -> Effect {
        match self {
            Self::AtOnce => Effect::Now,
            Self::AtCreation => Effect::CreationOnly,
            Self::AtStart | Self::AtStartThoughTold | Self::ByClients | Self::Unsure => Effect::DaemonRestart,
        }
    }

    /// What to say of it, where there is something to say.
    pub fn note(self, name: &str) -> Option<String> {
        let words = match self {
            Self::AtOnce => return None,
            Self::AtStart => {
                "daemons take it when they start again: `ceph_osd_restart` does that by failure domain"
            }
            Self::AtStartThoughTold => {
                "running daemons say the new value at once and use it only after they start again: `ceph_osd_restart` \
                 does that by failure domain"
            }
            Self::ByClients => "clients take it when they start or connect anew; no daemon uses it",
            Self::AtCreation => "it holds for what is made from now on alone",
            Self::Unsure => {
                "this release does not say whether running daemons use it: start them again to be sure"
            }
        };
        Some(format!("{name}: {words}"))
    }
}
