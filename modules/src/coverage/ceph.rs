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
        "modules/src/ceph/ceph_msgr_mode/tests.rs::encryption_is_preferred_first_and_osds_connect_anew_host_by_host",
    ),
    row(
        38,
        "`ms_mon_client_mode`, `ms_mon_cluster_mode`, `ms_mon_service_mode` secure",
        Argument("ceph_msgr_mode", "mon"),
        NOW,
        MODES,
        "modules/src/ceph/ceph_msgr_mode/tests.rs::the_rescue_is_known_before_the_mons_are_touched",
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
        "modules/src/ceph/ceph_pool.rs::a_pool_of_this_run_goes_only_while_it_is_empty",
    ),
    row(
        41,
        "`client.libvirt` with the profiles of rbd",
        Argument("ceph_auth", "caps"),
        NOW,
        ("the caps before; removed where this run made it", "the caps that the monitors hold"),
        "modules/src/ceph/ceph_auth.rs::caps_of_before_come_back_and_the_key_is_never_seen",
    ),
    row(
        42,
        "a guest's image in rbd, resized",
        Argument("rbd_image", "size"),
        MADE,
        ("removed where this run made it and nothing uses it", "the image's size"),
        "modules/src/ceph/rbd_image.rs::never_smaller",
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
