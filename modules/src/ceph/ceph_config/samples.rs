//! A cluster on one host in memory, as it answers before and after; and a host with a ceph.conf.
use super::mons::{ENOENT, help_row, key_row};
use super::proof;
use super::who::Who;
use crate::ceph::Cluster;
use crate::ceph::cluster::{By, Shell};
use crate::host::Host;
use crate::module::Sample;
use crate::vocabulary::{Facts, Output, Read, Row, Seen};
use serde_json::json;

const NAME: &str = "osd_max_backfills";
const HELP: &str = r#"{"name":"osd_max_backfills","type":"uint","default":1,"daemon_default":"","services":[],"min":"",
    "max":"","can_update_at_runtime":true,"flags":["runtime"]}"#;
const TREE: &str = r#"{"nodes":[{"id":-1,"name":"default","type":"root","children":[-2]},
    {"id":-2,"name":"h0","type":"host","children":[0,1]},
    {"id":0,"name":"osd.0","type":"osd","device_class":"ssd"},
    {"id":1,"name":"osd.1","type":"osd","device_class":"ssd"}],"stray":[]}"#;

fn answer(text: &str) -> Seen {
    Seen::Output(Output::ok(text))
}

fn none() -> Seen {
    Seen::Output(Output { status: ENOENT, stdout: "".into(), stderr: "Error ENOENT: ".into() })
}

/// What all OSDs say.
fn told(value: &str) -> Seen {
    let line = |id: u8| format!("osd.{id}: {{\"{NAME}\":\"{value}\"}}\n");
    answer(&format!("{}{}", line(0), line(1)))
}

/// A host that has `ceph` and a ceph.conf.
fn bare() -> Host {
    Host::new().file("/usr/bin/ceph", "#!").file("/etc/ceph/ceph.conf", "[global]\nfsid = x\n")
}

/// A cluster in which an option is stored for `who`, with the value that OSDs hold.
fn cluster(shell: &Shell, who: &Who, stored: Seen, held: &str) -> Host {
    let host = bare()
        .answer(shell.plain("ceph-fsid"), answer("6bd1ad0a-49bf-4981-a947-e133752baa00\n"))
        .answer(shell.plain("ceph-orch-status"), none())
        .answer(shell.plain("ceph-osd-tree"), answer(TREE))
        .answer(help_row(shell, NAME), answer(HELP))
        .answer(key_row(shell, who, NAME), stored);
    proof::rows(shell, who, NAME).into_iter().fold(host, |host, row| host.answer(row, told(held)))
}

/// What the calls that a task may make leave.
fn calls(shell: &Shell, who: &Who) -> Vec<(Row, Vec<(Read, Seen)>)> {
    let left = |stored: Seen, held: &str| {
        let asked = proof::rows(shell, who, NAME).into_iter().map(|row| (Read::Ask(row), told(held)));
        std::iter::once((Read::Ask(key_row(shell, who, NAME)), stored)).chain(asked).collect()
    };
    let set = |value: &str| shell.row("ceph-config-set", [who.text().as_str(), NAME, "--", value]);
    let remove = shell.row("ceph-config-rm", [who.text().as_str(), NAME]);
    vec![(set("4"), left(answer("4"), "4")), (set("2"), left(answer("2"), "2")), (remove, left(none(), "1"))]
}

/// Options in the mons' database.
pub(super) fn stored() -> Vec<Sample> {
    let by = Cluster { by: Some(By::Host), ..Cluster::default() };
    let (Ok(shell), Ok(osds), Ok(masked)) =
        (by.shell(&Facts::default()), Who::parse("osd", None), Who::parse("osd", Some("host:h0/class:ssd")))
    else {
        return Vec::new();
    };
    let sample = |about, args, who: &Who, (stored, held): (Seen, &str)| Sample {
        about,
        args,
        host: cluster(&shell, who, stored, held),
        calls: calls(&shell, who),
    };
    let other = json!({ "fsid": "00000000-0000-0000-0000-000000000000" });
    vec![
        sample("an option is set", json!({ "who": "osd", "name": NAME, "value": 4 }), &osds, (none(), "1")),
        sample(
            "another value",
            json!({ "who": "osd", "name": "osd max-backfills", "value": "4" }),
            &osds,
            (answer("2"), "2"),
        ),
        sample(
            "as it is already",
            json!({ "who": "osd", "options": { NAME: 2 } }),
            &osds,
            (answer("2"), "2"),
        ),
        sample(
            "removed",
            json!({ "who": "osd", "name": NAME, "state": "absent" }),
            &osds,
            (answer("2"), "2"),
        ),
        sample(
            "a mask",
            json!({ "who": "osd", "mask": "class:ssd/host:h0", "name": NAME, "value": 4 }),
            &masked,
            (none(), "1"),
        ),
        sample(
            "another cluster answers",
            json!({ "who": "osd", "name": NAME, "value": 4, "cluster": other }),
            &osds,
            (none(), "1"),
        ),
    ]
}

/// Options in a ceph.conf.
pub(super) fn in_files() -> Vec<Sample> {
    let conf = "[global]\n fsid = x\n[osd]\n osd memory target = 4G ; half\n\n[client]\nrbd cache = true";
    let file = "/etc/ceph/ceph.conf";
    let sample = |about, args| Sample { about, args, host: bare().file(file, conf), calls: Vec::new() };
    vec![
        sample(
            "a line of a file",
            json!({ "file": file, "who": "osd", "name": "osd_memory_target", "value": "8G" }),
        ),
        sample(
            "a new section",
            json!({ "file": file, "who": "osd.3", "options": { "osd_max_backfills": 2 } }),
        ),
        sample(
            "a line goes",
            json!({ "file": file, "who": "client", "name": "rbd_cache", "state": "absent" }),
        ),
    ]
}
