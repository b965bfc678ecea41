//! Trials of `irq_affinity`, and the machines of its tests.
use super::super::interrupts::{self, Interrupt};
use crate::cpu::topology::machines::machine;
use crate::host::Host;
use crate::module::Sample;
use crate::services::unit::{active_look, answer, file_look, show};
use crate::vocabulary::{Output, Read, Row, Seen};
use serde_json::json;

/// A machine with a virtio card of so many queues on a node, its interrupts from number 40 on.
pub(super) fn with_card(host: Host, queues: u32, node: u32) -> Host {
    let mut lines = "40: PCI-MSIX-0000:00:03.0 0-edge virtio0-config\n".to_owned();
    let mut host = host
        .link("/sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0")
        .value("/sys/devices/pci0000:00/0000:00:03.0/numa_node", &node.to_string())
        .dir("/etc/systemd/system")
        .dir("/usr/local/lib");
    for queue in 0..queues {
        for (at, way) in [(0, "input"), (1, "output")] {
            let number = 41 + 2 * queue + at;
            let one = interrupt(number, way, queue);
            lines.push_str(&format!("{number}: {} {number}-edge {}\n", one.source, one.name));
            host = host
                .answer(one.look(), Seen::Output(Output::ok("0\n")))
                .value(&format!("/proc/irq/{number}/smp_affinity_list"), "0")
                .value(&format!("/proc/irq/{number}/effective_affinity_list"), "0");
        }
    }
    host.answer(interrupts::row(), Seen::Output(Output::ok(lines)))
}

fn interrupt(number: u32, way: &str, queue: u32) -> Interrupt {
    Interrupt { number, source: "PCI-MSIX-0000:00:03.0".to_owned(), name: format!("virtio0-{way}.{queue}") }
}

/// What placing the interrupts of such a card leaves.
fn placings(queues: u32) -> Vec<(Row, Vec<(Read, Seen)>)> {
    let cpus: Vec<String> = (0..16).map(|cpu| cpu.to_string()).chain(["4-5".to_owned()]).collect();
    let mut calls = Vec::new();
    for queue in 0..queues {
        for (at, way) in [(0, "input"), (1, "output")] {
            let one = interrupt(41 + 2 * queue + at, way, queue);
            let Ok(file) = one.file("smp_affinity_list") else { continue };
            calls.extend(cpus.iter().map(|cpus| {
                let left = vec![
                    (Read::text(&file), Seen::Value(cpus.clone())),
                    (Read::Ask(one.look()), Seen::Output(Output::ok(format!("{cpus}\n")))),
                ];
                (Row::new("interrupt-place", [one.name.as_str(), cpus]), left)
            }));
        }
    }
    calls
}

/// The same with an irqbalance in some state.
pub(super) fn with_balancer(host: Host, active: &str, file: &str) -> Host {
    let unit = "irqbalance.service";
    host.dir("/run/systemd/system")
        .answer(show(unit), shown(active, file))
        .answer(Row::new("systemctl-active", [unit]), answer("ActiveState", active))
        .answer(Row::new("systemctl-unit-file-state", [unit]), answer("UnitFileState", file))
}

fn shown(active: &str, file: &str) -> Seen {
    let load = if file == "masked" { "masked" } else { "loaded" };
    Seen::Output(Output::ok(format!(
        "Id=irqbalance.service\nLoadState={load}\nActiveState={active}\nUnitFileState={file}\nType=simple\n\
         FragmentPath=/usr/lib/systemd/system/irqbalance.service\n"
    )))
}

pub(super) fn samples() -> Vec<Sample> {
    let unit = "irqbalance.service";
    let left = |active: &str, file: &str, look: Read, property: &str, value: &str| {
        vec![(Read::Ask(show(unit)), shown(active, file)), (look, answer(property, value))]
    };
    let balancer = [
        (
            Row::new("systemctl-mask", [unit]),
            left("active", "masked", file_look(unit), "UnitFileState", "masked"),
        ),
        (
            Row::new("systemctl-unmask", [unit]),
            left("active", "enabled", file_look(unit), "UnitFileState", "enabled"),
        ),
        (
            Row::new("systemctl-stop", [unit]),
            left("inactive", "masked", active_look(unit), "ActiveState", "inactive"),
        ),
        (
            Row::new("systemctl-start", [unit]),
            left("active", "masked", active_look(unit), "ActiveState", "active"),
        ),
    ];
    let calls: Vec<_> = placings(4).into_iter().chain(balancer).collect();
    let sample = |about, args, host| Sample { about, args, host, calls: placings(4) };
    vec![
        sample(
            "split over two nodes",
            json!({ "device": "eth0", "place": "split" }),
            with_card(machine(2, 8, 4, false), 4, 0),
        ),
        sample(
            "by name, not kept",
            json!({ "map": { "virtio0-input.0": "3", "virtio0-output.*": "4-5" }, "persist": false }),
            with_card(machine(1, 8, 8, false), 2, 0),
        ),
        sample(
            "beside irqbalance",
            json!({ "device": "eth0", "irqbalance": "ban" }),
            with_balancer(with_card(machine(1, 8, 8, false), 2, 0), "active", "enabled"),
        ),
        Sample {
            about: "irqbalance stopped",
            args: json!({ "device": "eth0", "irqbalance": "stop", "persist": false }),
            host: with_balancer(with_card(machine(1, 8, 8, false), 2, 0), "active", "enabled"),
            calls,
        },
    ]
}
