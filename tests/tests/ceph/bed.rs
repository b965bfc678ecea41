//! A playbook and an inventory whose hosts are this machine, each a way to the cluster.
use super::cluster::Cluster;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use tests::program::tunerun;

/// A folder with a playbook.
pub struct Bed<'c> {
    pub dir: PathBuf,
    /// The cluster's fsid, which outputs are shown without.
    fsid: String,
    cluster: std::marker::PhantomData<&'c Cluster>,
}

/// What a call of the program came to.
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl<'c> Bed<'c> {
    /// Hosts with these names; `more` is YAML of the inventory's variables, `mons` the group of that name.
    pub fn new(cluster: &'c Cluster, hosts: &[&str], mons: &[&str], more: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("tunerun-ceph-play-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let dir = dir.canonicalize().unwrap();
        let mut inventory = format!(
            "all:\n  vars:\n    ansible_connection: local\n    ceph_conf: {}\n    tunerun_state_dir: {}/state/{{{{ inventory_hostname }}}}\n",
            cluster.conf().display(),
            dir.display()
        );
        more.lines().for_each(|line| inventory.push_str(&format!("    {line}\n")));
        inventory.push_str("  hosts:\n");
        let all: Vec<&str> = hosts.iter().chain(mons).copied().collect();
        all.iter().for_each(|host| inventory.push_str(&format!("    {host}:\n")));
        if !mons.is_empty() {
            inventory.push_str("  children:\n    mons:\n      hosts:\n");
            mons.iter().for_each(|host| inventory.push_str(&format!("        {host}:\n")));
        }
        fs::write(dir.join("hosts.yml"), inventory).unwrap();
        Self { dir, fsid: cluster.fsid(), cluster: std::marker::PhantomData }
    }

    /// One host that is a mon.
    pub fn one(cluster: &'c Cluster) -> Self {
        let fsid = cluster.fsid();
        Self::new(cluster, &[], &["a"], &format!("ceph_fsid: {fsid}"))
    }

    /// Variables of one host.
    pub fn host_vars(&self, host: &str, yaml: &str) -> &Self {
        let folder = self.dir.join("host_vars");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{host}.yml")), yaml).unwrap();
        self
    }

    /// A call of the program.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(tunerun());
        command
            .args(words)
            .current_dir(&self.dir)
            .env("TUNERUN_RUNS", self.dir.join("runs"))
            .env("TUNERUN_LEASES", self.dir.join("leases"))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        // Programs that stand in for what this machine lacks.
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.dir.join("bin").display()));
        command
    }

    /// Calls the program.
    pub fn call(&self, words: &[&str]) -> Done {
        let output = self.command(words).output().unwrap();
        let shown = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            text.replace(&*self.dir.to_string_lossy(), "DIR").replace(&self.fsid, "FSID")
        };
        Done {
            code: output.status.code().unwrap_or(-1),
            out: shown(&output.stdout),
            err: shown(&output.stderr),
        }
    }

    pub fn write(&self, hosts: &str, tasks: &str) {
        let indented: String = tasks.lines().map(|line| format!("    {line}\n")).collect();
        let play = format!("- hosts: {hosts}\n  gather_facts: false\n  tasks:\n{indented}");
        fs::write(self.dir.join("site.yml"), play).unwrap();
    }

    /// Plays tasks on hosts.
    pub fn play(&self, hosts: &str, tasks: &str) -> Done {
        self.write(hosts, tasks);
        self.again()
    }

    /// Plays a whole playbook.
    pub fn play_book(&self, book: &str) -> Done {
        fs::write(self.dir.join("site.yml"), book).unwrap();
        self.again()
    }

    /// Plays the same once more.
    pub fn again(&self) -> Done {
        self.call(&["play", "site.yml", "-i", "hosts.yml", "--yes", "--diff"])
    }

    /// Whether a text stands in any file that runs have left: journals, plans, reports, what hosts keep.
    pub fn keeps(&self, text: &str) -> bool {
        fn holds(folder: &std::path::Path, text: &[u8]) -> bool {
            fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
                let path = entry.path();
                if path.is_dir() {
                    return holds(&path, text);
                }
                fs::read(&path).is_ok_and(|all| all.windows(text.len()).any(|part| part == text))
            })
        }
        ["runs", "state"].iter().any(|folder| holds(&self.dir.join(folder), text.as_bytes()))
    }

    /// The name of the newest run.
    pub fn newest_run(&self) -> String {
        let names = fs::read_dir(self.dir.join("runs")).unwrap().map(|entry| entry.unwrap().file_name());
        names.max().unwrap().into_string().unwrap()
    }

    /// The name of the oldest run.
    pub fn oldest_run(&self) -> String {
        let names = fs::read_dir(self.dir.join("runs")).unwrap().map(|entry| entry.unwrap().file_name());
        names.min().unwrap().into_string().unwrap()
    }

    /// Says what tasks would do.
    pub fn check(&self, hosts: &str, tasks: &str) -> Done {
        self.write(hosts, tasks);
        self.call(&["play", "site.yml", "-i", "hosts.yml", "--check", "--diff"])
    }
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Done {
    #[track_caller]
    pub fn ended(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        let found = self.out.contains(text) || self.err.contains(text);
        assert!(found, "`{text}` is not in\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    #[track_caller]
    pub fn never_says(&self, text: &str) -> &Self {
        let found = self.out.contains(text) || self.err.contains(text);
        assert!(!found, "`{text}` is in\n--- out\n{}\n--- err\n{}", self.out, self.err);
        self
    }

    /// How often a text stands in its output.
    pub fn count(&self, text: &str) -> usize {
        self.out.matches(text).count() + self.err.matches(text).count()
    }
}
