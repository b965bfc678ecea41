//! A kernel argument under a gate: pairs of boots, and the old line again when it harms.
use super::bed::{boot_files, call, line_and_boot};
use std::fs;
use tests::vm::{Vm, can};

/// Programs that a shell starts in some seconds: each start takes and gives back many pages and objects.
const STARTS: &str = r#"end=$(($(date +%s%N) + 4000000000)); n=0
while [ $(date +%s%N) -lt $end ]; do /bin/true; n=$((n+1)); done; echo {\"starts\": $n}"#;

#[test]
fn a_kernel_argument_is_judged_by_pairs_of_boots() {
    if !can() {
        return;
    }
    let vm = Vm::restored();
    let (files, old, boot_id) = (boot_files(&vm), vm.cmdline(), vm.boot_id());
    // Every object is checked and filled whenever it is taken or given back.
    let tasks = line_and_boot("slub_debug=FZPU init_on_free=1 init_on_alloc=1 page_poison=1", "");
    let indented: String = tasks.lines().map(|line| format!("    {line}\n")).collect();
    let starts = serde_json::to_string(STARTS).unwrap();
    let playbook = format!(
        "- name: Debugging of memory
  hosts: vm
  gather_facts: false
  gate:
    toggle: reboot
    max_pairs: 3
    runs_each: 1
    run: {{settle: 2s, ramp: 0s, measure: 4s, steady: off}}
    benchmarks:
      - id: programs
        command: {{argv: [sh, -c, {starts}], figures: {{starts: {{path: starts, direction: higher}}}}}}
    metrics:
      - {{name: starts, from: programs.starts, direction: higher, margin: 5%}}
  tasks:
{indented}"
    );
    fs::write(vm.dir.join("site.yml"), playbook).unwrap();
    call(&vm, &["play", "site.yml", "--check"]).ended(0, &["3 pairs of boots on 1 host, 1 runs each"]);
    let done = call(&vm, &["play", "site.yml", "--yes"]);
    done.ended(7, &["REGRESS after 3 pairs of boots", "ROLLED BACK: as it was before the run"]);
    assert!(vm.is_booted_since(&boot_id));
    assert_eq!(vm.cmdline(), old);
    let plain = |files: &str| {
        files.lines().filter(|line| !line.contains("grubenv")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(plain(&boot_files(&vm)), plain(&files));
    // Each run has its own boot.
    let run = fs::read_dir(vm.dir.join("runs")).unwrap().flatten().next().unwrap().path();
    let stored = fs::read_to_string(run.join("gates/play1-wave0.json")).unwrap();
    let record: tunerun::gate::Record = serde_json::from_str(&stored).unwrap();
    let boots: std::collections::BTreeSet<&str> =
        record.runs.iter().filter_map(|run| run.boot.as_deref()).collect();
    assert_eq!(boots.len(), 6, "{stored}");
}
