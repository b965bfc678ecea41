//! `diagnose` and `capture` on hosts of the lab: nothing is written there, and what they draft loads, lints and plans.
use super::bed::{Bed, can, said};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tests::program::tunerun;
use tunerun::lab::{Lab, LabSpec, Tier};

const HOSTS: [&str; 4] = ["osd1", "osd2", "client1", "hv1"];

/// Every file that a look could leave behind, with its time of change; logs of logins are the host's own.
const FILES: &str = "cd / && find etc boot root home usr/local var/lib tmp var/tmp run -xdev \\( -path run/tunerun-lab -o -path \
    var/lib/systemd -o -path run/log \\) -prune -o -type f -printf '%p %s %T@\\n' 2>/dev/null | sort";

struct Stage {
    lab: Lab,
    bed: Bed,
    project: PathBuf,
}

impl Stage {
    fn new() -> Self {
        let bed = Bed::new();
        let spec = LabSpec {
            tier: Tier::Plain,
            ..LabSpec::new("lab", &HOSTS, bed.root.clone(), tunerun().to_owned())
        };
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
        Self { lab: Lab::up(&spec).unwrap(), bed, project }
    }

    fn tunerun(&self, words: &[&str]) -> Output {
        let mut command = Command::new(tunerun());
        command.current_dir(&self.project).args(words).env("TUNERUN_LABS", &self.bed.root);
        command.env("TUNERUN_RUNS", self.bed.root.join("runs")).env("NO_COLOR", "1");
        command.stdin(std::process::Stdio::null()).output().unwrap()
    }

    fn fine(&self, words: &[&str]) -> String {
        let output = self.tunerun(words);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{words:?}: {}\n{out}\n{err}", output.status);
        format!("{out}{err}")
    }

    fn path(&self, name: &str) -> String {
        self.bed.root.join(name).display().to_string()
    }
}

const TUNINGS: &str = "\
- hosts: osd1
  gather_facts: false
  tasks:
    - sysctl: {name: net.core.somaxconn, value: 2048}
    - sysctl: {name: net.ipv4.tcp_rmem, value: 4096 131072 8388608, sysctl_file: /etc/sysctl.d/60-net.conf}
    - kernel_args: {args: {init_on_alloc: 0}}
      accept_risk: {security: a lab}
    - nic_offload: {device: eth0, features: {gro: false}}
    - nic_queues: {device: eth0, rps: '0'}
";

#[test]
fn what_is_captured_plans_nothing_on_that_host() {
    if !can(Tier::Plain) {
        return;
    }
    let stage = Stage::new();
    let tunings = stage.path("tunings.yaml");
    std::fs::write(&tunings, TUNINGS).unwrap();
    stage.fine(&["play", &tunings, "-i", "inventories/lab.yaml", "--yes"]);

    let (captured, before) = (stage.path("captured.yaml"), said(&stage.lab, "osd1", FILES));
    stage.fine(&["capture", "osd1", "-i", "lab", "--out", &captured]);
    assert_eq!(said(&stage.lab, "osd1", FILES), before, "a look leaves nothing behind");
    let text = std::fs::read_to_string(&captured).unwrap();
    for part in [
        "name: net.core.somaxconn",
        "sysctl_file: /etc/sysctl.d/60-net.conf",
        "4096 131072 8388608",
        "generic-receive-offload: false",
        "rps: \"0\"",
        "# from /etc/sysctl.d/",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // It is written for the next boot, and the kernel does not run with it: neither is said.
    assert!(!text.contains("- kernel_args") && !text.contains("args: [init_on_alloc=0]"), "{text}");

    let linted = stage.fine(&["lint", &captured]);
    assert!(linted.contains("nothing to say"), "{linted}");
    let check = ["play", &captured, "-i", "inventories/lab.yaml", "--check", "--detailed-exitcode"];
    let planned = stage.tunerun(&check);
    assert_eq!(planned.status.code(), Some(0), "{}\n{text}", String::from_utf8_lossy(&planned.stdout));

    said(&stage.lab, "osd1", "sysctl -qw net.core.somaxconn=1024");
    let planned = stage.tunerun(&check);
    assert_eq!(
        planned.status.code(),
        Some(10),
        "a third hand is seen: {}",
        String::from_utf8_lossy(&planned.stdout)
    );
    let again = stage.tunerun(&["capture", "osd1", "-i", "lab", "--out", &captured]);
    assert_eq!(again.status.code(), Some(2), "a file is never written over");
    let printed = stage.fine(&["capture", "osd1", "-i", "lab"]);
    assert!(printed.contains("net.core.somaxconn = 2048") && printed.contains("differ"), "{printed}");
}

/// A thread with the name of one of Ceph's messenger, that does nothing but fill a CPU until the file is gone.
const MESSENGER: &str = "cp /bin/dash /run/msgr-worker-0; touch /run/busy; \
    (setsid /run/msgr-worker-0 -c 'while [ -e /run/busy ]; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; done' \
    </dev/null >/dev/null 2>&1 &)";

#[test]
fn a_full_messenger_thread_is_found_and_its_draft_loads() {
    if !can(Tier::Plain) {
        return;
    }
    let stage = Stage::new();
    let idle = stage.fine(&["diagnose", "osd2", "-i", "lab", "--seconds", "1"]);
    assert!(idle.contains("osd2: ") && !idle.contains("full_messengers"), "{idle}");

    said(&stage.lab, "osd1", MESSENGER);
    let before = said(&stage.lab, "osd1", FILES);
    let (mut told, mut draft) = (String::new(), String::new());
    // Where other work takes its CPU away, the thread is not full: a few looks, each of two seconds.
    for attempt in 0..8 {
        draft = stage.path(&format!("draft-{attempt}.yaml"));
        told = stage.fine(&["diagnose", "osd1", "-i", "lab", "-s", "2", "--out", &draft]);
        if told.contains("full_messengers") {
            break;
        }
    }
    assert_eq!(said(&stage.lab, "osd1", FILES), before, "a look leaves nothing behind");
    said(&stage.lab, "osd1", "rm /run/busy");
    for part in
        ["full_messengers", "msgr-worker-0 (", "tuning: ms_async_op_threads (`ceph_config`)", "cost: "]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
    let text = std::fs::read_to_string(&draft).unwrap();
    assert!(text.contains("# - name: More threads of Ceph's messenger"), "{text}");
    stage.fine(&["lint", &draft]);
    stage.fine(&["play", &draft, "-i", "inventories/lab.yaml", "--check"]);
}
