//! Guests that run: what they feel only after a power cycle, and the power cycle itself.
use crate::bed::{Bed, can};
use crate::guests::Boot;

const OFF: &str = "kvm-pv-unhalt=off";

fn task(domains: &str, more: &str) -> String {
    format!(
        "- name: Tune\n  libvirt_domain:\n    domains: [{domains}]\n    features: {{pvspinlock: off}}\n{more}"
    )
}

#[test]
fn a_running_guest_needs_a_power_cycle_and_gets_one() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    bed.define("runs", 1, Boot::Obedient);
    bed.define("sleeps", 2, Boot::Obedient);
    bed.virsh(&["start", "runs"]);
    bed.ready("runs");
    let before = bed.inactive("runs");
    let both = |more: &str| task("runs, sleeps", more);

    let first = bed.play(&both(""));
    first.ended(0).says(&["owed: power cycle of guest runs", "applied, not live"]);
    assert!(bed.inactive("runs").contains("pvspinlock") && !bed.live("runs").contains("pvspinlock"));
    let told = bed.tunerun(&["evidence", "site.yml", "-i", "hosts.ini"]);
    told.ended(13).says(&["runs runs with features", "kvm-pv-unhalt", "sleeps runs with features"]);
    // Played again without leave nothing happens, and that it is owed is said.
    bed.play(&both("")).ended(0).says(&["1 ok, 0 changed", "applied, not live"]);

    // Outside the hours nothing happens.
    let closed = format!("    power_cycle: window\n    window: {}\n", bed.closed_window());
    bed.play(&both(&closed)).ended(0).says(&["stays owed", "by the host's clock"]);
    assert!(!bed.arguments("runs").contains(OFF));
    // Nobody can be asked: it stays owed.
    bed.play(&both("    power_cycle: ask\n")).ended(0).says(&["power cycle of guest runs"]);
    assert!(!bed.arguments("runs").contains(OFF));

    let open =
        format!("    power_cycle: window\n    window: {}\n    shutdown_timeout: 60\n", bed.open_window());
    bed.play(&both(&open)).ended(0).never_says(&["stays owed"]);
    assert_eq!(bed.state("runs"), "running");
    assert_eq!(bed.state("sleeps"), "shut off", "what was off stays off");
    assert!(bed.live("runs").contains("<pvspinlock state='off'/>"));
    assert!(bed.arguments("runs").contains(OFF), "{}", bed.arguments("runs"));
    bed.play(&both(&open)).ended(0).says(&["1 ok"]);

    bed.ready("runs");
    // The undo of a run that both defined and cycled makes the earlier definition live again.
    let second = "  libvirt_domain:\n    domains: [runs]\n    environment: {LD_PRELOAD: /lib/x86_64-linux-gnu/libBrokenLocale.so.1}\n";
    let done = bed.play(&format!("- name: Tune\n{second}{open}"));
    done.ended(0);
    bed.tunerun(&["evidence", "site.yml", "-i", "hosts.ini"])
        .ended(0)
        .says(&["libBrokenLocale.so.1 is mapped into QEMU", "2 live"]);
    let mapped = |bed: &Bed| {
        let script = "cat /proc/$(cat /run/libvirt/qemu/runs.pid)/maps";
        let output = bed.command("sh").args(["-c", script]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).contains("libBrokenLocale")
    };
    assert!(mapped(&bed));
    bed.ready("runs");
    bed.undo(&done.run()).ended(0);
    assert_eq!(bed.state("runs"), "running");
    assert!(!mapped(&bed), "the earlier definition is live again");
    assert!(!bed.inactive("runs").contains("LD_PRELOAD"));
    // The undo of a run that only defined says what stays felt.
    bed.undo(&first.run()).ended(0).says(&["owed: power cycle of guest runs"]);
    assert_eq!(bed.inactive("runs"), before);
    assert!(bed.arguments("runs").contains(OFF));
}

#[test]
fn a_guest_that_does_not_shut_down_is_destroyed_by_waiver_alone() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    bed.define("mule", 1, Boot::Stubborn);
    bed.virsh(&["start", "mule"]);
    let open =
        format!("    power_cycle: window\n    window: {}\n    shutdown_timeout: 3\n", bed.open_window());
    bed.play(&task("mule", &open)).ended(1).says(&["is not down after 3 s"]);
    assert_eq!(bed.state("mule"), "running");
    assert!(bed.inactive("mule").contains("pvspinlock") && !bed.arguments("mule").contains(OFF));

    let destroy = format!("{open}    after_timeout: destroy\n");
    bed.play(&task("mule", &destroy)).ended(1).says(&["destroy_guest"]);
    assert!(!bed.arguments("mule").contains(OFF), "nothing happens without the waiver");
    let accepted = format!("{destroy}  accept_risk: {{destroy_guest: \"a guest of the lab\"}}\n");
    bed.play(&task("mule", &accepted)).ended(0);
    assert_eq!(bed.state("mule"), "running");
    assert!(bed.arguments("mule").contains(OFF));
}

#[test]
fn a_guest_that_does_not_start_any_more_runs_again_as_it_was() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    bed.define("runs", 1, Boot::Obedient);
    bed.define("beside", 2, Boot::Obedient);
    bed.virsh(&["start", "runs"]);
    bed.ready("runs");
    let before = bed.inactive("runs");
    let more = format!(
        "    power_cycle: window\n    window: {}\n    shutdown_timeout: 60\n    arguments: [\"-no-such-option\"]\n",
        bed.open_window()
    );
    let done = bed.play(&task("runs, beside", &more));
    done.ended(1).says(&["does not start", "no-such-option", "is taken back"]);
    assert_eq!(bed.inactive("runs"), before, "its definition is as it was");
    assert_eq!(bed.state("runs"), "running", "and it runs");
    assert!(bed.inactive("beside").contains("no-such-option"), "the other guest's change is its own");
}

#[test]
fn a_rollout_says_when_guests_feel_it() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    bed.define("runs", 1, Boot::Obedient);
    bed.virsh(&["start", "runs"]);
    bed.ready("runs");
    let hours = |window: &str| {
        let (from, to) = window.split_once('-').unwrap();
        format!(", window: {{from: \"{from}\", to: \"{to}\"}}")
    };
    let task = task("runs", &format!("    power_cycle: window\n    window: {}\n", bed.open_window()));
    let indented: String = task.lines().map(|line| format!("    {line}\n")).collect();
    let play = |activate: &str| {
        let rollout = format!("{{waves: [1], activate: {activate}}}");
        let text = format!("- hosts: all\n  gather_facts: false\n  rollout: {rollout}\n  tasks:\n{indented}");
        std::fs::write(bed.dir.join("site.yml"), text).unwrap();
        bed.tunerun(&["play", "site.yml", "-i", "hosts.ini", "--yes"])
    };
    play("window").ended(2).says(&["`activate: window` needs to know when that is"]);
    let later = play("later");
    later.ended(13).says(&["felt later", "owed: power cycle of guest runs"]);
    bed.tunerun(&["runs"]).ended(0).says(&["staged"]);
    bed.undo(&later.run()).ended(0);
    // Outside of the window it is written, whatever the hour; inside of it, it is felt.
    play(&format!("window{}", hours(&bed.closed_window())))
        .ended(13)
        .says(&["felt in the window", "owed: power cycle of guest runs"]);
    assert!(bed.inactive("runs").contains("pvspinlock") && !bed.arguments("runs").contains(OFF));
    play(&format!("window{}", hours(&bed.open_window()))).ended(0).never_says(&["owed: "]);
    assert!(bed.arguments("runs").contains(OFF));
}
