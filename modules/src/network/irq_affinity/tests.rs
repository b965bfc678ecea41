//! Places of interrupts on captured and on made machines, and the scripts that keep them.
use super::super::interrupts;
use super::super::interrupts::tests::listed;
use super::IrqAffinity;
use super::samples::{with_balancer, with_card};
use crate::cpu::topology::machines::machine;
use crate::host::Host;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Act, Back, Change, Output, RiskName, Seen, Standing};
use serde_json::{Value as Json, json};

fn ask(host: &Host, args: Json) -> Change {
    planned::<IrqAffinity>(host, args)
}

fn cpu_of(change: &Change, name: &str) -> u32 {
    change.result["queues"][name].as_str().unwrap().parse().unwrap()
}

#[test]
fn two_nodes_of_64_cpus_share_48_queues() {
    let host = with_card(machine(2, 64, 8, false), 48, 0);
    let change = ask(&host, json!({ "device": "eth0", "place": "split", "persist": false }));
    assert_eq!(
        change.steps.len(),
        96,
        "received and sent of 48 queues; the configuration's interrupt is left"
    );
    for queue in 0..48 {
        let (input, output) = (
            cpu_of(&change, &format!("virtio0-input.{queue}")),
            cpu_of(&change, &format!("virtio0-output.{queue}")),
        );
        assert_eq!(input, output, "queue {queue}");
        let wanted = if queue < 24 { 63 - queue } else { 127 - (queue - 24) };
        assert_eq!(input, wanted, "queue {queue}");
    }
    assert_eq!(change.result["cpus"], "40-63,104-127");
    assert!(change.notes.is_empty(), "{:?}", change.notes);
}

#[test]
fn local_stays_on_the_node_of_the_card_and_spares_cpu_0() {
    let host = with_card(machine(2, 4, 4, true), 4, 0);
    let change = ask(&host, json!({ "device": "eth0", "persist": false }));
    // Cores 3, 2, 1 of node 0; CPU 0 is left out, so that the fourth queue has a second thread.
    let cpus: Vec<u32> = (0..4).map(|queue| cpu_of(&change, &format!("virtio0-input.{queue}"))).collect();
    assert_eq!(cpus, [3, 2, 1, 11]);
    let far = ask(&host, json!({ "device": "eth0", "nodes": [1], "persist": false }));
    assert!(far.notes[0].contains("not on node 0"), "{:?}", far.notes);
    let few = ask(&with_card(machine(1, 2, 2, false), 4, 0), json!({ "device": "eth0", "persist": false }));
    assert!(few.notes[0].contains("4 queues share 1 CPUs"), "{:?}", few.notes);
}

#[test]
fn l3_takes_each_cache_in_turn() {
    let host = with_card(machine(2, 16, 8, false), 4, 1);
    let change = ask(&host, json!({ "device": "eth0", "place": "l3", "persist": false }));
    let cpus: Vec<u32> = (0..4).map(|queue| cpu_of(&change, &format!("virtio0-input.{queue}"))).collect();
    assert_eq!(cpus, [23, 31, 22, 30]);
}

#[test]
fn mellanox_is_found_by_its_address_on_a_captured_table() {
    let text =
        include_str!("../../../../tests/data/corpus/topology/interrupts-256cpu-mlx5-nvme-synthetic.txt");
    let mut host = machine(2, 128, 8, false)
        .link("/sys/class/net/enp33s0", "../../devices/pci0000:20/0000:20:01.1/0000:21:00.0/net/enp33s0")
        .value("/sys/devices/pci0000:20/0000:20:01.1/0000:21:00.0/numa_node", "1")
        .answer(interrupts::row(), Seen::Output(Output::ok(listed(text))));
    for number in 40..=200 {
        host = host
            .value(&format!("/proc/irq/{number}/smp_affinity_list"), "0-255")
            .value(&format!("/proc/irq/{number}/effective_affinity_list"), "7");
    }
    let change = ask(&host, json!({ "device": "enp33s0", "persist": false }));
    assert_eq!(change.steps.len(), 32);
    assert_eq!(cpu_of(&change, "mlx5_comp0@pci:0000:21:00.0"), 255);
    assert!(change.steps.iter().all(|step| !step.claim.as_str().contains("async")));
    let by_name = ask(&host, json!({ "queues": ["mlx5_comp3"], "cpus": "200", "persist": false }));
    // By its name, whatever its number is when that is done or taken back.
    let (Act::Call { row, .. }, Back::Exactly(Act::Call { row: back, .. })) =
        (&by_name.steps[0].act, &by_name.steps[0].back)
    else {
        panic!("{by_name:?}")
    };
    assert_eq!(row.args, ["mlx5_comp3@pci:0000:21:00.0", "200"]);
    assert_eq!(back.args, ["mlx5_comp3@pci:0000:21:00.0", "0-255"]);
    assert!(
        refusal::<IrqAffinity>(&host, json!({ "queues": "mlx5_cmp3", "cpus": "3" })).contains("`mlx5_cmp3`")
    );
    let nvme = ask(&host, json!({ "queues": "nvme0q[1-2]", "cpus": "9", "persist": false }));
    assert!(nvme.is_empty(), "{:?}", nvme.steps);
    assert_eq!(nvme.risks[0].name, RiskName::CannotConverge);
    assert!(nvme.risks[0].why.contains("nvme0q1 (served by 7, not 9)"), "{}", nvme.risks[0].why);
}

