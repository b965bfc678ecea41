//! Plain lab hosts with the old state of twelve steps, and the program that plays on them.
use crate::bed::Said;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tests::program::{is_root, tunerun};
use tunerun::lab::{Lab, LabSpec, Tier};

/// What the hosts are before: run on each by hand.
const OLD: &str = "mkdir -p /etc/crash.tree/deep && echo leaf > /etc/crash.tree/deep/leaf && chmod 750 /etc/crash.tree && \
    printf 'a=1\\nkey=old\\n' > /etc/crash.old && chmod 640 /etc/crash.old && echo gone > /etc/crash.gone && \
    echo same > /etc/crash.mode && echo one > /etc/crash.links && ln /etc/crash.links /etc/crash.other && \
    ln -s nowhere /etc/crash.link";

/// Twelve steps in three batches.
const PLAYBOOK: &str = r#"- hosts: all
  gather_facts: false
  tasks:
    - {name: 1 a folder, file: {path: /etc/crash.d, state: directory, mode: "0750"}}
    - {name: 2 a file in it, copy: {dest: /etc/crash.d/one.conf, content: "one\n", mode: "0600"}}
    - {name: 3 a line, lineinfile: {path: /etc/crash.old, regexp: "^key=", line: "key=new"}}
    - name: 4 a command
      command: {cmd: touch /etc/crash.made, creates: /etc/crash.made, undo: rm -f /etc/crash.made}
      register: made
    - {name: 5 what depends on it, copy: {dest: /etc/crash.after, content: "rc {{ made.rc | default(0) }}\n"}}
    - {name: 6 a tree goes, file: {path: /etc/crash.tree, state: absent}}
    - {name: 7 a file goes, file: {path: /etc/crash.gone, state: absent}}
    - {name: 8 a link, file: {path: /etc/crash.link, src: crash.old, state: link}}
    - {name: 9 a mode, file: {path: /etc/crash.mode, mode: "0600"}}
    - {name: 10 a file with two names, copy: {dest: /etc/crash.links, content: "two\n"}}
    - name: 11 a shell text
      shell: {cmd: "echo x > /etc/crash.log; sleep 0.1", undo: rm -f /etc/crash.log}
      register: said
    - {name: 12 the last, copy: {dest: /etc/crash.last, content: "last\n"}, when: said.rc == 0}
"#;

/// Prints each claim's state on a line, and each name that no claim has.
const STATE: &str = "cd /etc; for f in crash.d crash.d/one.conf crash.old crash.made crash.after crash.tree crash.tree/deep/leaf \
    crash.gone crash.link crash.mode crash.links crash.other crash.log crash.last; do printf '%s: ' $f; \
    if [ -e $f ] || [ -L $f ]; then printf '%s %s ' \"$(stat -c '%f %u %g' $f)\" \"$(readlink $f)\"; [ ! -f $f ] || cat $f | tr '\\n' ';'; \
    else printf absent; fi; echo; done; find /etc -name '.tunerun*' | sed 's/$/: left behind/'";

