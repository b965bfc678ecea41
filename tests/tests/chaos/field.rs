//! Forty hosts, a rollout over them, and what is there afterwards.
use super::bed::{Bed, said, ssh};
use super::faults::{Fault, Gate, Kind, Plan, plan};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tests::program::tunerun;
use tunerun::lab::{Lab, LabSpec, Tier};

const HOSTS: u64 = 40;

/// How often a person goes on with a run before taking it back.
const TRIES: usize = 6;

/// How long one call may take: connections to hosts whose link is cut are given up by then.
const LIMIT: Duration = Duration::from_secs(180);

/// What a host's files are, in one line: `old`, `new`, or what is there.
const STATE: &str = "cd /etc; { cat chaos.conf; find chaos -type f 2>/dev/null | sort | while read -r f; do \
    stat -c '%n %a %U:%G' $f; cat $f; done; } | sha256sum | cut -c1-16";

/// What must not be left on a host once a run is over.
const LEFT: &str = "find /etc -xdev -name '*.tunerun*' -o -xdev -name '.tunerun*' | head -3; \
    for m in /var/lib/tunerun/*/mark; do [ -e \"$m\" ] || continue; grep -qxE 'finished|undone' \"$m\" || echo \"$m: $(cat $m)\"; done; \
    pgrep -f '[m]easure-chaos'";

/// What happened, over all plans.
#[derive(Default)]
pub struct Figures {
    plans: u32,
    faults: BTreeMap<String, u32>,
    calls: u32,
    ends: BTreeMap<i32, u32>,
    back: u32,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "chaos: {} plans over {HOSTS} hosts, {} calls of the program, faults {:?}, last exit codes {:?}, taken back by \
             hand {}",
            self.plans, self.calls, self.faults, self.ends, self.back
        )
    }
}

/// The hosts, and where playbooks and journals lie.
pub struct Field {
    lab: Lab,
    bed: Bed,
    old: String,
    /// What each host is like that has all of the change.
    new: Vec<String>,
}

/// How many hosts are looked at side by side.
const LOOKS: u64 = 4;

fn name(host: u64) -> String {
    format!("h{host:02}")
}

impl Field {
    pub fn new() -> Self {
        let bed = Bed::new();
        let names: Vec<String> = (1..=HOSTS).map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let spec = LabSpec {
            tier: Tier::Plain,
            upper_mib: 16,
            ..LabSpec::new("lab", &names, bed.root.clone(), tunerun().to_owned())
        };
        let lab = Lab::up(&spec).unwrap();
        let work = bed.root.join("work");
        fs::create_dir_all(work.join("inventories")).unwrap();
        let hosts: String = names.iter().map(|name| format!("    {name}:\n")).collect();
        let vars = "{ansible_connection: lab, ansible_ssh_timeout: 5}";
        fs::write(work.join("inventories/lab.yaml"), format!("all:\n  vars: {vars}\n  hosts:\n{hosts}"))
            .unwrap();
        fs::write(work.join("t.j2"), "{{ inventory_hostname }} is new\n").unwrap();
        let new = (1..=HOSTS).map(Self::new_state).collect();
        let field = Self { lab, bed, old: String::new(), new };
        field.each(|host| said(&field.lab, &name(host), "seq 1 60 | sed 's/^/option /' > /etc/chaos.conf"));
        let old = said(&field.lab, &name(1), STATE);
        Self { old, ..field }
    }

    /// What a look says of each host, from the first on.
    fn each<T: Send>(&self, look: impl Fn(u64) -> T + Sync) -> Vec<T> {
        let (look, mut all) = (&look, Vec::new());
        std::thread::scope(|scope| {
            let of = |first: u64| {
                move || (first..=HOSTS).step_by(LOOKS as usize).map(|host| (host, look(host))).collect()
            };
            let threads: Vec<_> = (1..=LOOKS).map(|first| scope.spawn(of(first))).collect();
            for thread in threads {
                let found: Vec<(u64, T)> = thread.join().unwrap();
                all.extend(found);
            }
        });
        all.sort_by_key(|(host, _)| *host);
        all.into_iter().map(|(_, said)| said).collect()
    }

    fn work(&self) -> PathBuf {
        self.bed.root.join("work")
    }

    fn runs(&self) -> PathBuf {
        self.bed.root.join("runs")
    }

