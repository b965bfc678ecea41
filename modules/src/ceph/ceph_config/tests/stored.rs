//! Options in the mons' database, on a cluster in memory with recorded answers.
use crate::ceph::answers::OptionHelp;
use crate::ceph::ceph_config::felt::{Felt, felt};
use crate::ceph::ceph_config::typed::{Value, stored};
use crate::ceph::ceph_config::who::Who;
use crate::ceph::cluster::By;
use crate::ceph::{CephConfig, Cluster, Shell};
use crate::host::Host;
use crate::trial::{planned, refusal};
use crate::vocabulary::{Effect, Facts, Output, RiskName, Row, Seen, Standing};
use serde_json::json;

macro_rules! help {
    ($name:literal) => {
        include_str!(concat!("../../../../../tests/data/ceph-json/config-help-", $name, ".json"))
    };
}

const TREE: &str = include_str!("../../../../../tests/data/ceph-json/osd-tree-3hosts.json");

fn shell() -> Shell {
    Cluster { by: Some(By::Host), ..Cluster::default() }.shell(&Facts::default()).unwrap()
}

fn answer(text: &str) -> Seen {
    Seen::Output(Output::ok(text))
}

fn none() -> Seen {
    Seen::Output(Output { status: 2, stdout: "".into(), stderr: "Error ENOENT: ".into() })
}

fn key(who: &str, name: &str) -> Row {
    shell().row("ceph-config-key-get", [format!("config/{who}/{name}")])
}

fn tell(whom: &str, name: &str) -> Row {
    shell().row_within("ceph-tell-config-get", 20, [whom, name])
}

