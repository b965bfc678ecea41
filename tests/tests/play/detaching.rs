//! Runs without a terminal: planned and agreed to here, carried out by a process of its own.
use crate::bed::{Bed, on_all};
use std::fs;
use std::time::{Duration, Instant};

fn words(bed: &Bed) -> Vec<String> {
    let at = |name: &str| bed.dir.join(name).display().to_string();
    vec!["play".into(), at("site.yml"), "-i".into(), at("hosts.yml"), "--yes".into(), "--detach".into()]
}

fn detach(bed: &Bed, more: &[&str]) -> crate::bed::Done {
    let words = words(bed);
    let all: Vec<&str> = words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    bed.tunerun(&all)
}

#[test]
fn a_detached_run_goes_on_by_itself_and_is_looked_at_to_its_end() {
    let bed = Bed::new(&["a", "b"]);
    // It waits for a person, who has all the time to attach.
    let play = "- name: knobs\n  hosts: all\n  gather_facts: false\n  rollout:\n    waves: [1, {hosts: 100%, pause: go on?}]\n  tasks:\n    - copy: {dest: '{{ root }}/x', content: x}\n";
    bed.file("site.yml", play);
    let done = detach(&bed, &[]);
    done.ok().says("goes on by itself").says("tunerun attach ");
    let run = bed.runs().pop().unwrap();
    let said = || fs::read_to_string(bed.dir.join("runs").join(&run).join("output.log")).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while !said().contains("tunerun approve") {
        assert!(Instant::now() < until, "{}", said());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!((bed.got("a/x").as_deref(), bed.got("b/x")), (Some("x"), None));
    bed.tunerun(&["approve", &run]).ok();
    bed.tunerun(&["attach", &run]).ok().says("wave 1 of 2: a").says("(a, b): proven");
    assert_eq!(bed.got("b/x").as_deref(), Some("x"));
    bed.tunerun(&["attach", "last"]).ok().says("(a, b): proven");
    assert!(fs::read_dir(bed.dir.join("runs/detached")).unwrap().next().is_none());
    bed.tunerun(&["undo", "last"]).ok();
    assert_eq!(bed.got("a/x"), None);
}

#[test]
fn what_cannot_be_detached_is_refused_and_a_failure_is_shown() {
    let bed = Bed::one();
    bed.file("site.yml", &on_all("- name: it fails\n  command: 'false'\n"));
    detach(&bed, &["-e", "password=x"]).ended(2).says("put secrets into a file");
    detach(&bed, &["-K"]).ended(2).says("cannot be asked for passwords");
    assert!(bed.runs().is_empty());
    detach(&bed, &[]).ok();
    let done = bed.tunerun(&["attach", "last"]);
    done.ended(6).says("it fails");
    // What is wrong already in the plan begins no run.
    bed.file("site.yml", &on_all("- copy: {dest: '{{ root }}/x'}\n"));
    let runs = bed.runs().len();
    assert_ne!(detach(&bed, &[]).code, 0);
    assert_eq!(bed.runs().len(), runs);
    bed.file("site.yml", &on_all("- copy: {dest: '{{ root }}/y', content: y}\n"));
    bed.call(&["--yes", "--over", &bed.runs().pop().unwrap()]).ok();
    bed.tunerun(&["attach", "last"]).ended(2).says("was not started by `play --detach`");
}
