//! Facts of processors, of cards with their queues and interrupts, and of PCI devices: typed, read only where they are named.
use crate::cpu::topology::{self as processors, Topology};
use crate::files::place::known;
use crate::network::interrupts;
use crate::network::owner::{Owner, is_pci};
use crate::vocabulary::{Facts, HostPath, Kind, Read, Stop, all as together, link_target, missing};
use serde_json::{Map, Value as Json, json};

const CARDS: &str = "/sys/class/net/*";
const QUEUES: &str = "/sys/class/net/*/queues/*";
const PCI: &str = "/sys/bus/pci/devices/*";

/// What must be read for `cpu_topology`.
pub(super) fn cpu_reads(facts: &Facts) -> Vec<Read> {
    match processors::first_reads() {
        Ok(first) if facts.need(&first).is_err() => first,
        _ => missing(cpus(facts)),
    }
}

/// `cpu_topology`: lists of CPUs that run, by NUMA node, by shared third-level cache, by core.
pub(super) fn cpus(facts: &Facts) -> Result<Json, Stop> {
    facts.need(&processors::first_reads()?)?;
    // A container may be shown no processors at all.
    if facts.value(&known("/sys/devices/system/cpu/online")?)?.is_none() {
        return Ok(json!({}));
    }
    let topology = Topology::read(facts)?;
    let nodes: Map<String, Json> =
        topology.nodes.iter().map(|(node, cpus)| (node.to_string(), json!(cpus.to_string()))).collect();
    let texts = |lists: &[crate::shape::CpuList]| lists.iter().map(ToString::to_string).collect::<Vec<_>>();
    let smt = topology.cores.iter().any(|core| core.len() > 1);
    Ok(json!({
        "online": topology.online.to_string(),
        "nodes": nodes,
        "l3": texts(&topology.l3),
        "cores": texts(&topology.cores),
        "smt": smt,
    }))
}

/// What must be read for `nic_queues`.
pub(super) fn card_reads(facts: &Facts) -> Vec<Read> {
    missing(cards(facts))
}

/// `nic_queues`: for each card its queues, its NUMA node, its PCI address, and its interrupts by name with their numbers.
pub(super) fn cards(facts: &Facts) -> Result<Json, Stop> {
    let first = [Read::Glob(CARDS.to_owned()), Read::Glob(QUEUES.to_owned()), Read::Ask(interrupts::row())];
    facts.need(&first)?;
    let names: Vec<HostPath> =
        facts.names(CARDS)?.into_iter().filter(|card| card.name() != "bonding_masters").collect();
    facts.need(&names.iter().cloned().map(Read::Stat).collect::<Vec<_>>())?;
    let queues = facts.names(QUEUES)?;
    // Without awk nothing is known of interrupts; the queues are.
    let all = match facts.output(&interrupts::row())?.status {
        0 => interrupts::all(facts)?,
        _ => Vec::new(),
    };
    let mut found = Map::new();
    let mut devices = Vec::new();
    let owners = together(names.iter().map(|card| Owner::of(facts, card.name())))?;
    for card in &names {
        devices.push(pci_above(facts, card)?);
    }
    let paths: Vec<HostPath> =
        devices.iter().flatten().filter_map(|pci| pci.join("numa_node").ok()).collect();
    facts.need(&paths.iter().map(Read::text).collect::<Vec<_>>())?;
    for ((card, pci), device) in names.iter().zip(&devices).zip(&owners) {
        let count = |way: &str| {
            let prefix = format!("{card}/queues/{way}-");
            queues.iter().filter(|queue| queue.as_str().starts_with(&prefix)).count()
        };
        let own: Map<String, Json> = all
            .iter()
            .filter(|one| device.has(one))
            .map(|one| (one.name.clone(), json!(one.number)))
            .collect();
        let node = match pci {
            Some(pci) => facts.value(&pci.join("numa_node").map_err(Stop::failed)?)?,
            None => None,
        };
        found.insert(
            card.name().to_owned(),
            json!({
                "rx": count("rx"),
                "tx": count("tx"),
                "pci": pci.as_ref().map(HostPath::name),
                "node": node.and_then(|node| node.trim().parse::<u32>().ok()),
                "interrupts": own,
            }),
        );
    }
    Ok(Json::Object(found))
}