    /// Where the journals of a failed seed are kept.
    pub fn kept(&self, seed: u64) -> PathBuf {
        let kept = std::env::temp_dir().join(format!("tunerun-chaos-{seed}"));
        let _ = fs::remove_dir_all(&kept);
        let copied = Command::new("cp").arg("-a").arg(self.runs()).arg(&kept).status();
        assert!(copied.is_ok_and(|status| status.success()));
        kept
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(tunerun());
        command.current_dir(self.work()).args(words).env("TUNERUN_LABS", &self.bed.root);
        command.env("TUNERUN_RUNS", self.runs()).env("NO_COLOR", "1").stdin(Stdio::null());
        command
    }

    /// One plan, from hosts that are old to hosts that are old again.
    pub fn play(&self, seed: u64, figures: &mut Figures) -> Result<(), String> {
        let _ = fs::remove_dir_all(self.runs());
        let plan = plan(seed, HOSTS);
        figures.plans += 1;
        fs::write(self.work().join("site.yml"), playbook(&plan)).unwrap();
        let mut faults = plan.faults.clone();
        let mut words = vec!["play", "site.yml", "-i", "lab", "--yes"];
        let mut code = None;
        let mut said = String::new();
        for _ in 0..TRIES {
            figures.calls += 1;
            (code, said) = self.call(&words, &mut faults, figures)?;
            if matches!(code, Some(0 | 7)) {
                break;
            }
            // Killed before anything was recorded: it is played again.
            words = if self.journals() == 0 { words } else { vec!["resume", "last", "--yes"] };
        }
        let judged = self.judge(code, &plan, &said);
        *figures.ends.entry(code.unwrap_or(-1)).or_insert(0) += 1;
        figures.back += u32::from(!matches!(code, Some(0 | 7)));
        let back = self.back(figures);
        judged.and(back).map_err(|why| format!("{plan:?}: {why}"))
    }

