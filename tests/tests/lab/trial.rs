//! Try-boot with a boot loader that a test can read: what is tried, in which order, and what a failure leaves.
use super::bed::{Bed, can, said};
use std::fs;
use std::process::{Command, Output, Stdio};
use tests::program::tunerun;
use tunerun::lab::{Lab, LabSpec, Tier};

struct Stage {
    lab: Lab,
    bed: Bed,
}

impl Stage {
    fn new() -> Self {
        let bed = Bed::new();
        let spec = LabSpec {
            tier: Tier::Booted,
            ..LabSpec::new("lab", &["a"], bed.root.clone(), tunerun().to_owned())
        };
        let stage = Self { lab: Lab::up(&spec).unwrap(), bed };
        let inventories = stage.work().join("inventories");
        fs::create_dir_all(&inventories).unwrap();
        let hosts = "all:\n  vars: {ansible_connection: lab}\n  hosts:\n    a:\n";
        fs::write(inventories.join("lab.yaml"), hosts).unwrap();
        stage
    }

    /// Where playbooks stand: not beside the lab's own folder, which is called as its inventory is.
    fn work(&self) -> std::path::PathBuf {
        self.bed.root.join("work")
    }

    fn tunerun(&self, words: &[&str]) -> Output {
        let mut command = Command::new(tunerun());
        command.current_dir(self.work()).args(words).env("TUNERUN_LABS", &self.bed.root);
        command.env("TUNERUN_RUNS", self.bed.root.join("runs")).env("NO_COLOR", "1").stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Ends with this code, and gives all that was said.
    fn ends(&self, code: i32, words: &[&str]) -> String {
        let output = self.tunerun(words);
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let text = format!("{}{}", said(&output.stdout), said(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{words:?}\n{text}");
        text
    }

    fn play(&self, code: i32, plays: &str, more: &[&str]) -> String {
        fs::write(self.work().join("site.yml"), plays).unwrap();
        let mut words = vec!["play", "site.yml", "-i", "lab", "--yes"];
        words.extend(more);
        self.ends(code, &words)
    }

    fn boots(&self) -> String {
        said(&self.lab, "a", "cat /proc/sys/kernel/random/boot_id")
    }

    fn line(&self) -> String {
        said(&self.lab, "a", "cat /proc/cmdline")
    }

    fn files(&self) -> String {
        said(&self.lab, "a", "cd / && find etc/default boot -type f ! -name grubenv | sort | xargs sha256sum")
    }
}

const LINE: &str = "    - name: The line
      kernel_args: {args: NEW, absent: [quiet]}
      register: line
";

#[test]
fn the_line_is_tried_before_it_is_written() {
    if !can(Tier::Booted) {
        return;
    }
    let stage = Stage::new();
    let (files, boot) = (stage.files(), stage.boots());
    let line = LINE.replace("NEW", "skew_tick=1");
    // A boot in a later play, with work that needs neither between, and work on what the line is made of.
    let plays = format!(
        "- hosts: a\n  gather_facts: false\n  tasks:\n{line}    - name: Own menu\n      lineinfile: {{path: /etc/default/grub, \
         regexp: ^GRUB_TIMEOUT=, line: GRUB_TIMEOUT=1}}\n    - name: Else\n      copy: {{dest: /etc/else, content: x}}\n\
         - hosts: a\n  gather_facts: false\n  tasks:\n    - name: Boot\n      reboot:\n      when: line.reboot_needed\n"
    );
    let check = stage.play(0, &plays, &["--check", "--diff"]);
    assert!(check.contains("try-boot: GRUB boots `tunerun-trial`"), "{check}");
    assert!(check.contains("skew_tick=1 panic=30"), "{check}");
    assert_eq!((stage.files(), stage.boots()), (files.clone(), boot.clone()));

    stage.play(0, &plays, &[]);
    assert_ne!(stage.boots(), boot);
    let tried = stage.line();
    assert!(
        tried.contains("skew_tick=1") && tried.contains("tunerun.trial=") && !tried.contains("quiet"),
        "{tried}"
    );
    said(
        &stage.lab,
        "a",
        "grep -q skew_tick=1 /boot/grub/grub.cfg && ! grep -q 'tunerun.trial' /boot/grub/grub.cfg && test ! -e /boot/grub/custom.cfg && \
         grep -q GRUB_TIMEOUT=1 /etc/default/grub && test -e /etc/else",
    );
    // The journal shows the order: what needs no boot, the boot, the line.
    let shown = stage.ends(0, &["show", "last"]);
    let at =
        |title: &str| shown.find(&format!("\n    {title}\n")).unwrap_or_else(|| panic!("{title}: {shown}"));
    assert!(at("Else") < at("Boot") && at("Boot") < at("The line"), "{shown}");
    assert!(at("The line") < at("Boot: the trial is over"), "{shown}");

    let boot = stage.boots();
    stage.play(0, &plays, &["--detailed-exitcode"]);
    assert_eq!(stage.boots(), boot, "nothing is left to boot for");
    let undone = stage.ends(0, &["undo", &stage.first_run()]);
    assert!(undone.contains("owed: reboot"), "{undone}");
    assert_eq!(stage.files(), files);
}

impl Stage {
    fn first_run(&self) -> String {
        let runs = fs::read_dir(self.bed.root.join("runs")).unwrap().flatten();
        let mut names: Vec<String> =
            runs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names.into_iter().next().unwrap()
    }
}

#[test]
fn a_line_that_falls_back_is_not_written_though_the_playbook_handles_it() {
    if !can(Tier::Booted) {
        return;
    }
    let stage = Stage::new();
    let (files, boot) = (stage.files(), stage.boots());
    // Somebody takes the entry away while the host goes down: its boot loader falls back.
    said(
        &stage.lab,
        "a",
        "printf '[Unit]\\nConflicts=shutdown.target\\nBefore=shutdown.target\\n[Service]\\nType=oneshot\\nRemainAfterExit=yes\\n\
         ExecStart=/bin/true\\nExecStop=/bin/rm -f /boot/grub/custom.cfg\\n' >/run/systemd/system/thief.service && \
         systemctl daemon-reload && systemctl start thief",
    );
    let line = LINE
        .replace("NEW", "skew_tick=1")
        .replace("\n    ", "\n        ")
        .replace("    - name", "        - name");
    let plays = format!(
        "- hosts: a\n  gather_facts: false\n  tasks:\n    - block:\n{line}        - name: Boot\n          reboot:\n      rescue:\n        \
         - name: Mourned\n          copy: {{dest: /etc/mourned, content: x}}\n"
    );
    // Handled, as in Ansible: the run goes on, and says what the playbook handles.
    let text = stage.play(0, &plays, &[]);
    assert!(text.contains("came back with the old kernel line"), "{text}");
    assert!(text.contains("Boot: failed, handled on a") && text.contains("The line: left out"), "{text}");
    assert_ne!(stage.boots(), boot);
    assert!(!stage.line().contains("skew_tick"));
    assert_eq!(stage.files(), files);
    said(&stage.lab, "a", "test -e /etc/mourned");
}

#[test]
fn without_a_boot_in_the_play_the_line_is_written_and_owed() {
    if !can(Tier::Booted) {
        return;
    }
    let stage = Stage::new();
    let plays =
        format!("- hosts: a\n  gather_facts: false\n  tasks:\n{}", LINE.replace("NEW", "skew_tick=1"));
    let text = stage.play(0, &plays, &[]);
    assert!(!text.contains("try-boot") && text.contains("reboot"), "{text}");
    said(&stage.lab, "a", "grep -q skew_tick=1 /boot/grub/grub.cfg");
    // Where GRUB cannot clear a one-shot, a boot is refused; what is written already is not tried.
    said(&stage.lab, "a", "sed -i 's/echo ext2/echo btrfs/' /usr/lib/tunerun-lab/grub");
    let boot = format!("{plays}    - name: Boot\n      reboot:\n");
    stage.play(0, &boot.replace("    - name: Boot\n      reboot:\n", ""), &[]);
    let other = boot.replace("skew_tick=1", "skew_tick=0");
    let text = stage.play(1, &other, &[]);
    assert!(
        text.contains("lies on btrfs, where GRUB cannot write") && text.contains("no_try_boot"),
        "{text}"
    );
    said(&stage.lab, "a", "grep -q skew_tick=1 /etc/default/grub");
}