/// A cluster that knows the recorded options and has nothing stored.
fn host() -> Host {
    let shell = shell();
    let mut host = Host::new()
        .file("/usr/bin/ceph", "#!")
        .file("/etc/ceph/ceph.conf", "[global]\n")
        .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
        .answer(shell.plain("ceph-orch-status"), none())
        .answer(shell.plain("ceph-osd-tree"), answer(TREE))
        .answer(shell.plain("ceph-mon-dump"), answer(r#"{"mons":[{"rank":0,"name":"a"}],"quorum":[0]}"#))
        .answer(
            shell.plain("ceph-config-ls"),
            answer(r#"["osd_memory_target","osd_max_backfills","rbd_cache"]"#),
        );
    for (name, text) in [
        ("osd_memory_target", help!("osd_memory_target")),
        ("osd_max_backfills", help!("osd_max_backfills")),
        ("rbd_cache", help!("rbd_cache")),
        ("osd_op_num_shards", help!("osd_op_num_shards")),
        ("ms_async_op_threads", help!("ms_async_op_threads")),
        ("osd_op_queue", help!("osd_op_queue")),
    ] {
        host = host.answer(shell.row("ceph-config-help", [name]), answer(text));
        for who in ["osd", "global", "osd.1", "mon.a", "client", "osd/host:h0", "osd/class:hdd"] {
            host = host.answer(key(who, name), none()).answer(key(who, "osd_memory_target_autotune"), none());
        }
        for whom in ["osd.*", "mon.*", "osd.1"] {
            host = host.answer(tell(whom, name), none());
        }
    }
    host
}

fn daemons(name: &str, values: [&str; 3]) -> Seen {
    let lines =
        values.iter().enumerate().map(|(id, value)| format!("osd.{id}: {{\"{name}\":\"{value}\"}}\n\n"));
    answer(&lines.collect::<String>())
}

fn args(who: &str, name: &str, value: serde_json::Value) -> serde_json::Value {
    json!({ "who": who, "name": name, "value": value })
}

#[test]
fn equal_values_of_another_text_are_equal() {
    let now = host().answer(key("osd", "osd_memory_target"), answer("8589934592"));
    for value in [json!("8G"), json!("8Gi"), json!("8 GiB"), json!("8192M"), json!(8_589_934_592_u64)] {
        assert!(
            planned::<CephConfig>(&now, args("osd", "osd_memory_target", value.clone())).is_empty(),
            "{value}"
        );
    }
    let change = planned::<CephConfig>(&now, args("osd", "osd_memory_target", json!("6G")));
    assert_eq!(change.steps.len(), 1);
    let cache = host().answer(key("client", "rbd_cache"), answer("false"));
    for value in [json!(false), json!("no"), json!("False"), json!(0)] {
        assert!(planned::<CephConfig>(&cache, args("client", "rbd cache", value)).is_empty());
    }
}

#[test]
fn an_entry_with_a_mask_is_another_entry() {
    let masked = host().answer(key("osd/host:h0", "osd_memory_target"), answer("4294967296"));
    assert_eq!(planned::<CephConfig>(&masked, args("osd", "osd_memory_target", json!("4G"))).steps.len(), 1);
    assert!(planned::<CephConfig>(&masked, args("osd/host:h0", "osd_memory_target", json!("4G"))).is_empty());
}

#[test]
fn what_ceph_would_not_take_is_refused_before() {
    let refused =
        |name: &str, value: serde_json::Value| refusal::<CephConfig>(&host(), args("osd", name, value));
    assert!(refused("osd_memory_target", json!("512M")).contains("939524096"));
    assert!(refused("osd_memory_target", json!("much")).contains("not a size"));
    assert!(refused("osd_max_backfills", json!(-1)).contains("no sign"));
    assert!(refused("ms_async_op_threads", json!(25)).contains("greatest value, 24"));
    assert!(refused("osd_op_queue", json!("mclock_schedular")).contains("did you mean `mclock_scheduler`"));
    let unknown = host().answer(shell().row("ceph-config-help", ["osd_memory_targt"]), none());
    let unknown = unknown
        .answer(key("osd", "osd_memory_targt"), none())
        .answer(tell("osd.*", "osd_memory_targt"), none());
    assert!(
        refusal::<CephConfig>(&unknown, args("osd", "osd_memory_targt", json!(1)))
            .contains("did you mean `osd_memory_target`?")
    );
}

#[test]
fn whom_no_daemon_is_is_refused() {
    let refused = |who: &str| refusal::<CephConfig>(&host(), args(who, "osd_max_backfills", json!(2)));
    assert!(refused("osd.77").contains("there is no osd.77"));
    assert!(refused("mon.z").contains("mon.a"));
    assert!(refused("osd/host:h0.example.com").contains("did you mean `host:h0`"));
    assert!(refused("osd/class:ssd").contains("hdd"));
    assert!(refused("osd/rack:r1").contains("no buckets of the type `rack`"));
    assert!(refused("osx").contains("did you mean `osd`"));
    assert!(refused("host:h0/osd").contains("write the section first: `who: osd` with `mask: host:h0`"));
    assert!(refused("class:hdd").contains("`who: osd` with `mask: class:hdd`"));
    assert!(refused("osd/osd.3").contains("section first"));
    assert!(refused("mon/class:hdd").contains("device class"));
    assert!(refused("osd.x").contains("numbers"));
    assert!(refused("global.1").contains("parts"));
}

#[test]
fn masks_are_written_as_the_mons_store_them() {
    let text = |who: &str, mask: Option<&str>| Who::parse(who, mask).unwrap().text();
    assert_eq!(text("osd", Some("class:ssd/host:h0")), "osd/host:h0/class:ssd");
    assert_eq!(text("osd/class:ssd", Some("rack:r1")), "osd/rack:r1/class:ssd");
    assert_eq!(text(" osd.3 ", None), "osd.3");
}

#[test]
fn message_modes_have_a_module_of_their_own() {
    for name in ["ms_cluster_mode", "ms client mode", "ms-mon-service-mode"] {
        assert!(
            refusal::<CephConfig>(&host(), args("global", name, json!("secure"))).contains("ceph_msgr_mode")
        );
    }
}

#[test]
fn what_the_autotuner_owns_is_left_to_it() {
    let tuned = host().answer(key("osd", "osd_memory_target_autotune"), answer("true"));
    let said = refusal::<CephConfig>(&tuned, args("osd", "osd_memory_target", json!("8G")));
    assert!(said.contains("osd_memory_target_autotune: false"), "{said}");
    let said = refusal::<CephConfig>(&tuned, args("osd.1", "osd_memory_target", json!("8G")));
    assert!(said.contains("cephadm"), "{said}");
    let freed = tuned.answer(key("osd.1", "osd_memory_target_autotune"), answer("false"));
    assert_eq!(planned::<CephConfig>(&freed, args("osd.1", "osd_memory_target", json!("8G"))).steps.len(), 1);
}

#[test]
fn a_cache_of_clients_says_whom_it_does_not_reach() {
    let change = planned::<CephConfig>(&host(), args("client", "rbd_cache", json!(false)));
    assert!(change.notes.iter().any(|note| note.contains("cache=none")), "{:?}", change.notes);
    assert!(matches!(change.evidence[0].standing, Standing::NotAvailable { .. }));
    assert_eq!(change.effect, Effect::DaemonRestart);
}

#[test]
fn daemons_are_the_proof() {
    let name = "osd_max_backfills";
    let now = host().answer(key("osd", name), answer("3"));
    let live = now.clone().answer(tell("osd.*", name), daemons(name, ["3", "3", "3"]));
    let change = planned::<CephConfig>(&live, args("osd", name, json!(3)));
    assert!(
        matches!(&change.evidence[0].standing, Standing::Live { seen } if seen == "3 (osd.0, osd.1, osd.2)")
    );
    assert_eq!(change.notes, [""; 0]);
    assert_eq!(change.result["options"][name]["daemons"]["osd.2"], "3");
    let other = now.answer(tell("osd.*", name), daemons(name, ["3", "1", "3"]));
    let change = planned::<CephConfig>(&other, args("osd", name, json!(3)));
    assert!(change.is_empty());
    assert!(
        change.notes[0].contains("stored 3, daemons hold 1 (osd.1); 3 (osd.0, osd.2), default 1"),
        "{:?}",
        change.notes
    );
    let nearer = |seen: &str| seen.contains("1 (osd.1)") && seen.contains("nearer");
    assert!(matches!(&change.evidence[0].standing, Standing::Absent { seen } if nearer(seen)));
}

#[test]
fn a_mask_is_proven_by_those_it_means() {
    let name = "osd_max_backfills";
    let now = host()
        .answer(key("osd/host:h0", name), answer("3"))
        .answer(tell("osd.*", name), daemons(name, ["3", "1", "1"]));
    let change = planned::<CephConfig>(&now, args("osd/host:h0", name, json!(3)));
    assert!(
        matches!(&change.evidence[0].standing, Standing::Live { seen } if seen == "3 (osd.0)"),
        "{:?}",
        change.evidence
    );
}

#[test]
fn options_that_lie_about_running_daemons_are_known() {
    let help = |text: &str| serde_json::from_str::<OptionHelp>(text.trim()).unwrap();
    for (text, wanted) in [
        (help!("osd_memory_target"), Felt::AtOnce),
        (help!("osd_max_backfills"), Felt::AtOnce),
        (help!("osd_op_num_shards"), Felt::AtStart),
        (help!("ms_async_op_threads"), Felt::AtStartThoughTold),
        (help!("rbd_cache"), Felt::ByClients),
        (help!("osd_op_queue"), Felt::AtStart),
        (help!("bluestore_cache_size"), Felt::AtStartThoughTold),
        (help!("debug_osd"), Felt::AtOnce),
    ] {
        assert_eq!(felt(&help(text)), wanted, "{text}");
    }
    let name = "ms_async_op_threads";
    let told = host()
        .answer(key("osd", name), answer("5"))
        .answer(tell("osd.*", name), daemons(name, ["5", "5", "5"]));
    let change = planned::<CephConfig>(&told, args("osd", name, json!(5)));
    assert!(
        matches!(&change.evidence[0].standing, Standing::NotAvailable { why } if why.contains("before it uses it"))
    );
    let name = "osd_op_num_shards";
    let owed = host()
        .answer(key("osd", name), answer("8"))
        .answer(tell("osd.*", name), daemons(name, ["0", "0", "0"]));
    let change = planned::<CephConfig>(&owed, args("osd", name, json!(8)));
    assert!(matches!(&change.evidence[0].standing, Standing::Owed { until: Effect::DaemonRestart, .. }));
}

#[test]
fn values_are_written_as_the_mons_store_them() {
    let help = |kind: &str| OptionHelp { kind: kind.to_owned(), ..OptionHelp::default() };
    for (kind, text, wanted) in [
        ("bool", "Yes", "true"),
        ("int", "2K", "2000"),
        ("int", "-1", "-1"),
        ("size", "1Gi", "1073741824"),
        ("secs", "1m", "60"),
        ("secs", "2 days", "172800"),
        ("float", "0.50", "0.5"),
        ("str", " a b ", "a b"),
    ] {
        assert_eq!(stored(&help(kind), text).as_deref(), Ok(wanted), "{kind} {text}");
    }
    let debug = OptionHelp { name: "debug_osd".to_owned(), kind: "str".to_owned(), ..OptionHelp::default() };
    assert_eq!(stored(&debug, "1").as_deref(), Ok("1/1"));
    for (kind, text) in [("bool", "maybe"), ("int", "1.5"), ("uint", "-1"), ("secs", "1y"), ("float", "inf")]
    {
        assert!(stored(&help(kind), text).is_err(), "{kind} {text}");
    }
    let words = ["on".to_owned(), "off".to_owned(), "warn".to_owned()];
    assert_eq!(Value::Truth(true).text(&words), "on");
    assert_eq!(Value::Truth(false).text(&[]), "false");
}

#[test]
fn secrets_are_hidden() {
    let name = "rgw_keystone_admin_password";
    let help = r#"{"name":"rgw_keystone_admin_password","type":"str","default":"","flags":["startup"]}"#;
    let now = host()
        .answer(shell().row("ceph-config-help", [name]), answer(help))
        .answer(key("client.rgw", name), answer("hunter1"));
    let change = planned::<CephConfig>(&now, args("client.rgw", name, json!("hunter2")));
    let told = format!("{:?}{:?}{:?}{:?}", change.diff, change.notes, change.evidence, change.result);
    assert!(!told.contains("hunter"), "{told}");
    assert!(change.notes.iter().any(|note| note.contains("list of processes")));
}

#[test]
fn a_protection_that_goes_needs_a_waiver() {
    let name = "auth_cluster_required";
    let now = host()
        .answer(shell().row("ceph-config-help", [name]), answer(help!("auth_cluster_required")))
        .answer(key("global", name), none())
        .answer(tell("osd.*", name), none())
        .answer(tell("mon.*", name), none());
    let change = planned::<CephConfig>(&now, args("global", name, json!("none")));
    assert_eq!(change.risks[0].name, RiskName::Security);
    assert!(change.risks[0].why.contains("cephx is not asked for"));
    assert_eq!(planned::<CephConfig>(&now, args("global", name, json!("cephx"))).risks, []);
    let so = now.answer(key("global", name), answer("none"));
    assert_eq!(planned::<CephConfig>(&so, args("global", name, json!("none"))).risks, [], "it is so already");
    let file = json!({ "file": "/etc/ceph/ceph.conf", "who": "global", "name": name, "value": "none" });
    assert_eq!(planned::<CephConfig>(&host(), file).risks.len(), 1);
}

#[test]
fn wishes_that_make_no_sense_are_refused() {
    let refused = |args: serde_json::Value| refusal::<CephConfig>(&host(), args);
    assert!(refused(json!({ "who": "osd" })).contains("no option"));
    assert!(refused(json!({ "who": "osd", "value": 1 })).contains("not of which option"));
    assert!(refused(json!({ "who": "osd", "name": "a" })).contains("one option with its value"));
    assert!(refused(json!({ "who": "osd", "name": "a,b", "value": 1 })).contains("options:"));
    assert!(
        refused(json!({ "who": "osd", "name": "a b", "options": { "a_b": 1 }, "value": 1 }))
            .contains("twice")
    );
    assert!(
        refused(json!({ "who": "osd", "name": "a", "value": 1, "state": "absent" })).contains("no value")
    );
    assert!(refused(json!({ "who": "osd", "name": "a;b", "value": 1 })).contains("no name"));
}
