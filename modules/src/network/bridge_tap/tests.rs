//! Bridges and taps on hosts in memory.
use super::*;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Content, Image};

fn host() -> Host {
    BridgeTap::samples()[0].host.clone()
}

fn put(change: &Change, path: &str) -> String {
    let content = change.steps.iter().find_map(|step| match &step.act {
        Act::Put { path: at, image: Image::File { content: Content::Bytes(bytes), .. }, .. }
            if at.as_str() == path =>
        {
            bytes.text().map(str::to_owned)
        }
        _ => None,
    });
    content.unwrap_or_else(|| panic!("{path} is not put: {change:?}"))
}

#[test]
fn what_is_missing_is_made_and_kept() {
    let args = json!({ "bridge": "kvmbr0", "taps": ["tap1"], "owner": "qemu", "multi_queue": true, "persist": "networkd" });
    let change = planned::<BridgeTap>(&host(), args);
    let calls: Vec<String> = change
        .steps
        .iter()
        .filter_map(|step| match &step.act {
            Act::Call { row, .. } => Some(format!("{} {}", row.name, row.args.join(" "))),
            _ => None,
        })
        .collect();
    assert_eq!(
        calls,
        [
            "ip-link add name kvmbr0 type bridge",
            "ip-link set dev kvmbr0 up",
            "ip-tuntap add dev tap1 mode tap multi_queue user qemu",
            "ip-link set dev tap1 master kvmbr0 up",
        ]
    );
    let tap = put(&change, "/etc/systemd/network/50-tunerun-tap1.netdev");
    assert!(tap.contains("Kind=tap") && tap.contains("User=qemu") && tap.contains("MultiQueue=yes"), "{tap}");
    assert!(put(&change, "/etc/systemd/network/50-tunerun-tap1.network").contains("Bridge=kvmbr0"));
    assert!(change.dead_man.is_none(), "a tap carries no traffic of the host");
}

#[test]
fn a_card_that_joins_may_cut_the_link() {
    let change =
        planned::<BridgeTap>(&host(), json!({ "bridge": "kvmbr0", "cards": "eth1", "persist": "no" }));
    assert!(change.dead_man.is_some());
    let there = host().answer(look("kvmbr0"), told("", true)).answer(look("eth1"), told("kvmbr0", true));
    let change =
        planned::<BridgeTap>(&there, json!({ "bridge": "kvmbr0", "cards": "eth1", "persist": "no" }));
    assert!(change.is_empty() && change.dead_man.is_none(), "{change:?}");
}

#[test]
fn who_sets_up_the_network_keeps_it() {
    let args = json!({ "bridge": "kvmbr0", "taps": "tap1" });
    let interfaces = host()
        .file("/etc/network/interfaces", "source /etc/network/interfaces.d/*\n")
        .dir("/etc/network/interfaces.d");
    let text =
        put(&planned::<BridgeTap>(&interfaces, args.clone()), "/etc/network/interfaces.d/tunerun-kvmbr0");
    assert!(text.contains("up ip tuntap add dev tap1 mode tap\n"), "{text}");
    let without = host().file("/etc/network/interfaces", "auto lo\n");
    assert!(refusal::<BridgeTap>(&without, args.clone()).contains("does not take in"));
    let managed = host().dir("/etc/NetworkManager/system-connections").answer(
        Row::new("systemctl-active", ["NetworkManager.service"]),
        crate::services::unit::answer("ActiveState", "active"),
    );
    let change = planned::<BridgeTap>(&managed, args.clone());
    let text = put(&change, "/etc/NetworkManager/system-connections/tunerun-tap1.nmconnection");
    assert!(text.contains("master=kvmbr0") && text.contains("mode=2"), "{text}");
    assert!(refusal::<BridgeTap>(&host(), args).contains("persist: no"));
}

#[test]
fn slips_and_strangers_are_refused() {
    let other = host().answer(look("tap1"), told("virbr0", true));
    let ask = |host: &Host, args| refusal::<BridgeTap>(host, args);
    assert!(
        ask(&other, json!({ "bridge": "kvmbr0", "taps": "tap1", "persist": "no" }))
            .contains("belongs to virbr0")
    );
    assert!(
        ask(&host(), json!({ "bridge": "kvmbr0", "cards": "eth9", "persist": "no" }))
            .contains("did you mean `eth1`")
    );
    assert!(ask(&host(), json!({ "bridge": "a b" })).contains("not the name"));
    assert!(ask(&host(), json!({ "bridge": "br0", "taps": ["t", "t"] })).contains("twice"));
    assert!(ask(&host(), json!({ "bridge": "br0", "owner": "a b" })).contains("not the name of a user"));
}
