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

pub struct Stage {
    pub lab: Lab,
    pub bed: Bed,
    project: PathBuf,
}

pub fn stage(tier: Tier) -> Stage {
    let bed = Bed::new();
    let spec = LabSpec { tier, ..LabSpec::new("lab", &HOSTS, bed.root.clone(), tunerun().to_owned()) };
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned();
    Stage { lab: Lab::up(&spec).unwrap(), bed, project }
}

impl Stage {
    pub fn tunerun(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(tunerun());
        command.current_dir(&self.project).args(words).env("TUNERUN_LABS", &self.bed.root);
        command
            .env("TUNERUN_RUNS", self.bed.root.join("runs"))
            .env("NO_COLOR", "1")
            .stdin(std::process::Stdio::null());
        command
    }

    fn fine(&self, words: &[&str]) -> String {
        let output = self.tunerun(words);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{words:?}: {}\n{out}\n{err}", output.status);
        out.into_owned()
    }

    pub fn snapshots(&self) -> Vec<String> {
        HOSTS.iter().map(|host| said(&self.lab, host, SNAPSHOT)).collect()
    }

    pub fn run_of(&self, at: usize) -> String {
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

/// When each host booted last, by the start of its first process: one clock, since all share one kernel.
const BOOTED: &str = "cat /proc/sys/kernel/random/boot_id; cut -d' ' -f22 /proc/1/stat";

fn boots(stage: &Stage) -> Vec<(String, u64)> {
    let said = HOSTS.iter().map(|host| said(&stage.lab, host, BOOTED));
    said.map(|said| {
        let (id, at) = said.split_once('\n').unwrap();
        (id.to_owned(), at.trim().parse().unwrap())
    })
    .collect()
}

#[test]
fn the_site_is_booted_one_host_after_another_and_taken_back() {
    if !can(Tier::Booted) {
        return;
    }
    let stage = stage(Tier::Booted);
    let (before, old) = (stage.snapshots(), boots(&stage));
    // What nothing sets up at a boot, such as a bridge here, cannot be proven after one.
    let tags = ["--yes", "--tags", "all,reboot", "-e", "guests_bridge=false"];
    let played = stage.fine(&with(&tags));
    let new = boots(&stage);
    for (host, ((old, _), (new, _))) in HOSTS.iter().zip(old.iter().zip(&new)) {
        assert_ne!(old, new, "{host} was not booted:\n{played}");
    }
    let mut times: Vec<u64> = new.iter().map(|(_, at)| *at).collect();
    times.sort_unstable();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] > 50), "not one after another: {new:?}");
    // What was owed is live: the running command line is the declared one.
    let live = "for word in $(sed -n 's/^GRUB_CMDLINE_LINUX\\(_DEFAULT\\)\\?=//p' /etc/default/grub | tr -d '\"'); do \
        grep -qwe \"$word\" /proc/cmdline || echo \"$word is not live\"; done";
    for host in HOSTS {
        assert_eq!(said(&stage.lab, host, live), "", "{host}");
    }
    // The run's folder lies where a boot does not reach it, and is closed in order.
    let run = stage.run_of(0);
    for host in HOSTS {
        assert_eq!(said(&stage.lab, host, &format!("cat /var/lib/tunerun/{run}/mark")), "finished", "{host}");
    }
    stage.fine(&["undo", &run]);
    // GRUB leaves `next_entry=` behind where a line was tried once.
    let difference = difference(&before, &stage.snapshots());
    let others: Vec<&str> = difference.lines().filter(|line| !line.ends_with("boot/grub/grubenv")).collect();
    assert!(others.is_empty(), "the undo is exact, boots or not: {others:?}");
}

