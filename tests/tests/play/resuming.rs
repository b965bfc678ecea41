//! Runs that are cut off, and gone on with: the same play again, unless what it was made from has changed.
use crate::bed::{Bed, on_all};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tests::program::tunerun;

const TASKS: &str = r#"- copy: {src: first.txt, dest: "{{ root }}/first"}
- template: {src: t.j2, dest: "{{ root }}/second"}
- shell: "touch {{ root }}/waits; while [ ! -e {{ root }}/go ]; do sleep 0.05; done; echo {{ word }} > {{ root }}/last"
  args: {creates: "{{ root }}/last"}
  undo: "rm -f {{ root }}/last {{ root }}/waits"
  tags: [slow]
- copy: {dest: "{{ root }}/never", content: x}
  tags: [other]"#;

fn until_there(path: &Path) {
    let until = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < until, "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A play that was killed in the middle of its batch, whose script goes on without it.
pub fn cut_off() -> Bed {
    let bed = Bed::one();
    bed.file("files/first.txt", "one\n")
        .file("templates/t.j2", "{{ word }}\n")
        .file("site.yml", &on_all(TASKS));
    let mut play = Command::new(tunerun());
    play.args(["play", "site.yml", "-i", "hosts.yml", "--runs", "runs", "--yes", "--skip-tags", "other"]);
    play.args(["-e", "word=w", "-e", "api_token=s3cret", "-e", "@more.yml"]);
    bed.file("more.yml", "more: 1\n");
    let mut play = play.current_dir(&bed.dir).stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until_there(&bed.dir.join("roots/a/waits"));
    play.kill().unwrap();
    play.wait().unwrap();
    fs::write(bed.dir.join("roots/a/go"), "").unwrap();
    bed
}

#[test]
fn a_run_that_was_cut_off_is_taken_back_and_played_on() {
    let bed = cut_off();
    let old = bed.runs().pop().unwrap();
    let journal = fs::read_to_string(bed.dir.join("runs").join(&old).join("journal.jsonl")).unwrap();
    assert!(!journal.contains("s3cret") && journal.contains("api_token"), "{journal}");
    // Values are not recorded, so they are to be said again; what was half done is taken back all the same.
    let said = bed.tunerun(&["resume", "last", "--yes", "-e", "api_token=x"]);
    said.ended(2).says("-e word=…").says(&format!("tunerun resume {old}"));
    assert_eq!(bed.names("a"), ["go"]);
    let said = bed.tunerun(&["resume", "last", "--yes", "-e", "word=w api_token=s3cret"]);
    said.ok();
    assert_eq!(bed.names("a"), ["first", "go", "last", "second", "waits"]);
    assert_eq!(bed.got("a/second").as_deref(), Some("w\n"));
    let [_, new] = bed.runs().try_into().unwrap();
    bed.tunerun(&["show", &new]).ok().says(&format!("goes on with run {old}")).says("--skip-tags other");
    bed.tunerun(&["show", &old]).ok().says(&format!("goes on as run {new}"));
    // It is a run of its own, and undone by itself.
    bed.tunerun(&["undo", &new]).ok();
    assert_eq!(bed.names("a"), ["go"]);
    bed.tunerun(&["resume", &new, "--yes"]).ok().says("nothing to go on with");
}

#[test]
fn what_changed_since_is_named_and_not_played_unless_it_is_meant() {
    let bed = cut_off();
    bed.file("files/first.txt", "two\n");
    let more = on_all(&format!("{TASKS}\n- copy: {{dest: \"{{{{ root }}}}/more\", content: x}}"));
    bed.file("site.yml", &more);
    let words = ["resume", "last", "--yes", "-e", "word=w", "-e", "api_token=s3cret"];
    let said = bed.tunerun(&words);
    said.ended(5)
        .says("playbook site.yml has changed")
        .says("files/first.txt has changed")
        .says("--changed-ok");
    said.never_says("t.j2").never_says("hosts.yml has").never_says("more.yml");
    assert_eq!(bed.names("a"), ["go"]);
    assert_eq!(bed.runs().len(), 1);
    bed.tunerun(&[&words[..], &["--changed-ok"]].concat())
        .ok()
        .says("since the run began: playbook site.yml");
    assert_eq!(bed.names("a"), ["first", "go", "last", "more", "second", "waits"]);
    assert_eq!(bed.got("a/first").as_deref(), Some("two\n"));
}

#[test]
fn without_yes_and_without_a_person_it_says_how_to_go_on() {
    let bed = cut_off();
    let said = bed.tunerun(&["resume", "last"]);
    said.ok().says("cd DIR && tunerun play site.yml -i hosts.yml --skip-tags other");
    assert_eq!(bed.names("a"), ["go"]);
    bed.tunerun(&["resume", "last", "--yes", "--no-play"]).ok().says("go on with");
    assert_eq!(bed.runs().len(), 1);
}

#[test]
fn a_run_that_ended_in_order_has_nothing_to_go_on_with() {
    let bed = Bed::one();
    bed.tasks("- copy: {dest: \"{{ root }}/x\", content: x}").ok();
    bed.tunerun(&["resume", "last", "--yes"]).ok().says("nothing to go on with");
    assert_eq!(bed.runs().len(), 1);
}

#[test]
fn a_rollback_of_what_went_on_takes_back_what_went_before() {
    let hosts = ["a", "b", "c", "d"];
    let bed = Bed::new(&hosts);
    let playbook = |on_error: &str| {
        format!(
            "- name: the change\n  hosts: all\n  gather_facts: false\n  rollout: {{waves: [1, 2, 100%], on_error: {on_error}}}\n  \
             tasks:\n    - copy: {{dest: \"{{{{ root }}}}/f\", content: x}}\n    - copy: {{dest: \"{{{{ root }}}}/g\", content: y, \
             validate: \"test ! -e {{{{ root }}}}/bad -a -e %s\"}}\n"
        )
    };
    bed.file("roots/c/bad", "");
    bed.play(&playbook("hold")).ended(9).says("held: c failed");
    assert_eq!((bed.names("a").len(), bed.names("b").len()), (2, 2));
    // It goes on, and then all is to go back: what the first part of the rollout did, too.
    bed.file("site.yml", &playbook("run"));
    let first = bed.runs().pop().unwrap();
    let done = bed.tunerun(&["resume", "last", "--yes", "--changed-ok"]);
    done.ended(7).says(&format!("what run {first} changed before it was cut off goes back, too"));
    assert!(done.out.trim_end().lines().last().unwrap().starts_with("rolled back: "), "{}", done.out);
    for host in hosts {
        let left: &[&str] = if host == "c" { &["bad"] } else { &[] };
        assert_eq!(bed.names(host), left, "{host}");
    }
    // Once more finds nothing, and says that it was rolled back.
    bed.tunerun(&["resume", "last", "--yes"]).ended(7).says("nothing to go on with");
    bed.tunerun(&["undo", &first]).ok();
}
