//! Plays on a target of this machine: made, made again, changed, taken back, and left alone where guests hold on.
use crate::bed::{ALL, Bed, target};
use serde_json::json;
use tests::spdk::Served;

#[test]
fn made_once_and_taken_back_exactly() {
    let bed = Bed::new();
    let theirs = target()
        .with("bdev_malloc_create", json!({ "name": "Theirs", "num_blocks": 2048, "block_size": 512 }))
        .with("vhost_create_scsi_controller", json!({ "ctrlr": "theirs" }));
    let served = Served::new(&bed.socket(), theirs.clone());
    bed.vhost(ALL, "");
    let checked = bed.tunerun(&["play", "play.yml", "-i", "hosts.ini", "--check", "--diff"]);
    checked.ended(0).says(&["vhost.0 slot 3", "Aio0", "left alone"]);
    assert_eq!(served.target(), theirs, "a check changes nothing");
    bed.play().ended(0);
    let made = served.target();
    assert!(made != theirs && bed.list().exists());
    served.asked();
    bed.play().ended(0).never_says("changed on");
    let asked = served.asked();
    assert!(asked.iter().all(|method| method.contains("_get_")), "the second run only looks: {asked:?}");
    assert_eq!(served.target(), made);
    // The newest run changed nothing; the first one did.
    let first = bed.oldest();
    bed.tunerun(&["undo", &first]).ended(0);
    assert_eq!(served.target(), theirs, "what others made is as it was");
    assert!(!bed.list().exists());
    bed.tunerun(&["undo", &first]).ended(0);
    assert_eq!(served.target(), theirs);
}

#[test]
fn what_leaves_the_list_goes_and_what_changes_is_told() {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    bed.vhost(ALL, "");
    bed.play().ended(0);
    let fewer = ALL
        .replace("slots: {0: Malloc0, 3: Aio0}", "slots: {1: Malloc0}")
        .replace("      - {name: Aio0, kind: aio, file: /srv/disk.img, block_size: 4096}\n", "");
    bed.vhost(&fewer, "");
    bed.play().ended(0);
    let text = format!("{:?}", served.target());
    assert!(!text.contains("Aio0") && text.contains("Malloc0"));
    // Another size cannot be reached in place: it is a risk, and nothing else happens unasked.
    bed.vhost(&fewer.replace("size: 64M", "size: 128M"), "");
    let before = served.target();
    bed.play().ended(1).says(&["131072", "262144", "cannot_converge"]);
    assert_eq!(served.target(), before);
    let accepted = "    accept_risk: {cannot_converge: it is recreated at the next window}\n";
    bed.vhost(&fewer.replace("size: 64M", "size: 128M"), accepted);
    bed.play().ended(0);
    assert_eq!(served.target(), before);
}

#[test]
fn what_a_guest_holds_open_is_never_taken_away() {
    let bed = Bed::new();
    let served = Served::new(&bed.socket(), target());
    bed.vhost(ALL, "");
    bed.play().ended(0);
    served.state().target.connect("vhost.0");
    let held = served.target();
    served.asked();
    bed.vhost("", "    accept_risk: {data_loss: it is a test}\n");
    bed.play().ended(1).says(&["vhost.0s0", "holds it open"]);
    // Neither does an undo, forced or not.
    let run = bed.oldest();
    bed.tunerun(&["undo", &run]).ended(6).says(&["vhost.0s0"]);
    bed.tunerun(&["undo", &run, "--force", "spdk/vhost/vhost.0"]).says(&["vhost.0s0"]);
    let sent = served.asked();
    assert!(!sent.iter().any(|method| method == "vhost_delete_controller" && served.target().is_dead()));
    assert!(!served.target().is_dead());
    let text = format!("{:?}", served.target());
    assert!(text.contains("vhost.0s0") && text.contains("Malloc0"), "{held:?}");
    // Once the guest is gone, the undo comes to its end.
    served.state().target.disconnect("vhost.0");
    bed.tunerun(&["undo", &run]).ended(0);
    assert_eq!(served.target(), target());
}

#[test]
fn the_seeds_own_lines_are_refused() {
    let bed = Bed::new();
    // Started with 0x3, and its log shows one core.
    let served = Served::new(&bed.socket(), modules::host::Target::new(&[0], 4 << 30));
    bed.vhost(
        "      bdevs:\n      - {name: Malloc0, kind: malloc, size: 512M, block_size: 8192}\n      controllers:\n      \
         - {name: vhost.0, kind: scsi, cpumask: 0x1, slots: {1: Malloc0}}\n",
        "",
    );
    bed.play().ended(1).says(&["8192", "0 bytes"]);
    bed.vhost(
        "      bdevs:\n      - {name: Malloc1, kind: malloc, size: 256M, block_size: 512}\n      controllers:\n      \
         - {name: vhost.1, kind: blk, cpumask: 0x2, bdev: Malloc1}\n",
        "",
    );
    bed.play().ended(1).says(&["core 1", "runs on: 0"]);
    assert!(served.asked().iter().all(|method| method.contains("_get_")));
}
