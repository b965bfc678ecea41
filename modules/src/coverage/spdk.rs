//! SPDK.
use super::Saying::Argument;
use super::{Tuning, row};
use crate::vocabulary::Effect;

const NOW: Option<Effect> = Some(Effect::Now);
const RESTART: Option<Effect> = Some(Effect::DaemonRestart);
const CYCLE: Option<Effect> = Some(Effect::GuestPowerCycle);
const OBJECTS: (&str, &str) =
    ("what this run made is removed, unless a session lives", "the target's own lists");
const LINE: (&str, &str) = ("the arguments before", "the running command line");

/// Rows 83 to 96.
pub(super) const ROWS: &[Tuning] = &[
    row(
        83,
        "`HUGEMEM=8192 setup.sh`",
        Argument("spdk_setup", "hugepages"),
        NOW,
        ("the count before, on each node", "nr_hugepages of each node"),
        "modules/src/spdk/setup/tests.rs::huge_pages_are_counted_and_kept",
    ),
    row(
        84,
        "one NVMe drive given to vfio-pci",
        Argument("spdk_setup", "devices"),
        NOW,
        ("given back to the driver before", "the device's driver link"),
        "tests/tests/spdk/binding.rs::a_disk_is_bound_and_given_back",
    ),
    row(
        85,
        "`vhost -S /var/tmp -s 1024 -m 0x3`",
        Argument("spdk_vhost", "target"),
        RESTART,
        ("the unit as before", "the target's reactors"),
        "tests/tests/spdk/unit.rs::a_unit_keeps_its_list_over_restarts",
    ),
    row(
        86,
        "`bdev_nvme_attach_controller`",
        Argument("spdk_vhost", "bdevs"),
        NOW,
        OBJECTS,
        "modules/src/spdk/vhost/tests.rs::a_second_run_changes_nothing",
    ),
    row(
        87,
        "`vhost_create_scsi_controller --cpumask 0x1`",
        Argument("spdk_vhost", "controllers"),
        NOW,
        OBJECTS,
        "tests/tests/spdk/roads.rs::through_sshd_as_root",
    ),
    row(
        88,
        "`vhost_scsi_controller_add_target` slot 0",
        Argument("spdk_vhost", "controllers"),
        NOW,
        OBJECTS,
        "tests/tests/spdk/play.rs::made_once_and_taken_back_exactly",
    ),
    row(
        89,
        "`bdev_malloc_create 512 8192`, slot 1",
        Argument("spdk_vhost", "bdevs"),
        NOW,
        OBJECTS,
        "tests/tests/spdk/play.rs::the_seeds_own_lines_are_refused",
    ),
    row(
        90,
        "`bdev_malloc_create 256 2048`, `vhost_create_blk_controller --cpumask 0x2`",
        Argument("spdk_vhost", "controllers"),
        NOW,
        OBJECTS,
        "tests/tests/spdk/play.rs::the_seeds_own_lines_are_refused",
    ),
    row(
        91,
        "all of it after a restart of the target",
        Argument("spdk_vhost", "config"),
        RESTART,
        ("the list as before", "the target's own lists after its start"),
        "tests/tests/spdk/unit.rs::a_unit_keeps_its_list_over_restarts",
    ),
    row(
        92,
        "guest memory on huge pages, shared",
        Argument("libvirt_domain", "memory_backing"),
        CYCLE,
        ("the XML before, byte for byte", "huge pages that the kernel has mapped into QEMU"),
        "tests/tests/libvirt/shared.rs::huge_pages_are_missing_then_there_and_proven_by_the_kernel",
    ),
    row(
        93,
        "vhost-user-scsi by a socket, two queues",
        Argument("qemu_args", "guest.vhost_user_scsi"),
        CYCLE,
        LINE,
        "tests/tests/libvirt/qemu.rs::a_vhost_user_device_on_shared_memory_starts_carries_requests_and_is_taken_back",
    ),
    row(
        94,
        "the boot disk first, the SPDK disk second",
        Argument("qemu_args", "guest.drives"),
        CYCLE,
        LINE,
        "tests/tests/libvirt/qemu.rs::a_vhost_user_device_on_shared_memory_starts_carries_requests_and_is_taken_back",
    ),
    row(
        95,
        "`-cpu host -smp 2 -m 4G`",
        Argument("qemu_args", "guest.cpu"),
        CYCLE,
        LINE,
        "modules/src/guests/qemu_args/tests.rs::the_script_of_the_spdk_document_is_reached_from_the_one_before_it",
    ),
    row(
        96,
        "SPDK's cores its own, on the guest's socket",
        Argument("spdk_vhost", "target"),
        RESTART,
        ("the unit as before", "the target's reactors"),
        "modules/src/spdk/vhost/tests.rs::cores_are_those_that_the_target_runs_on",
    ),
];
