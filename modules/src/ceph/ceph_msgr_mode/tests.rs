//! Rungs, sessions and proofs.
use super::*;
use crate::trial::{planned, refusal};

fn shell() -> Shell {
    Cluster { by: Some(crate::ceph::cluster::By::Host), ..Cluster::default() }
        .shell(&Facts::default())
        .unwrap()
}

fn answer(text: &str) -> Seen {
    Seen::Output(Output::ok(text))
}

fn host(stored: &str) -> Host {
    let none = || Seen::Output(Output { status: ENOENT, stdout: "".into(), stderr: "".into() });
    let shell = shell();
    let mut host = Host::new()
        .file("/usr/bin/ceph", "#!")
        .file("/etc/ceph/ceph.conf", "[global]\n")
        .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
        .answer(shell.plain("ceph-orch-status"), none())
        .answer(shell.plain("ceph-config-dump"), answer("[]"))
        .answer(shell.plain("ceph-rescue"), answer("x\n"))
        .answer(shell.plain("ceph-mon-sessions"), answer("[]"))
        .answer(shell.plain("ceph-mon-dump"), answer(r#"{"mons":[{"rank":0,"name":"a"}],"quorum":[0]}"#))
        .answer(
            shell.plain("ceph-osd-tree"),
            answer(r#"{"nodes":[{"id":-2,"name":"h1","type":"host","children":[1]},{"id":1,"name":"osd.1","type":"osd","status":"up"},{"id":-3,"name":"h0","type":"host","children":[0]},{"id":0,"name":"osd.0","type":"osd","status":"up"}],"stray":[{"id":2,"name":"osd.2","type":"osd","status":"down"}]}"#),
        );
    for name in DATA.iter().chain(&MON) {
        let seen = if stored.is_empty() || MON.contains(name) { none() } else { answer(stored) };
        let data = DATA.contains(name) && !stored.is_empty();
        let held = if data {
            stored
        } else if DATA.contains(name) {
            "crc secure"
        } else {
            "secure crc"
        };
        let told = json!({ *name: held }).to_string();
        let lines = format!("osd.0: {told}\nosd.1: {told}\n");
        let row = held_row(&shell, if DATA.contains(name) { "osd.*" } else { "mon.*" }, name);
        host = host.answer(key_row(&shell, name), seen).answer(row, answer(&lines));
    }
    host
}

fn proof() -> Json {
    json!({ "rc": 0, "stdout_lines": ["osd.0 a b secure", "osd.1 b a secure"] })
}

#[test]
fn encryption_is_preferred_first_and_osds_connect_anew_host_by_host() {
    let change = planned::<CephMsgrMode>(&host(""), json!({ "modes": "secure crc" }));
    assert_eq!(change.steps.len(), 3);
    let Some(Activation::Reload(row)) = change.then.first() else { panic!("{:?}", change.then) };
    assert_eq!(&row.args[5..], ["300", "1", "0"], "an OSD that is down is left alone");
}

#[test]
fn a_rung_is_not_skipped() {
    let said = refusal::<CephMsgrMode>(&host(""), json!({ "modes": "secure" }));
    assert!(said.contains("skips a rung") && said.contains("{modes: secure crc}"), "{said}");
}

#[test]
fn one_mode_alone_needs_a_proof_of_each_osd() {
    let args = |proof: Json| json!({ "modes": "secure", "proof": proof });
    let host = host("secure crc");
    assert!(refusal::<CephMsgrMode>(&host, json!({ "modes": "secure" })).contains("nothing shows"));
    let half = json!({ "stdout_lines": ["osd.0 a b secure"] });
    assert!(refusal::<CephMsgrMode>(&host, args(half)).contains("no connection was seen of osd.1"));
    let plain = json!([{ "stdout_lines": ["osd.0 a 10.0.0.7:0/12 crc", "osd.1 b a secure"] }]);
    assert!(refusal::<CephMsgrMode>(&host, args(plain)).contains("osd.0 with 10.0.0.7:0/12 (crc)"));
    let change = planned::<CephMsgrMode>(&host, args(json!([proof()])));
    assert_eq!(change.steps.len(), 3);
    assert!(change.then.is_empty());
    assert_eq!(change.risks[0].name, RiskName::BlastRadiusCluster);
}

#[test]
fn a_session_of_the_old_protocol_is_named() {
    let old = r#"[{"name":"client.4211","entity_name":"client.libvirt","con_type":"client","remote_host":"hv1","socket_addr":{"type":"v1","addr":"192.0.2.7:0"}},{"name":"osd.0","con_type":"osd","socket_addr":{"type":"v2","addr":"192.0.2.1:6800"}}]"#;
    for text in [old.to_owned(), format!("mon.a: []\nmon.b: {old}\n")] {
        let host = host("secure crc").answer(shell().plain("ceph-mon-sessions"), answer(&text));
        let said = refusal::<CephMsgrMode>(&host, json!({ "modes": "secure", "proof": proof() }));
        assert!(said.contains("client client.libvirt at 192.0.2.7:0 hv1"), "{said}");
    }
}

#[test]
fn a_section_of_its_own_and_nonsense_are_refused_with_the_command() {
    let own = r#"[{"section":"osd.0","name":"ms_cluster_mode","value":"crc"}]"#;
    let one = host("").answer(shell().plain("ceph-config-dump"), answer(own));
    assert!(
        refusal::<CephMsgrMode>(&one, json!({ "modes": "secure crc" }))
            .contains("`ceph config rm osd.0 ms_cluster_mode`")
    );
    let said = refusal::<CephMsgrMode>(&host("foo"), json!({ "modes": "secure crc" }));
    assert!(said.contains("no mode") && said.contains("ceph config rm global"), "{said}");
}

#[test]
fn the_rescue_is_known_before_the_mons_are_touched() {
    let broken = Seen::Output(Output { status: 13, stdout: "".into(), stderr: "permission denied".into() });
    let host = host("").answer(shell().plain("ceph-rescue"), broken);
    let said = refusal::<CephMsgrMode>(&host, json!({ "modes": "crc secure", "mon": "secure" }));
    assert!(said.contains("lock-out"), "{said}");
    let known = super::tests::host("");
    let args = |proof: Json| json!({ "modes": "crc secure", "mon": "secure", "proof": proof });
    let without = refusal::<CephMsgrMode>(&known, args(proof()));
    assert!(without.contains("no connection was seen of mon.a"), "{without}");
    let plain = json!([proof(), { "stdout_lines": ["mon.a x 10.0.0.9:0/3 crc"] }]);
    assert!(refusal::<CephMsgrMode>(&known, args(plain)).contains("mon.a with 10.0.0.9:0/3 (crc)"));
    let seen = json!([{ "stdout_lines": ["osd.0 a b crc", "mon.a x 10.0.0.9:0/3 secure"] }]);
    let change = planned::<CephMsgrMode>(&known, args(seen));
    let shown = "ceph --ms_mon_client_mode=\"secure crc\" config rm global ms_mon_client_mode";
    assert!(change.notes.iter().any(|note| note.contains(shown)), "{:?}", change.notes);
}

#[test]
fn what_is_so_already_asks_for_nothing() {
    let change = planned::<CephMsgrMode>(&host("secure, crc"), json!({ "modes": "secure crc" }));
    assert!(change.is_empty());
}

#[test]
fn a_rung_on_the_way_is_left_behind_once_the_cluster_is_past_it() {
    for (stored, modes, steps) in [
        ("", "crc secure", 0),
        ("", "secure crc", 3),
        ("secure crc", "crc secure", 0),
        ("secure", "crc secure", 0),
        ("secure", "secure crc", 0),
        ("crc", "crc secure", 3),
    ] {
        let change = planned::<CephMsgrMode>(&host(stored), json!({ "modes": modes, "toward": "secure" }));
        assert_eq!(change.steps.len(), steps, "{stored} {modes}");
    }
    let down =
        planned::<CephMsgrMode>(&host("crc secure"), json!({ "modes": "secure crc", "toward": "crc" }));
    assert!(down.is_empty(), "on the way down as well");
}

#[test]
fn a_daemon_that_holds_another_mode_is_named() {
    let row = held_row(&shell(), "osd.*", "ms_cluster_mode");
    let told = "osd.0: {\"ms_cluster_mode\":\"crc secure\"}\nosd.1: {\"ms_cluster_mode\":\"crc\"}\n";
    let host = host("").answer(row, answer(told));
    let said = refusal::<CephMsgrMode>(&host, json!({ "modes": "secure crc" }));
    assert!(said.contains("osd.1 holds `crc`") && said.contains("ceph config show osd.1"), "{said}");
}

#[test]
fn live_connections_are_the_evidence_where_they_were_seen() {
    use crate::vocabulary::Standing;
    let standing = |proof: Json| {
        let args = json!({ "modes": "secure crc", "proof": proof });
        planned::<CephMsgrMode>(&host("secure crc"), args).evidence.remove(0).standing
    };
    assert!(matches!(standing(proof()), Standing::Live { .. }));
    let half = json!({ "stdout_lines": ["osd.0 a b secure", "osd.1 b a crc"] });
    assert!(matches!(standing(half), Standing::Absent { seen } if seen == "1 of 2 are"));
}