/// A lab whose hosts are all in the old state.
pub struct Fleet {
    lab: Option<Lab>,
    pub root: PathBuf,
    pub old: BTreeMap<String, String>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        drop(self.lab.take());
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl Fleet {
    /// None where there can be no lab.
    pub fn up(count: usize) -> Option<Self> {
        if !is_root("a lab") {
            return None;
        }
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("tunerun-crash-lab-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        let mut fleet = Self { lab: None, root: root.clone(), old: BTreeMap::new() };
        let names: Vec<String> = (1..=count).map(|number| format!("h{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let spec = LabSpec {
            tier: Tier::Plain,
            upper_mib: 16,
            ..LabSpec::new("t", &names, root.join("labs"), tunerun().to_owned())
        };
        let lab = Lab::up(&spec).unwrap();
        let mut inventory = String::new();
        for host in lab.hosts() {
            inventory.push_str(&format!(
                "{} ansible_host={} ansible_port={} ansible_user={} ansible_ssh_private_key_file={} \
                 ansible_ssh_common_args='-o UserKnownHostsFile={} -o GlobalKnownHostsFile=/dev/null \
                 -o ServerAliveInterval=2 -o ServerAliveCountMax=1 -o ConnectTimeout=2'\n",
                host.name,
                host.ip,
                host.port,
                host.user,
                host.key.display(),
                host.known_hosts.display()
            ));
        }
        std::fs::write(root.join("hosts.ini"), inventory).unwrap();
        std::fs::write(root.join("play.yml"), PLAYBOOK).unwrap();
        fleet.lab = Some(lab);
        std::thread::scope(|scope| {
            for some in names.chunks(names.len().div_ceil(4)) {
                let fleet = &fleet;
                scope.spawn(move || some.iter().for_each(|host| drop(fleet.on(host, OLD).ended(0))));
            }
        });
        fleet.old = fleet.state("h1");
        Some(fleet)
    }

    pub fn lab(&self) -> &Lab {
        self.lab.as_ref().unwrap()
    }

    /// Runs a script on a host by ssh.
    pub fn on(&self, host: &str, script: &str) -> Said {
        let mut command = Command::new("ssh");
        command.arg("-F").arg(self.lab().dir().join("ssh_config")).args([host, script]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Said::of(self.lab().spawn(&mut command).unwrap().wait_with_output().unwrap())
    }

    /// Each claim's state on a host.
    pub fn state(&self, host: &str) -> BTreeMap<String, String> {
        let said = self.on(host, STATE).ended(0);
        let lines = said.text.lines().filter_map(|line| line.split_once(": "));
        lines.map(|(claim, state)| (claim.to_owned(), state.trim().to_owned())).collect()
    }

    /// The program for one host, with runs of its own.
    pub fn command(&self, host: &str, words: &[&str]) -> Command {
        let mut command = Command::new(tunerun());
        command.args(words).args(["-i", "hosts.ini", "--limit", host]).current_dir(&self.root);
        command.env("TUNERUN_RUNS", self.runs(host)).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    pub fn runs(&self, host: &str) -> PathBuf {
        self.root.join("runs").join(host)
    }

    pub fn start(&self, host: &str, words: &[&str]) -> Child {
        let mut command = self.command(host, words);
        self.lab().spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped())).unwrap()
    }

    pub fn tunerun(&self, host: &str, words: &[&str]) -> Said {
        Said::of(self.start(host, words).wait_with_output().unwrap())
    }

    /// The same without words about hosts.
    pub fn tunerun_plain(&self, host: &str, words: &[&str]) -> Said {
        let mut command = Command::new(tunerun());
        command.args(words).env("TUNERUN_RUNS", self.runs(host)).env("NO_COLOR", "1").stdin(Stdio::null());
        Said::of(command.output().unwrap())
    }

    pub fn play(&self, host: &str) -> Said {
        self.tunerun(host, &["play", "play.yml", "--yes"])
    }

    /// The newest journal of a host's runs.
    pub fn journal(&self, host: &str) -> String {
        let runs = std::fs::read_dir(self.runs(host)).into_iter().flatten().flatten();
        let newest = runs.map(|run| run.path().join("journal.jsonl")).max();
        newest.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default()
    }

    /// Plays on a host and kills the program by SIGKILL as soon as so many records are on disk. False if it ended
    /// before that.
    pub fn killed_at(&self, host: &str, records: usize) -> bool {
        let mut child = self.start(host, &["play", "play.yml", "--yes"]);
        let begun = Instant::now();
        loop {
            if self.journal(host).matches('\n').count() >= records {
                child.kill().unwrap();
                child.wait().unwrap();
                return true;
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            assert!(begun.elapsed() < Duration::from_secs(30), "record {records} does not come");
            std::thread::sleep(Duration::from_micros(300));
        }
    }

    /// Waits until no script is at work on a host: its lock is free.
    pub fn settled(&self, host: &str) {
        let wait = "exec 9>>/var/lib/tunerun/lock; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do flock -n 9 && exit; sleep 0.3; done; exit 1";
        self.on(host, &format!("[ ! -d /var/lib/tunerun ] || {{ {wait}; }}")).ended(0);
    }

    /// Asserts that each claim of a host is as in one of some states.
    #[track_caller]
    pub fn is_one_of(&self, host: &str, states: &[&BTreeMap<String, String>], what: &str) {
        for (claim, state) in self.state(host) {
            let known = states.iter().any(|states| states.get(&claim) == Some(&state));
            assert!(
                known,
                "{what}: {claim} on {host} is `{state}`: not one of {:?}",
                states.iter().map(|states| states.get(&claim)).collect::<Vec<_>>()
            );
        }
    }
}
