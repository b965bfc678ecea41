//! The project's own playbook in the lab: checked, played, played again, taken back byte for byte.
use super::bed::{Bed, can, said};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tests::program::tunerun;
use tunerun::lab::{Lab, LabSpec, Tier};

const HOSTS: [&str; 4] = ["osd1", "osd2", "client1", "hv1"];

/// Everything on a host that a playbook may change: kind, mode, owner, links and content.
const SNAPSHOT: &str = "cd / && find etc boot usr/local var/lib/misc -xdev \\( -type f -o -type l -o -type d \\) \
    ! -path etc/ssh/\\* ! -name 'ld.so.cache' ! -name 'machine-id' -printf '%p %y %m %U %G %l\\n' | sort; \
    find etc boot usr/local -xdev -type f -exec sha256sum {} + 2>/dev/null | sort -k2; \
    cat /proc/sys/vm/nr_hugepages /sys/class/net/eth0/queues/*/?ps_cpus 2>/dev/null";

struct Stage {
    lab: Lab,
    bed: Bed,
    project: PathBuf,
}

fn stage(tier: Tier) -> Stage {
    let bed = Bed::new();
    let spec = LabSpec { tier, ..LabSpec::new("lab", &HOSTS, bed.root.clone(), tunerun().to_owned()) };
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    Stage { lab: Lab::up(&spec).unwrap(), bed, project }
}

impl Stage {
    fn tunerun(&self, words: &[&str]) -> Output {
        let mut command = Command::new(tunerun());
        command.current_dir(&self.project).args(words).env("TUNERUN_LABS", &self.bed.root);
        command
            .env("TUNERUN_RUNS", self.bed.root.join("runs"))
            .env("NO_COLOR", "1")
            .stdin(std::process::Stdio::null());
        command.output().unwrap()
    }

    fn fine(&self, words: &[&str]) -> String {
        let output = self.tunerun(words);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{words:?}: {}\n{out}\n{err}", output.status);
        out.into_owned()
    }

    fn snapshots(&self) -> Vec<String> {
        HOSTS.iter().map(|host| said(&self.lab, host, SNAPSHOT)).collect()
    }

    fn run_of(&self, at: usize) -> String {
        let runs = self.fine(&["runs"]);
        runs.lines().nth(at).unwrap().split_whitespace().next().unwrap().to_owned()
    }
}

const PLAY: [&str; 4] = ["play", "playbooks/site.yaml", "-i", "lab"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    PLAY.iter().copied().chain(more.iter().copied()).collect()
}

/// The lines that only one side has, host by host.
fn difference(before: &[String], after: &[String]) -> String {
    let mut out = String::new();
    for ((host, before), after) in HOSTS.iter().zip(before).zip(after) {
        let lost = before.lines().filter(|line| !after.lines().any(|other| other == *line));
        let new = after.lines().filter(|line| !before.lines().any(|other| other == *line));
        let lines =
            lost.map(|line| format!("{host} - {line}\n")).chain(new.map(|line| format!("{host} + {line}\n")));
        out.extend(lines);
    }
    out
}

#[test]
fn the_site_is_played_twice_and_taken_back() {
    if !can(Tier::Booted) {
        return;
    }
    let stage = stage(Tier::Booted);
    let before = stage.snapshots();

    let checked = stage.fine(&with(&["--check", "--diff"]));
    assert_eq!(difference(&before, &stage.snapshots()), "", "a check changes nothing");

    let played = stage.fine(&with(&["--yes"]));
    let after = stage.snapshots();
    assert!(before.iter().zip(&after).all(|(before, after)| before != after), "every host changes");
    // What the check foretold is what the run did, task by task.
    for line in played.lines().filter(|line| line.starts_with("  ") && line.contains(": changed")) {
        let title = line.trim().split(": changed").next().unwrap();
        let title = title.split(": left out").next().unwrap();
        assert!(checked.contains(&format!("~ {title}")), "not foretold: {title}\n{checked}");
    }

    let again = stage.fine(&with(&["--yes"]));
    assert!(!again.contains("changed on"), "{again}");
    assert_eq!(difference(&after, &stage.snapshots()), "", "a second run changes nothing");
    let pending = stage.tunerun(&with(&["--check", "--detailed-exitcode"]));
    assert_eq!(pending.status.code(), Some(0), "{}", String::from_utf8_lossy(&pending.stdout));

    let undone = stage.fine(&["undo", &stage.run_of(0)]);
    assert_eq!(difference(&before, &stage.snapshots()), "", "the undo is exact:\n{undone}");
    let repeated = stage.fine(&["undo", &stage.run_of(0)]);
    assert_eq!(difference(&before, &stage.snapshots()), "", "a repeated undo does no harm:\n{repeated}");
}

#[test]
fn a_third_hands_edit_is_left_alone_by_undo() {
    if !can(Tier::Plain) {
        return;
    }
    let stage = stage(Tier::Plain);
    let playbook = stage.bed.root.join("p.yaml");
    std::fs::write(
        &playbook,
        "- hosts: osds\n  gather_facts: false\n  tasks:\n    - copy: {dest: /etc/one, content: \"1\\n\"}\n    - copy: {dest: /etc/two, content: \"2\\n\"}\n",
    )
    .unwrap();
    let playbook = playbook.to_str().unwrap();
    stage.fine(&["play", playbook, "-i", "inventories/lab.yaml", "--yes"]);
    said(&stage.lab, "osd1", "echo mine > /etc/one");
    let undone = stage.tunerun(&["undo", "last"]);
    assert_eq!(undone.status.code(), Some(6), "{}", String::from_utf8_lossy(&undone.stdout));
    assert_eq!(said(&stage.lab, "osd1", "cat /etc/one; ls /etc/two 2>&1 | grep -c cannot"), "mine\n1");
    assert_eq!(said(&stage.lab, "osd2", "ls /etc/one /etc/two 2>&1 | grep -c cannot"), "2");
}
