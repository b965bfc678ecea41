//! How a cluster is found, by what hosts hold.
use super::*;
use crate::host::Host;
use crate::vocabulary::Seen;

const FSID: &str = "6bd1ad0a-49bf-4981-a947-e133752baa00";

/// The facts of a host after what a cluster asks for.
fn shell(host: &Host, cluster: &Cluster) -> Result<(Facts, Shell), Stop> {
    let mut reads = Vec::new();
    for _ in 0..4 {
        let facts = host.facts(reads.clone());
        let tried = cluster.shell(&facts).and_then(|shell| {
            shell.fsid(&facts)?;
            shell.no_upgrade(&facts)?;
            Ok(shell)
        });
        match tried {
            Ok(shell) => return Ok((facts, shell)),
            Err(Stop::Unread(more)) => reads.extend(more),
            Err(other) => return Err(other),
        }
    }
    panic!("the reads do not settle");
}

fn words(stop: Stop) -> String {
    match stop {
        Stop::Refused(refusal) => format!("{}: {}", refusal.why, refusal.way_out.unwrap_or_default()),
        other => panic!("{other:?}"),
    }
}

fn row(by: By, name: &str) -> Row {
    Shell { by, cluster: Cluster::default() }.plain(name)
}

fn with(host: Host, by: By, orch: Option<&str>) -> Host {
    let none = Seen::Output(Output {
        status: 2,
        stdout: "".into(),
        stderr: "Error ENOENT: No orchestrator configured".into(),
    });
    let answer = |text: &str| Seen::Output(Output::ok(text));
    host.answer(row(by, "ceph-fsid"), answer(&format!("{FSID}\n")))
        .answer(row(by, "ceph-orch-status"), orch.map_or(none, answer))
        .answer(
            row(by, "ceph-orch-upgrade-status"),
            answer(r#"{"target_image": null, "in_progress": false}"#),
        )
}

/// A host of a cluster that cephadm made, without ceph-common: its files as cephadm lays them out.
fn cephadm() -> Host {
    Host::new()
        .file("/usr/sbin/cephadm", "#!/usr/bin/python3\n")
        .file("/etc/ceph/ceph.conf", "# minimal ceph.conf for a cluster\n[global]\n")
        .file("/etc/ceph/ceph.client.admin.keyring", "[client.admin]\n")
        .file(&format!("/var/lib/ceph/{FSID}/mon.h0/config"), "")
        .file(&format!("/etc/systemd/system/ceph-{FSID}@.service"), "")
}

#[test]
fn packages_bring_a_command_and_units_of_their_own() {
    let host = Host::new().file("/usr/bin/ceph", "#!").file("/etc/ceph/ceph.conf", "[global]\n");
    let (facts, shell) = shell(&with(host, By::Host, None), &Cluster::default()).unwrap();
    assert_eq!(shell.by, By::Host);
    assert_eq!(shell.layout(&facts).unwrap().unit("osd", 3), "ceph-osd@3.service");
}

#[test]
fn cephadm_brings_a_container_and_units_with_the_fsid() {
    let orch = r#"{"available": true, "backend": "cephadm", "paused": false, "workers": 10}"#;
    let (facts, shell) = shell(&with(cephadm(), By::Cephadm, Some(orch)), &Cluster::default()).unwrap();
    assert_eq!(shell.by, By::Cephadm);
    assert_eq!(shell.layout(&facts).unwrap().unit("osd", 3), format!("ceph-{FSID}@osd.3.service"));
    // With ceph-common beside it the container is not needed.
    let both = cephadm().file("/usr/bin/ceph", "#!");
    let (_, shell) = super::tests::shell(&with(both, By::Host, Some(orch)), &Cluster::default()).unwrap();
    assert_eq!(shell.by, By::Host);
}

#[test]
fn rook_is_refused_by_its_name() {
    let node = Host::new().dir("/var/lib/rook/rook-ceph").file("/usr/bin/ceph", "#!");
    assert!(words(shell(&node, &Cluster::default()).unwrap_err()).contains("run by rook"));
    let toolbox = Host::new().file("/usr/bin/ceph", "#!").file("/etc/ceph/ceph.conf", "");
    let toolbox = with(toolbox, By::Host, Some(r#"{"backend": "rook", "available": true}"#));
    assert!(words(shell(&toolbox, &Cluster::default()).unwrap_err()).contains("cephConfig"));
}

#[test]
fn a_host_without_a_command_line_says_where_to_look() {
    let said = words(shell(&Host::new(), &Cluster::default()).unwrap_err());
    assert!(said.contains("neither `ceph` nor `cephadm`") && said.contains("ceph_via"), "{said}");
}

#[test]
fn another_cluster_is_left_alone() {
    let host = Host::new().file("/usr/bin/ceph", "#!").file("/etc/ceph/ceph.conf", "");
    let host = with(host, By::Host, None);
    let meant = |fsid: &str| Cluster { fsid: Some(fsid.to_owned()), ..Cluster::default() };
    let said = words(shell(&host, &meant("a2eae81c-f317-4139-a39f-16b56e5c3384")).unwrap_err());
    assert!(said.contains(FSID) && said.contains("a2eae81c"), "{said}");
    assert!(shell(&host, &meant(&FSID.to_uppercase())).is_ok());
}

#[test]
fn nothing_is_done_while_an_upgrade_runs() {
    let orch = r#"{"available": true, "backend": "cephadm"}"#;
    let upgrade = r#"{"target_image": "quay.io/ceph/ceph:v18.2.4", "in_progress": true, "which": "Upgrading all daemon types on all hosts", "services_complete": ["mgr"], "progress": "3/12 daemons upgraded", "message": "", "is_paused": false}"#;
    let host = with(cephadm(), By::Cephadm, Some(orch))
        .answer(row(By::Cephadm, "ceph-orch-upgrade-status"), Seen::Output(Output::ok(upgrade)));
    let said = words(shell(&host, &Cluster::default()).unwrap_err());
    assert!(said.contains("quay.io/ceph/ceph:v18.2.4") && said.contains("pause"), "{said}");
}

#[test]
fn what_goes_wrong_is_said_with_what_to_do() {
    let shell = Shell { by: By::Host, cluster: Cluster::default() };
    let row = shell.row("ceph-config-help", ["osd_max_backfills"]);
    let trouble = |status: i32, stderr: &str| {
        words(shell.trouble(&row, &Output { status, stdout: "".into(), stderr: stderr.into() }))
    };
    assert!(trouble(124, "").contains("did not answer within 30 s"));
    assert!(trouble(137, "").contains("quorum"));
    assert!(trouble(127, "timeout: failed to run command 'ceph'").contains("ceph-common"));
    let denied = "[errno 13] RADOS permission denied (error connecting to the cluster)";
    assert!(trouble(13, denied).contains("keyring"));
    assert!(
        trouble(22, "Error EINVAL: x")
            .contains("`ceph config help -f json osd_max_backfills` failed with status 22")
    );
    let tell = shell.row("ceph-tell-config-get", ["osd.*", "a"]);
    assert!(
        words(shell.trouble(&tell, &Output { status: 1, stdout: "".into(), stderr: "x".into() }))
            .contains("ceph tell osd.* config get")
    );
}

#[test]
fn arguments_never_become_options() {
    let cluster = Cluster { client: Some("--version".to_owned()), ..Cluster::default() };
    assert!(words(cluster.shell(&Facts::default()).unwrap_err()).contains("client"));
}
