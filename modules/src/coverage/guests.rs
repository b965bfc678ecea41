//! Guests: libvirt and QEMU.
use super::Saying::{Argument, Task};
use super::{Tuning, row};
use crate::vocabulary::Effect;

const CYCLE: Option<Effect> = Some(Effect::GuestPowerCycle);
const XML: (&str, &str) = ("the XML before, byte for byte", "the live XML");
const LINE: (&str, &str) = ("the arguments before", "the running command line");
const MAPPED: (&str, &str) = ("the XML before, byte for byte", "/proc/PID/maps of the running QEMU");
const DISK: super::Saying = Argument("libvirt_domain", "disks");
const LVM: &str = "lvm-kvm-disk.yaml";

/// Rows 44 to 69.
pub(super) const ROWS: &[Tuning] = &[
    row(44, "`cache=none` on the rbd drive", DISK, CYCLE, XML, "tests/tests/libvirt/definitions.rs::twenty_domains_are_tuned_and_taken_back_byte_for_byte"),
    row(45, "virtio-blk instead of IDE", DISK, CYCLE, XML, "modules/src/guests/libvirt_domain/tests/knobs.rs::a_bus_changes_with_the_name_of_the_disk"),
    row(46, "an I/O thread of the disk's own", DISK, CYCLE, XML, "tests/tests/libvirt/definitions.rs::twenty_domains_are_tuned_and_taken_back_byte_for_byte"),
    row(47, "`aio=native`", DISK, CYCLE, XML, "tests/tests/libvirt/definitions.rs::twenty_domains_are_tuned_and_taken_back_byte_for_byte"),
    row(48, "`io='threads'`", DISK, CYCLE, XML, "modules/src/guests/libvirt_domain/tests/corpus.rs::a_comment_on_the_line_of_the_attribute_stays"),
    row(49, "TCMalloc before QEMU's allocator", Argument("libvirt_domain", "environment"), CYCLE, MAPPED, "tests/tests/libvirt/cycles.rs::a_running_guest_needs_a_power_cycle_and_gets_one"),
    row(50, "a newer librbd", Argument("libvirt_domain", "environment"), CYCLE, MAPPED, "modules/src/guests/qemu_args/tests.rs::the_lines_of_the_rbd_document_are_reached_word_by_word"),
    row(51, "`--blockdev rbd` without the raw layer", Argument("qemu_args", "guest.drives"), CYCLE, LINE, "modules/src/guests/qemu_args/tests.rs::the_lines_of_the_rbd_document_are_reached_word_by_word"),
    row(52, "machine q35", Argument("libvirt_domain", "machine"), CYCLE, XML, "modules/src/guests/libvirt_domain/tests/knobs.rs::cpus_memory_and_machine"),
    row(53, "16 virtual CPUs in one socket, 16 GiB", Argument("libvirt_domain", "vcpus"), CYCLE, XML, "modules/src/guests/libvirt_domain/tests/knobs.rs::cpus_memory_and_machine"),
    row(54, "user networking with a forwarded port", Argument("qemu_args", "guest.arguments"), CYCLE, LINE, "modules/src/guests/mod.rs::options_and_values_stand_together_or_one_after_the_other"),
    row(55, "`<pvspinlock state='off'/>`", Argument("libvirt_domain", "features"), CYCLE, XML, "tests/tests/libvirt/cycles.rs::a_running_guest_needs_a_power_cycle_and_gets_one"),
    row(56, "`<hap state='on'/>`", Argument("libvirt_domain", "features"), CYCLE, XML, "tests/tests/libvirt/definitions.rs::twenty_domains_are_tuned_and_taken_back_byte_for_byte"),
    row(57, "`<ioapic driver='qemu'/>`", Argument("libvirt_domain", "features"), CYCLE, XML, "tests/tests/libvirt/definitions.rs::twenty_domains_are_tuned_and_taken_back_byte_for_byte"),
    row(58, "`<pvsendipi state='on'/>`", Argument("libvirt_domain", "features"), CYCLE, ("the XML before: libvirt drops the element, and that is a failure", "the XML read back after define"), "tests/tests/libvirt/definitions.rs::what_libvirt_drops_or_another_owns_or_has_moved_is_said"),
    row(59, "`<acpi/> <apic/> <pae/>` kept", Argument("libvirt_domain", "features"), CYCLE, XML, "modules/src/guests/libvirt_domain/tests/corpus.rs::a_comment_on_the_line_of_the_attribute_stays"),
    row(60, "`<memoryBacking><hugepages/>`", Argument("libvirt_domain", "memory_backing"), CYCLE, XML, "modules/src/guests/libvirt_domain/tests/corpus.rs::huge_pages_add_one_element"),
    row(61, "driver qemu, type raw, cache none, bus virtio", DISK, CYCLE, XML, "tests/tests/libvirt/definitions.rs::twenty_domains_are_tuned_and_taken_back_byte_for_byte"),
    row(62, "`cache=writeback`", DISK, CYCLE, XML, "modules/src/guests/libvirt_domain/tests/knobs.rs::write_back_is_a_risk_of_data"),
    row(63, "boot order and PCI address kept", DISK, CYCLE, XML, "modules/src/guests/libvirt_domain/tests/knobs.rs::a_disk_gets_its_place_in_the_boot_order"),
    row(64, "a raw logical volume instead of a qcow2 file", Task(LVM, "The guest's data is on the volume"), CYCLE, ("the XML before; the copy stays", "the live XML"), "?"),
    row(65, "more virtual CPUs", Argument("libvirt_domain", "vcpus"), CYCLE, XML, "modules/src/guests/libvirt_domain/tests/knobs.rs::cpus_memory_and_machine"),
    row(66, "virtio-blk rather than virtio-scsi", DISK, CYCLE, XML, "modules/src/guests/libvirt_domain/tests/refusals.rs::trim_of_virtio_blk_is_a_matter_of_the_version"),
    row(67, "VirtIO drivers in a Windows guest", Task(LVM, "Windows guests have the VirtIO drivers"), None, ("changes nothing", "the task's own probe"), "?"),
    row(68, "no disk passed through", Task(LVM, "No disk is passed through"), None, ("changes nothing", "what was read"), "?"),
    row(69, "vhost-user-blk tried, and slower there", Argument("spdk_vhost", "controllers"), CYCLE, ("controllers that this run made are removed", "the target's list of controllers"), "?"),
];
