//! Options set, seen at the daemons, left alone where they are equal, and taken back.
use super::bed::Bed;
use super::cluster::Cluster;

#[test]
fn options_are_set_once_seen_at_daemons_and_taken_back() {
    let Some(cluster) = Cluster::any() else { return };
    let settings =
        [("osd", "osd_max_backfills"), ("osd", "osd_memory_target"), ("global", "osd_pool_default_size")];
    cluster.clear(&settings);
    cluster.good(&["config", "set", "global", "osd_pool_default_size", "2"]);
    let bed = Bed::one(&cluster);
    let tasks = "\
- name: Recovery and memory
  ceph_config:
    who: osd
    options:
      osd max backfills: 4
      osd_memory_target: 1Gi
- name: Replicas
  ceph_config: {who: global, name: osd_pool_default_size, value: 3}
";
    let before = cluster.version();
    bed.check("a", tasks).ended(0).says("for cluster FSID, by a").says("osd osd_max_backfills: (none) -> 4");
    assert_eq!(cluster.version(), before, "a check changes nothing");
    bed.play("a", tasks).ended(0);
    let run = bed.newest_run();
    assert_eq!(cluster.stored("osd", "osd_memory_target").as_deref(), Some("1073741824"));
    assert_eq!(cluster.stored("global", "osd_pool_default_size").as_deref(), Some("3"));
    assert_eq!(cluster.held("osd_max_backfills"), ["4", "4", "4"]);
    let after = cluster.version();
    assert_eq!(after, before + 3, "one version for each option");
    bed.again().ended(0).says("a: nothing to change");
    assert_eq!(cluster.version(), after, "a second play writes nothing");
    cluster.good(&["config", "set", "osd.1", "osd_max_scrubs", "2"]);
    bed.call(&["show", &run]).ended(0).says("on cluster FSID");
    bed.call(&["undo", &run]).ended(0).says("(cluster FSID)");
    assert_eq!(cluster.stored("osd", "osd_memory_target"), None);
    assert_eq!(cluster.stored("osd", "osd_max_backfills"), None);
    assert_eq!(
        cluster.stored("global", "osd_pool_default_size").as_deref(),
        Some("2"),
        "the old value is back"
    );
    assert_eq!(
        cluster.stored("osd.1", "osd_max_scrubs").as_deref(),
        Some("2"),
        "what others set meanwhile stays"
    );
    cluster.clear(&settings);
    cluster.clear(&[("osd.1", "osd_max_scrubs")]);
}

#[test]
fn masks_reach_those_they_mean() {
    let Some(cluster) = Cluster::any() else { return };
    let settings = [("osd/host:h0", "osd_max_backfills"), ("osd/class:hdd", "osd_max_scrubs")];
    cluster.clear(&settings);
    let bed = Bed::one(&cluster);
    let tasks = "\
- name: One host
  ceph_config: {who: osd, mask: 'host:h0', name: osd_max_backfills, value: 7}
- name: One class
  ceph_config: {who: osd/class:hdd, name: osd_max_scrubs, value: 2}
";
    bed.play("a", tasks).ended(0);
    assert_eq!(cluster.held("osd_max_backfills"), ["7", "1", "1"]);
    assert_eq!(cluster.held("osd_max_scrubs"), ["2", "2", "2"]);
    bed.again().ended(0).says("a: nothing to change");
    let removed = "- ceph_config: {who: osd, mask: 'host:h0', name: osd_max_backfills, state: absent}\n";
    bed.play("a", removed).ended(0).says("1 changed");
    assert_eq!(cluster.stored("osd/host:h0", "osd_max_backfills"), None);
    bed.call(&["undo", "last"]).ended(0);
    assert_eq!(cluster.held("osd_max_backfills"), ["7", "1", "1"]);
    cluster.clear(&settings);
}

