//! Full, read-only and immutable disks: the run stops and says so, nothing is half written.
use crate::bed::Bed;
use std::process::Command;
use tests::program::is_root;

const TASKS: &str = "
    - copy: {dest: ETC/small, content: \"new small\\n\"}
    - copy: {dest: ETC/full/large, content: \"{{ 'x' * 200000 }}\"}
";

fn bed() -> Bed {
    let bed = Bed::new();
    bed.write("small", "old small\n");
    std::fs::create_dir(bed.etc("full")).unwrap();
    bed.playbook(TASKS);
    bed
}

#[test]
fn a_full_file_system_of_the_target_fails_the_task_before_anything_of_it_is_written() {
    if !is_root("a full disk") {
        return;
    }
    for size in ["x * 200000", "x' * 400000"].map(|size| size.rsplit(' ').next().unwrap().to_owned()) {
        let bed = bed();
        bed.playbook(&TASKS.replace("200000", &size));
        let etc = bed.etc("full").display().to_string();
        let before = format!("mount -t tmpfs -o size=64k tmpfs {etc}; echo old > {etc}/large");
        let said = bed.apart(&before, &format!("ls -A {etc} >&2; cat {etc}/large >&2"));
        said.ended(1).says(&["No space left on device", "\nlarge\nold\n"]);
        // What came before the task that failed is whole: as it was, or as it was asked for.
        assert!(["old small\n", "new small\n"].contains(&bed.read("small").as_str()));
        bed.tunerun(&["undo", "last"]).ended(0);
        assert_eq!(bed.read("small"), "old small\n");
        bed.playbook(TASKS);
        bed.play().ended(0);
        assert_eq!(bed.read("small"), "new small\n");
        bed.tunerun(&["undo", "last"]).ended(0);
        assert_eq!(bed.names(), ["full", "small"]);
    }
}

#[test]
fn a_full_state_folder_stops_the_batch_before_anything_is_written() {
    if !is_root("a full disk") {
        return;
    }
    let bed = bed();
    bed.write("full/large", "y".repeat(100_000));
    let state = bed.root.join("state").display().to_string();
    let before = format!("mkdir {state}; mount -t tmpfs -o size=32k tmpfs {state}");
    let said = bed.apart(&before, "").ended(1);
    said.says(&["No space left on device", "nothing was written"]);
    assert_eq!(bed.read("small"), "old small\n");
    assert_eq!(std::fs::read_dir(bed.etc("full")).unwrap().count(), 1, "no temporary file is left");
    bed.play().ended(0);
}

#[test]
fn a_full_disk_under_the_journal_stops_the_run() {
    if !is_root("a full disk") {
        return;
    }
    // Big enough for the run's begin, too small for the record of the batch.
    let bed = bed();
    let runs = bed.root.join("runs").display().to_string();
    let keep = bed.root.join("kept").display().to_string();
    let before = format!("mkdir {runs} {keep}; mount -t tmpfs -o size=16k tmpfs {runs}");
    let said = bed.apart(&before, &format!("cp -a {runs}/. {keep}"));
    said.ended(6).says(&["journal", "No space left on device", "tunerun resume"]);
    assert_eq!(bed.read("small"), "old small\n");
    assert!(!bed.etc("full/large").exists() && !bed.root.join("state").exists());
    // What is left of the journal can be read, and there is nothing to take back.
    std::fs::rename(&keep, &runs).unwrap_or_else(|_| {
        std::fs::remove_dir_all(&runs).unwrap();
        std::fs::rename(&keep, &runs).unwrap();
    });
    bed.tunerun(&["show", "last"]).ended(0).says(&["torn record"]);
    bed.tunerun(&["resume", "last"]).ended(0);
    bed.tunerun(&["undo", "last"]).ended(0);
    // No room at all: the run does not begin.
    let before = format!("mount -t tmpfs -o size=4k,nr_inodes=2 tmpfs {runs}");
    bed.apart(&before, "").ended(1).says(&["does not begin"]);
    assert_eq!(bed.read("small"), "old small\n");
}

#[test]
fn a_read_only_file_system_is_refused_with_the_reason() {
    if !is_root("a mount") {
        return;
    }
    let bed = bed();
    let etc = bed.etc("").display().to_string();
    let etc = etc.trim_end_matches('/');
    let said = bed.apart(&format!("mount --bind {etc} {etc}; mount -o remount,bind,ro {etc}"), "").ended(1);
    said.says(&["read-only", "nothing was written"]);
    assert_eq!(bed.read("small"), "old small\n");
    bed.play().ended(0);
}

#[test]
fn a_tmp_without_exec_is_told_and_harms_no_other_task() {
    if !is_root("a mount") {
        return;
    }
    let bed = bed();
    bed.playbook(
        "    - copy: {dest: ETC/small, content: new}\n    - script: {cmd: run.sh, undo: \"true\"}\n",
    );
    std::fs::write(bed.root.join("run.sh"), "#!/bin/sh\ntrue\n").unwrap();
    let said = bed.apart("mount -t tmpfs -o noexec tmpfs /tmp", "ls -A /tmp >&2");
    said.ended(1).says(&["ermission denied"]);
    assert_eq!(bed.read("small"), "old small\n", "its batch is taken back");
    bed.play().ended(0);
}

#[test]
fn an_immutable_file_is_refused_with_the_reason() {
    if !is_root("chattr") {
        return;
    }
    let bed = bed();
    bed.write("fixed", "old fixed\n");
    let done = Command::new("chattr").arg("+i").arg(bed.etc("fixed")).output().unwrap();
    if !done.status.success() {
        eprintln!("NOT TESTED: this file system knows no immutable files");
        assert!(std::env::var_os("CI").is_none(), "CI must have one that does");
        return;
    }
    for task in [
        "copy: {dest: ETC/fixed, content: new}",
        "file: {path: ETC/fixed, state: absent}",
        "file: {path: ETC/fixed, mode: \"0600\"}",
    ] {
        bed.playbook(&format!("    - copy: {{dest: ETC/small, content: new}}\n    - {task}\n"));
        bed.play().ended(1).says(&["immutable", "chattr -i", "nothing was written"]);
        assert_eq!((bed.read("fixed"), bed.read("small")), ("old fixed\n".into(), "old small\n".into()));
    }
    assert!(Command::new("chattr").arg("-i").arg(bed.etc("fixed")).status().unwrap().success());
    bed.play().ended(0);
}
