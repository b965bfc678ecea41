//! The running kernel, network cards, interrupts, processors.
use super::Saying::{Argument, Fact, Task};
use super::{Tuning, row};
use crate::vocabulary::Effect;

const NOW: Option<Effect> = Some(Effect::Now);
const RESTART: Option<Effect> = Some(Effect::DaemonRestart);
const NOTHING: (&str, &str) = ("changes nothing", "what was read");
const BY_HAND: (&str, &str) = ("by hand, as the task says", "the task's own probe");
const NETWORK: &str = "ceph-network-cpu.yaml";

/// Rows 16 to 32.
pub(super) const ROWS: &[Tuning] = &[
    row(
        16,
        "`net.core.high_order_alloc_disable=1`",
        Argument("sysctl", "value"),
        NOW,
        ("the value before, and the file", "/proc/sys"),
        "modules/src/kernel/sysctl/tests.rs::a_setting_is_live_and_persisted_and_then_nothing_is_left",
    ),
    row(
        17,
        "rx checksum offload on at the host's card",
        Argument("nic_offload", "features"),
        NOW,
        ("the features before", "the card's features as the kernel lists them"),
        "tests/tests/network/offload.rs::a_probe_that_fails_takes_receive_checksums_back",
    ),
    row(
        18,
        "look at gso and the other offloads",
        Argument("nic_offload", "features"),
        None,
        NOTHING,
        "modules/src/network/features.rs::features_are_read_as_printed",
    ),
    row(
        19,
        "RPS off",
        Argument("nic_queues", "rps"),
        NOW,
        ("the masks before", "rps_cpus of each queue"),
        "tests/tests/network/queues.rs::rps_and_xps_are_set_on_every_queue_and_taken_back",
    ),
    row(
        20,
        "XPS off",
        Argument("nic_queues", "xps"),
        NOW,
        ("the masks before", "xps_cpus of each queue"),
        "tests/tests/network/queues.rs::rps_and_xps_are_set_on_every_queue_and_taken_back",
    ),
    row(
        21,
        "the card's interrupts found by the names of its queues",
        Argument("irq_affinity", "device"),
        None,
        NOTHING,
        "tests/tests/vm/queues.rs::queues_interrupts_and_cpus_are_placed_kept_over_a_boot_and_taken_back",
    ),
    row(
        22,
        "rx and tx interrupt of a queue on one core, queues over two nodes",
        Argument("irq_affinity", "place"),
        NOW,
        ("the lists before", "effective_affinity_list"),
        "modules/src/network/irq_affinity/tests.rs::two_nodes_of_64_cpus_share_48_queues",
    ),
    row(
        23,
        "irqbalance leaves them where they are",
        Argument("irq_affinity", "irqbalance"),
        NOW,
        ("the unit or its settings as before", "effective_affinity_list, and the unit's state"),
        "tests/tests/network/scripts.rs::irqbalance_is_told_to_leave_placed_interrupts_alone",
    ),
    row(
        24,
        "LAG receive mode 1",
        Task(NETWORK, "The card's ports are one LAG with receive mode 1"),
        NOW,
        BY_HAND,
        "tests/tests/playbooks/probes.rs::both_ports_of_the_card_carry_what_comes",
    ),
    row(
        25,
        "each port's node known, and queues placed by it",
        Argument("irq_affinity", "place"),
        None,
        NOTHING,
        "modules/src/network/irq_affinity/tests.rs::local_stays_on_the_node_of_the_card_and_spares_cpu_0",
    ),
    row(
        26,
        "the provider's rate limit lifted",
        Task(NETWORK, "The provider's rate limit is lifted"),
        NOW,
        BY_HAND,
        "tests/tests/playbooks/probes.rs::the_rate_is_what_was_asked_of_the_provider",
    ),
    row(
        27,
        "hyper-threading off",
        Argument("smt", "enabled"),
        NOW,
        ("the control before", "smt/active"),
        "tests/tests/vm/queues.rs::queues_interrupts_and_cpus_are_placed_kept_over_a_boot_and_taken_back",
    ),
    row(
        28,
        "guests idle without an exit (hlt)",
        Argument("libvirt_domain", "arguments"),
        Some(Effect::GuestPowerCycle),
        ("the XML before", "the running command line, and KVM's count of exits for HLT"),
        "tests/tests/playbooks/probes.rs::idle_guests_are_counted_by_the_kernel",
    ),
    row(
        29,
        "the client on the CPUs of one L3 cache",
        Argument("cpu_affinity", "l3"),
        RESTART,
        ("the drop-in as before, then a restart", "Cpus_allowed_list of the process"),
        "modules/src/cpu/cpu_affinity.rs::caches_and_nodes_are_computed",
    ),
    row(
        30,
        "the client on one node, interrupts over two",
        Argument("cpu_affinity", "nodes"),
        RESTART,
        ("the drop-in as before, then a restart", "Cpus_allowed_list of the process"),
        "tests/tests/network/cpus.rs::affinity_is_live_and_a_cpuset_that_nobody_gives_is_not",
    ),
    row(
        31,
        "the topology of nodes",
        Fact("cpu_topology"),
        None,
        NOTHING,
        "modules/src/setup/topology.rs::processors_cards_and_devices_are_typed",
    ),
    row(
        32,
        "QEMU on CPUs 2 and 3",
        Argument("libvirt_domain", "cputune"),
        Some(Effect::GuestPowerCycle),
        ("the XML before", "Cpus_allowed_list of its threads"),
        "modules/src/guests/libvirt_domain/tests/knobs.rs::pins_of_all_threads",
    ),
];
