//! Queues, bridges and taps of real cards.
use crate::stage::stage;

#[test]
fn rps_and_xps_are_set_on_every_queue_and_taken_back() {
    let Some(stage) = stage(&["a"]) else { return };
    let queues = "cd /sys/class/net/eth0/queues && for q in rx-* tx-*; do echo $q $(cat $q/?ps_cpus) $(cat $q/rps_flow_cnt 2>/dev/null); done";
    let before = stage.said("a", queues);
    assert!(before.lines().count() >= 4, "the card has several queues:\n{before}");
    let play = stage.playbook("- nic_queues: {device: eth0, rps: '0', xps: 'off', rps_flows: 64}");
    stage.fine(&play);
    let after = stage.said("a", queues);
    for line in after.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let wanted = if words[0].starts_with("rx") { "1" } else { "0" };
        assert_eq!(words[1].trim_start_matches(['0', ',']).is_empty(), wanted == "0", "{line}");
        assert!(!words[0].starts_with("rx") || words[2] == "64", "{line}");
    }
    assert!(stage.fine(&["evidence", "p.yaml", "-i", "hosts.yaml"]).contains("every queue of eth0"));
    let rule = stage.said("a", "cat /etc/udev/rules.d/90-tunerun-queues-eth0.rules");
    assert!(rule.contains("SUBSYSTEM==\"queues\""), "{rule}");
    stage.fine(&["undo", "last"]);
    assert_eq!(stage.said("a", queues), before);
}

#[test]
fn the_number_of_queues_changes_under_a_dead_man() {
    let Some(stage) = stage(&["a"]) else { return };
    let before = stage.said("a", "ethtool -l eth0");
    let play = stage.playbook(
        "- nic_queues: {device: eth0, channels: {rx: 2, tx: 2}}
  dead_man: 20
- nic_queues: {device: eth0, xps: 'off', persist: false}",
    );
    stage.fine(&play);
    assert_eq!(stage.said("a", "ls -d /sys/class/net/eth0/queues/rx-* | wc -l"), "2");
    assert!(stage.journal().contains("confirmed over a new connection"));
    let again = stage.fine(&play);
    assert!(!again.contains("changed on"), "{again}");
    let (code, said) = stage.tunerun(&stage.playbook("- nic_queues: {device: eth0, channels: {rx: 99}}"));
    assert!(code != Some(0) && said.contains("1 to 4"), "{said}");
    stage.fine(&["undo", &stage.first_run()]);
    assert_eq!(stage.said("a", "ethtool -l eth0"), before);
}

#[test]
fn a_bridge_and_a_tap_come_and_go() {
    let Some(stage) = stage(&["a"]) else { return };
    let links = "ls /sys/class/net; ls /etc/systemd/network 2>/dev/null | grep tunerun || :";
    let before = stage.said("a", links);
    if stage.said("a", "[ -c /dev/net/tun ] && echo there || :") != "there" {
        eprintln!("NOT TESTED: hosts of the lab have no /dev/net/tun; a bridge and a pair of cards stand in");
        stage.said("a", "ip link add tap1 type veth peer name tap1p");
    }
    let with = stage.said("a", links);
    let play = stage.playbook("- bridge_tap: {bridge: kvmbr0, taps: [tap1], persist: networkd}");
    stage.fine(&play);
    assert_eq!(
        stage.said(
            "a",
            "readlink /sys/class/net/tap1/master | sed 's,.*/,,'; cat /sys/class/net/kvmbr0/flags"
        ),
        "kvmbr0\n0x1003"
    );
    assert!(stage.said("a", "cat /etc/systemd/network/50-tunerun-tap1.network").contains("Bridge=kvmbr0"));
    let again = stage.fine(&play);
    assert!(!again.contains("changed on"), "{again}");
    stage.fine(&["undo", &stage.first_run()]);
    assert_eq!(stage.said("a", links), with);
    assert!(before.lines().all(|line| with.contains(line)));
}

#[test]
fn a_card_that_joins_a_bridge_is_watched() {
    let Some(stage) = stage(&["a"]) else { return };
    // The lab's neighbours are fixed, so that the host answers by the card even from inside the bridge: it is confirmed.
    let play = stage.playbook("- bridge_tap: {bridge: br7, cards: [eth0], persist: 'no'}\n  dead_man: 20");
    stage.fine(&play);
    assert!(stage.journal().contains("confirmed over a new connection"), "{}", stage.journal());
    assert_eq!(stage.said("a", "readlink /sys/class/net/eth0/master | sed 's,.*/,,'"), "br7");
    stage.fine(&["undo", "last"]);
    let left = "ls /sys/class/net | grep -c br7 || :; readlink /sys/class/net/eth0/master || echo none";
    assert_eq!(stage.said("a", left), "0\nnone");
}
