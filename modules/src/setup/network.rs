//! Facts of network cards and addresses, from `ip -json`.
use crate::vocabulary::{Facts, HostPath, Read, Row, Stop};
use serde_json::{Value as Json, json};
use std::net::{IpAddr, Ipv4Addr};

fn row(name: &str) -> Row {
    Row::new(name, Vec::<String>::new())
}

const CARDS: &str = "/sys/class/net/*";

/// What must be read for names alone.
pub(super) fn interface_reads(_: &Facts) -> Vec<Read> {
    vec![Read::Glob(CARDS.to_owned())]
}

/// What must be read for addresses.
pub(super) fn reads(_: &Facts) -> Vec<Read> {
    ["ip-address", "ip-route", "ip6-route"].iter().map(|name| Read::Ask(row(name))).collect()
}

/// `interfaces`; files beside the cards, such as `bonding_masters`, are none.
pub(super) fn interfaces(facts: &Facts) -> Result<Json, Stop> {
    let names = facts.names(CARDS)?;
    Ok(json!(names.iter().map(HostPath::name).filter(|name| *name != "bonding_masters").collect::<Vec<_>>()))
}

fn list(facts: &Facts, name: &str) -> Result<Vec<Json>, Stop> {
    let output = facts.output(&row(name))?;
    let text = output.text();
    if output.status != 0 && name == "ip6-route" {
        return Ok(Vec::new());
    }
    if output.status != 0 {
        return Err(Stop::failed(format!("network cards cannot be asked: {}", output.error_text().trim()))
            .way_out("install the package `iproute2`"));
    }
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(&text)
        .map_err(|why| Stop::failed(format!("`ip -json` does not answer in JSON: {why}")))
}

/// Addresses of a card of one family.
fn addresses<'a>(card: &'a Json, family: &'a str) -> impl Iterator<Item = &'a Json> {
    card["addr_info"].as_array().into_iter().flatten().filter(move |address| address["family"] == family)
}

fn all(facts: &Facts, family: &str) -> Result<Json, Stop> {
    let cards = list(facts, "ip-address")?;
    let local = |address: &&str| address.parse::<IpAddr>().is_ok_and(|address| !address.is_loopback());
    let found: Vec<&str> = cards
        .iter()
        .flat_map(|card| addresses(card, family))
        .filter_map(|address| address["local"].as_str())
        .filter(local)
        .collect();
    Ok(json!(found))
}

pub(super) fn all_ipv4(facts: &Facts) -> Result<Json, Stop> {
    all(facts, "inet")
}

pub(super) fn all_ipv6(facts: &Facts) -> Result<Json, Stop> {
    all(facts, "inet6")
}

/// An IPv4 address with what follows from its prefix.
fn ipv4(address: &Json) -> Json {
    let prefix = address["prefixlen"].as_u64().unwrap_or(32).min(32);
    let mask = u32::MAX.checked_shl(32 - u32::try_from(prefix).unwrap_or(32)).unwrap_or(0);
    let local = address["local"].as_str().and_then(|local| local.parse::<Ipv4Addr>().ok());
    let network = local.map(|local| Ipv4Addr::from_bits(local.to_bits() & mask).to_string());
    json!({
        "address": address["local"],
        "broadcast": address["broadcast"].as_str().unwrap_or_default(),
        "netmask": Ipv4Addr::from_bits(mask).to_string(),
        "network": network,
        "prefix": prefix.to_string(),
    })
}

fn with_card(mut found: Json, card: &Json) -> Json {
    found["interface"] = card["ifname"].clone();
    found["macaddress"] = card["address"].clone();
    found["mtu"] = card["mtu"].clone();
    found["type"] = json!(kind(card));
    found
}

fn kind(card: &Json) -> &str {
    match card["link_type"].as_str() {
        Some("loopback") => "loopback",
        Some("infiniband") => "infiniband",
        _ => "ether",
    }
}

/// The card and the gateway of the default route with the least metric.
fn default_route(routes: &[Json]) -> Option<(&str, Option<&str>, Option<&str>)> {
    let defaults = routes.iter().filter(|route| route["dst"] == "default");
    let route = defaults.min_by_key(|route| route["metric"].as_u64().unwrap_or(0))?;
    Some((route["dev"].as_str()?, route["gateway"].as_str(), route["prefsrc"].as_str()))
}

/// `default_ipv4`; empty where there is no default route.
pub(super) fn default_ipv4(facts: &Facts) -> Result<Json, Stop> {
    let (cards, routes) = (list(facts, "ip-address")?, list(facts, "ip-route")?);
    let Some((device, gateway, source)) = default_route(&routes) else { return Ok(json!({})) };
    let Some(card) = cards.iter().find(|card| card["ifname"] == device) else { return Ok(json!({})) };
    let preferred =
        addresses(card, "inet").find(|address| source.is_some_and(|source| address["local"] == source));
    let Some(address) = preferred.or_else(|| addresses(card, "inet").next()) else { return Ok(json!({})) };
    let mut found = with_card(ipv4(address), card);
    found["gateway"] = json!(gateway);
    found["alias"] = json!(device);
    Ok(found)
}

/// `default_ipv6`; empty where there is no default route.
pub(super) fn default_ipv6(facts: &Facts) -> Result<Json, Stop> {
    let (cards, routes) = (list(facts, "ip-address")?, list(facts, "ip6-route")?);
    let Some((device, gateway, _)) = default_route(&routes) else { return Ok(json!({})) };
    let Some(card) = cards.iter().find(|card| card["ifname"] == device) else { return Ok(json!({})) };
    let global = addresses(card, "inet6").find(|address| address["scope"] == "global");
    let Some(address) = global else { return Ok(json!({})) };
    let mut found = with_card(ipv6(address), card);
    found["gateway"] = json!(gateway);
    Ok(found)
}

fn ipv6(address: &Json) -> Json {
    let prefix = address["prefixlen"].as_u64().unwrap_or(128);
    json!({ "address": address["local"], "prefix": prefix.to_string(), "scope": address["scope"] })
}

/// The fact of one card, by its name with `-` and `.` as `_`; none where there is no such card.
pub(super) fn interface(facts: &Facts, name: &str) -> Result<Option<Json>, Stop> {
    let cards = list(facts, "ip-address")?;
    let Some(card) = cards
        .iter()
        .find(|card| card["ifname"].as_str().is_some_and(|card| card.replace(['-', '.', ':'], "_") == name))
    else {
        return Ok(None);
    };
    let flag =
        |wanted: &str| card["flags"].as_array().is_some_and(|flags| flags.iter().any(|flag| flag == wanted));
    let mut found = json!({
        "device": card["ifname"],
        "macaddress": card["address"],
        "mtu": card["mtu"],
        "active": flag("UP"),
        "promisc": flag("PROMISC"),
        "type": kind(card),
    });
    let four: Vec<Json> = addresses(card, "inet").map(ipv4).collect();
    if let Some((first, others)) = four.split_first() {
        found["ipv4"] = first.clone();
        if !others.is_empty() {
            found["ipv4_secondaries"] = json!(others);
        }
    }
    let six: Vec<Json> = addresses(card, "inet6").map(ipv6).collect();
    if !six.is_empty() {
        found["ipv6"] = json!(six);
    }
    Ok(Some(found))
}
