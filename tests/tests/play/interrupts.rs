//! Signals: what was begun is finished, one question is asked, and nothing ends in the middle.
use crate::bed::{Bed, Done, on_all};
use crate::terminal::Terminal;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tests::program::tunerun;

/// A batch that waits for a word, and one after it.
const TASKS: &str = r#"- shell: "touch {{ root }}/waits; while [ ! -e {{ root }}/go ]; do sleep 0.05; done; touch {{ root }}/first; echo said"
  args: {creates: "{{ root }}/first"}
  undo: "rm -f {{ root }}/first {{ root }}/waits"
  register: made
- copy: {dest: "{{ root }}/second", content: "{{ made.stdout }}"}"#;

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "{what} never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn bed() -> Bed {
    let bed = Bed::one();
    bed.file("site.yml", &on_all(TASKS));
    bed
}

fn begun(bed: &Bed) -> Child {
    let mut command = Command::new(tunerun());
    command.args(["play", "site.yml", "-i", "hosts.yml", "--runs", "runs", "--yes"]).current_dir(&bed.dir);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the first batch", || bed.dir.join("roots/a/waits").exists());
    child
}

fn go(bed: &Bed) {
    fs::write(bed.dir.join("roots/a/go"), "").unwrap();
}

fn ended(child: Child) -> Done {
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Done { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
}

fn send(child: &Child, signal: Signal) {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
}

#[test]
fn where_nobody_can_be_asked_the_batch_in_hand_is_finished() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let bed = bed();
        let child = begun(&bed);
        send(&child, signal);
        std::thread::sleep(Duration::from_millis(200));
        go(&bed);
        let done = ended(child);
        done.ended(9)
            .says("what was begun is finished")
            .says("STOPPED by a person")
            .says("stopped by a person; `tunerun resume");
        assert_eq!(
            bed.names("a"),
            ["first", "go", "waits"],
            "the batch in hand is whole, and nothing follows"
        );
        // It goes on, or goes back.
        bed.tunerun(&["resume", "last", "--yes"]).ok();
        assert_eq!(bed.names("a"), ["first", "go", "second", "waits"]);
    }
}

/// The process of the program below `script`.
fn below(path: &Path) -> Pid {
    let mut found = None;
    until("the program", || {
        found = fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
            let pid: i32 = entry.file_name().to_string_lossy().parse().ok()?;
            let cwd = fs::read_link(entry.path().join("cwd")).ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).into_owned();
            (cwd == path && line.starts_with(&tunerun().display().to_string())).then_some(Pid::from_raw(pid))
        });
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn a_person_says_whether_it_stops_goes_back_or_goes_on() {
    for (answers, code, left) in [
        (&["c\n"][..], 0, &["first", "go", "second", "waits"][..]),
        (&["what?\n", "s\n"], 9, &["first", "go", "waits"]),
        (&["u\n"], 7, &["go"]),
    ] {
        let bed = bed();
        let mut terminal = Terminal::play(&bed, "--yes");
        until("the first batch", || bed.dir.join("roots/a/waits").exists());
        kill(below(&bed.dir.canonicalize().unwrap()), Signal::SIGINT).unwrap();
        for answer in answers {
            terminal.answer("Ctrl-C again stops", answer);
        }
        std::thread::sleep(Duration::from_millis(200));
        go(&bed);
        terminal.ended().ended(code);
        assert_eq!(bed.names("a"), left, "{answers:?}");
    }
}

#[test]
fn whoever_interrupts_twice_is_not_asked() {
    let bed = bed();
    let mut terminal = Terminal::play(&bed, "--yes");
    until("the first batch", || bed.dir.join("roots/a/waits").exists());
    let program = below(&bed.dir.canonicalize().unwrap());
    kill(program, Signal::SIGINT).unwrap();
    terminal.answer("Ctrl-C again stops", "");
    kill(program, Signal::SIGINT).unwrap();
    terminal.answer("interrupted again", "");
    go(&bed);
    terminal.ended().ended(9);
    assert_eq!(bed.names("a"), ["first", "go", "waits"]);
}

#[test]
fn a_lost_terminal_does_not_end_a_run() {
    let bed = bed();
    let child = begun(&bed);
    send(&child, Signal::SIGHUP);
    let run = bed.runs().pop().unwrap();
    until("the output", || bed.dir.join("runs").join(&run).join("output.log").exists());
    go(&bed);
    let attached = bed.tunerun(&["attach", &run]);
    attached.ok().says("proven");
    ended(child).ended(0);
    assert_eq!(bed.names("a"), ["first", "go", "second", "waits"]);
}

#[test]
fn a_rollout_stops_before_its_next_hosts_and_goes_on_later() {
    let bed = Bed::new(&["a", "b", "c"]);
    bed.file(
        "site.yml",
        "- hosts: all\n  gather_facts: false\n  rollout: {waves: [1, 100%], soak: 1h}\n  tasks:\n    - copy: {dest: \"{{ root }}/f\", content: x}\n",
    );
    let mut command = Command::new(tunerun());
    command.args(["play", "site.yml", "-i", "hosts.yml", "--runs", "runs", "--yes"]).current_dir(&bed.dir);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the canary", || bed.names("a") == ["f"]);
    send(&child, Signal::SIGTERM);
    ended(child).ended(9).says("held: a person has stopped it; `tunerun resume");
    assert_eq!(bed.names("b").len() + bed.names("c").len(), 0);
}
