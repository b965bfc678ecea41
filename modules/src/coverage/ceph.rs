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
        "?",
    ),
    row(34, "`osd_memory_target` of 8 GB", Argument("ceph_config", "options"), NOW, OPTION, "?"),
    row(
        35,
        "cephx off and messenger v1, in a laboratory",
        Argument("ceph_config", "options"),
        RESTART,
        OPTION,
        "?",
    ),
    row(36, "cephx on and messenger v2", Argument("ceph_config", "options"), RESTART, OPTION, "?"),
    row(
        37,
        "`ms_client_mode`, `ms_cluster_mode`, `ms_service_mode` secure",
        Argument("ceph_msgr_mode", "mode"),
        NOW,
        MODES,
        "?",
    ),
    row(
        38,
        "`ms_mon_client_mode`, `ms_mon_cluster_mode`, `ms_mon_service_mode` secure",
        Argument("ceph_msgr_mode", "mon"),
        NOW,
        MODES,
        "?",
    ),
    row(39, "more `ms_async_op_threads`", Argument("ceph_config", "options"), RESTART, OPTION, "?"),
    row(
        40,
        "a pool for images",
        Argument("ceph_pool", "name"),
        MADE,
        ("removed where this run made it and it is empty", "the pool's details"),
        "?",
    ),
    row(
        41,
        "`client.libvirt` with the profiles of rbd",
        Argument("ceph_auth", "caps"),
        NOW,
        ("the caps before; removed where this run made it", "the caps that the monitors hold"),
        "?",
    ),
    row(
        42,
        "a guest's image in rbd, resized",
        Argument("rbd_image", "size"),
        MADE,
        ("removed where this run made it and nothing uses it", "the image's size"),
        "?",
    ),
    row(
        43,
        "the cluster is like the one that was measured",
        Task(QEMU, "The cluster is like the one that was measured"),
        None,
        ("changes nothing", "what was read"),
        "?",
    ),
];
