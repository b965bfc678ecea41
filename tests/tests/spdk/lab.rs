//! A target inside a plain host of the lab: nothing of it is seen from the machine but through the host's own sshd.
use crate::bed::{ALL, Bed, target};
use std::fs;
use std::path::{Path, PathBuf};
use tests::program::{is_root, tunerun};
use tests::spdk::Served;
use tunerun::lab::{Lab, LabSpec, Tier};

/// The root of a host as this machine reaches it: that of its sshd.
fn root_of(bed: &Path, host: &str) -> PathBuf {
    let mark = bed.display().to_string();
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let found = pids.map(|entry| entry.path()).find(|process| {
        let comm = fs::read_to_string(process.join("comm")).unwrap_or_default();
        let mounts = fs::read_to_string(process.join("mountinfo")).unwrap_or_default();
        let name = fs::read_to_string(process.join("root/etc/hostname")).unwrap_or_default();
        comm.trim() == "sshd" && mounts.contains(&mark) && name.trim() == host
    });
    found.unwrap_or_else(|| panic!("no sshd of {host}")).join("root")
}

#[test]
fn targets_of_two_hosts_are_kept_apart() {
    if !is_root("a lab") {
        return;
    }
    let bed = Bed::new();
    let spec = LabSpec {
        tier: Tier::Plain,
        ..LabSpec::new("lab", &["hv1", "hv2"], bed.root.clone(), tunerun().to_owned())
    };
    let lab = Lab::up(&spec).unwrap();
    let sockets: Vec<PathBuf> =
        ["hv1", "hv2"].iter().map(|host| root_of(&bed.root, host).join("run/spdk.sock")).collect();
    let served: Vec<Served> = sockets.iter().map(|socket| Served::new(socket, target())).collect();
    fs::write(
        bed.root.join("hosts.yml"),
        "all:\n  vars: {ansible_connection: lab}\n  hosts: {hv1: {}, hv2: {}}\n",
    )
    .unwrap();
    let play = format!(
        "- hosts: all\n  gather_facts: false\n  tasks:\n  - name: exports\n    spdk_vhost:\n      socket: /run/spdk.sock\n      \
         config: /etc/spdk.json\n{ALL}"
    );
    fs::write(bed.root.join("play.yml"), play).unwrap();
    let tunerun = |words: &[&str]| {
        let output = bed.words(words).env("TUNERUN_LABS", &bed.root).output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {text}");
        text
    };
    tunerun(&["play", "play.yml", "-i", "hosts.yml", "--yes"]);
    assert!(served.iter().all(|served| served.target() != target()));
    assert!(!Path::new("/run/spdk.sock").exists());
    let again = tunerun(&["play", "play.yml", "-i", "hosts.yml", "--yes"]);
    assert!(!again.contains("changed on"), "{again}");
    let runs = tunerun(&["runs"]);
    tunerun(&["undo", runs.lines().next().unwrap().split_whitespace().next().unwrap()]);
    assert!(served.iter().all(|served| served.target() == target()));
    drop(served);
    drop(lab);
}
