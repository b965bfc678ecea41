//! Answers as a real cluster gave them.
use super::*;
use crate::vocabulary::Output;
use serde::de::DeserializeOwned;

/// A recorded answer.
fn recorded<T: DeserializeOwned>(text: &str) -> T {
    json(&Output::ok(text)).unwrap_or_else(|why| panic!("{why}"))
}

macro_rules! data {
    ($name:literal) => {
        include_str!(concat!("../../../../tests/data/ceph-json/", $name))
    };
}

#[test]
fn stored_options_keep_their_masks() {
    let dump: Vec<Stored> = recorded(data!("config-dump.json"));
    let of = |who: &str| {
        dump.iter().filter(|line| line.who() == who).map(|line| line.value.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of("osd/class:hdd"), ["1073741824"]);
    assert_eq!(of("osd"), ["2147483648"]);
    assert_eq!(of("osd/host:vm"), ["2"]);
    assert_eq!(recorded::<Vec<Stored>>(data!("config-dump-empty.json")), []);
}

#[test]
fn the_corpus_of_dumps_is_read() {
    let of = |text: &str| recorded::<Vec<Stored>>(text).iter().map(Stored::who).collect::<Vec<_>>();
    let masks = of(include_str!("../../../../tests/data/corpus/ceph/dump-04-compact-class-mask.json"));
    assert_eq!(masks, ["osd", "osd/class:hdd", "osd/host:stor-1"], "three entries of one option");
    let hosts: Vec<Stored> =
        recorded(include_str!("../../../../tests/data/corpus/ceph/dump-01-mask-host.json"));
    let targets: Vec<(String, &str)> = hosts
        .iter()
        .filter(|line| line.name == "osd_memory_target")
        .map(|line| (line.who(), line.value.as_str()))
        .collect();
    assert!(targets.iter().any(|(who, _)| who == "osd/host:stor-0"), "{targets:?}");
    assert!(!targets.iter().any(|(who, value)| who == "osd" && *value == "4294967296"), "{targets:?}");
    assert_eq!(
        of(include_str!("../../../../tests/data/corpus/ceph/dump-02-empty.json")),
        Vec::<String>::new()
    );
    assert!(
        !of(include_str!("../../../../tests/data/corpus/ceph/dump-03-rgw-and-mgr-modules.json")).is_empty()
    );
}

#[test]
fn options_are_described_whatever_type_their_bounds_have() {
    let target: OptionHelp = recorded(data!("config-help-osd_memory_target.json"));
    assert_eq!((target.kind.as_str(), target.min.as_str(), target.max.as_str()), ("size", "939524096", ""));
    assert!(target.has("runtime"));
    let threads: OptionHelp = recorded(data!("config-help-ms_async_op_threads.json"));
    assert_eq!((threads.min.as_str(), threads.max.as_str(), threads.default.as_str()), ("1", "24", "3"));
    let queue: OptionHelp = recorded(data!("config-help-osd_op_queue.json"));
    assert!(queue.enum_values.contains(&"mclock_scheduler".to_owned()));
    let cache: OptionHelp = recorded(data!("config-help-rbd_cache.json"));
    assert_eq!((cache.default.as_str(), cache.services.as_slice()), ("true", ["rbd".to_owned()].as_slice()));
}

#[test]
fn daemons_answer_one_by_one_or_alone() {
    let many = Output::ok("\nosd.0: {\"osd_max_backfills\":\"3\"}\n\nosd.1: {\"osd_max_backfills\":\"4\"}\n");
    let by = told(&many, "osd", "osd_max_backfills");
    assert_eq!(
        by.into_iter().collect::<Vec<_>>(),
        [("osd.0".into(), "3".into()), ("osd.1".into(), "4".into())]
    );
    let alone = told(&Output::ok(data!("tell-osd-config-get.json")), "osd.0", "ms_cluster_mode");
    assert_eq!(alone["osd.0"], "secure");
    let broken = Output::ok("osd.0: Error EINVAL: x\nosd.1: {\"a\":\"1\"}\n");
    assert_eq!(told(&broken, "osd", "a").len(), 1);
}

#[test]
fn a_daemon_that_did_not_take_an_option_says_so() {
    let shown: Vec<DaemonOption> = recorded(data!("config-show-osd.0.json"));
    let mode = shown.iter().find(|option| option.name == "ms_cluster_mode").unwrap();
    assert_eq!((mode.value.as_str(), mode.source.as_str(), mode.ignores.as_deref()), ("secure", "mon", None));
}

#[test]
fn the_tree_knows_hosts_and_classes() {
    let tree: Crush = recorded(data!("osd-tree-3hosts.json"));
    assert_eq!(tree.names("host"), ["h0", "h1", "h2"]);
    assert_eq!(tree.below(tree.bucket("host", "h1").unwrap()), [1]);
    assert_eq!(tree.below(tree.bucket("root", "default").unwrap()), [0, 1, 2]);
    assert_eq!(tree.osds()[&1].status.as_deref(), Some("down"));
    assert_eq!(tree.osds()[&2].device_class.as_deref(), Some("hdd"));
    let circle = r#"{"nodes":[{"id":-1,"name":"a","type":"host","children":[-1]}]}"#;
    let circle: Crush = recorded(circle);
    assert_eq!(circle.below(&circle.nodes[0]), Vec::<i64>::new());
}

#[test]
fn what_may_stop_is_answered_yes_and_no_alike() {
    let no: OkToStop = recorded(data!("osd-ok-to-stop-0-1.json"));
    assert!(!no.ok_to_stop && no.osds == [0, 1] && no.bad_become_inactive.len() == 33);
    let yes: OkToStop = recorded(data!("osd-ok-to-stop-0.json"));
    assert!(yes.ok_to_stop);
}

#[test]
fn health_and_state_are_read() {
    let noout: Health = recorded(data!("health-noout-group.json"));
    assert_eq!(noout.status, "HEALTH_WARN");
    assert!(noout.checks["OSD_FLAGS"].summary.message.contains("flags set"));
    let status: Status = recorded(data!("status.json"));
    assert!(status.osdmap.num_osds > 0 && !status.fsid.is_empty());
    let scrubbing = r#"{"pgmap":{"num_pgs":2,"pgs_by_state":[{"state_name":"active+clean","count":1},
        {"state_name":"active+clean+scrubbing+deep","count":1}]}}"#;
    assert!(recorded::<Status>(scrubbing).is_clean());
    let peered = r#"{"pgmap":{"num_pgs":2,"pgs_by_state":[{"state_name":"active+clean","count":1},
        {"state_name":"undersized+peered","count":1}]}}"#;
    assert!(!recorded::<Status>(peered).is_clean());
    let versions: Versions = recorded(data!("versions.json"));
    assert_eq!(versions.oldest(), Some(16));
}

#[test]
fn maps_are_read() {
    let dump: OsdDump = recorded(data!("osd-dump-3hosts.json"));
    assert_eq!(dump.osds.len(), 3);
    let mons: MonDump = recorded(data!("mon-dump.json"));
    assert_eq!((mons.mons[0].name.as_str(), mons.quorum.as_slice()), ("a", [0].as_slice()));
}

#[test]
fn no_answer_is_said_in_words() {
    assert!(json::<Health>(&Output::ok("")).unwrap_err().contains("no JSON"));
    assert!(json::<Health>(&Output::ok("{\"status\": 1}")).is_err());
}
