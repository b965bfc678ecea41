//! Third hands between apply and undo, and two controllers on one host.
use crate::bed::{Bed, Said};
use std::time::{Duration, Instant};

const TASKS: &str = "
    - copy: {dest: ETC/one, content: \"new one\\n\"}
    - copy: {dest: ETC/two, content: \"new two\\n\"}
    - file: {path: ETC/made.d, state: directory}
    - copy: {dest: ETC/made.d/three, content: \"three\\n\"}
";

fn played() -> Bed {
    let bed = Bed::new();
    bed.write("one", "old one\n");
    bed.write("two", "old two\n");
    bed.playbook(TASKS);
    bed.play().ended(0);
    bed
}

#[test]
fn a_third_value_stays_until_it_is_forced_and_is_shown_with_the_two_others() {
    let bed = played();
    bed.write("one", "by hand\n");
    let said = bed.tunerun(&["undo", "last"]).ended(6);
    let claim = format!("file{}", bed.etc("one").display());
    let said = said.says(&[
        "before the run: ",
        "the run left: ",
        "now: ",
        "somebody else",
        &format!("--force {claim}"),
    ]);
    let digests = said.text.lines().find(|line| line.contains("somebody else")).unwrap().matches('…').count();
    assert_eq!(digests, 3, "{}", said.text);
    assert_eq!(bed.read("one"), "by hand\n");
    assert_eq!(bed.read("two"), "old two\n", "the rest is back");
    assert_eq!(bed.names(), ["one", "two"]);
    bed.tunerun(&["undo", "last"]).ended(6);
    assert_eq!(bed.read("one"), "by hand\n");
    bed.tunerun(&["show", "last"]).ended(0).says(&["left: h: ", "undo ended"]);
    bed.tunerun(&["runs"]).ended(0).says(&["undone in part"]);
    // The mark stays: the next run must not go over it unasked.
    bed.play().ended(15).says(&["was left open", "--over"]);
    bed.tunerun(&["undo", "last", "--force", &claim]).ended(0);
    assert_eq!(bed.read("one"), "old one\n");
    bed.tunerun(&["undo", "last"]).ended(0).says(&["nothing to take back"]);
    bed.play().ended(0);
}

#[test]
fn a_mode_that_somebody_set_and_a_file_that_somebody_added_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    for by_hand in [false, true] {
        let bed = played();
        std::fs::set_permissions(bed.etc("two"), std::fs::Permissions::from_mode(0o600)).unwrap();
        bed.write("made.d/theirs", "theirs\n");
        let said = if by_hand { bed.undo_sh().ended(1) } else { bed.tunerun(&["undo", "last"]).ended(6) };
        said.says(&["etc/two", "made.d"]);
        assert_eq!(bed.read("one"), "old one\n");
        assert_eq!(bed.read("two"), "new two\n");
        assert_eq!(bed.read("made.d/theirs"), "theirs\n");
        assert!(!bed.etc("made.d/three").exists());
        // What they did is undone by them: then it goes back.
        std::fs::set_permissions(bed.etc("two"), std::fs::Permissions::from_mode(0o644)).unwrap();
        std::fs::remove_file(bed.etc("made.d/theirs")).unwrap();
        if by_hand {
            bed.undo_sh().ended(0)
        } else {
            bed.tunerun(&["undo", "last"]).ended(0)
        };
        assert_eq!((bed.names(), bed.read("two")), (vec!["one".into(), "two".into()], "old two\n".into()));
    }
}

#[test]
fn what_has_gone_back_and_was_made_anew_by_somebody_is_theirs() {
    let bed = played();
    bed.tunerun(&["undo", "last"]).ended(0);
    bed.write("one", "new one\n");
    bed.tunerun(&["undo", "last"]).ended(0).says(&["nothing to take back"]);
    assert_eq!(
        bed.read("one"),
        "new one\n",
        "that this is what the run once left does not make it the run's"
    );
}

#[test]
fn no_way_back_is_said_and_ends_with_its_code() {
    let bed = Bed::new();
    bed.playbook("    - command: touch ETC/forever\n    - copy: {dest: ETC/one, content: x}\n");
    bed.play().ended(0);
    bed.tunerun(&["undo", "last"]).ended(6).says(&["nobody said how to undo this command"]);
    assert_eq!(bed.names(), ["forever"]);
}

/// Waits until a command of the first batch is at work.
fn until_acting(bed: &Bed) {
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < Duration::from_secs(20), "no act is begun");
        let runs = std::fs::read_dir(bed.root.join("state")).into_iter().flatten().flatten();
        let mut logs = runs.filter_map(|run| std::fs::read_to_string(run.path().join("1/log")).ok());
        if logs.any(|log| log.lines().last().is_some_and(|line| line.starts_with("begun"))) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_second_controller_is_told_who_holds_the_host() {
    let bed = Bed::new();
    bed.playbook("    - command: {cmd: sleep 6, undo: \"true\"}\n");
    let mut first = bed.words(&["play", "play.yml", "-i", "hosts.ini", "--yes"]);
    let mut first =
        first.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    until_acting(&bed);
    let run = std::fs::read_dir(bed.root.join("runs")).unwrap().next().unwrap().unwrap().file_name();
    let run = run.to_str().unwrap();
    bed.play().ended(15).says(&["held by another run", run, "nothing was changed"]);
    let over = bed.words(&["play", "play.yml", "-i", "hosts.ini", "--yes", "--over", run]).output().unwrap();
    Said::of(over).ended(15).says(&["held by another run", run]);
    bed.tunerun(&["undo", run]).ended(2).says(&["another tunerun is writing it"]);
    assert!(first.wait().unwrap().success());
    bed.play().ended(0);
}

#[test]
fn an_open_run_must_be_resumed_undone_or_named() {
    for way in ["resume", "undo", "over"] {
        let bed = Bed::new();
        bed.write("one", "old one\n");
        bed.playbook(
            "    - copy: {dest: ETC/one, content: new}\n    - command: {cmd: sleep 1, undo: \"true\"}\n",
        );
        let mut first = bed.words(&["play", "play.yml", "-i", "hosts.ini", "--yes"]);
        let mut first = first.stderr(std::process::Stdio::null()).spawn().unwrap();
        until_acting(&bed);
        first.kill().unwrap();
        first.wait().unwrap();
        std::thread::sleep(Duration::from_millis(1500));
        let said = bed.play().ended(15).says(&["was left open", "tunerun resume RUN"]);
        let run = said.text.split("left open: ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        match way {
            "over" => {
                let words = ["play", "play.yml", "-i", "hosts.ini", "--yes", "--over", &run];
                Said::of(bed.words(&words).output().unwrap()).ended(0);
            }
            "resume" => {
                bed.tunerun(&["resume", &run]).ended(0).says(&["tunerun play play.yml -i hosts.ini"]);
                assert_eq!(bed.read("one"), "old one\n");
                bed.play().ended(0);
            }
            _ => {
                bed.tunerun(&["undo", &run]).ended(0);
                assert_eq!(bed.read("one"), "old one\n");
                bed.play().ended(0);
            }
        }
        assert_eq!(bed.read("one"), "new");
    }
}

#[test]
fn a_failed_run_that_took_its_batch_back_is_not_open() {
    let bed = Bed::new();
    bed.playbook(
        "    - copy: {dest: ETC/one, content: x}\n    - command: {cmd: \"true\", undo: \"true\"}\n      register: r\n    \
         - command: {cmd: \"false\", undo: \"true\"}\n      when: r.rc == 0\n",
    );
    bed.play().ended(1);
    assert_eq!(bed.read("one"), "x");
    bed.play().ended(1);
}

#[test]
fn old_runs_are_closed_and_the_newest_stay() {
    let bed = Bed::new();
    bed.playbook("    - command: {cmd: \"true\", undo: \"true\"}\n");
    for _ in 0..3 {
        bed.play().ended(0);
    }
    let folders = || {
        std::fs::read_dir(bed.root.join("state"))
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().is_dir())
            .count()
    };
    assert_eq!(folders(), 3);
    bed.tunerun(&["close", "--old"]).ended(0).says(&["no run is old"]);
    std::thread::sleep(Duration::from_millis(20));
    bed.tunerun(&["close", "--old", "--keep-days", "0", "--keep-runs", "1"]).ended(0);
    assert_eq!(folders(), 1);
    bed.tunerun(&["runs"]).ended(0).says(&["closed", "done"]);
    bed.tunerun(&["close", "last"]).ended(0);
    assert_eq!(folders(), 0);
}
