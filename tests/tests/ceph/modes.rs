//! Encryption of a cluster's connections: the ladder under load, what the wire shows, and who would be locked out.
use super::bed::Bed;
use super::cluster::Cluster;
use super::wire::{Load, seen};

const MODES: [&str; 3] = ["ms_cluster_mode", "ms_service_mode", "ms_client_mode"];
const POOL: &str = "load";

/// The first rung, and what it is on the way to.
const PREFERRED: &str = "\
- hosts: mons
  gather_facts: false
  tasks:
    - name: Both are offered
      ceph_msgr_mode: {modes: crc secure, toward: secure}
    - name: Encryption is preferred
      ceph_msgr_mode: {modes: secure crc, toward: secure, wait: 120}
";

/// The look at live connections, and the last rung.
const REQUIRED: &str = "\
- hosts: a
  gather_facts: false
  tasks:
    - name: Live connections
      ceph_connections: {osds: [0, 1, 2], mons: [a], seconds: 6}
      register: live
      changed_when: false
- hosts: mons
  gather_facts: false
  tasks:
    - name: Encryption is required
      ceph_msgr_mode: {modes: secure, mon: secure, proof: '{{ live }}'}
      accept_risk: {blast_radius_cluster: each connection was looked at}
";

fn stored(cluster: &Cluster) -> Vec<Option<String>> {
    MODES.iter().map(|name| cluster.stored("global", name)).collect()
}

/// Since which map each OSD is up.
fn up_from(cluster: &Cluster) -> Vec<u64> {
    let dump = cluster.json(&["osd", "dump"]);
    dump["osds"].as_array().unwrap().iter().map(|osd| osd["up_from"].as_u64().unwrap()).collect()
}

fn pool(cluster: &Cluster) {
    cluster.good(&["osd", "pool", "create", POOL, "8"]);
    cluster.good(&["osd", "pool", "application", "enable", POOL, "rbd"]);
    cluster.does(&["wait"]);
}

fn clear(cluster: &Cluster) {
    for name in MODES.iter().chain(&["ms_mon_cluster_mode", "ms_mon_service_mode", "ms_mon_client_mode"]) {
        cluster.good(&["config", "rm", "global", name]);
    }
    if cluster.has_pool(POOL) {
        cluster.drop_pool(POOL);
    }
}

#[test]
fn the_ladder_is_climbed_under_load_and_back() {
    let Some(cluster) = Cluster::any() else { return };
    clear(&cluster);
    pool(&cluster);
    let bed = Bed::one(&cluster);
    let health = cluster.health();
    let mut load = Load::begin(&cluster, POOL, &[]);
    let plain = seen(&cluster, POOL, "marker-before");
    assert!(plain.len() >= 3, "from the client, and to both other copies: {plain:?}");

    let preferred = bed.play_book(PREFERRED);
    preferred.ended(0).says("3 OSDs connect anew").says("config rm global ms_mon_client_mode");
    assert_eq!(stored(&cluster), vec![Some("secure crc".to_owned()); 3]);
    assert_eq!(cluster.held("ms_cluster_mode"), ["secure crc"; 3]);
    assert_eq!(seen(&cluster, POOL, "marker-preferred").len(), 0, "the text is on the wire");
    load.goes_on();

    // Somebody who cannot: refused by its address, and nothing is set.
    let both = format!("{PREFERRED}{REQUIRED}");
    {
        let mut other = Load::begin(&cluster, POOL, &["--ms_client_mode=crc"]);
        let refused = bed.play_book(&both);
        assert_ne!(refused.code, 0, "{}", refused.out);
        refused.says("connections that are not `secure`").says("127.0.0.1:0/").says("(crc)");
        assert_eq!(stored(&cluster), vec![Some("secure crc".to_owned()); 3]);
        other.goes_on();
    }
    let maps = up_from(&cluster);
    bed.play_book(&both).ended(0);
    let run = bed.newest_run();
    assert_eq!(stored(&cluster), vec![Some("secure".to_owned()); 3]);
    assert_eq!(cluster.stored("global", "ms_mon_service_mode").as_deref(), Some("secure"));
    assert_eq!(up_from(&cluster), maps, "nobody connects anew for what is so already");
    assert_eq!(seen(&cluster, POOL, "marker-required").len(), 0, "the text is on the wire");
    load.goes_on();
    assert_eq!(cluster.health(), health);

    let version = cluster.version();
    bed.again().ended(0);
    assert_eq!(cluster.version(), version, "a second play sets nothing");
    assert_eq!(up_from(&cluster), maps);

    // The way back: the last rung by its own run, the others by the run before.
    bed.call(&["undo", &run]).ended(0);
    assert_eq!(stored(&cluster), vec![Some("secure crc".to_owned()); 3]);
    assert_eq!(cluster.stored("global", "ms_mon_service_mode"), None);
    load.goes_on();
    let first = bed.oldest_run();
    bed.call(&["undo", &first]).ended(0);
    assert_eq!(stored(&cluster), vec![None; 3]);
    let plain = seen(&cluster, POOL, "marker-back");
    assert!(plain.len() >= 3, "from the client, and to both other copies: {plain:?}");
    load.goes_on();
    drop(load);
    cluster.does(&["wait"]);
    assert_eq!(cluster.health(), health);
    assert_eq!(cluster.good(&["config-key", "ls"]).matches("tunerun/").count(), 0);
    clear(&cluster);
}

#[test]
fn what_would_lock_somebody_out_is_refused_before_anything_is_set() {
    let Some(cluster) = Cluster::any() else { return };
    clear(&cluster);
    let bed = Bed::one(&cluster);
    let before = cluster.version();
    let refused = |task: &str, said: &str| {
        let done = bed.check("a", &format!("- ceph_msgr_mode: {task}\n"));
        assert_ne!(done.code, 0, "{task}\n{}", done.out);
        done.says(said);
    };
    let nonsense = ["foo", "SECURE", "1", "''", "secure foo", "[secure, secure]"];
    let tasks: String = nonsense.map(|wrong| format!("- ceph_msgr_mode: {{modes: {wrong}}}\n")).concat();
    let done = bed.check("a", &tasks);
    assert_ne!(done.code, 0, "{}", done.out);
    assert_eq!(done.count("`modes` wants"), nonsense.len(), "{}", done.err);
    refused("{modes: secure}", "skips a rung");
    refused("{modes: crc secure, mon: crc}", "`ceph_msgr_mode: {mon: crc secure}`");
    refused("{modes: crc}", "nothing shows that all live connections are `crc`");
    assert_eq!(cluster.version(), before);
    // A section of its own wins over `global`, and so does what a daemon holds by itself.
    cluster.good(&["config", "set", "osd.0", "ms_cluster_mode", "crc"]);
    refused("{modes: secure crc}", "`ceph config rm osd.0 ms_cluster_mode`");
    cluster.good(&["config", "rm", "osd.0", "ms_cluster_mode"]);
    cluster.good(&["tell", "osd.1", "config", "set", "ms_service_mode", "crc"]);
    refused("{modes: secure crc}", "osd.1 holds `crc`");
    cluster.good(&["tell", "osd.1", "config", "unset", "ms_service_mode"]);
    cluster.good(&["config", "set", "global", "ms_client_mode", "foo"]);
    refused("{modes: secure crc}", "is stored as `foo`, which is no mode");
    cluster.good(&["--ms_client_mode=crc", "config", "rm", "global", "ms_client_mode"]);
    let shown = bed.check("a", "- ceph_msgr_mode: {modes: crc secure, mon: crc secure}\n");
    shown.ended(0).says("config rm global ms_mon_client_mode");
}
