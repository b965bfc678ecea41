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
    row(44, "`cache=none` on the rbd drive", DISK, CYCLE, XML, "?"),
    row(45, "virtio-blk instead of IDE", DISK, CYCLE, XML, "?"),
    row(46, "an I/O thread of the disk's own", DISK, CYCLE, XML, "?"),
    row(47, "`aio=native`", DISK, CYCLE, XML, "?"),
    row(48, "`io='threads'`", DISK, CYCLE, XML, "?"),
    row(49, "TCMalloc before QEMU's allocator", Argument("libvirt_domain", "qemu_env"), CYCLE, MAPPED, "?"),
    row(50, "a newer librbd", Argument("libvirt_domain", "qemu_env"), CYCLE, MAPPED, "?"),
    row(51, "`--blockdev rbd` without the raw layer", Argument("qemu_args", "drives"), CYCLE, LINE, "?"),
    row(52, "machine q35", Argument("libvirt_domain", "machine"), CYCLE, XML, "?"),
    row(53, "16 virtual CPUs in one socket, 16 GiB", Argument("libvirt_domain", "vcpus"), CYCLE, XML, "?"),
    row(54, "user networking with a forwarded port", Argument("qemu_args", "netdevs"), CYCLE, LINE, "?"),
    row(55, "`<pvspinlock state='off'/>`", Argument("libvirt_domain", "features"), CYCLE, XML, "?"),
    row(56, "`<hap state='on'/>`", Argument("libvirt_domain", "features"), CYCLE, XML, "?"),
    row(57, "`<ioapic driver='qemu'/>`", Argument("libvirt_domain", "features"), CYCLE, XML, "?"),
    row(58, "`<pvsendipi state='on'/>`", Argument("libvirt_domain", "features"), CYCLE, ("the XML before: libvirt drops the element, and that is a failure", "the XML read back after define"), "?"),
    row(59, "`<acpi/> <apic/> <pae/>` kept", Argument("libvirt_domain", "features"), CYCLE, XML, "?"),
    row(60, "`<memoryBacking><hugepages/>`", Argument("libvirt_domain", "memory_backing"), CYCLE, XML, "?"),
    row(61, "driver qemu, type raw, cache none, bus virtio", DISK, CYCLE, XML, "?"),
    row(62, "`cache=writeback`", DISK, CYCLE, XML, "?"),
    row(63, "boot order and PCI address kept", DISK, CYCLE, XML, "?"),
    row(64, "a raw logical volume instead of a qcow2 file", DISK, CYCLE, ("the XML before; the copy stays", "the live XML"), "?"),
    row(65, "more virtual CPUs", Argument("libvirt_domain", "vcpus"), CYCLE, XML, "?"),
    row(66, "virtio-blk rather than virtio-scsi", DISK, CYCLE, XML, "?"),
    row(67, "VirtIO drivers in a Windows guest", Task(LVM, "Windows guests have the VirtIO drivers"), None, ("changes nothing", "the task's own probe"), "?"),
    row(68, "no disk passed through", Task(LVM, "No disk is passed through"), None, ("changes nothing", "what was read"), "?"),
    row(69, "vhost-user-blk tried, and slower there", Argument("spdk_vhost", "controllers"), CYCLE, ("controllers that this run made are removed", "the target's list of controllers"), "?"),
];
