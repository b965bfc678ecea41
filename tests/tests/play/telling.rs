//! How a run is told: to programs as JSON, quietly, and as a picture at a terminal.
use crate::bed::Bed;
use serde_json::Value as Json;
use std::process::{Command, Stdio};
use tests::program::tunerun;

const PLAYBOOK: &str = "- name: the change
  hosts: all
  gather_facts: false
  rollout: {waves: [1, 100%]}
  gate:
    run: {settle: 0s, ramp: 0s, measure: 1s, steady: off}
    benchmarks:
      - id: own
        command:
          argv: [sh, -c, 'n=$(($(cat {{ root }}/n || echo 0) + 1)); echo $n > {{ root }}/n; if [ -e {{ root }}/f ]; then r=200; else r=100; fi; echo \"{\\\"rate\\\": $((r * 100 + n % 7))}\"']
          figures: {rate: {path: rate, direction: higher}}
    metrics:
      - {name: rate, from: own.rate, direction: higher, margin: 5%}
  tasks:
    - copy: {dest: \"{{ root }}/f\", content: x}
    - debug: {msg: a word}
";

fn bed() -> Bed {
    let bed = Bed::new(&["a", "b"]);
    bed.file("site.yml", PLAYBOOK);
    bed
}

#[test]
fn programs_get_each_event_as_a_line() {
    let bed = bed();
    let done = bed.call(&["--yes", "--json"]);
    done.ok();
    let events: Vec<Json> = done
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")))
        .collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!((names[0], names[names.len() - 1]), ("began", "over"));
    assert_eq!(events[names.len() - 1]["exit"], 0);
    let progress: Vec<&str> = events.iter().filter_map(|event| event["progress"].as_str()).collect();
    for word in ["wave_began", "gate_began", "measured", "so_far", "judged"] {
        assert!(progress.contains(&word), "{word} is not among {progress:?}");
    }
    let so_far = events.iter().rfind(|event| event["progress"] == "so_far").unwrap();
    let metric = &so_far["of"][0];
    assert!(metric["from"].as_f64().unwrap() > 0.5 && metric["change"].as_f64().unwrap() < 1.5, "{metric}");
    done.says("proven");
    assert!(done.err.contains("proven"), "what is for people goes to stderr:\n{}", done.err);
}

#[test]
fn quiet_runs_tell_answers_and_the_end() {
    let bed = bed();
    let done = bed.call(&["--yes", "--quiet"]);
    done.ok().says("PASS after").says("proven").never_says("wave 1 of 2").never_says("a word");
    assert!(done.err.lines().any(|line| line.starts_with("run 2")), "{}", done.err);
}

#[test]
fn a_terminal_gets_a_picture_that_goes_away() {
    let bed = bed();
    let words = format!("'{}' play site.yml -i hosts.yml --yes --runs runs", tunerun().display());
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--flush", "--command", &words, "/dev/null"]);
    command.current_dir(&bed.dir).env("TERM", "xterm").env("COLUMNS", "120").env_remove("CI");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains("gate the change: without") && shown.contains("of 24 pairs)"), "{shown}");
    assert!(shown.contains('█') && shown.contains('▁'), "{shown}");
    let last: Vec<&str> = shown.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
    assert!(last.iter().any(|line| line.contains("proven")), "the text stays: {last:?}");
    // In CI nothing is drawn twice.
    let output = command.env("CI", "true").output().unwrap();
    assert!(!String::from_utf8_lossy(&output.stdout).contains('█'));
}
