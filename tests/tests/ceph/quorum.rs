//! Three mons: one may be lost, and the change is made and taken back all the same.
use super::bed::Bed;
use super::cluster::Cluster;

#[test]
fn a_change_is_made_while_one_of_three_mons_is_down() {
    let Some(cluster) = Cluster::own(&[("MONS", "3")]) else { return };
    let quorum = |cluster: &Cluster| {
        let status: serde_json::Value =
            serde_json::from_str(&cluster.good(&["status", "-f", "json"])).unwrap();
        status["quorum_names"].as_array().unwrap().len()
    };
    assert_eq!(quorum(&cluster), 3);
    // The host of the first mon is gone with it.
    let bed = Bed::new(&cluster, &["x"], &["a", "b", "c"], &format!("ceph_fsid: {}", cluster.fsid()));
    bed.host_vars("a", "ansible_connection: ssh\nansible_host: 127.0.0.1\nansible_port: 1\n");
    cluster.does(&["stop-mon", "a"]);
    let task = "\
- ceph_config: {who: osd, name: osd_max_backfills, value: 3}
- ceph_config: {who: mon, name: mon_mgr_beacon_grace, value: 45}
";
    bed.play("x", task).ended(0).says("for cluster FSID, by b");
    assert_eq!(quorum(&cluster), 2);
    assert_eq!(cluster.held("osd_max_backfills"), ["3", "3", "3"]);
    assert_eq!(cluster.stored("mon", "mon_mgr_beacon_grace").as_deref(), Some("45"));
    cluster.does(&["start-mon", "a"]);
    bed.again().ended(0).says("x: nothing to change");
    // Of mons without a quorum nothing is known, and nothing is written.
    cluster.does(&["stop-mon", "b"]);
    cluster.does(&["stop-mon", "c"]);
    // The last one answers until its lease is over.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while cluster.ceph(&["fsid"]).status == 0 {
        assert!(std::time::Instant::now() < until, "one mon of three answers still");
    }
    bed.host_vars("x", "ceph_timeout: 4\n");
    let done = bed.check("x", task);
    assert_ne!(done.code, 0, "{}", done.out);
    done.says("did not answer within 4 s");
    cluster.does(&["start-mon", "b"]);
    cluster.does(&["start-mon", "c"]);
}
