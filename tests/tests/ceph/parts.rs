//! Pools, clients and images: made, left alone the second time, and taken back only while they are empty.
use super::bed::Bed;
use super::cluster::Cluster;
use std::os::unix::fs::PermissionsExt;

/// What the source of the measurements makes, with a pool of its own.
fn tasks(pool: &str) -> String {
    format!(
        "\
- name: A pool for the guests' images
  ceph_pool: {{name: {pool}, pg_num: 8, size: 2, application: rbd}}
- name: libvirt may use images of its pool
  ceph_auth:
    name: client.{pool}
    caps: {{mon: profile rbd, osd: profile rbd pool={pool}}}
    keyring: '{{{{ playbook_dir }}}}/{pool}.keyring'
- name: Room for the guest and its benchmark
  rbd_image: {{pool: {pool}, name: guest1, size: 6000G, object_size: 4M, features: [layering, exclusive-lock, object-map, fast-diff, deep-flatten]}}
"
    )
}

#[test]
fn what_guests_need_is_made_once_and_taken_back_whole() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::one(&cluster);
    let tasks = tasks("vms");
    bed.check("a", &tasks).ended(0).says("pool vms").says("image vms/guest1");
    assert!(!cluster.has_pool("vms"), "a check changes nothing");
    bed.play("a", &tasks).ended(0);
    let run = bed.newest_run();
    assert_eq!(cluster.json(&["osd", "pool", "get", "vms", "size"])["size"], 2);
    let image: serde_json::Value =
        serde_json::from_str(&cluster.rbd(&["info", "vms/guest1", "--format", "json"]).out).unwrap();
    assert_eq!(image["size"], 6000_u64 << 30);
    assert_eq!(image["object_size"], 4 << 20);
    assert_eq!(image["features"].as_array().unwrap().len(), 5);
    let keyring = bed.dir.join("vms.keyring");
    assert_eq!(std::fs::metadata(&keyring).unwrap().permissions().mode() & 0o777, 0o600);
    let key = cluster.good(&["auth", "get-key", "client.vms"]);
    assert!(std::fs::read_to_string(&keyring).unwrap().contains(key.trim()));
    // A key is nowhere but in its file, nor is what comes before and after it.
    let again = bed.again();
    again.ended(0).says("a: nothing to change").never_says(key.trim());
    assert!(!bed.keeps(key.trim()), "the key is in what runs leave");
    bed.call(&["show", &run]).ended(0).never_says(key.trim());
    // The new client can use its image, and nothing else.
    let id = ["--id", "vms", "--keyring", &keyring.to_string_lossy()].map(str::to_owned);
    let words: Vec<&str> = id.iter().map(String::as_str).chain(["info", "vms/guest1"]).collect();
    assert_eq!(cluster.rbd(&words).status, 0);
    bed.call(&["undo", &run]).ended(0).never_says(key.trim());
    assert!(!cluster.has_pool("vms"));
    assert_ne!(cluster.ceph(&["auth", "get", "client.vms"]).status, 0);
    assert!(!keyring.exists());
}

#[test]
fn what_holds_something_stays_and_undo_says_so() {
    let Some(cluster) = Cluster::any() else { return };
    let bed = Bed::one(&cluster);
    bed.play("a", &tasks("kept")).ended(0);
    let run = bed.newest_run();
    let text = bed.dir.join("data");
    std::fs::write(&text, "of a guest").unwrap();
    // The image holds data, and so does the pool beside it; somebody has given the client other caps.
    cluster.rbd(&["bench", "--io-type", "write", "--io-size", "4096", "--io-total", "8192", "kept/guest1"]);
    cluster.rados(&["-p", "kept", "-N", "elsewhere", "put", "mine", &text.to_string_lossy()]);
    cluster.good(&["auth", "caps", "client.kept", "mon", "allow r"]);
    let undone = bed.call(&["undo", &run]);
    assert_ne!(undone.code, 0, "{}", undone.out);
    assert!(cluster.has_pool("kept"));
    assert_eq!(cluster.rbd(&["info", "kept/guest1"]).status, 0, "the image is gone with its data");
    assert!(cluster.good(&["auth", "get", "client.kept"]).contains("allow r"));
    undone.says("holds data");
    // Without the image, the object alone keeps the pool.
    assert_eq!(cluster.rbd(&["rm", "--no-progress", "kept/guest1"]).status, 0);
    let undone = bed.call(&["undo", &run]);
    assert_ne!(undone.code, 0, "{}", undone.out);
    undone.says("the pool kept is not empty, so it stays: mine").says("somebody else has changed it since");
    assert!(cluster.has_pool("kept"));
    cluster.rados(&["-p", "kept", "-N", "elsewhere", "rm", "mine"]);
    bed.call(&["undo", &run]);
    assert!(!cluster.has_pool("kept"), "an empty one goes");
    cluster.good(&["auth", "rm", "client.kept"]);
}

#[test]
fn what_is_there_is_changed_and_goes_back_to_what_it_was() {
    let Some(cluster) = Cluster::any() else { return };
    cluster.good(&["osd", "pool", "create", "old", "8"]);
    cluster.good(&["auth", "get-or-create", "client.old", "mon", "allow r", "mgr", "allow r"]);
    assert_eq!(cluster.rbd(&["create", "old/disk", "--size", "1G", "--object-size", "8M"]).status, 0);
    let bed = Bed::one(&cluster);
    let tasks = "\
- ceph_pool:
    name: old
    size: 2
    settings: {nosizechange: false, compression_mode: passive, target_size_ratio: 0.5}
    application: mine
- ceph_auth: {name: client.old, caps: {mon: profile rbd, osd: profile rbd pool=old}}
- rbd_image: {pool: old, name: disk, size: 2G}
";
    bed.play("a", tasks).ended(0);
    let run = bed.newest_run();
    let setting = |name: &str| cluster.ceph(&["osd", "pool", "get", "old", name]);
    assert_eq!(setting("compression_mode").out.trim(), "compression_mode: passive");
    assert!(cluster.good(&["auth", "get", "client.old"]).contains("profile rbd pool=old"));
    bed.again().ended(0).says("a: nothing to change");
    let undone = bed.call(&["undo", &run]);
    undone.says("old/disk keeps its 2");
    assert_eq!(setting("size").out.trim(), "size: 3");
    assert!(
        setting("compression_mode").err.contains("is not set on pool"),
        "{}",
        setting("compression_mode").out
    );
    assert!(setting("target_size_ratio").err.contains("is not set on pool"));
    assert_eq!(cluster.json(&["osd", "pool", "application", "get", "old"]), serde_json::json!({}));
    let client = cluster.good(&["auth", "get", "client.old"]);
    assert!(client.contains("caps mgr = \"allow r\"") && !client.contains("profile"), "{client}");
    for (task, said) in [
        ("rbd_image: {pool: old, name: disk, size: 1G}", "never made smaller"),
        ("rbd_image: {pool: old, name: disk, size: 2G, object_size: 4M}", "`rbd deep cp --object-size`"),
        ("rbd_image: {pool: nowhere, name: disk, size: 2G}", "there is no pool `nowhere`"),
        ("ceph_pool: {name: old, settings: {sise: 2}}", "a pool has no setting `sise`"),
        ("ceph_pool: {name: old, state: absent}", "irreversible"),
        ("ceph_auth: {name: client.old, state: absent}", "irreversible"),
    ] {
        let done = bed.check("a", &format!("- {task}\n"));
        assert_ne!(done.code, 0, "{task}\n{}", done.out);
        done.says(said);
    }
    cluster.drop_pool("old");
    cluster.good(&["auth", "rm", "client.old"]);
}
