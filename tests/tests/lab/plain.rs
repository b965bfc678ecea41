//! Plain hosts: up, reached, down, and no trace of it on the machine.
use crate::bed::{Bed, Machine, can, groups, said, ssh};
use std::collections::BTreeSet;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use tests::program::tunerun;
use tunerun::lab::{Lab, LabSpec, Tier, list};

#[test]
fn up_reached_and_down_leaves_no_trace() {
    if !can(Tier::Plain) {
        return;
    }
    let bed = Bed::new();
    let before = Machine::now();
    let lab = bed.up(Tier::Plain, &["osd1", "osd2", "client1"]);
    assert_eq!(Machine::now(), before, "the machine sees a running lab");
    assert!(!lab.has_systemd());
    assert_eq!(
        lab.hosts().iter().map(|host| host.name.as_str()).collect::<Vec<_>>(),
        ["osd1", "osd2", "client1"]
    );
    for host in lab.hosts() {
        assert_eq!(
            said(&lab, &host.name, "hostname; id -un; cat /proc/1/comm"),
            format!("{}\nroot\nsshd", host.name)
        );
        assert_eq!(host.key.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let risky = "for c in sys_time sys_module sys_rawio mknod; do setpriv --dump | grep -i '^capability bounding' | grep -cw $c; done; true";
    assert_eq!(said(&lab, "osd1", risky), "0\n0\n0\n0", "a host can reach the machine itself");
    let supervisor = lab.supervisor();
    assert_eq!(list(&bed.root).iter().filter(|it| it.alive).count(), 1);
    lab.down().unwrap();
    assert_eq!(Machine::now(), before);
    assert_eq!(bed.processes(), BTreeSet::new());
    assert_eq!(groups(supervisor), Vec::<std::path::PathBuf>::new());
    assert!(list(&bed.root).is_empty() && !bed.root.join("t").exists());
}

#[test]
fn dialled_sockets_live_in_the_labs_network() {
    if !can(Tier::Plain) {
        return;
    }
    let bed = Bed::new();
    let lab = bed.up(Tier::Plain, &["a", "b"]);
    let here = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let mut streams: Vec<_> = ["a", "b"].iter().map(|host| lab.dial(host, 22).unwrap()).collect();
    for stream in &mut streams {
        let mut banner = [0; 8];
        stream.read_exact(&mut banner).unwrap();
        assert_eq!(&banner, b"SSH-2.0-");
    }
    let refused = lab.dial("a", 23).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    assert!(lab.dial("c", 22).is_err());
    assert_eq!(
        std::fs::read_link("/proc/thread-self/ns/net").unwrap(),
        here,
        "the caller's thread was moved"
    );
    let near = lab.host("aa").unwrap_err();
    assert_eq!(near.help.as_deref(), Some("did you mean `a`?"));
}

#[test]
fn identities_are_each_hosts_own() {
    if !can(Tier::Plain) {
        return;
    }
    let bed = Bed::new();
    let lab = bed.up(Tier::Plain, &["a", "b"]);
    for what in
        ["cat /etc/machine-id", "cat /etc/ssh/ssh_host_ed25519_key.pub", "cat /sys/class/net/eth0/address"]
    {
        assert_ne!(said(&lab, "a", what), said(&lab, "b", what), "{what}");
    }
    // The other host's key is not taken for this one's.
    let known = std::fs::read_to_string(&lab.hosts()[0].known_hosts).unwrap();
    let swapped = known.replace("a,10.77.1.1", "x").replace("b,10.77.1.2", "a,10.77.1.1");
    std::fs::write(&lab.hosts()[0].known_hosts, swapped).unwrap();
    let output = ssh(&lab, "a", "true");
    assert!(String::from_utf8_lossy(&output.stderr).contains("Host key verification failed"));
}

#[test]
fn labs_stand_beside_each_other() {
    if !can(Tier::Plain) {
        return;
    }
    let bed = Bed::new();
    let one = bed.up(Tier::Plain, &["a"]);
    let other = LabSpec { name: "other".into(), ..bed.spec(Tier::Plain, &["z"]) };
    let other = Lab::up(&other).unwrap();
    assert_eq!(one.hosts()[0].ip, other.hosts()[0].ip);
    assert_eq!((said(&one, "a", "hostname"), said(&other, "z", "hostname")), ("a".into(), "z".into()));
    let again = Lab::up(&bed.spec(Tier::Plain, &["a"])).unwrap_err();
    assert_eq!(again[0].message, "the lab `t` runs already");
    other.down().unwrap();
    assert_eq!(said(&one, "a", "hostname"), "a");
}

#[test]
fn a_kept_lab_outlives_the_command_and_runs_programs() {
    if !can(Tier::Plain) {
        return;
    }
    let bed = Bed::new();
    let run = |words: &[&str]| {
        let mut command = Command::new(tunerun());
        command.arg("lab").args(words).env("TUNERUN_LABS", &bed.root).stdin(Stdio::null());
        command.output().unwrap()
    };
    let up = run(&["up", "--tier", "plain", "--host", "one", "--host", "two"]);
    assert!(up.status.success(), "{}", String::from_utf8_lossy(&up.stderr));
    let lab = Lab::attach(&bed.root, "lab").unwrap();
    let seen = run(&["exec", "ip", "-br", "-4", "addr", "show", "br0"]);
    assert!(String::from_utf8_lossy(&seen.stdout).contains("10.77.0.1/16"));
    assert_eq!(said(&lab, "two", "hostname"), "two");
    let listed = String::from_utf8(run(&["list"]).stdout).unwrap();
    assert!(listed.contains(&lab.supervisor().pid.to_string()) && listed.contains("two"), "{listed}");
    drop(lab);
    assert!(run(&["down"]).status.success());
    assert_eq!(bed.processes(), BTreeSet::new());
    assert!(!run(&["down"]).status.success());
}
