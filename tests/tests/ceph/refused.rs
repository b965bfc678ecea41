//! What Ceph would take and nobody would ever read, and what it would not take: refused before anything is written.
use super::bed::Bed;
use super::cluster::Cluster;

#[test]
fn nothing_is_written_that_no_daemon_would_read() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::one(&cluster);
    let before = cluster.version();
    for (task, said) in [
        ("{who: osd, name: osd_memory_target, value: 512M}", "below the least value, 939524096"),
        ("{who: osd, name: osd_memory_target, value: 16T}", "more memory is promised than hosts have"),
        ("{who: osd, name: osd_max_backfils, value: 2}", "did you mean `osd_max_backfills`?"),
        ("{who: osd, name: osd_op_queue, value: wqp}", "`wqp` is none of wpq, mclock_scheduler"),
        ("{who: osd.77, name: osd_max_backfills, value: 2}", "there is no osd.77"),
        ("{who: mon.z, name: mon_mgr_beacon_grace, value: 20}", "there is no mon.z"),
        (
            "{who: osd, mask: 'host:h0.example.com', name: osd_max_backfills, value: 2}",
            "did you mean `host:h0`?",
        ),
        ("{who: osd, mask: 'class:nvme', name: osd_max_backfills, value: 2}", "the cluster has hdd"),
        ("{who: 'host:h0/osd', name: osd_max_backfills, value: 2}", "`who: osd` with `mask: host:h0`"),
        ("{who: osx, name: osd_max_backfills, value: 2}", "did you mean `osd`?"),
        ("{who: global, name: ms_cluster_mode, value: secure}", "use `ceph_msgr_mode`"),
        ("{who: osd, name: mon_osd_full_ratio, value: 0.9}", "cannot be kept in the mons' database"),
        ("{who: osd, name: ms_async_op_threads, value: 25}", "above the greatest value, 24"),
    ] {
        let done = bed.check("a", &format!("- ceph_config: {task}\n"));
        assert_ne!(done.code, 0, "{task}\n{}", done.out);
        done.says(said);
    }
    assert_eq!(cluster.version(), before);
}

#[test]
fn what_the_autotuner_owns_is_refused_until_it_lets_go() {
    let Some(cluster) = Cluster::any() else { return };
    let settings = [("osd", "osd_memory_target"), ("osd", "osd_memory_target_autotune")];
    cluster.clear(&settings);
    cluster.good(&["config", "set", "osd", "osd_memory_target_autotune", "true"]);
    let bed = Bed::one(&cluster);
    let task = "- ceph_config: {who: osd, name: osd_memory_target, value: 2G}\n";
    bed.check("a", task).says("`osd_memory_target` is set by cephadm");
    let both =
        "- ceph_config: {who: osd, options: {osd_memory_target: 2G, osd_memory_target_autotune: false}}\n";
    bed.play("a", both).ended(0);
    let first = "\
- ceph_config: {who: osd, name: osd_memory_target_autotune, value: false}
- ceph_config: {who: osd, name: osd_memory_target, value: 3G}
";
    cluster.good(&["config", "set", "osd", "osd_memory_target_autotune", "true"]);
    bed.play("a", first).ended(0).never_says("decided after");
    assert_eq!(cluster.stored("osd", "osd_memory_target").as_deref(), Some("3221225472"));
    cluster.clear(&settings);
}

#[test]
fn a_cache_of_clients_is_said_not_to_reach_guests() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::one(&cluster);
    bed.check("a", "- ceph_config: {who: client, name: rbd_cache, value: false}\n")
        .ended(0)
        .says("cache=none");
}

#[test]
fn a_cluster_that_does_not_answer_is_said_in_time() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::one(&cluster);
    let conf = std::fs::read_to_string(cluster.conf()).unwrap();
    let gone: String = conf
        .lines()
        .map(|line| {
            if line.starts_with("mon_host") {
                "mon_host = [v2:127.0.0.1:1/0]\n".to_owned()
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    std::fs::write(bed.dir.join("gone.conf"), gone).unwrap();
    let task = "\
- ceph_config: {who: osd, name: osd_max_backfills, value: 2}
  vars: {ceph_conf: '{{ playbook_dir }}/gone.conf', ceph_timeout: 3}
";
    let began = std::time::Instant::now();
    let done = bed.check("a", task);
    assert_ne!(done.code, 0);
    done.says("did not answer within 3 s").says("quorum");
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}
