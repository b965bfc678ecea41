//! Rollouts: who goes when, what ends one, and what becomes of what was done.
use crate::bed::{Bed, Done};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tests::program::tunerun;

const HOSTS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// Six hosts in two racks.
fn bed() -> Bed {
    let bed = Bed::new(&HOSTS);
    bed.groups("one:\n  hosts: {a: , b: , c: }\n  vars: {rack: r1}\ntwo:\n  hosts: {d: , e: , f: }\n  vars: {rack: r2}");
    bed
}

fn playbook(rollout: &str, tasks: &str) -> String {
    let indented: String = tasks.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "- name: the change\n  hosts: all\n  gather_facts: false\n  rollout: {rollout}\n  tasks:\n{indented}"
    )
}

/// The waves that were told, by their hosts.
fn waves(done: &Done) -> Vec<String> {
    let told = done.err.lines().filter(|line| line.starts_with("wave "));
    told.filter_map(|line| line.split_once(": ")).map(|(_, hosts)| hosts.replace(", ", "")).collect()
}

const PUT: &str = "- copy: {dest: \"{{ root }}/f\", content: \"x\"}";

/// A task that fails where a file says so.
const MAY_FAIL: &str = "- copy: {dest: \"{{ root }}/f\", content: \"x\"}
- copy: {dest: \"{{ root }}/g\", content: \"y\", validate: \"test ! -e {{ root }}/bad -a -e %s\"}";

#[test]
fn waves_are_shown_and_kept() {
    let bed = bed();
    bed.file("site.yml", &playbook("{canary: {one_per: rack}, waves: [2, 50%, 100%], by: rack}", PUT));
    let told = bed.call(&["--check"]);
    told.ok().says("rollout of play the change:\n  canary 1: a, d\n  wave 2: b\n  wave 3: c, e, f\n");
    told.says("at most 1 down at once, never of two `rack`");
    let done = bed.call(&["--yes"]);
    assert_eq!(waves(done.ok()), ["ad", "b", "cef"]);
    assert!(HOSTS.iter().all(|host| bed.got(&format!("{host}/f")).is_some()));
    bed.call(&["--yes"]).ok().says("6 hosts (a, b, c, d, e, f): proven: 1 ok, 0 changed");
}

#[test]
fn a_failure_holds_what_comes_after_and_takes_its_host_back() {
    let bed = bed();
    bed.file("roots/b/bad", "");
    let done = bed.play(&playbook("{waves: [1, 3, 100%]}", MAY_FAIL));
    done.ended(9).says("held: b failed; `tunerun resume ");
    assert_eq!(bed.names("a"), ["f", "g"]);
    assert_eq!(bed.names("b"), ["bad"], "nothing stays on a host that failed");
    assert_eq!(bed.names("c"), ["f", "g"]);
    assert_eq!(bed.names("d"), [] as [&str; 0]);
    done.says("3 hosts (d, e, f): not begun: the rollout ended");
    // Once it is mended, it goes on.
    std::fs::remove_file(bed.dir.join("roots/b/bad")).unwrap();
    bed.tunerun(&["resume", "last", "--yes"]).ok();
    assert!(HOSTS.iter().all(|host| bed.names(host) == ["f", "g"]));
}

#[test]
fn a_failure_takes_all_back_where_the_playbook_says_so() {
    let bed = bed();
    bed.file("roots/c/bad", "");
    let done = bed.play(&playbook("{waves: [2, 100%], on_error: run}", MAY_FAIL));
    done.ended(7).says("rolled back: c failed; `tunerun show ");
    assert!(done.out.trim_end().ends_with("tells what was done"), "the last line says it:\n{}", done.out);
    for host in HOSTS {
        let left: &[&str] = if host == "c" { &["bad"] } else { &[] };
        assert_eq!(bed.names(host), left);
    }
    bed.tunerun(&["undo", "last"]).ok();
    let bed = self::bed();
    bed.file("roots/c/bad", "");
    bed.play(&playbook("{waves: [2, 100%], on_error: wave}", MAY_FAIL))
        .ended(7)
        .says("what this wave changed");
    assert_eq!((bed.names("a"), bed.names("e").len()), (vec!["f".to_owned(), "g".to_owned()], 0));
}

#[test]
fn a_command_hears_what_became_of_it() {
    let bed = bed();
    let told = |rollout: &str| -> serde_json::Value {
        let written =
            format!("{{waves: [1, 100%], on_event: [sh, -c, 'cat > {}/told']{rollout}}}", bed.dir.display());
        bed.play(&playbook(&written, MAY_FAIL));
        serde_json::from_str(&std::fs::read_to_string(bed.dir.join("told")).unwrap()).unwrap()
    };
    bed.file("roots/b/bad", "");
    let held = told("");
    assert_eq!((&held["event"], &held["play"]), (&"held".into(), &"the change".into()));
    assert_eq!(told(", on_error: run")["event"], "rolled_back");
    std::fs::remove_file(bed.dir.join("roots/b/bad")).unwrap();
    assert_eq!(told("")["event"], "done");
    let deaf = bed.play(&playbook("{waves: [1], on_event: [/nonexistent]}", PUT));
    deaf.ok().says("the command of `on_event` failed");
}

#[test]
fn some_failures_may_be_borne() {
    let bed = bed();
    bed.file("roots/b/bad", "");
    let done = bed.play(&playbook("{waves: [1, 100%], max_failures: 1}", MAY_FAIL));
    done.ended(1);
    assert_eq!((bed.names("b"), bed.names("f")), (vec!["bad".into()], vec!["f".to_owned(), "g".to_owned()]));
}

#[test]
fn nothing_goes_forward_outside_of_the_window() {
    let bed = bed();
    // The tests run in UTC; a window of an hour that lies half a day from now is closed.
    let hour = (std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs() / 3600 + 12) % 24;
    let window = format!(
        "{{waves: [1, 100%], window: {{from: \"{hour:02}:00\", to: \"{:02}:00\"}}}}",
        (hour + 1) % 24
    );
    bed.file("site.yml", &playbook(&window, PUT));
    let mut command = Command::new(tunerun());
    command.args(["play", "site.yml", "-i", "hosts.yml", "--yes", "--runs", "runs"]).env("TZ", "UTC");
    let output = command.current_dir(&bed.dir).stdin(Stdio::null()).output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(9), "{out}");
    assert!(out.contains("held: the window is over"), "{out}");
    assert!(HOSTS.iter().all(|host| bed.names(host).is_empty()));
}

