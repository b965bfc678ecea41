//! What a card does by itself: set, seen, and taken back on a real card.
use crate::stage::stage;

const FEATURES: &str = "ethtool -k eth0";

#[test]
fn features_are_set_and_taken_back_with_what_they_carry() {
    let Some(stage) = stage(&["a"]) else { return };
    let before = stage.said("a", FEATURES);
    assert!(
        before.contains("tx-udp-segmentation: on"),
        "the card is not as this test takes it to be:\n{before}"
    );
    let play = stage.playbook(
        "- name: nothing is checked by the card
  nic_offload: {device: eth0, features: {tx: false, rx-checksum: false, gro: true}}
  dead_man: 20",
    );
    let checked = stage.fine(&[&play[..4], &["--check", "--diff"]].concat());
    assert!(checked.contains("may cut the link") && checked.contains("after 20 s"), "{checked}");
    assert_eq!(stage.said("a", FEATURES), before, "a check changes nothing");

    stage.fine(&play);
    let after = stage.said("a", FEATURES);
    for line in [
        "tx-checksumming: off",
        "rx-checksumming: off",
        "generic-receive-offload: on",
        "tx-udp-segmentation: off",
    ] {
        assert!(after.contains(line), "{line}:\n{after}");
    }
    let rule = stage.said("a", "cat /etc/udev/rules.d/90-tunerun-offload-eth0.rules");
    assert!(rule.contains("rx-checksum off"), "{rule}");
    assert!(stage.journal().contains("confirmed over a new connection"), "{}", stage.journal());
    let again = stage.fine(&play);
    assert!(!again.contains("changed on"), "{again}");

    stage.fine(&["undo", &stage.first_run()]);
    assert_eq!(stage.said("a", FEATURES), before, "the way back sets what went along, too");
    assert_eq!(stage.said("a", "ls /etc/udev/rules.d | grep -c tunerun || :"), "0");
}

#[test]
fn a_probe_that_fails_takes_receive_checksums_back() {
    let Some(stage) = stage(&["a"]) else { return };
    stage.said("a", "ethtool -K eth0 rx off");
    let task = |more: &str| {
        format!(
            "- nic_offload: {{device: eth0, features: {{rx: true}}, persist: false{more}}}\n  dead_man: 30"
        )
    };
    let (code, said) = stage.tunerun(&stage.playbook(&task("")));
    assert!(code != Some(0) && said.contains("data_loss"), "{said}");
    let (code, said) =
        stage.tunerun(&stage.playbook(&task(", integrity_probe: 'echo it is damaged >&2; false'")));
    assert!(code != Some(0) && said.contains("it is damaged"), "{code:?} {said}");
    assert!(stage.said("a", FEATURES).contains("rx-checksumming: off"), "what was not proven stays");
    stage.fine(
        &stage.playbook(&task(", integrity_probe: 'ethtool -k eth0 | grep -q \"rx-checksumming: on\"'")),
    );
    assert!(stage.said("a", FEATURES).contains("rx-checksumming: on"));
}

#[test]
fn what_is_fixed_is_left_where_that_is_accepted() {
    let Some(stage) = stage(&["a"]) else { return };
    let task = "- nic_offload: {device: eth0, features: {lro: true, gro: true}}";
    let (code, said) = stage.tunerun(&stage.playbook(task));
    assert!(code != Some(0) && said.contains("cannot_converge"), "{said}");
    assert!(stage.said("a", FEATURES).contains("generic-receive-offload: off"));
    stage.fine(&stage.playbook(&format!("{task}\n  accept_risk: {{cannot_converge: the card cannot}}")));
    assert!(stage.said("a", FEATURES).contains("generic-receive-offload: on"));
}
