//! Ceph.
use super::Saying::{Argument, Task};
use super::{Tuning, row};
use crate::vocabulary::Effect;

const NOW: Option<Effect> = Some(Effect::Now);
const RESTART: Option<Effect> = Some(Effect::DaemonRestart);
const MADE: Option<Effect> = Some(Effect::CreationOnly);
const QEMU: &str = "ceph-qemu-librbd.yaml";
const OPTION: (&str, &str) = ("the value before, or none", "the daemon's own view");
const MODES: (&str, &str) = ("the modes before, in the safe order", "live connections");

/// Rows 33 to 43.
pub(super) const ROWS: &[Tuning] = &[
    row(
        33,
        "`rbd_cache=false`",
        Argument("ceph_config", "options"),
        RESTART,
        (
            "the value before, or none",
            "the monitors' database; QEMU does not heed it, and the module says so",
        ),
        "tests/tests/ceph/refused.rs::a_cache_of_clients_is_said_not_to_reach_guests",
    ),
    row(
        34,
        "`osd_memory_target` of 8 GB",
        Argument("ceph_config", "options"),
        NOW,
        OPTION,
        "tests/tests/ceph/options.rs::values_compare_by_their_type",
    ),
    row(
        35,
        "cephx off and messenger v1, in a laboratory",
        Argument("ceph_config", "options"),
        RESTART,
        OPTION,
        "modules/src/ceph/ceph_config/tests/stored.rs::a_protection_that_goes_needs_a_waiver",
    ),
    row(
        36,
        "cephx on and messenger v2",
        Argument("ceph_config", "options"),
        RESTART,
        OPTION,
        "tests/tests/ceph/options.rs::options_are_set_once_seen_at_daemons_and_taken_back",
    ),
    row(
        37,
        "`ms_client_mode`, `ms_cluster_mode`, `ms_service_mode` secure",
        Argument("ceph_msgr_mode", "modes"),
        NOW,
        MODES,
        "tests/tests/ceph/modes.rs::the_ladder_is_climbed_under_load_and_back",
    ),
    row(
        38,
        "`ms_mon_client_mode`, `ms_mon_cluster_mode`, `ms_mon_service_mode` secure",
        Argument("ceph_msgr_mode", "mon"),
        NOW,
        MODES,
        "tests/tests/ceph/modes.rs::what_would_lock_somebody_out_is_refused_before_anything_is_set",
    ),
    row(
        39,
        "more `ms_async_op_threads`",
        Argument("ceph_config", "options"),
        RESTART,
        OPTION,
        "modules/src/ceph/ceph_config/tests/stored.rs::options_that_lie_about_running_daemons_are_known",
    ),
    row(
        40,
        "a pool for images",
        Argument("ceph_pool", "name"),
        MADE,
        ("removed where this run made it and it is empty", "the pool's details"),
        "tests/tests/ceph/parts.rs::what_holds_something_stays_and_undo_says_so",
    ),
    row(
        41,
        "`client.libvirt` with the profiles of rbd",
        Argument("ceph_auth", "caps"),
        NOW,
        ("the caps before; removed where this run made it", "the caps that the monitors hold"),
        "tests/tests/ceph/parts.rs::what_guests_need_is_made_once_and_taken_back_whole",
    ),
    row(
        42,
        "a guest's image in rbd, resized",
        Argument("rbd_image", "size"),
        MADE,
        ("removed where this run made it and nothing uses it", "the image's size"),
        "tests/tests/ceph/parts.rs::what_guests_need_is_made_once_and_taken_back_whole",
    ),
    row(
        43,
        "the cluster is like the one that was measured",
        Task(QEMU, "The cluster is like the one that was measured"),
        None,
        ("changes nothing", "what was read"),
        "tests/tests/playbooks/probes.rs::figures_are_compared_on_a_cluster_like_the_measured_one",
    ),
];