#[test]
fn of_two_with_one_name_each_is_placed_by_its_number() {
    let text = "1: IO-APIC 1-edge i8042\n12: IO-APIC 12-edge i8042\n";
    let mut host = machine(1, 4, 4, false).answer(interrupts::row(), Seen::Output(Output::ok(text)));
    for number in [1, 12] {
        host = host
            .value(&format!("/proc/irq/{number}/smp_affinity_list"), "0-3")
            .value(&format!("/proc/irq/{number}/effective_affinity_list"), "0");
    }
    let change = ask(&host, json!({ "map": { "i8042": "2" }, "persist": false }));
    let paths: Vec<&str> = change.steps.iter().filter_map(|step| Some(step.path()?.as_str())).collect();
    assert_eq!(paths, ["/proc/irq/1/smp_affinity_list", "/proc/irq/12/smp_affinity_list"]);
}

#[test]
fn written_is_not_served() {
    let host = with_card(machine(1, 8, 8, false), 1, 0)
        .value("/proc/irq/41/smp_affinity_list", "7")
        .value("/proc/irq/42/smp_affinity_list", "7")
        .value("/proc/irq/42/effective_affinity_list", "7");
    let change = ask(&host, json!({ "device": "eth0", "persist": false }));
    assert!(change.is_empty());
    let Standing::Owed { seen, .. } = &change.evidence[0].standing else { panic!("{:?}", change.evidence) };
    assert_eq!(seen, "1 of 2 are not: virtio0-input.0 by 0");
    assert!(change.notes[0].contains("not live"), "{:?}", change.notes);
    let live = host.value("/proc/irq/41/effective_affinity_list", "7");
    let change = ask(&live, json!({ "device": "eth0", "persist": false }));
    assert!(matches!(change.evidence[0].standing, Standing::Live { .. }));
}

#[test]
fn a_running_balancer_must_be_spoken_of() {
    let host = || with_card(machine(1, 8, 8, false), 2, 0);
    let running = with_balancer(host(), "active", "enabled");
    let why = refusal::<IrqAffinity>(&running, json!({ "device": "eth0" }));
    assert!(why.contains("irqbalance: stop"), "{why}");
    let stop = ask(&running, json!({ "device": "eth0", "irqbalance": "stop", "persist": false }));
    let rows: Vec<&str> = stop.steps[..2]
        .iter()
        .filter_map(|step| match &step.act {
            Act::Call { row, .. } => Some(row.name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(rows, ["systemctl-mask", "systemctl-stop"], "before the first interrupt is moved");
    let leave = ask(&running, json!({ "device": "eth0", "irqbalance": "leave", "persist": false }));
    assert!(leave.notes.iter().any(|note| note.contains("may move")), "{:?}", leave.notes);
    let masked = with_balancer(host(), "inactive", "masked");
    assert_eq!(ask(&masked, json!({ "device": "eth0", "persist": false })).steps.len(), 4);
    let ban = ask(&running, json!({ "device": "eth0", "irqbalance": "ban" }));
    assert!(ban.then.iter().any(|then| format!("{then:?}").contains("irqbalance.service")), "{:?}", ban.then);
}

#[test]
fn slips_and_strangers_are_refused() {
    let host = with_card(machine(2, 8, 8, false), 2, 0);
    let refused = |args: Json| refusal::<IrqAffinity>(&host, args);
    assert!(refused(json!({})).contains("which interrupts"));
    assert!(refused(json!({ "device": "eth1" })).contains("no interrupt is of eth1"));
    assert!(refused(json!({ "device": "eth0", "queues": "virtio0-imput.1" })).contains("virtio0-input.1"));
    assert!(refused(json!({ "device": "eth0", "cpus": "99" })).contains("does not run"));
    assert!(refused(json!({ "device": "eth0", "nodes": [4] })).contains("no NUMA node 4"));
    assert!(refused(json!({ "device": "eth0", "nodes": [0], "place": "split" })).contains("two NUMA nodes"));
    assert!(refused(json!({ "device": "eth0", "housekeeping": "0-15" })).contains("no CPU is left"));
    assert!(refused(json!({ "device": "../x" })).contains("not the name"));
    let virtio10 = with_card(machine(1, 4, 4, false), 1, 0).answer(
        interrupts::row(),
        Seen::Output(Output::ok("50: PCI-MSIX-0000:00:09.0 1-edge virtio01-input.0\n")),
    );
    assert!(refusal::<IrqAffinity>(&virtio10, json!({ "device": "virtio0" })).contains("no interrupt"));
}

#[test]
fn an_old_kernel_without_effective_affinity_is_told_by_the_mask() {
    let text = "41: PCI-MSI 1-edge virtio0-input.0\n";
    let host = machine(1, 4, 4, false)
        .value("/proc/irq/41/smp_affinity_list", "3")
        .answer(interrupts::row(), Seen::Output(Output::ok(text)));
    let change = ask(&host, json!({ "device": "virtio0", "cpus": "3", "persist": false }));
    assert!(change.is_empty() && matches!(change.evidence[0].standing, Standing::Live { .. }), "{change:?}");
}
