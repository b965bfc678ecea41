//! A gate whose arms are power cycles of a guest: real ones, proven by libvirt's own number of each start.
use crate::bed::{Bed, can};
use crate::guests::Boot;
use std::fs;
use tunerun::gate::{Outcome, Record};

/// Half the rate where the guest runs with the feature off: by the arguments of the QEMU that runs.
const RATE: &str = "#!/bin/sh
n=$(($(cat BED/n 2>/dev/null || echo 0) + 1)); echo $n > BED/n
r=200; tr '\\0' '\\n' < /proc/$(cat /run/libvirt/qemu/runs.pid)/cmdline | grep -q kvm-pv-unhalt=off && r=100
echo \"{\\\"rate\\\": $((r * 100 + n % 7))}\"
";

fn playbook(bed: &Bed, toggle: &str, cycle: &str) -> String {
    format!(
        "- name: spinlocks
  hosts: all
  gather_facts: false
  rollout: {{waves: [1], on_regress: run, on_inconclusive: run}}
  gate:
    toggle: {toggle}
    max_pairs: 3
    runs_each: 1
    seed: 3
    run: {{settle: 3s, ramp: 0s, measure: 1s, steady: off}}
    preflight: {{steal_max: 100%}}
    benchmarks:
      - id: own
        command:
          argv: [sh, {}/rate]
          figures: {{rate: {{path: rate, direction: higher}}}}
    metrics:
      - {{name: rate, from: own.rate, direction: higher, margin: 5%}}
  tasks:
    - name: Tune
      libvirt_domain:
        domains: [runs]
        features: {{pvspinlock: off}}
        shutdown_timeout: 60
{cycle}",
        bed.dir.display()
    )
}

#[test]
fn a_loss_after_power_cycles_is_seen_and_the_guest_runs_as_before() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    bed.define("runs", 1, Boot::Obedient);
    bed.virsh(&["start", "runs"]);
    bed.ready("runs");
    let before = bed.inactive("runs");
    fs::write(bed.dir.join("rate"), RATE.replace("BED", &bed.dir.display().to_string())).unwrap();
    let play = |toggle: &str, cycle: &str| {
        fs::write(bed.dir.join("site.yml"), playbook(&bed, toggle, cycle)).unwrap();
        bed.tunerun(&["play", "site.yml", "-i", "hosts.ini", "--yes"])
    };
    // What cannot be felt that way is refused before anything is touched.
    play("runtime", "").ended(14).says(&["felt after a power cycle of its guests", "toggle: guest"]);
    play("guest", "").ended(14).says(&["no task of the play may do that", "power_cycle: window"]);
    assert_eq!(bed.inactive("runs"), before);

    let open = format!("        power_cycle: window\n        window: {}\n", bed.open_window());
    let done = play("guest", &open);
    done.ended(7).says(&["pairs of power cycles", "REGRESS after 3 pairs of power cycles", "rolled back: "]);
    assert_eq!(bed.state("runs"), "running");
    assert_eq!(bed.inactive("runs"), before);
    assert!(!bed.arguments("runs").contains("kvm-pv-unhalt=off"), "the guest runs as before:\n{}", done.text);
    let path = bed.dir.join("runs").join(done.run()).join("gates/play1-wave0.json");
    let record: Record = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(record.replay().unwrap().outcome, Outcome::Regress);
    // The change was on when it was judged: it goes back by a power cycle of its own.
    assert_eq!(record.runs.last().unwrap().arm, tunerun::gate::Arm::B);
    let starts: Vec<&str> = record.runs.iter().filter_map(|run| run.boot.as_deref()).collect();
    assert_eq!(starts.len(), 6, "{starts:?}");
    assert!(starts.windows(2).all(|two| two[0] != two[1]), "each run has a start of its own: {starts:?}");
}
