//! SIGKILL at ten moments, of whoever holds the lab, of its supervisor, and of what a host stands on.
use crate::bed::{Bed, Machine, can, groups, pids, said, until};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tunerun::lab::{Lab, LabSpec, Started, Tier, sweep};

const MOMENTS: u32 = 10;
const LIMIT: Duration = Duration::from_secs(60);

/// Not a test: what a killed process runs. It starts the lab that its environment names and holds it.
#[test]
#[ignore = "started by the other tests of this file"]
fn holder() {
    let Some(orders) = std::env::var_os("TUNERUN_TEST_HOLD") else { return };
    let spec: LabSpec = serde_json::from_str(orders.to_str().unwrap()).unwrap();
    let _lab = Lab::up(&spec).unwrap();
    println!("holding");
    let _ = std::io::stdin().read(&mut [0]);
}

fn hold(spec: &LabSpec) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "killed::holder", "--ignored", "--nocapture"])
        .env("TUNERUN_TEST_HOLD", serde_json::to_string(spec).unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How long a start takes here and now.
fn start_time(bed: &Bed, tier: Tier) -> Duration {
    let began = Instant::now();
    let mut child = hold(&bed.spec(tier, &["a", "b"]));
    let ready = BufReader::new(child.stdout.take().unwrap())
        .lines()
        .any(|line| line.is_ok_and(|it| it.contains("holding")));
    assert!(ready);
    let took = began.elapsed();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(bed.processes(), BTreeSet::new(), "the lab of a process that ended by itself");
    took
}

/// The supervisor that a process started, if there is one yet.
fn supervisor(holder: &Child) -> Option<Started> {
    let parent = format!("PPid:\t{}", holder.id());
    pids().find_map(|pid| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let ours = command.windows(16).any(|it| it == b"__lab-supervisor")
            && fs::read_to_string(format!("/proc/{pid}/status")).ok()?.lines().any(|line| line == parent);
        if ours { Started::of(pid) } else { None }
    })
}

/// After whatever was killed: all processes end by themselves, and one sweep leaves nothing.
fn nothing_left(bed: &Bed, before: &Machine, supervisor: Option<Started>, when: &str) {
    until(&format!("{when}: no process is left"), LIMIT, || {
        bed.processes().is_empty() && supervisor.is_none_or(|it| !it.is_alive())
    });
    sweep(&bed.root);
    assert_eq!(Machine::now(), *before, "{when}");
    let folders: Vec<_> =
        fs::read_dir(&bed.root).unwrap().flatten().filter(|it| it.path().is_dir()).collect();
    assert!(folders.is_empty(), "{when}: {folders:?}");
    assert!(supervisor.is_none_or(|it| groups(it).is_empty()), "{when}: cgroups are left");
}

fn at_ten_moments(tier: Tier, victim: &str, kill: impl Fn(&mut Child) -> bool) {
    if !can(tier) {
        return;
    }
    let bed = Bed::new();
    let before = Machine::now();
    let took = start_time(&bed, tier);
    let mut hits = 0;
    for moment in 1..=MOMENTS {
        let mut holder = hold(&bed.spec(tier, &["a", "b"]));
        // The moment is what is tested, so it is waited for by the clock.
        std::thread::sleep(took * moment * 11 / (MOMENTS * 10));
        let named = supervisor(&holder);
        hits += u32::from(kill(&mut holder));
        let _ = holder.kill();
        holder.wait().unwrap();
        nothing_left(&bed, &before, named, &format!("{tier:?}, {victim} killed at {moment}/{MOMENTS}"));
    }
    assert!(hits > 0, "{tier:?}: {victim} was there at no moment");
}

#[test]
fn the_plain_holder() {
    at_ten_moments(Tier::Plain, "the holder", |holder| holder.kill().is_ok());
}

#[test]
fn the_booted_holder() {
    at_ten_moments(Tier::Booted, "the holder", |holder| holder.kill().is_ok());
}

fn kill_supervisor(holder: &mut Child) -> bool {
    supervisor(holder).is_some_and(|it| it.end(LIMIT))
}

#[test]
fn the_plain_supervisor() {
    at_ten_moments(Tier::Plain, "the supervisor", kill_supervisor);
}

#[test]
fn the_booted_supervisor() {
    at_ten_moments(Tier::Booted, "the supervisor", kill_supervisor);
}

/// Kills systemd-nspawn or a host's pid 1, whichever is there at that moment.
#[test]
fn what_a_host_stands_on() {
    for (tier, name) in [(Tier::Booted, "systemd-nspawn"), (Tier::Booted, "systemd"), (Tier::Plain, "sshd")] {
        let named = |bed: &Bed| {
            bed.processes().into_iter().find(|pid| {
                fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim() == name)
            })
        };
        at_ten_moments(tier, name, |holder| {
            let Some(it) = supervisor(holder) else { return false };
            let mounts = fs::read_to_string(format!("/proc/{}/mountinfo", it.pid)).unwrap_or_default();
            let root = mounts.lines().find_map(|line| line.split(' ').nth(4)?.strip_suffix("/t/fs"));
            let Some(root) = root else { return false };
            // Not this bed's to remove: the test that holds it does.
            let bed = std::mem::ManuallyDrop::new(Bed { root: root.into() });
            named(&bed).and_then(Started::of).is_some_and(|victim| victim.end(LIMIT))
        });
    }
}

#[test]
fn a_killed_nspawn_takes_its_host_and_no_other() {
    if !can(Tier::Booted) {
        return;
    }
    let bed = Bed::new();
    let lab = bed.up(Tier::Booted, &["a", "b"]);
    let supervisor = lab.supervisor();
    let of_a = |pid: &i32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.windows(11).any(|it| it == b"--machine=a")
    };
    let nspawn = bed.processes().into_iter().find(of_a).and_then(Started::of).unwrap();
    assert!(nspawn.end(LIMIT));
    until("a's processes are gone", LIMIT, || {
        groups(supervisor).iter().all(|group| all_processes(&group.join("a")).is_empty())
    });
    assert_eq!(said(&lab, "b", "hostname"), "b");
    assert!(supervisor.is_alive());
}

fn all_processes(group: &Path) -> Vec<String> {
    let mut found: Vec<String> = fs::read_to_string(group.join("cgroup.procs"))
        .unwrap_or_default()
        .lines()
        .map(str::to_owned)
        .collect();
    for below in fs::read_dir(group).into_iter().flatten().flatten().filter(|it| it.path().is_dir()) {
        found.extend(all_processes(&below.path()));
    }
    found
}
