//! Flags of the OSD map: set with an end, taken away by the cluster's host, left alone where they are somebody else's.
use super::bed::Bed;
use super::cluster::Cluster;
use std::process::Stdio;
use std::time::{Duration, Instant};

#[test]
fn flags_are_set_and_taken_back_wherever_the_map_keeps_them() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::one(&cluster);
    let tasks = "\
- ceph_flag: {flag: noout, nodes: [h0, osd.1, hdd]}
- ceph_flag: {flag: pause, lease: 0}
";
    let nodes = ["h0", "osd.1", "hdd"];
    bed.play("a", tasks).ended(0).says("after a boot of it nothing takes noout of h0 away");
    for node in nodes {
        assert!(cluster.flags(node).contains(&"noout".to_owned()), "{node}: {:?}", cluster.flags(node));
    }
    assert!(cluster.flags(".").contains(&"pausewr".to_owned()));
    assert!(cluster.key("tunerun/flag/noout/h0").is_some());
    bed.again().ended(0).says("a: nothing to change");
    bed.call(&["undo", &bed.oldest_run()]).ended(0);
    for node in nodes {
        assert!(!cluster.flags(node).contains(&"noout".to_owned()), "{node}");
    }
    assert!(!cluster.flags(".").contains(&"pausewr".to_owned()));
    assert_eq!(cluster.good(&["config-key", "ls"]).matches("tunerun/").count(), 0);
    let done = bed.check("a", "- ceph_flag: {flag: noout, nodes: [h0, h9]}\n");
    assert_ne!(done.code, 0);
    done.says("the CRUSH tree has no `h9`");
}

#[test]
fn what_somebody_else_had_set_is_never_taken_away() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::one(&cluster);
    cluster.good(&["osd", "set-group", "noout", "h1"]);
    let around = "\
- block:
    - ceph_flag: {flag: noout, nodes: [h0, h1]}
    - name: Meanwhile
      shell: |
        ceph --conf {{ ceph_conf }} osd dump -f json | jq -e '.crush_node_flags.h0 | index(\"noout\")'
      changed_when: false
  always:
    - ceph_flag: {flag: noout, nodes: [h0, h1], state: absent}
";
    bed.play("a", around).ended(0).says("noout of h1 was set by somebody else: it stays");
    assert_eq!(cluster.flags("h1"), ["noout"]);
    assert_eq!(cluster.flags("h0"), Vec::<String>::new());
    bed.call(&["undo", "last"]).ended(0);
    assert_eq!(cluster.flags("h1"), ["noout"], "nor by the way back");
    assert_eq!(cluster.flags("h0"), Vec::<String>::new());
    let anybody = "- ceph_flag: {flag: noout, nodes: h1, state: absent, whose: anybody}\n";
    bed.play("a", anybody).ended(0);
    assert_eq!(cluster.flags("h1"), Vec::<String>::new());
    bed.call(&["undo", "last"]).ended(0);
    assert_eq!(cluster.flags("h1"), ["noout"], "what was taken away comes back");
    cluster.good(&["osd", "unset-group", "noout", "h1"]);
}

#[test]
fn a_flag_ends_though_its_controller_is_gone() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::one(&cluster);
    let tasks = "\
- ceph_flag: {flag: noout, nodes: h2, lease: 8}
- command: sleep 60
";
    bed.write("a", tasks);
    let mut play = bed.command(&["play", "site.yml", "-i", "hosts.yml", "--yes"]);
    let mut play = play.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    within(40, "the flag is set", || cluster.flags("h2") == ["noout"]);
    play.kill().unwrap();
    play.wait().unwrap();
    assert_eq!(cluster.flags("h2"), ["noout"], "the lease is not over yet");
    within(40, "the flag is gone by itself", || cluster.flags("h2").is_empty());
    within(10, "so is the word whose it was", || cluster.key("tunerun/flag/noout/h2").is_none());
    // Somebody sets it now: the way back of the run that was killed leaves it alone, and says so.
    cluster.good(&["osd", "set-group", "noout", "h2"]);
    let undone = bed.call(&["undo", "last"]);
    assert_ne!(undone.code, 0, "{}", undone.out);
    undone.says("somebody else has changed it since");
    assert_eq!(cluster.flags("h2"), ["noout"]);
    cluster.good(&["osd", "unset-group", "noout", "h2"]);
    bed.call(&["undo", "last"]);
    assert!(cluster.flags("h2").is_empty());
}

#[track_caller]
fn within(seconds: u64, what: &str, mut so: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(seconds);
    while !so() {
        assert!(Instant::now() < until, "not within {seconds} s: {what}");
        std::thread::sleep(Duration::from_millis(200));
    }
}
