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
        "tests/tests/lvm/groups.rs::what_holds_something_is_never_touched",
    ),
    row(
        71,
        "`vgcreate -s 256M`",
        Argument("lvm_vg", "extent_size"),
        MADE,
        ("removed where this run made it and it is empty", "vgs"),
        "tests/tests/lvm/groups.rs::extents_change_where_they_divide_and_else_it_is_said",
    ),
    row(
        72,
        "`lvcreate -n vm1 -L 100G`",
        Argument("lvm_lv", "size"),
        MADE,
        ("removed where this run made it and nothing has it open", "lvs"),
        "tests/tests/lvm/volumes.rs::sizes_are_rounded_and_never_made_smaller",
    ),
    row(
        73,
        "`lvchange -r none`",
        Argument("lvm_lv", "read_ahead"),
        NOW,
        ("the read-ahead before", "lvs, and the kernel's read-ahead of the device"),
        "tests/tests/lvm/volumes.rs::read_ahead_goes_and_comes_back",
    ),
    row(
        74,
        "a thin pool with chunks of 4 MiB",
        Argument("lvm_thin_pool", "chunk_size"),
        MADE,
        ("removed where this run made it and it is empty", "lvs"),
        "tests/tests/lvm/thin.rs::the_chunk_size_is_for_life",
    ),
    row(
        75,
        "`-Zn`: chunks are not zeroed",
        Argument("lvm_thin_pool", "zero"),
        NOW,
        ("zeroing as before", "lvs"),
        "tests/tests/lvm/thin.rs::zeroing_and_read_ahead_change_in_place_and_back",
    ),
    row(
        76,
        "`thin_pool_chunk_size = 4096`",
        Argument("lvm_conf", "settings"),
        MADE,
        CONF,
        "tests/tests/lvm/conf.rs::settings_count_and_come_back",
    ),
    row(
        77,
        "`thin_pool_zero = n`",
        Argument("lvm_conf", "settings"),
        MADE,
        CONF,
        "tests/tests/lvm/conf.rs::settings_count_and_come_back",
    ),
    row(
        78,
        "`lvs -ao name,chunksize`",
        Argument("lvm_thin_pool", "chunk_size"),
        None,
        ("changes nothing", "what was read"),
        "tests/tests/lvm/thin.rs::a_pool_as_it_is_asked_for_is_left_alone",
    ),
    row(
        79,
        "chunk sizes tried by fio on a raw partition",
        Task(LVM, "Try chunk sizes on a spare partition"),
        None,
        ("none: it overwrites the partition that it is given", "fio's own answer"),
        "tests/tests/playbooks/probes.rs::a_sweep_of_chunk_sizes_overwrites_what_is_blank_and_idle_alone",
    ),
    row(
        80,
        "`mkfs.xfs` and mount",
        Argument("filesystem", "fstype"),
        MADE,
        ("signatures wiped where this run made them; unmounted", "the signature, and the kernel's mounts"),
        "tests/tests/lvm/files.rs::made_mounted_kept_and_taken_back_when_empty",
    ),
    row(
        81,
        "`mkfs.ext4` on a spare drive",
        Argument("filesystem", "fstype"),
        MADE,
        ("signatures wiped where this run made them", "the signature"),
        "tests/tests/lvm/files.rs::another_signature_is_never_overwritten",
    ),
    row(
        82,
        "a guest's partition of at most 2 TB",
        Task(QEMU, "Guest disks beyond 2 TB have a GPT"),
        None,
        ("by hand, as the task says", "the task's own probe"),
        "tests/tests/playbooks/probes.rs::a_guests_disk_ends_at_two_terabytes_with_an_old_label",
    ),
];
