//! A controller that dies in the middle, and a target that somebody else changes meanwhile.
use crate::bed::{ALL, Bed, target};
use serde_json::json;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tests::spdk::{Fault, Served};

/// Kills the program while it waits for the answer to a method, which is done all the same or not.
fn killed_at(method: &str, fault: Fault) -> (Bed, Served) {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    bed.vhost(ALL, "");
    served.fault(method, fault);
    let mut command = bed.words(&["play", "play.yml", "-i", "hosts.ini", "--yes"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !served.state().asked.iter().any(|asked| asked == method) {
        assert!(Instant::now() < deadline, "{method} was never asked");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    (bed, served)
}

#[test]
fn a_killed_run_is_taken_back_by_a_look() {
    for method in [
        "bdev_malloc_create",
        "bdev_aio_create",
        "vhost_create_scsi_controller",
        "vhost_create_blk_controller",
    ] {
        let (bed, served) = killed_at(method, Fault::Silent);
        assert!(served.target() != target(), "{method} was done");
        bed.tunerun(&["undo", "last"]).ended(0);
        assert_eq!(served.target(), target(), "{method}");
        assert!(!bed.list().exists(), "{method}");
        bed.play().ended(0);
    }
}

#[test]
fn a_killed_run_can_be_resumed() {
    let (bed, served) = killed_at("vhost_scsi_controller_add_target", Fault::Silent);
    let resumed = bed.tunerun(&["resume", "last"]);
    assert!(resumed.code == Some(0), "{}", resumed.text);
    bed.play().ended(0);
    let all = served.target();
    bed.play().ended(0).never_says("changed on");
    assert_eq!(served.target(), all);
}

#[test]
fn the_way_back_on_the_host_tells_what_to_send() {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    bed.vhost(ALL, "");
    bed.play().ended(0);
    let run = std::fs::read_dir(bed.root.join("state"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path().join("undo.sh"))
        .find(|path| path.exists())
        .unwrap();
    let output = std::process::Command::new("sh").arg(run).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("\"method\":\"vhost_delete_controller\"") && said.contains("spdk.sock"), "{said}");
    assert!(served.target() != target(), "no shell speaks over a socket");
    bed.tunerun(&["undo", "last"]).ended(0);
    assert_eq!(served.target(), target());
}

#[test]
fn what_somebody_else_makes_meanwhile_is_not_overwritten() {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    bed.vhost(ALL, "");
    bed.play().ended(0);
    // Somebody swaps the disk of a slot: it is theirs, and the rest goes back.
    let change = |method: &str, params: serde_json::Value| {
        served.state().target.call(method, &params).unwrap();
    };
    change("vhost_scsi_controller_remove_target", json!({ "ctrlr": "vhost.0", "scsi_target_num": 3 }));
    change("bdev_malloc_create", json!({ "name": "Theirs", "num_blocks": 2048, "block_size": 512 }));
    change(
        "vhost_scsi_controller_add_target",
        json!({ "ctrlr": "vhost.0", "scsi_target_num": 3, "bdev_name": "Theirs" }),
    );
    bed.tunerun(&["undo", "last"]).ended(6).says(&["spdk/vhost/vhost.0/3", "somebody else", "Theirs"]);
    assert!(format!("{:?}", served.target()).contains("Theirs"));
}