#[test]
fn the_mark_of_an_open_run_survives_a_boot_and_resume_plays_on() {
    if !can(Tier::Booted) {
        return;
    }
    let stage = stage(Tier::Booted);
    let playbook = stage.bed.root.join("p.yaml");
    let text = "- hosts: osds\n  gather_facts: false\n  serial: 1\n  tasks:\n    - copy: {dest: /etc/one, content: \"1\\n\"}\n    - reboot:\n    - copy: {dest: /etc/two, content: \"2\\n\"}\n    - shell: while [ ! -e /etc/go ]; do sleep 0.1; done\n      changed_when: false\n      register: went\n    - copy: {dest: /etc/three, content: \"{{ went.rc }}\\n\"}\n";
    std::fs::write(&playbook, text).unwrap();
    let words = ["play", playbook.to_str().unwrap(), "-i", "inventories/lab.yaml", "--yes", "--no-probes"];
    let old = boots(&stage);
    let mut first = stage.command(&words);
    let mut first =
        first.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    super::bed::until("osd1 booted and went on", std::time::Duration::from_secs(120), || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        super::bed::ssh(&stage.lab, "osd1", "test -e /etc/two").status.success()
    });
    first.kill().unwrap();
    first.wait().unwrap();
    said(&stage.lab, "osd1", "touch /etc/go");
    said(&stage.lab, "osd2", "touch /etc/go");
    assert_ne!(boots(&stage)[0].0, old[0].0);
    assert_eq!(boots(&stage)[1].0, old[1].0, "its turn had not come");
    let run = stage.run_of(0);
    assert_eq!(said(&stage.lab, "osd1", &format!("cat /var/lib/tunerun/{run}/mark")), "open");
    let again = stage.tunerun(&words);
    assert_eq!(again.status.code(), Some(15), "{}", String::from_utf8_lossy(&again.stderr));
    stage.fine(&["resume", &run, "--yes"]);
    assert_ne!(boots(&stage)[1].0, old[1].0);
    for host in ["osd1", "osd2"] {
        assert_eq!(said(&stage.lab, host, "cat /etc/one /etc/two /etc/three"), "1\n2\n0", "{host}");
    }
    stage.fine(&["undo", "last"]);
    stage.fine(&["undo", &run]);
    for host in ["osd1", "osd2"] {
        assert_eq!(
            said(&stage.lab, host, "ls /etc/one /etc/two /etc/three 2>&1 | grep -c cannot"),
            "3",
            "{host}"
        );
    }
}

#[test]
fn a_handler_that_restarts_folds_with_the_restart_that_a_drop_in_asks_for() {
    if !can(Tier::Booted) {
        return;
    }
    let stage = stage(Tier::Booted);
    let unit = "printf '[Service]\\nExecStart=/bin/sh -c \"echo start >> /run/starts; exec sleep infinity\"\\n' \
        > /etc/systemd/system/x.service; systemctl daemon-reload; systemctl start x";
    said(&stage.lab, "osd1", unit);
    super::bed::until("x is started", std::time::Duration::from_secs(30), || {
        said(&stage.lab, "osd1", "cat /run/starts 2>/dev/null || true") == "start"
    });
    let playbook = stage.bed.root.join("p.yaml");
    let text = "- hosts: osd1\n  gather_facts: false\n  tasks:\n    - systemd_unit:\n        name: x\n        drop_in: {name: 10-nice, settings: {Service: {Nice: 5}}, restart: true}\n      notify: restart x\n  handlers:\n    - name: restart x\n      systemd_unit: {name: x, state: restarted}\n";
    std::fs::write(&playbook, text).unwrap();
    stage.fine(&["play", playbook.to_str().unwrap(), "-i", "inventories/lab.yaml", "--yes"]);
    super::bed::until("x is started again", std::time::Duration::from_secs(30), || {
        said(&stage.lab, "osd1", "wc -l < /run/starts") != "1"
    });
    let nice = "systemctl is-active x; wc -l < /run/starts; ps -o ni= -p $(systemctl show -P MainPID x)";
    assert_eq!(said(&stage.lab, "osd1", nice).split_whitespace().collect::<Vec<_>>(), ["active", "2", "5"]);
    stage.fine(&["undo", "last"]);
    assert_eq!(said(&stage.lab, "osd1", nice).split_whitespace().collect::<Vec<_>>(), ["active", "3", "0"]);
}

#[test]
fn the_playbooks_of_the_sources_play_as_far_as_the_lab_has_the_thing() {
    if !can(Tier::Booted) {
        return;
    }
    let stage = stage(Tier::Booted);
    let before = stage.snapshots();
    for name in ["ceph-qemu-librbd", "ceph-encryption", "lvm-kvm-disk", "ceph-network-cpu", "spdk-vhost"] {
        let playbook = format!("playbooks/{name}.yaml");
        let play = ["play", &playbook, "-i", "inventories/lab.yaml", "--tags", "all,encrypt,encrypt_only"];
        stage.fine(&[&play[..], &["--check"]].concat());
        let first = stage.fine(&[&play[..], &["--yes"]].concat());
        let runs = stage.fine(&["runs"]);
        let run = runs.lines().last().unwrap().split_whitespace().next().unwrap();
        // What the lab has not is left out and told, and the rest is really done.
        let does = ["ceph-network-cpu", "spdk-vhost"].contains(&name);
        assert_eq!(first.contains(": changed on"), does, "{name}\n{first}");
        let again = stage.fine(&[&play[..], &["--yes"]].concat());
        assert!(!again.contains(": changed on"), "{name}\n{again}");
        let rest = stage.tunerun(&["undo", run, "-i", "inventories/lab.yaml"]);
        assert!(rest.status.success(), "{name}: {}", String::from_utf8_lossy(&rest.stderr));
    }
    assert_eq!(difference(&before, &stage.snapshots()), "", "all is as it was");
}
