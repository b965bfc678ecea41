//! Hosts and arguments on which the contract suite tries `spdk_vhost`.
use super::unit::runs_look;
use super::wishes::socket_reads;
use super::{SpdkVhost, config, default_config, default_socket};
use crate::host::{Host, Target};
use crate::module::{Module as _, Sample};
use crate::services::unit::{RUNNING, answer, file_look, show};
use crate::vocabulary::{HostPath, Output, Read, Row, Seen};
use serde_json::{Value as Json, json};

const UNIT: &str = "spdk-vhost.service";
const ADDRESS: &str = "0000:02:00.0";

fn socket() -> HostPath {
    HostPath::new(&default_socket()).unwrap_or_else(|why| panic!("{why}"))
}

/// A target on two cores with 4 GiB, and a disk that it can attach.
pub(super) fn target() -> Target {
    Target::new(&[0, 1], 4 << 30).device(ADDRESS)
}

/// A host with a folder for the list and a disk that is bound.
pub(super) fn host() -> Host {
    Host::new()
        .dir("/etc/spdk")
        .answer(Row::new("pci-driver", [ADDRESS]), Seen::Output(Output::ok("vfio-pci\n")))
}

/// What the documents of SPDK vhost make, with a block size that guests can use.
pub(super) fn wanted() -> Json {
    json!({
        "bdevs": [
            { "name": "Nvme0", "kind": "nvme", "address": "0000:02:00.0" },
            { "name": "Malloc0", "kind": "malloc", "size": "512M", "block_size": 4096 },
            { "name": "Malloc1", "kind": "malloc", "size": "256M" },
            { "name": "Aio0", "kind": "aio", "file": "/srv/disk.img", "block_size": 4096 },
        ],
        "controllers": [
            { "name": "vhost.0", "kind": "scsi", "cpumask": "0x1", "slots": { "0": "Nvme0n1", "1": "Malloc0" } },
            { "name": "vhost.1", "kind": "blk", "cpumask": 2, "bdev": "Malloc1" },
            { "name": "vhost.2", "kind": "scsi", "slots": { "7": "Aio0" } },
        ],
    })
}

/// The text of the list for some arguments.
pub(super) fn listed(args: Json) -> String {
    let module: SpdkVhost = serde_json::from_value(args).unwrap_or_else(|why| panic!("{why}"));
    config::text(&module.wishes().unwrap_or_else(|why| panic!("{why:?}")))
}

/// The same target with all that a list holds.
pub(super) fn with_all(target: Target, args: Json) -> Target {
    let all: Json = serde_json::from_str(&listed(args)).unwrap_or_else(|why| panic!("{why}"));
    let entries = all["subsystems"].as_array().into_iter().flatten();
    let entries = entries.flat_map(|part| part["config"].as_array().into_iter().flatten());
    entries.filter(|entry| entry["method"] != "bdev_wait_for_examine").fold(target, |target, entry| {
        target.with(entry["method"].as_str().unwrap_or_default(), entry["params"].clone())
    })
}

fn shown(load: &str, active: &str, file: &str) -> Seen {
    Seen::Output(Output::ok(format!(
        "Type=simple\nId={UNIT}\nLoadState={load}\nActiveState={active}\nUnitFileState={file}\nNeedDaemonReload=no\n"
    )))
}

/// The arguments with the target as a unit.
pub(super) fn as_unit() -> Json {
    let mut args = wanted();
    args["target"] = json!({ "program": "/usr/local/bin/vhost", "reactors": "0x3", "memory": "2G" });
    args
}

/// A host on which the unit is not there yet.
pub(super) fn without_unit() -> Host {
    host()
        .dir(RUNNING)
        .dir("/etc/systemd/system")
        .file_mode("/usr/local/bin/vhost", "ELF", 0o755)
        .answer(show(UNIT), shown("not-found", "inactive", ""))
        .answer(Row::new("systemctl-runs", [UNIT]), Seen::Output(Output::ok("no\n")))
        .answer(Row::new("systemctl-unit-file-state", [UNIT]), answer("UnitFileState", ""))
}

