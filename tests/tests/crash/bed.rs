//! A folder on this machine as a host by `connection: local`, and the program that plays on it.
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tests::program::tunerun;

/// A host's folder, its runs, and its playbook. Goes away with all of it.
pub struct Bed {
    pub root: PathBuf,
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = Command::new("chattr").args(["-R", "-i"]).arg(&self.root).stderr(Stdio::null()).status();
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl Bed {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = Path::new("/var/tmp").join(format!("tunerun-crash-{}-{number}", std::process::id()));
        std::fs::create_dir_all(root.join("etc")).unwrap();
        let inventory = format!("h ansible_connection=local tunerun_state_dir={}/state\n", root.display());
        std::fs::write(root.join("hosts.ini"), inventory).unwrap();
        Self { root }
    }

    pub fn etc(&self, name: &str) -> PathBuf {
        self.root.join("etc").join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.etc(name), text).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.etc(name)).unwrap_or_else(|why| panic!("{name}: {why}"))
    }

    /// Writes the playbook; `ETC` in the tasks stands for the host's folder.
    pub fn playbook(&self, tasks: &str) {
        let tasks: String = tasks.replace("ETC", self.etc("").to_str().unwrap().trim_end_matches('/'));
        let text = format!("- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}");
        std::fs::write(self.root.join("play.yml"), text).unwrap();
    }

    /// The words of a call of the program.
    pub fn words(&self, words: &[&str]) -> Command {
        let mut command = Command::new(tunerun());
        command.args(words).current_dir(&self.root).env("TUNERUN_RUNS", self.root.join("runs"));
        command.env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    pub fn tunerun(&self, words: &[&str]) -> Said {
        Said::of(self.words(words).output().unwrap())
    }

    pub fn play(&self) -> Said {
        self.tunerun(&["play", "play.yml", "-i", "hosts.ini", "--yes"])
    }

    /// The same in a mount namespace of its own, after `before` and followed by `after`; `$0` is the program's call.
    pub fn apart(&self, before: &str, after: &str) -> Said {
        let script = format!("set -e\n{before}\nset +e\n\"$@\"; rc=$?\n{after}\nexit $rc");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
        command.arg(tunerun()).args(["play", "play.yml", "-i", "hosts.ini", "--yes"]);
        command.current_dir(&self.root).env("TUNERUN_RUNS", self.root.join("runs")).env("NO_COLOR", "1");
        Said::of(command.stdin(Stdio::null()).output().unwrap())
    }

    /// The names in the host's folder.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.etc(""))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// The newest run's own way back on the host.
    pub fn undo_sh(&self) -> Said {
        let mut runs: Vec<_> = std::fs::read_dir(self.root.join("runs")).unwrap().flatten().collect();
        runs.sort_by_key(std::fs::DirEntry::file_name);
        let script = self.root.join("state").join(runs.last().unwrap().file_name()).join("undo.sh");
        Said::of(Command::new("sh").arg(script).stdin(Stdio::null()).output().unwrap())
    }
}

/// What a program said, and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub text: String,
}

impl Said {
    pub fn of(output: Output) -> Self {
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        Self { code: output.status.code(), text }
    }

    /// Asserts how it ended, and shows what it said where it did not.
    #[track_caller]
    pub fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.text);
        self
    }

    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.text.contains(word), "`{word}` is missing in:\n{}", self.text);
        }
        self
    }
}
