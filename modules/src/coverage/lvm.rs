//! Logical volumes and file systems.
use super::Saying::{Argument, Task};
use super::{Tuning, row};
use crate::vocabulary::Effect;

const NOW: Option<Effect> = Some(Effect::Now);
const MADE: Option<Effect> = Some(Effect::CreationOnly);
const LVM: &str = "lvm-kvm-disk.yaml";
const QEMU: &str = "ceph-qemu-librbd.yaml";
const CONF: (&str, &str) = ("the file as it was", "lvmconfig");

/// Rows 70 to 82.
pub(super) const ROWS: &[Tuning] = &[
    row(
        70,
        "`pvcreate /dev/nvme1n1p1`",
        Argument("lvm_pv", "devices"),
        MADE,
        ("removed where this run made it and no group has it", "pvs"),
        "?",
    ),
    row(
        71,
        "`vgcreate -s 256M`",
        Argument("lvm_vg", "extent_size"),
        MADE,
        ("removed where this run made it and it is empty", "vgs"),
        "?",
    ),
    row(
        72,
        "`lvcreate -n vm1 -L 100G`",
        Argument("lvm_lv", "size"),
        MADE,
        ("removed where this run made it and nothing has it open", "lvs"),
        "?",
    ),
    row(
        73,
        "`lvchange -r none`",
        Argument("lvm_lv", "read_ahead"),
        NOW,
        ("the read-ahead before", "lvs, and the kernel's read-ahead of the device"),
        "?",
    ),
    row(
        74,
        "a thin pool with chunks of 4 MiB",
        Argument("lvm_thin_pool", "chunk_size"),
        MADE,
        ("removed where this run made it and it is empty", "lvs"),
        "?",
    ),
    row(
        75,
        "`-Zn`: chunks are not zeroed",
        Argument("lvm_thin_pool", "zero"),
        NOW,
        ("zeroing as before", "lvs"),
        "?",
    ),
    row(76, "`thin_pool_chunk_size = 4096`", Argument("lvm_conf", "settings"), MADE, CONF, "?"),
    row(77, "`thin_pool_zero = n`", Argument("lvm_conf", "settings"), MADE, CONF, "?"),
    row(
        78,
        "`lvs -ao name,chunksize`",
        Argument("lvm_thin_pool", "chunk_size"),
        None,
        ("changes nothing", "what was read"),
        "?",
    ),
    row(
        79,
        "chunk sizes tried by fio on a raw partition",
        Task(LVM, "Try chunk sizes on a spare partition"),
        None,
        ("none: it overwrites the partition that it is given", "fio's own answer"),
        "?",
    ),
    row(
        80,
        "`mkfs.xfs` and mount",
        Argument("filesystem", "fstype"),
        MADE,
        ("signatures wiped where this run made them; unmounted", "the signature, and the kernel's mounts"),
        "?",
    ),
    row(
        81,
        "`mkfs.ext4` on a spare drive",
        Argument("filesystem", "fstype"),
        MADE,
        ("signatures wiped where this run made them", "the signature"),
        "?",
    ),
    row(
        82,
        "a guest's partition of at most 2 TB",
        Task(QEMU, "Guest disks beyond 2 TB have a GPT"),
        None,
        ("by hand, as the task says", "the task's own probe"),
        "?",
    ),
];
