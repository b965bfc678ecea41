//! A playbook, its hosts on this machine, and what playing it leaves.
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tests::program::tunerun;

/// A folder with a playbook; its hosts are this machine, each with a `root` folder that its tasks stay in.
pub struct Bed {
    pub dir: PathBuf,
}

/// What a call of the program came to.
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Bed {
    /// Hosts with these names.
    pub fn new(hosts: &[&str]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("tunerun-play-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let dir = dir.canonicalize().unwrap();
        let mut inventory = format!(
            "all:\n  vars:\n    ansible_connection: local\n    root: {0}/roots/{{{{ inventory_hostname }}}}\n    \
             tunerun_state_dir: {0}/state/{{{{ inventory_hostname }}}}\n  hosts:\n",
            dir.display()
        );
        for host in hosts {
            inventory.push_str(&format!("    {host}:\n"));
            fs::create_dir_all(dir.join("roots").join(host)).unwrap();
        }
        fs::write(dir.join("hosts.yml"), inventory).unwrap();
        Self { dir }
    }

    /// One host, `a`.
    pub fn one() -> Self {
        Self::new(&["a"])
    }

    /// Writes a file beside the playbook.
    pub fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Adds to the inventory: groups with members or variables, as YAML below `all.children`.
    pub fn groups(&self, yaml: &str) -> &Self {
        let path = self.dir.join("hosts.yml");
        let text = fs::read_to_string(&path).unwrap();
        let indented: String = yaml.lines().map(|line| format!("    {line}\n")).collect();
        fs::write(path, format!("{text}  children:\n{indented}")).unwrap();
        self
    }

    /// Runs the program on `site.yml`.
    pub fn call(&self, arguments: &[&str]) -> Done {
        self.call_on("hosts.yml", arguments)
    }

    /// Runs the program on `site.yml` with another inventory.
    pub fn call_on(&self, inventory: &str, arguments: &[&str]) -> Done {
        let mut command = Command::new(tunerun());
        command.args(["play", "site.yml", "-i", inventory, "--runs"]).arg(self.dir.join("runs"));
        self.done(command.args(arguments).current_dir(&self.dir).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs the program with other words, from another folder than the playbook's.
    pub fn tunerun(&self, words: &[&str]) -> Done {
        let mut command = Command::new(tunerun());
        command.args(words).arg("--runs").arg(self.dir.join("runs")).current_dir("/");
        self.done(command.stdin(Stdio::null()).output().unwrap())
    }

    /// The names of the runs, oldest first.
    pub fn runs(&self) -> Vec<String> {
        let folders = fs::read_dir(self.dir.join("runs")).into_iter().flatten();
        // The noise of benchmarks is kept beside the runs.
        let folders = folders.filter(|folder| {
            !["noise", "detached"].iter().any(|name| folder.as_ref().unwrap().file_name() == *name)
        });
        let mut names: Vec<String> =
            folders.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn done(&self, output: std::process::Output) -> Done {
        let shown =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*self.dir.to_string_lossy(), "DIR");
        Done {
            code: output.status.code().unwrap_or(-1),
            out: shown(&output.stdout),
            err: shown(&output.stderr),
        }
    }

    /// Plays these tasks on all hosts.
    pub fn tasks(&self, tasks: &str) -> Done {
        self.play(&on_all(tasks))
    }

    /// Plays a playbook.
    pub fn play(&self, playbook: &str) -> Done {
        self.file("site.yml", playbook);
        self.call(&["--yes"])
    }

    /// A file in a host's folder.
    pub fn got(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.dir.join("roots").join(path)).ok()
    }

    /// Names in a host's folder, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        let entries = fs::read_dir(self.dir.join("roots").join(path)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A play of these tasks on all hosts.
pub fn on_all(tasks: &str) -> String {
    let indented: String = tasks.lines().map(|line| format!("    {line}\n")).collect();
    format!("- hosts: all\n  gather_facts: false\n  tasks:\n{indented}")
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Done {
    /// It went well.
    #[track_caller]
    pub fn ok(&self) -> &Self {
        self.ended(0)
    }

    /// It ended with this code.
    #[track_caller]
    pub fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// One of its two outputs holds this.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        let found = self.out.contains(text) || self.err.contains(text);
        assert!(found, "`{text}` is not in\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// None of its outputs holds this.
    #[track_caller]
    pub fn never_says(&self, text: &str) -> &Self {
        let found = self.out.contains(text) || self.err.contains(text);
        assert!(!found, "`{text}` is in\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// What `debug` tasks with this title said, in order.
    pub fn said(&self, host: &str, title: &str) -> Vec<String> {
        let head = format!("{host}: {title}: ");
        self.err.lines().filter_map(|line| line.strip_prefix(&head)).map(str::to_owned).collect()
    }
}