#[test]
fn a_person_approves_from_elsewhere() {
    let asked = |deny: bool| {
        let bed = bed();
        let pause = "{waves: [1, {hosts: \"100%\", pause: \"One is done. Go on?\"}]}";
        bed.file("site.yml", &playbook(pause, PUT));
        let mut command = Command::new(tunerun());
        command.args(["play", "site.yml", "-i", "hosts.yml", "--yes", "--runs", "runs"]);
        let child =
            command.current_dir(&bed.dir).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let until = Instant::now() + Duration::from_secs(60);
        while bed.runs().pop().is_none_or(|run| !bed.dir.join("runs").join(run).join("asked-1").exists()) {
            assert!(Instant::now() < until, "it never asked");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!((bed.names("a").len(), bed.names("b").len()), (1, 0));
        let words: &[&str] = if deny { &["approve", "last", "--deny"] } else { &["approve", "last"] };
        bed.tunerun(words).ok().says("One is done. Go on?");
        let output = child.wait_with_output().unwrap();
        bed.tunerun(&["approve", "last"]).ended(2).says("does not wait for a person");
        (output.status.code(), bed.names("b").len())
    };
    assert_eq!(asked(false), (Some(0), 1));
    assert_eq!(asked(true), (Some(9), 0));
}

#[test]
fn what_does_not_fit_is_told_before_anything_is_done() {
    let bed = bed();
    let wrong = |rollout: &str, words: &str| {
        bed.play(&playbook(rollout, PUT)).ended(2).says(words);
    };
    wrong("{waves: [3, 1]}", "the waves are cumulative");
    wrong("{waves: [1], canary: {one_per: row}}", "has no variable `row`");
    wrong("{waves: [1], activate: window}", "needs to know when that is");
    wrong("{waves: [1], window: {from: \"22\", to: \"5:00\"}}", "is no time of day");
    let serial = playbook("{waves: [1]}", PUT).replace("  rollout", "  serial: 1\n  rollout");
    bed.play(&serial).ended(2).says("`serial:` and a rollout both say who goes together");
    let guard = playbook("{}", PUT).replace("rollout: {}", "guard: {}");
    bed.play(&guard).ended(2).says("`guard:` stands around the hosts of a rollout");
    assert!(bed.runs().is_empty());
}