/// The nearest PCI device above a card.
fn pci_above(facts: &Facts, card: &HostPath) -> Result<Option<HostPath>, Stop> {
    let Some(Kind::Link { target }) = facts.stat(card)?.map(|node| node.kind) else { return Ok(None) };
    let path = link_target(card, &target).map_err(Stop::failed)?;
    Ok(std::iter::successors(Some(path), HostPath::parent).find(|path| is_pci(path.name())))
}

/// What must be read for `pci_devices`.
pub(super) fn pci_reads(facts: &Facts) -> Vec<Read> {
    missing(pci(facts))
}

/// `pci_devices`: by address the vendor's and the device's number, the class, the NUMA node and the driver.
pub(super) fn pci(facts: &Facts) -> Result<Json, Stop> {
    let devices = facts.names(PCI)?;
    let mut reads = Vec::new();
    for device in &devices {
        for file in ["vendor", "device", "class", "numa_node"] {
            reads.push(Read::text(&known(&format!("{device}/{file}"))?));
        }
        reads.push(Read::Stat(known(&format!("{device}/driver"))?));
    }
    facts.need(&reads)?;
    let mut found = Map::new();
    for device in &devices {
        let value = |file: &str| -> Result<Option<String>, Stop> {
            Ok(facts.value(&known(&format!("{device}/{file}"))?)?.map(|value| value.trim().to_owned()))
        };
        let driver = match facts.stat(&known(&format!("{device}/driver"))?)?.map(|node| node.kind) {
            Some(Kind::Link { target }) => target.rsplit('/').next().map(str::to_owned),
            _ => None,
        };
        found.insert(
            device.name().to_owned(),
            json!({
                "vendor": value("vendor")?,
                "device": value("device")?,
                "class": value("class")?,
                "node": value("numa_node")?.and_then(|node| node.parse::<u32>().ok()),
                "driver": driver,
            }),
        );
    }
    Ok(Json::Object(found))
}

#[cfg(test)]
mod tests {
    use crate::cpu::topology::machines::machine;
    use crate::host::Host;
    use crate::network::interrupts;
    use crate::vocabulary::{Output, Seen};

    fn value(host: &Host, name: &str) -> serde_json::Value {
        super::super::tests::value(host, name).unwrap()
    }

    #[test]
    fn processors_cards_and_devices_are_typed() {
        let text = "40: PCI-MSIX-0000:00:03.0 0-edge virtio0-config\n41: PCI-MSIX-0000:00:03.0 1-edge virtio0-input.0\n";
        let device = "/sys/devices/pci0000:00/0000:00:03.0";
        let host = machine(2, 4, 2, false)
            .link("/sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0")
            .value("/sys/class/net/eth0/queues/rx-0/rps_cpus", "0")
            .value("/sys/class/net/eth0/queues/tx-0/xps_cpus", "0")
            .value("/sys/class/net/lo/queues/rx-0/rps_cpus", "0")
            .value(&format!("{device}/numa_node"), "1")
            .link("/sys/bus/pci/devices/0000:00:03.0", "../../../devices/pci0000:00/0000:00:03.0")
            .value("/sys/bus/pci/devices/0000:00:03.0/vendor", "0x1af4")
            .link("/sys/bus/pci/devices/0000:00:03.0/driver", "../../../../bus/pci/drivers/virtio-pci")
            .answer(interrupts::row(), Seen::Output(Output::ok(text)));
        let cpus = value(&host, "cpu_topology");
        assert_eq!((cpus["nodes"]["1"].as_str(), cpus["l3"][3].as_str()), (Some("4-7"), Some("6-7")));
        assert_eq!(cpus["smt"], false);
        let cards = value(&host, "nic_queues");
        assert_eq!(cards["eth0"]["interrupts"]["virtio0-input.0"], 41);
        assert_eq!((cards["eth0"]["node"].as_u64(), cards["eth0"]["rx"].as_u64()), (Some(1), Some(1)));
        assert_eq!(cards["lo"]["pci"], serde_json::Value::Null);
        let pci = value(&host, "pci_devices");
        assert_eq!(pci["0000:00:03.0"]["vendor"], "0x1af4");
        assert_eq!(pci["0000:00:03.0"]["driver"], "virtio-pci");
    }
}
