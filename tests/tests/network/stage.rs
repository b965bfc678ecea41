//! A lab of plain hosts and the program that plays on them.
use crate::bed::{Bed, can, said};
use std::process::{Child, Command, Output, Stdio};
use tests::program::tunerun;
use tunerun::lab::{Lab, LabSpec, Tier};

/// A lab, and where runs and playbooks are kept.
pub struct Stage {
    pub lab: Lab,
    bed: Bed,
}

/// A lab of plain hosts; none where this machine cannot have one, said loudly.
pub fn stage(hosts: &[&str]) -> Option<Stage> {
    stage_of(Tier::Plain, hosts)
}

/// A lab of hosts of a tier.
pub fn stage_of(tier: Tier, hosts: &[&str]) -> Option<Stage> {
    if !can(tier) {
        return None;
    }
    let ethtool = std::path::Path::new("/usr/sbin/ethtool").is_file();
    if !ethtool {
        eprintln!("NOT TESTED: network cards need the package ethtool");
        assert!(std::env::var_os("CI").is_none(), "CI must have ethtool");
        return None;
    }
    let bed = Bed::new();
    let spec = LabSpec { tier, ..LabSpec::new("lab", hosts, bed.root.clone(), tunerun().to_owned()) };
    let names: String = hosts.iter().map(|host| format!("    {host}:\n")).collect();
    let inventory = format!("all:\n  vars:\n    ansible_connection: lab\n  hosts:\n{names}");
    std::fs::write(bed.root.join("hosts.yaml"), inventory).unwrap();
    Some(Stage { lab: Lab::up(&spec).unwrap(), bed })
}

impl Stage {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(tunerun());
        command.current_dir(&self.bed.root).args(words).env("TUNERUN_LABS", &self.bed.root);
        command.env("TUNERUN_RUNS", self.bed.root.join("runs")).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// Runs the program; its status and everything that it said.
    pub fn tunerun(&self, words: &[&str]) -> (Option<i32>, String) {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        (status.code(), format!("{}\n{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
    }

    /// The same; it must have worked.
    pub fn fine(&self, words: &[&str]) -> String {
        let (code, said) = self.tunerun(words);
        assert_eq!(code, Some(0), "{words:?}:\n{said}");
        said
    }

    /// Writes a playbook of these tasks for all hosts, and gives the words that play it.
    pub fn playbook(&self, tasks: &str) -> [&'static str; 5] {
        let tasks: String = tasks.lines().map(|line| format!("    {line}\n")).collect();
        let text = format!("- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}");
        std::fs::write(self.bed.root.join("p.yaml"), text).unwrap();
        ["play", "p.yaml", "-i", "hosts.yaml", "--yes"]
    }

    /// Starts to play, to be killed.
    pub fn start(&self, words: &[&str]) -> Child {
        self.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// What a script says on a host.
    pub fn said(&self, host: &str, script: &str) -> String {
        said(&self.lab, host, script)
    }

    /// The name of the oldest run.
    pub fn first_run(&self) -> String {
        let runs = self.fine(&["runs"]);
        runs.lines()
            .find(|line| !line.trim().is_empty())
            .unwrap()
            .split_whitespace()
            .next()
            .unwrap()
            .to_owned()
    }

    /// What the journal of the last run says.
    pub fn journal(&self) -> String {
        self.fine(&["show", "last"])
    }
}
