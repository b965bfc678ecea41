//! Network plumbing, and the jobs by which the sources measured.
use super::Saying::{Argument, Fact, Task};
use super::{Tuning, row};
use crate::vocabulary::Effect;

const NOW: Option<Effect> = Some(Effect::Now);
const JOB: (&str, &str) = ("none is needed: what it made is removed at its end", "the program's own answer");
const OVERWRITES: (&str, &str) =
    ("none: it overwrites the file or disk that it is given", "the program's own answer");
const NOTHING: (&str, &str) = ("changes nothing", "what was read");
const QEMU: &str = "ceph-qemu-librbd.yaml";
const SPDK: &str = "spdk-vhost.yaml";
const LVM: &str = "lvm-kvm-disk.yaml";
const NETWORK: &str = "ceph-network-cpu.yaml";
const PLAYED: &str = "tests/tests/playbooks.rs::every_playbook_names_its_jobs";

/// Rows 97 to 115.
pub(super) const ROWS: &[Tuning] = &[
    row(
        97,
        "tap1 in the bridge kvmbr0",
        Argument("bridge_tap", "taps"),
        NOW,
        ("the devices and files as before", "the kernel's links"),
        "tests/tests/network/queues.rs::a_bridge_and_a_tap_come_and_go",
    ),
    row(
        98,
        "fio: 16K random reads, depth 128, 300 s",
        Task(QEMU, "fio: 16K random reads, depth 128"),
        None,
        JOB,
        PLAYED,
    ),
    row(
        99,
        "fio: 16K random writes on 2 TB",
        Task(QEMU, "fio: 16K random writes, depth 128"),
        None,
        OVERWRITES,
        PLAYED,
    ),
    row(
        100,
        "fio: filled with 4M writes first",
        Task(QEMU, "fio: filled with 4M writes"),
        None,
        OVERWRITES,
        PLAYED,
    ),
    row(
        101,
        "base lines of librbd and of the kernel's rbd",
        Task(QEMU, "fio: base line of librbd"),
        None,
        JOB,
        PLAYED,
    ),
    row(
        102,
        "fio: 4K reads in batches, depth 256",
        Task(SPDK, "fio: 4K reads in batches"),
        None,
        JOB,
        PLAYED,
    ),
    row(
        103,
        "fio: mixed random 80/20 at three depths",
        Task(SPDK, "fio: mixed random 80/20"),
        None,
        OVERWRITES,
        PLAYED,
    ),
    row(
        104,
        "fio: chunk sizes swept",
        Task(LVM, "Try chunk sizes on a spare partition"),
        None,
        OVERWRITES,
        PLAYED,
    ),
    row(
        105,
        "CrystalDiskMark in a Windows guest",
        Task(LVM, "CrystalDiskMark in the guest, with a file of 4 GB"),
        None,
        NOTHING,
        PLAYED,
    ),
    row(
        106,
        "rados bench: 1M and 256K, write and sequential read",
        Task(NETWORK, "rados bench: write and read"),
        None,
        JOB,
        PLAYED,
    ),
    row(107, "iperf both ways", Task(NETWORK, "iperf3 both ways"), None, JOB, PLAYED),
    row(
        108,
        "flood ping, the first packet apart",
        Task(NETWORK, "Flood ping, the first packet apart"),
        None,
        NOTHING,
        PLAYED,
    ),
    row(109, "JuiceFS by vdbench", Task(NETWORK, "vdbench on JuiceFS"), None, OVERWRITES, PLAYED),
    row(
        110,
        "`openssl speed -evp aes-128-gcm -decrypt`",
        Task(QEMU, "What AES-GCM costs on one core"),
        None,
        NOTHING,
        PLAYED,
    ),
    row(
        111,
        "perf, a profile of messenger threads, a packet capture",
        Task(NETWORK, "Where the processors spend their time"),
        None,
        NOTHING,
        PLAYED,
    ),
    row(
        112,
        "a boot before the run that is compared",
        Task(SPDK, "Boot before the run that is compared"),
        Some(Effect::HostReboot),
        ("changes nothing that stays", "another boot id"),
        PLAYED,
    ),
    row(
        113,
        "the bridge's bandwidth, before storage is blamed",
        Task(SPDK, "The bridge's bandwidth"),
        None,
        JOB,
        PLAYED,
    ),
    row(
        114,
        "the package of huge page tools",
        Argument("package", "name"),
        NOW,
        ("removed where this run installed it", "the package manager's list"),
        "modules/src/packages/wish/tests.rs::only_what_is_missing_is_installed",
    ),
    row(
        115,
        "which disk of the guest is SPDK's",
        Fact("devices"),
        None,
        NOTHING,
        "modules/src/setup/topology.rs::processors_cards_and_devices_are_typed",
    ),
];