#[test]
fn values_compare_by_their_type() {
    let Some(cluster) = Cluster::any() else { return };
    let settings = [
        ("osd", "osd_memory_target"),
        ("osd", "bluestore_cache_autotune"),
        ("osd", "osd_scrub_min_interval"),
        ("osd", "debug_osd"),
        ("mon", "mon_mgr_beacon_grace"),
        ("client.nobody", "osd_heartbeat_grace"),
    ];
    for ((who, name), value) in settings.iter().zip(["2G", "True", "0.5", "2", "1m", "-1"]) {
        cluster.good(&["config", "set", who, name, "--", value]);
    }
    let bed = Bed::one(&cluster);
    let before = cluster.version();
    let tasks = "\
- ceph_config: {who: osd, options: {osd_memory_target: 2048M, bluestore_cache_autotune: yes, osd_scrub_min_interval: '0.50', debug_osd: 2}}
- ceph_config: {who: client.nobody, name: osd_heartbeat_grace, value: -1}
- ceph_config: {who: mon, name: mon mgr beacon grace, value: 60}
";
    bed.play("a", tasks).ended(0).says("a: nothing to change");
    assert_eq!(cluster.version(), before);
    // What is written is what the mons make of it, so that the look after it agrees.
    let tasks = "\
- ceph_config: {who: osd, options: {osd_memory_target: 3Gi, bluestore_cache_autotune: off, osd_scrub_min_interval: 0.25, debug_osd: 3}}
- ceph_config: {who: client.nobody, name: osd_heartbeat_grace, value: -2}
- ceph_config: {who: mon, name: mon_mgr_beacon_grace, value: 2 minutes}
";
    bed.play("a", tasks).ended(0);
    let stored: Vec<String> = settings.iter().map(|(who, name)| cluster.stored(who, name).unwrap()).collect();
    assert_eq!(stored, ["3221225472", "false", "0.250000", "3/3", "120", "-2"]);
    cluster.clear(&settings);
}

#[test]
fn stored_and_held_are_told_apart() {
    let Some(cluster) = Cluster::any() else { return };
    let settings =
        [("osd", "osd_op_num_shards"), ("osd", "osd_max_backfills"), ("osd.1", "osd_max_backfills")];
    cluster.clear(&settings);
    cluster.good(&["config", "set", "osd.1", "osd_max_backfills", "9"]);
    let bed = Bed::one(&cluster);
    let tasks = "\
- ceph_config: {who: osd, name: osd_op_num_shards, value: 3}
- ceph_config: {who: osd, name: osd_max_backfills, value: 2}
";
    bed.play("a", tasks)
        .ended(0)
        .says("felt after a daemon restart")
        .says("daemons take it when they start again");
    bed.check("a", tasks)
        .ended(0)
        .says("stored 3, daemons hold 0 (osd.0, osd.1, osd.2)")
        .says("stored 2, daemons hold 2 (osd.0, osd.2); 9 (osd.1), default 1");
    cluster.does(&["stop-osd", "0"]);
    cluster.does(&["start-osd", "0"]);
    cluster.does(&["wait"]);
    bed.check("a", tasks).ended(0).says("daemons hold 0 (osd.1, osd.2); 3 (osd.0)");
    bed.call(&["undo", "last"]).ended(0);
    cluster.clear(&settings);
    cluster.does(&["stop-osd", "0"]);
    cluster.does(&["start-osd", "0"]);
    cluster.does(&["wait"]);
}

#[test]
fn a_ceph_conf_is_edited_on_every_host() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::new(&cluster, &["x", "y"], &["a"], "");
    for host in ["x", "y"] {
        let text = format!("[global]\nfsid = {host}\n[client]\n    rbd cache = true # of {host}\n");
        std::fs::write(bed.dir.join(format!("{host}.conf")), text).unwrap();
    }
    let task = "\
- ceph_config:
    file: '{{ playbook_dir }}/{{ inventory_hostname }}.conf'
    who: client
    name: rbd_cache
    value: false
";
    let before = cluster.version();
    bed.play("x,y", task).ended(0).says("cache=none");
    let text = std::fs::read_to_string(bed.dir.join("y.conf")).unwrap();
    assert_eq!(text, "[global]\nfsid = y\n[client]\n    rbd cache = false # of y\n");
    bed.again().ended(0);
    assert_eq!(cluster.version(), before, "the mons know nothing of it");
}

/// What `cephadm shell` does, without a container: it takes its own options and runs the rest.
const CEPHADM: &str = r#"#!/bin/sh
[ "$1" = shell ] || exit 9
shift
while [ "$1" != -- ]; do
  case $1 in --config) CEPH_CONF=$2; shift 2 ;; --keyring) shift 2 ;; *) exit 9 ;; esac
done
shift
export CEPH_CONF
echo "Inferring fsid" >&2
exec "$@"
"#;

#[test]
fn the_container_of_cephadm_is_asked_the_same() {
    use std::os::unix::fs::PermissionsExt;
    let Some(cluster) = Cluster::any() else { return };
    let settings = [("osd", "osd_max_backfills")];
    cluster.clear(&settings);
    let bed = Bed::new(&cluster, &[], &["a"], "ceph_by: cephadm");
    let program = bed.dir.join("bin/cephadm");
    std::fs::create_dir_all(bed.dir.join("bin")).unwrap();
    std::fs::write(&program, CEPHADM).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    bed.play("a", "- ceph_config: {who: osd, name: osd_max_backfills, value: 3}\n").ended(0);
    assert_eq!(cluster.held("osd_max_backfills"), ["3", "3", "3"]);
    bed.call(&["undo", "last"]).ended(0);
    assert_eq!(cluster.stored("osd", "osd_max_backfills"), None);
}
