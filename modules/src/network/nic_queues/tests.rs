//! Plans of `nic_queues` on hosts in memory.
use super::*;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Content, Image};

fn host() -> Host {
    NicQueues::samples()[0].host.clone()
}

/// The last text of the file of rules.
fn kept(change: &Change) -> String {
    let text = change.steps.iter().rev().find_map(|step| match &step.act {
        Act::Put { image: Image::File { content: Content::Bytes(bytes), .. }, .. } => bytes.text(),
        _ => None,
    });
    text.unwrap_or_else(|| panic!("{:?}", change.steps)).to_owned()
}

#[test]
fn tasks_on_one_card_leave_each_others_rules_alone() {
    let channels = json!({ "device": "eth0", "channels": { "rx": 2 } });
    let first = kept(&planned::<NicQueues>(&host(), channels.clone()));
    let host = host().file("/etc/udev/rules.d/90-tunerun-queues-eth0.rules", &first);
    let second = kept(&planned::<NicQueues>(&host, json!({ "device": "eth0", "xps": "off" })));
    assert!(second.starts_with(&first) && second.contains("ATTR{xps_cpus}=\"0\""), "{second}");
    let host = host.file("/etc/udev/rules.d/90-tunerun-queues-eth0.rules", &second);
    let again = planned::<NicQueues>(&host, channels);
    assert!(again.steps.iter().all(|step| step.path().is_none()), "its rule is there: {:?}", again.steps);
}

#[test]
fn undone_the_rules_go_before_the_queues_come_back() {
    for args in
        [json!({ "device": "eth0", "channels": { "rx": 2 } }), json!({ "device": "eth0", "xps": "off" })]
    {
        let steps = planned::<NicQueues>(&host(), args).steps;
        let settled = steps
            .iter()
            .position(|step| matches!(&step.act, Act::Call { row, .. } if row.name == "udev-settled"));
        let is_rule = |step: &Step| matches!(step.act, Act::Put { .. });
        let (before, behind) = steps.split_at(settled.unwrap());
        assert!(!before.is_empty() && !before.iter().any(is_rule), "{before:?}");
        assert!(behind[1..].iter().all(is_rule), "{behind:?}");
    }
}

#[test]
fn counts_are_read_as_printed() {
    let text = "Channel parameters for eth0:\nPre-set maximums:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\nCombined:\t63\n\
        Current hardware settings:\nRX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\nCombined:\t48\n";
    assert_eq!(counts(text), Counts::from([(Channel::Other, (1, 1)), (Channel::Combined, (63, 48))]));
    let after = after(&Output::ok(text), &[(Channel::Combined, 48, 8)]).text();
    assert!(after.contains("Combined:\t63\n") && after.ends_with("Combined:\t8\n"), "{after}");
}

#[test]
fn a_new_number_of_queues_goes_alone_and_arms_the_dead_man() {
    let args = json!({ "device": "eth0", "channels": { "rx": 2 } });
    let change = planned::<NicQueues>(&host(), args);
    assert!(change.dead_man.is_some());
    let both = json!({ "device": "eth0", "channels": { "rx": 2 }, "xps": "off" });
    assert!(refusal::<NicQueues>(&host(), both).contains("a task of their own"));
    let there = json!({ "device": "eth0", "channels": { "rx": 4 }, "xps": "off", "persist": false });
    let change = planned::<NicQueues>(&host(), there);
    assert_eq!((change.steps.len(), change.dead_man), (4, None));
}

#[test]
fn later_queues_get_the_same_by_a_rule_of_their_own() {
    let change = planned::<NicQueues>(&host(), json!({ "device": "eth0", "rps": "off", "xps": false }));
    let text = kept(&change);
    assert!(
        text.contains("SUBSYSTEM==\"queues\", KERNEL==\"tx-*\"") && text.contains("ATTR{xps_cpus}=\"0\""),
        "{text}"
    );
    let written = change.steps.iter().filter(|step| matches!(step.act, Act::Write { .. })).count();
    assert_eq!(written, 4, "RPS is off already");
    let texts = change.diff.iter().filter(|diff| matches!(diff, Diff::Text { .. })).count();
    assert_eq!(texts, 1, "one file is shown once: {:?}", change.diff);
    assert!(change.evidence.iter().any(|one| one.what.contains("xps_cpus")), "{:?}", change.evidence);
}

#[test]
fn a_single_queue_has_no_xps() {
    let host = Host::new()
        .dir("/etc/udev/rules.d")
        .value("/sys/class/net/eth0/queues/tx-0/xps_cpus", "")
        .value("/sys/devices/system/cpu/online", "0-1");
    let change = planned::<NicQueues>(&host, json!({ "device": "eth0", "xps": "off", "persist": false }));
    assert!(change.is_empty() && change.notes[0].contains("no XPS"), "{change:?}");
}

#[test]
fn what_cannot_be_is_told() {
    let ask = |args| planned::<NicQueues>(&host(), args);
    let many = ask(json!({ "device": "eth0", "channels": { "rx": 9 }, "persist": false }));
    assert!(many.is_empty() && many.risks[0].why.contains("1 to 4"), "{:?}", many.risks);
    let refused = |args| refusal::<NicQueues>(&host(), args);
    assert!(refused(json!({ "device": "eth0", "channels": { "combined": 2 } })).contains("it has: rx, tx"));
    assert!(refused(json!({ "device": "eth0", "rps": "0-9" })).contains("CPU 8-9 does not run"));
    assert!(refused(json!({ "device": "eth0" })).contains("nothing is asked for"));
}
