//! Offloads, queues and interrupts of cards, as they are.
use super::Found;
use crate::cpu::topology;
use crate::draft::known;
use crate::files::place;
use crate::network::card;
use crate::network::features::Features;
use crate::network::interrupts;
use crate::network::owner::Owner;
use crate::shape::CpuList;
use crate::vocabulary::{Facts, HostPath, Read, Stop, all};
use serde_json::{Map, json};
use std::collections::BTreeMap;

const QUEUES: &str = "/sys/class/net/*/queues/*/*ps_cpus";
const ONLINE: &str = "/sys/devices/system/cpu/online";
/// Cards that programs make and take away.
const MADE: [&str; 9] = ["ifb", "dummy", "docker", "virbr", "vnet", "br-", "tun", "tap", "cali"];
/// Features that people tune; what else `ethtool -k` lists follows from the driver.
const FEATURES: [&str; 9] = [
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
    "receive-hashing",
    "ntuple-filters",
];

/// Cards that have a name of their own.
fn cards(facts: &Facts) -> Result<Vec<HostPath>, Stop> {
    let names = known(facts.names(card::CARDS))?.unwrap_or_default();
    let is_own = |card: &HostPath| {
        !matches!(card.name(), "lo" | "bonding_masters")
            && !MADE.iter().any(|made| card.name().starts_with(made))
    };
    Ok(names.into_iter().filter(is_own).collect())
}

/// What cards do by themselves.
pub(super) fn offloads(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let cards = cards(facts)?;
    let rows: Vec<Read> =
        cards.iter().map(|one| Read::Ask(card::row("ethtool-features", one.name()))).collect();
    facts.need(&rows)?;
    let mut found = Vec::new();
    for one in &cards {
        let Some(output) = known(facts.output(&card::row("ethtool-features", one.name())))? else { continue };
        if output.status != 0 {
            let what = format!("offloads of {}", one.name());
            let why = match output.status {
                127 => "ethtool is not installed".to_owned(),
                _ => output.error_text().trim().to_owned(),
            };
            found.push(Found::new(what, "ethtool -k").because(why));
            continue;
        }
        let features = Features::parse(&output.text());
        let chosen: BTreeMap<&str, bool> = FEATURES
            .iter()
            .filter_map(|name| Some((*name, features.get(name)?)))
            .filter(|(_, feature)| !feature.fixed)
            .map(|(name, feature)| (name, feature.active))
            .collect();
        if !chosen.is_empty() {
            let args = json!({ "device": one.name(), "features": chosen });
            let name = format!("What {} does by itself", one.name());
            let source = format!("ethtool -k {}", one.name());
            found.push(Found::new(format!("offloads of {}", one.name()), source).kept_or_live(
                &name,
                "nic_offload",
                args,
            ));
        }
    }
    Ok(found)
}

/// RPS and XPS, where every queue of a card has the same.
pub(super) fn queues(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let paths = known(facts.names(QUEUES))?.unwrap_or_default();
    facts.need(&paths.iter().map(Read::text).collect::<Vec<_>>())?;
    let mut by: BTreeMap<(String, &str), Vec<CpuList>> = BTreeMap::new();
    for path in &paths {
        let device = path.as_str().split('/').nth(4).unwrap_or_default().to_owned();
        let kind = if path.name() == "rps_cpus" { "rps" } else { "xps" };
        let value = known(facts.value(path))?.flatten();
        if let Some(cpus) = value.and_then(|text| CpuList::parse_mask(&text).ok()) {
            by.entry((device, kind)).or_default().push(cpus);
        }
    }
    let mut found = Vec::new();
    for ((device, kind), lists) in by {
        // Nothing is what the kernel does unasked.
        if device == "lo" || lists.iter().all(CpuList::is_empty) {
            continue;
        }
        let source = format!("/sys/class/net/{device}/queues/*/{kind}_cpus");
        let one = Found::new(format!("{} of {device}", kind.to_uppercase()), source);
        found.push(match lists.iter().all(|list| *list == lists[0]) {
            true => {
                let args = json!({ "device": device, kind: lists[0].to_string() });
                one.kept_or_live(&format!("{} of {device}", kind.to_uppercase()), "nic_queues", args)
            }
            false => one.because("its queues differ, and a task says one list for all of them"),
        });
    }
    Ok(found)
}

/// Interrupts of cards that somebody placed.
pub(super) fn interrupts(facts: &Facts) -> Result<Vec<Found>, Stop> {
    let mut first = vec![Read::Ask(interrupts::row()), Read::text(&place::known(ONLINE)?)];
    let cards = cards(facts)?;
    first.extend(cards.iter().cloned().map(Read::Stat));
    facts.need(&first)?;
    let Some(all_of_them) = known(interrupts::all(facts))? else { return Ok(Vec::new()) };
    let online = known(topology::list(facts, &place::known(ONLINE)?))?.flatten().unwrap_or_default();
    let owners = all(cards.iter().map(|one| known(Owner::of(facts, one.name()))))?;
    let mut found = Vec::new();
    for (one, owner) in cards.iter().zip(owners.iter().flatten()) {
        let own: Vec<_> = all_of_them
            .iter()
            .filter(|interrupt| {
                owner.has(interrupt) && interrupt.queue().is_some() && !interrupt.is_managed()
            })
            .collect();
        let paths =
            own.iter().map(|interrupt| interrupt.file("smp_affinity_list")).collect::<Result<Vec<_>, _>>()?;
        facts.need(&paths.iter().map(Read::text).collect::<Vec<_>>())?;
        let mut map = Map::new();
        for (interrupt, path) in own.iter().zip(&paths) {
            let cpus = known(topology::list(facts, path))?.flatten().unwrap_or_default();
            // All CPUs, or more, is nobody's choice.
            if !cpus.is_empty() && !online.iter().all(|cpu| cpus.contains(cpu)) {
                map.insert(interrupt.name.clone(), json!(cpus.to_string()));
            }
        }
        if map.is_empty() {
            continue;
        }
        let name = format!("Interrupts of {}", one.name());
        let args = json!({ "device": one.name(), "map": map });
        let left = super::with(&args, "irqbalance", json!("leave"));
        found.push(
            Found::new(
                format!("{} placed interrupts of {}", map.len(), one.name()),
                "/proc/irq/*/smp_affinity_list",
            )
            .kept_or_live(&name, "irq_affinity", args)
            .kept_or_live(&name, "irq_affinity", left),
        );
    }
    Ok(found)
}