    /// Calls the program while faults come; mends them once it has ended.
    fn call(
        &self,
        words: &[&str],
        faults: &mut Vec<Fault>,
        figures: &mut Figures,
    ) -> Result<(Option<i32>, String), String> {
        let log = self.bed.root.join("log");
        let file = fs::File::create(&log).unwrap();
        let mut command = self.command(words);
        let mut child = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        let until = Instant::now() + LIMIT;
        let mut mends = Vec::new();
        let code = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.code();
            }
            if Instant::now() > until {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "{words:?} was not over after {LIMIT:?}: {}",
                    fs::read_to_string(&log).unwrap()
                ));
            }
            while faults.first().is_some_and(|fault| fault.at <= self.records()) {
                let fault = faults.remove(0);
                *figures.faults.entry(format!("{:?}", fault.kind)).or_insert(0) += 1;
                self.strike(fault, &mut child);
                mends.push(fault);
            }
            std::thread::sleep(Duration::from_millis(3));
        };
        mends.into_iter().for_each(|fault| self.mend(fault));
        Ok((code, fs::read_to_string(&log).unwrap_or_default()))
    }

    fn journals(&self) -> usize {
        fs::read_dir(self.runs()).map_or(0, Iterator::count)
    }

    /// Records in all journals.
    fn records(&self) -> usize {
        let runs = fs::read_dir(self.runs()).into_iter().flatten().flatten();
        let journals = runs.filter_map(|run| fs::read(run.path().join("journal.jsonl")).ok());
        journals.map(|journal| journal.iter().filter(|byte| **byte == b'\n').count()).sum()
    }

    fn strike(&self, fault: Fault, controller: &mut Child) {
        let host = name(fault.host);
        match fault.kind {
            Kind::Controller => drop(controller.kill()),
            Kind::Sessions => drop(ssh(&self.lab, &host, "pkill -KILL -f '^sshd: root'")),
            Kind::Link => self.link(fault.host, "down"),
            Kind::Disk => drop(ssh(&self.lab, &host, "cat /dev/zero > /fill")),
        }
    }

    fn mend(&self, fault: Fault) {
        match fault.kind {
            Kind::Link => self.link(fault.host, "up"),
            Kind::Disk => drop(ssh(&self.lab, &name(fault.host), "rm -f /fill")),
            Kind::Controller | Kind::Sessions => {}
        }
    }

    fn link(&self, host: u64, way: &str) {
        let mut command = Command::new("ip");
        command.args(["link", "set", &format!("h{host}"), way]);
        let child = self.lab.spawn(&mut command).unwrap();
        assert!(child.wait_with_output().unwrap().status.success());
    }

    fn state(&self, host: u64, state: &str) -> Result<&'static str, String> {
        match state {
            state if state == self.old => Ok("old"),
            state if state == self.new[host as usize - 1] => Ok("new"),
            other => Err(format!("{} is neither old nor new: {other}", name(host))),
        }
    }

    /// What a host is like that has all of the change.
    fn new_state(host: u64) -> String {
        let script = format!(
            "d=$(mktemp -d); cd $d; {{ seq 1 60 | sed 's/^/option /' | sed 's/^option 30$/option new/'; \
             for f in 'made 644' 'name 640' 'plain 600'; do set -- $f; echo \"chaos/$1 $2 root:root\"; \
             case $1 in made) echo made;; name) echo '{} is new';; plain) echo plain;; esac; done; }} | sha256sum | \
             cut -c1-16; rm -r $d",
            name(host)
        );
        let output = Command::new("sh").args(["-c", &script]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Every host is wholly old or wholly new, and as the program says.
    fn judge(&self, code: Option<i32>, plan: &Plan, told: &str) -> Result<(), String> {
        let states = self.each(|host| self.state(host, &said(&self.lab, &name(host), STATE)));
        let mut news = 0;
        for state in states {
            news += u64::from(state? == "new");
        }
        let expected = match (code, plan.on_error) {
            (Some(0), _) => HOSTS..=HOSTS,
            (Some(7), "wave") if plan.gate != Gate::Loss => 0..=HOSTS - 1,
            (Some(7), _) => 0..=0,
            _ => 0..=HOSTS,
        };
        if told.contains("printed no JSON") {
            return Err(format!("a run of the gate did not count, and no fault is about that:\n{told}"));
        }
        if expected.contains(&news) {
            Ok(())
        } else {
            Err(format!("it ended with {code:?}, and {news} of {HOSTS} hosts are new:\n{told}"))
        }
    }

    /// All runs are taken back, newest first: every host is as it was, and nothing is left.
    fn back(&self, figures: &mut Figures) -> Result<(), String> {
        let entries = fs::read_dir(self.runs()).into_iter().flatten().flatten();
        let mut runs: Vec<String> =
            entries.map(|run| run.file_name().to_string_lossy().into_owned()).collect();
        runs.sort();
        for run in runs.iter().rev() {
            figures.calls += 1;
            let output = self.command(&["undo", run]).output().unwrap();
            if !output.status.success() {
                let (out, err) =
                    (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
                return Err(format!("undo of {run} ended with {}: {out}\n{err}", output.status));
            }
        }
        let ended = self.each(|host| {
            let output = ssh(&self.lab, &name(host), &format!("({STATE}); {LEFT}"));
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let (state, left) = text.split_once('\n').unwrap_or((&text, ""));
            if self.state(host, state)? != "old" {
                return Err(format!("{} is not old again", name(host)));
            }
            match left.trim() {
                "" => Ok(()),
                left => Err(format!("{}: left over: {left}", name(host))),
            }
        });
        ended.into_iter().collect()
    }
}

/// Five tasks, in four waves.
fn playbook(plan: &Plan) -> String {
    let rate = match plan.gate {
        Gate::None => None,
        Gate::Gain => Some(("100", "200")),
        Gate::Loss => Some(("200", "100")),
    };
    let gate = rate.map_or_else(String::new, |(old, new)| {
        format!(
            "  gate:
    run: {{settle: 0s, ramp: 0s, measure: 1s, steady: off}}
    preflight: {{steal_max: 100%}}
    runs_each: 3
    benchmarks:
      - id: own
        command:
          argv: [sh, -c, 'n=$(($(cat /tmp/n 2>/dev/null || echo 0) + 1)); echo $n > /tmp/n; if [ -e /etc/chaos/plain ]; then r={new}; else r={old}; fi; echo \"{{\\\"rate\\\": $((r * 100 + n % 7))}}\"', measure-chaos]
          figures: {{rate: {{path: rate, direction: higher}}}}
    metrics:
      - {{name: rate, from: own.rate, direction: higher, margin: 5%}}
"
        )
    });
    format!(
        "- name: the change
  hosts: all
  gather_facts: false
  rollout: {{waves: [4, 25%, 50%, 100%], canary: 4, max_down: 10, on_error: {}}}
{gate}  tasks:
    - file: {{path: /etc/chaos, state: directory, mode: '0755'}}
    - copy: {{dest: /etc/chaos/plain, content: \"plain\\n\", mode: '0600'}}
    - lineinfile: {{path: /etc/chaos.conf, regexp: '^option 30$', line: option new}}
    - template: {{src: t.j2, dest: /etc/chaos/name, mode: '0640'}}
    - shell: 'umask 022; echo made > /etc/chaos/made'
      args: {{creates: /etc/chaos/made}}
      undo: rm -f /etc/chaos/made
",
        plan.on_error
    )
}