/// What calls of systemctl leave: the target is served once it is started, and not when it is stopped.
fn calls(args: &Json) -> Vec<(Row, Vec<(Read, Seen)>)> {
    let module: SpdkVhost = serde_json::from_value(args.clone()).unwrap_or_else(|why| panic!("{why}"));
    let wishes = module.wishes().unwrap_or_else(|why| panic!("{why:?}"));
    let served = Host::new().serve(socket().as_str(), with_all(target(), args.clone()));
    let lists =
        ["spdk-reactors", "spdk-bdevs", "spdk-controllers"].map(|name| Row::new(name, Vec::<String>::new()));
    let reads = socket_reads(&socket(), lists.into_iter().chain(wishes.looks()));
    let mut started: Vec<(Read, Seen)> = reads.iter().map(|read| (read.clone(), served.see(read))).collect();
    let mut stopped: Vec<(Read, Seen)> = reads.into_iter().map(|read| (read, Seen::Absent)).collect();
    started.push((Read::Ask(show(UNIT)), shown("loaded", "active", "enabled")));
    started.push((runs_look(UNIT), Seen::Output(Output::ok("yes\n"))));
    stopped.push((Read::Ask(show(UNIT)), shown("loaded", "inactive", "enabled")));
    stopped.push((runs_look(UNIT), Seen::Output(Output::ok("no\n"))));
    vec![
        (Row::new("systemctl-start", [UNIT]), started),
        (Row::new("systemctl-stop", [UNIT]), stopped),
        (Row::new("systemctl-enable", [UNIT]), vec![(file_look(UNIT), answer("UnitFileState", "enabled"))]),
        (Row::new("systemctl-disable", [UNIT]), vec![(file_look(UNIT), answer("UnitFileState", "disabled"))]),
    ]
}

/// All samples.
pub(super) fn all() -> Vec<Sample> {
    let served = |target: Target| host().serve(&default_socket(), target);
    let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
    let fewer = json!({ "controllers": [
        { "name": "vhost.0", "kind": "scsi", "cpumask": "0x1", "slots": { "1": "Nvme0n1" } },
    ], "bdevs": [{ "name": "Nvme0", "kind": "nvme", "address": ADDRESS }] });
    let mut others = wanted();
    others["bdevs"] = json!([
        { "name": "Nvme0", "kind": "nvme", "address": ADDRESS },
        { "name": "Aio0", "kind": "aio", "file": "/srv/disk.img", "block_size": 4096 },
    ]);
    others["controllers"] = json!([
        { "name": "vhost.0", "kind": "scsi", "cpumask": "0x1", "slots": { "0": "Nvme0n1" } },
        { "name": "vhost.2", "kind": "scsi", "slots": { "7": "Aio0" } },
    ]);
    let with_list =
        |args: &Json| served(with_all(target(), args.clone())).file(&default_config(), listed(args.clone()));
    vec![
        sample("an empty target", wanted(), served(target())),
        sample("a target with all", wanted(), with_list(&wanted())),
        sample("fewer than are listed", fewer, with_list(&others)),
        sample("nothing any more", json!({}), with_list(&others)),
        Sample { about: "a unit", args: as_unit(), host: without_unit(), calls: calls(&as_unit()) },
        sample(
            "a guest that holds its controller",
            json!({}),
            served(with_all(target(), others.clone()).session("vhost.0"))
                .file(&default_config(), listed(others)),
        ),
        Sample { about: "the example alone", host: Host::new(), args: example(), calls: Vec::new() },
    ]
}

fn example() -> Json {
    debug_assert!(SpdkVhost::EXAMPLE.contains("spdk_vhost"));
    json!({ "bdevs": [], "controllers": [] })
}
