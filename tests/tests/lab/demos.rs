//! The demonstrations of the gate over a real stream between two hosts: what harms goes back, what helps stays.
//!
//! Asserted are verdicts, what is read back, and on which side of the margin the interval lies; never how fast a stream is.
use super::bed::said;
use super::playing::{Stage, stage};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tunerun::gate::{Outcome, Record};
use tunerun::lab::Tier;

fn can() -> bool {
    let there = Command::new("iperf3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        assert!(std::env::var_os("CI").is_none(), "iperf3 is not installed");
        eprintln!("SKIPPED: iperf3 is not installed");
    }
    there && super::bed::can(Tier::Plain)
}

/// TSO and GSO of a host's card.
fn offload(stage: &Stage, host: &str) -> String {
    let asked =
        "ethtool -k eth0 | sed -n 's/^tcp-segmentation-offload: //p; s/^generic-segmentation-offload: //p'";
    said(&stage.lab, host, asked).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the one gate of a run was and found.
fn gate(stage: &Stage, run: &str, name: &str) -> Record {
    let path = stage.bed.root.join("runs").join(run).join("gates").join(name);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn a_regression_goes_back_and_an_improvement_stays() {
    if !can() {
        return;
    }
    let stage = stage(Tier::Plain);
    let before = stage.snapshots();
    assert_eq!(offload(&stage, "osd1"), "on on");

    let output = stage.tunerun(&["play", "playbooks/demo-regression.yaml", "-i", "lab", "--yes"]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{out}\n{err}");
    assert!(err.contains("REGRESS after 3 pairs (6 runs)"), "{err}");
    assert!(out.trim_end().lines().last().unwrap().starts_with("rolled back: "), "{out}");
    assert_eq!(offload(&stage, "osd1"), "on on");
    let run = stage.run_of(0);
    let record = gate(&stage, &run, "play1-wave0.json");
    let verdict = record.replay().unwrap();
    assert_eq!((verdict.outcome, record.runs.len()), (Outcome::Regress, 6));
    // Nobody else was touched: neither in the journal nor on the hosts.
    let journal = fs::read_to_string(stage.bed.root.join("runs").join(&run).join("journal.jsonl")).unwrap();
    for line in journal.lines().filter(|line| line.contains("\"record\":\"prepared\"")) {
        assert!(line.contains("\"host\":\"osd1\""), "{line}");
    }
    assert_eq!(stage.snapshots(), before);
    for host in ["osd1", "osd2", "client1", "hv1"] {
        assert_eq!(said(&stage.lab, host, "pgrep -x iperf3 || echo none").trim(), "none", "{host}");
    }

    // A load ends with whoever asked for it, also where that is killed.
    let mut bench =
        stage.command(&["bench", "playbooks/demo-regression.yaml", "-i", "lab", "--limit", "osd1"]);
    let mut child = bench.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let loads = |wanted: bool| {
        let until = Instant::now() + Duration::from_secs(30);
        let runs = |host: &str| said(&stage.lab, host, "pgrep -x iperf3 || echo none").trim() != "none";
        while ["osd1", "client1"].iter().any(|host| runs(host) != wanted) {
            assert!(Instant::now() < until, "iperf3 running: wanted {wanted}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    loads(true);
    child.kill().unwrap();
    child.wait().unwrap();
    loads(false);

    let output = stage.tunerun(&["play", "playbooks/demo-improvement.yaml", "-i", "lab", "--yes"]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    assert_eq!((offload(&stage, "osd1").as_str(), offload(&stage, "osd2").as_str()), ("on on", "off off"));
    let verdict = gate(&stage, &stage.run_of(1), "play2-wave0.json").replay().unwrap();
    assert_eq!(verdict.outcome, Outcome::Pass);
    let change = verdict.metrics[0].change.unwrap();
    assert!(change.from > 0.0, "{change:?}");
}

#[test]
fn a_limit_of_one_task_is_found_and_goes_back() {
    if !can() || !super::bed::can(Tier::Booted) {
        return;
    }
    let stage = stage(Tier::Booted);
    let queue = || said(&stage.lab, "osd1", "tc qdisc show dev eth0 | cut -d' ' -f2").trim().to_owned();
    let before = (queue(), stage.snapshots());
    let output = stage.tunerun(&["play", "playbooks/demo-throttle.yaml", "-i", "lab", "--yes"]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(7), "{out}\n{err}");
    assert!(err.contains("At most 2 Gbit/s leave the card on osd1: REGRESS after 3 pairs (6 runs)"), "{err}");
    assert_eq!(
        gate(&stage, &stage.run_of(0), "play1-wave0-gate1.json").replay().unwrap().outcome,
        Outcome::Regress
    );
    assert_eq!((queue(), stage.snapshots()), before);
}
