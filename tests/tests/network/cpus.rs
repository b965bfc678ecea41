//! CPUs of units on booted hosts: live by affinity, applied and not live by a control group without its controller.
use crate::bed::{Bed, can, said};
use std::process::{Command, Stdio};
use tests::program::tunerun;
use tunerun::lab::{Lab, LabSpec, Tier};

const UNIT: &str = "[Service]\\nExecStart=/bin/sleep infinity\\n";

#[test]
#[expect(clippy::too_many_lines, reason = "one story")]
fn affinity_is_live_and_a_cpuset_that_nobody_gives_is_not() {
    if !can(Tier::Booted) {
        return;
    }
    if std::thread::available_parallelism().is_ok_and(|many| many.get() < 2) {
        eprintln!("NOT TESTED: one CPU alone cannot be left out");
        assert!(std::env::var_os("CI").is_none(), "CI must have two CPUs");
        return;
    }
    let bed = Bed::new();
    let spec =
        LabSpec { tier: Tier::Booted, ..LabSpec::new("lab", &["a"], bed.root.clone(), tunerun().to_owned()) };
    std::fs::write(
        bed.root.join("hosts.yaml"),
        "all:\n  vars:\n    ansible_connection: lab\n  hosts:\n    a:\n",
    )
    .unwrap();
    let lab = Lab::up(&spec).unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(tunerun());
        command.current_dir(&bed.root).args(words).env("TUNERUN_LABS", &bed.root).stdin(Stdio::null());
        let output =
            command.env("TUNERUN_RUNS", bed.root.join("runs")).env("NO_COLOR", "1").output().unwrap();
        let text = format!(
            "{}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        (output.status.code(), text)
    };
    let play = |tasks: &str| {
        let text = format!("- hosts: all\n  gather_facts: false\n  tasks:\n{tasks}");
        std::fs::write(bed.root.join("p.yaml"), text).unwrap();
        run(&["play", "p.yaml", "-i", "hosts.yaml", "--yes"])
    };
    said(
        &lab,
        "a",
        &format!(
            "for u in one two; do printf '{UNIT}' > /etc/systemd/system/$u.service; done; systemctl daemon-reload; systemctl start one two"
        ),
    );
    let allowed = |unit: &str| {
        said(
            &lab,
            "a",
            &format!(
                "p=$(systemctl show -p MainPID --value {unit}); grep Cpus_allowed_list /proc/$p/status | cut -f2"
            ),
        )
    };
    let before = allowed("one");
    let (code, told) = play("    - cpu_affinity: {unit: one, cpus: '1', restart: true}\n");
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(allowed("one"), "1");
    let (code, told) = run(&["evidence", "p.yaml", "-i", "hosts.yaml"]);
    assert_eq!(code, Some(0), "{told}");
    let (code, told) = run(&["undo", "last"]);
    assert_eq!((code, allowed("one")), (Some(0), before), "{told}");

    let (code, told) = play("    - cpu_affinity: {unit: two, cpus: '1', by: [cpuset], restart: true}\n");
    assert_eq!(code, Some(0), "{told}");
    let live = allowed("two") == "1";
    let (code, told) = run(&["evidence", "p.yaml", "-i", "hosts.yaml"]);
    // Where the machine gives its containers the cpuset controller it is live, and told so.
    assert_eq!(code, Some(if live { 0 } else { 13 }), "{told}");
    assert!(live || told.contains("may run on CPU") || told.contains("not live"), "{told}");
}
