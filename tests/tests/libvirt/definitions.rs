//! Definitions: tuned, read back, taken back, refused.
use crate::bed::{Bed, can};
use crate::guests::Boot;

/// The spin lock off, a disk past the cache with a thread of its own: two tasks.
const TUNE: &str = r#"- name: Features
  libvirt_domain:
    domains: ["lab-*"]
    features: {pvspinlock: off, hap: on, ioapic: {driver: qemu}}
- name: Disks
  libvirt_domain:
    domains: [{metadata: tier, value: gold}]
    iothreads: 1
    cputune: {emulatorpin: 0, iothreadpin: {1: 0}}
    disks: [{serial: first, cache: none, io: native, iothread: 1, discard: unmap, queues: 2}]
    environment: {LD_PRELOAD: /lib/x86_64-linux-gnu/libBrokenLocale.so.1}
    arguments: ["-global ICH9-LPC.disable_s3=1"]
"#;

#[test]
fn twenty_domains_are_tuned_and_taken_back_byte_for_byte() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    let names: Vec<String> = (1..=20).map(|number| format!("lab-{number:02}")).collect();
    for (number, name) in (1..).zip(&names) {
        bed.define(name, number, Boot::Stubborn);
    }
    let before: Vec<String> = names.iter().map(|name| bed.inactive(name)).collect();

    bed.playbook(TUNE);
    let check = bed.tunerun(&["play", "site.yml", "-i", "hosts.ini", "--check", "--diff"]);
    check.ended(0).says(&["pvspinlock state='off'"]).never_says(&["hush4you"]);
    assert_eq!(bed.inactive("lab-01"), before[0], "a dry run writes nothing");

    let done = bed.play(TUNE);
    done.ended(0).says(&["0 ok, 2 changed"]);
    assert_eq!(bed.acts(&done.run()), 20, "the two tasks are one define a domain");
    for (name, before) in names.iter().zip(&before) {
        let after = bed.inactive(name);
        for wanted in [
            "<pvspinlock state='off'/>",
            "<hap state='on'/>",
            "<ioapic driver='qemu'/>",
            "<iothreads>1</iothreads>",
            "<iothreadpin iothread='1' cpuset='0'/>",
            "cache='none' io='native' discard='unmap'",
            "<qemu:env name='LD_PRELOAD' value='/lib/x86_64-linux-gnu/libBrokenLocale.so.1'/>",
            "<qemu:arg value='ICH9-LPC.disable_s3=1'/>",
            "passwd='hush4you'",
        ] {
            assert!(after.contains(wanted), "{wanted} is not in\n{after}");
        }
        assert_ne!(&after, before);
    }
    bed.play(TUNE).ended(0).says(&["2 ok, 0 changed"]);

    bed.undo(&done.run()).ended(0).says(&["20 steps taken back"]);
    for (name, before) in names.iter().zip(&before) {
        assert_eq!(&bed.inactive(name), before, "{name} is not as it was");
    }
}

#[test]
fn what_libvirt_drops_or_another_owns_or_has_moved_is_said() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    bed.define("one", 1, Boot::Stubborn);
    bed.define_as("instance-1", 2, Boot::Stubborn, |xml| {
        xml.replace("http://example.org/lab", "http://openstack.org/xmlns/libvirt/nova/1.1")
    });
    let before = bed.inactive("one");
    let play = |domain: &str, more: &str| {
        bed.play(&format!("- name: Tune\n  libvirt_domain:\n    domains: [{domain}]\n{more}"))
    };

    // Without the schema libvirt takes the text and drops an attribute; what it kept of the same text goes back too.
    let dropped =
        play("one", "    validate: false\n    features: {pvspinlock: {state: off, made-up: 1}, hap: on}\n");
    dropped.ended(1).says(&[
        "features/pvspinlock has not made-up='1'",
        "not all of it was kept",
        "taken back: 1 step",
    ]);
    assert_eq!(bed.inactive("one"), before, "the half that was kept is taken back");
    // With the schema it refuses it, in its own words.
    play("one", "    features: {made-up: on, hap: on}\n")
        .ended(1)
        .says(&["schema"])
        .never_says(&["taken back: 1"]);
    assert_eq!(bed.inactive("one"), before);
    // What is known to be dropped is not even tried.
    play("one", "    features: {pvsendipi: on}\n").says(&["pvsendipi", "kvm/pv-ipi"]);
    // The same knob by its own name is kept.
    let done = play("one", "    features: {kvm/pv-ipi: on}\n");
    done.ended(0);
    assert!(bed.inactive("one").contains("<pv-ipi state='on'/>"));
    bed.undo(&done.run()).ended(0);
    assert_eq!(bed.inactive("one"), before);

    let nova = bed.inactive("instance-1");
    let tune = "    features: {pvspinlock: off}\n";
    play("\"*\"", tune).says(&["instance-1: OpenStack Nova owns it", "flavor"]);
    assert_eq!(bed.inactive("one"), before, "nothing is done unless the rest is accepted");
    let accepted = format!("{tune}  accept_risk: {{cannot_converge: \"Nova has its own\"}}\n");
    let done = play("\"*\"", &accepted);
    done.ended(0);
    assert!(bed.inactive("one").contains("pvspinlock"));
    assert_eq!(bed.inactive("instance-1"), nova);
    bed.undo(&done.run()).ended(0);

    // Somebody renames, changes or takes the domain away between the plan and the act.
    bed.trap("$1 domrename one other");
    play("one", tune).ended(5).says(&["is not as it was when this was planned", "nothing was written"]);
    assert_eq!(bed.inactive("other"), before.replace("<name>one<", "<name>other<"));
    bed.virsh(&["domrename", "other", "one"]);
    std::fs::remove_file(bed.dir.join("trap.looks")).unwrap();
    bed.trap("$1 undefine one");
    play("one", tune).ended(5).says(&["is not as it was when this was planned"]);
    assert!(!bed.virsh(&["list", "--all", "--name"]).contains("one\n"), "it is not defined anew");
}

#[test]
fn somebody_elses_edit_since_is_not_overwritten() {
    if !can() {
        return;
    }
    let bed = Bed::new();
    bed.define("one", 1, Boot::Stubborn);
    let before = bed.inactive("one");
    let tune = "- name: Tune\n  libvirt_domain:\n    domains: [one]\n    features: {pvspinlock: off}\n";
    let done = bed.play(tune);
    done.ended(0);
    bed.virsh(&["desc", "one", "--config", "somebody's words"]);
    let theirs = bed.inactive("one");
    bed.undo(&done.run()).ended(6).says(&["somebody else has changed it since"]);
    assert_eq!(bed.inactive("one"), theirs);
    bed.virsh(&["desc", "one", "--config", ""]);
    bed.undo(&done.run()).ended(0);
    assert_eq!(bed.inactive("one"), before);
}
