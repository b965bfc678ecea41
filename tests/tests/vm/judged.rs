//! A kernel argument under a gate: pairs of boots, and the old line again when it harms.
use super::bed::{boot_files, call, line_and_boot};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
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

/// Reads of a disk, past the cache, in some seconds.
const READS: &str = r#"timeout -s INT 3 dd if=/dev/DISK of=/dev/null bs=4k iflag=direct 2>&1 | sed -n 's/^\([0-9]*\)+.* records in.*/{"reads": \1}/p'"#;

#[test]
fn a_disk_that_is_slow_under_a_change_takes_it_back() {
    if !can() {
        return;
    }
    let vm = Vm::restored();
    let disk = vm.ssh("basename $(readlink -f /dev/disk/by-id/virtio-data1)");
    let knob = format!("/sys/block/{disk}/queue/read_ahead_kb");
    let before = vm.ssh(&format!("cat {knob}"));
    assert_ne!(before, "0");
    let reads = serde_json::to_string(&READS.replace("DISK", &disk)).unwrap();
    let playbook = format!(
        "- name: Nothing is read ahead
  hosts: vm
  gather_facts: false
  gate:
    run: {{settle: 2s, ramp: 0s, measure: 3s, steady: off}}
    benchmarks:
      - id: disk
        command: {{argv: [sh, -c, {reads}], figures: {{reads: {{path: reads, direction: higher}}}}}}
    metrics:
      - {{name: reads, from: disk.reads, direction: higher, margin: 5%}}
  tasks:
    - read_ahead: {{devices: {disk}, size: none}}
"
    );
    fs::write(vm.dir.join("site.yml"), playbook).unwrap();
    let over = AtomicBool::new(false);
    let done = std::thread::scope(|scope| {
        // The disk is slow as long as the change is on: QEMU limits it.
        scope.spawn(|| {
            let mut slow = false;
            while !over.load(Ordering::Relaxed) {
                let on = vm.ssh(&format!("cat {knob}")) == "0";
                if on != slow {
                    vm.throttle("data1", if on { 20 } else { 0 });
                    slow = on;
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let done = call(&vm, &["play", "site.yml", "--yes"]);
        over.store(true, Ordering::Relaxed);
        done
    });
    done.ended(7, &["REGRESS after 3 pairs", "ROLLED BACK: as it was before the run"]);
    assert_eq!(vm.ssh(&format!("cat {knob}")), before);
}
