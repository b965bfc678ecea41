//! Booted hosts: units, reboots, a cgroup each, and nothing that is enabled on the machine.
use crate::bed::{Bed, Machine, can, groups, said, ssh, until};
use std::collections::BTreeSet;
use std::time::Duration;
use tunerun::lab::{Lab, Tier};

const BOOT: &str = "cat /proc/sys/kernel/random/boot_id";

/// The boot id, if the host answers.
fn boot_id(lab: &Lab, host: &str) -> Option<String> {
    let output = ssh(lab, host, BOOT);
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[test]
fn systemd_runs_and_only_what_a_lab_needs() {
    if !can(Tier::Booted) {
        return;
    }
    let bed = Bed::new();
    let before = Machine::now();
    let lab = bed.up(Tier::Auto, &["a", "b"]);
    assert_eq!(Machine::now(), before, "the machine sees a running lab");
    assert!(lab.has_systemd());
    for host in ["a", "b"] {
        assert_eq!(
            said(&lab, host, "systemctl is-system-running --wait; systemctl --failed --no-legend"),
            "running"
        );
        assert_eq!(said(&lab, host, "systemctl get-default"), "tunerun-lab.target");
    }
    let services = said(
        &lab,
        "a",
        "systemctl list-units --type=service --state=running --no-legend --plain | cut -d' ' -f1",
    );
    let running: BTreeSet<&str> = services.lines().collect();
    let wanted = ["dbus.service", "ssh.service", "systemd-journald.service", "systemd-logind.service"];
    assert_eq!(running, BTreeSet::from(wanted));
    let risky = "for c in sys_time sys_module sys_rawio mknod; do setpriv --dump | grep -i '^capability bounding' | grep -cw $c; done; true";
    assert_eq!(said(&lab, "a", risky), "0\n0\n0\n0", "a host can reach the machine itself");
    let unit = "printf '[Service]\\nExecStart=/bin/sleep infinity\\n' > /etc/systemd/system/x.service; \
                systemctl daemon-reload; systemctl start x; systemctl is-active x";
    assert_eq!(said(&lab, "a", unit), "active");
    assert_eq!(
        ssh(&lab, "b", "systemctl is-active x").status.code(),
        Some(3),
        "a unit of one host runs on the other"
    );
    let supervisor = lab.supervisor();
    let made = groups(supervisor);
    assert!(!made.is_empty());
    assert!(made.iter().all(|group| group.join("a").is_dir() && group.join("b").is_dir()));
    lab.down().unwrap();
    assert_eq!(Machine::now(), before);
    assert_eq!(bed.processes(), BTreeSet::new());
    assert!(groups(supervisor).is_empty());
}

#[test]
fn a_reboot_is_a_new_boot_of_the_same_host() {
    if !can(Tier::Booted) {
        return;
    }
    let bed = Bed::new();
    let lab = bed.up(Tier::Booted, &["a", "b"]);
    let (old, neighbour) = (boot_id(&lab, "a").unwrap(), boot_id(&lab, "b").unwrap());
    assert_ne!(old, neighbour);
    let identity = "cat /etc/machine-id /etc/ssh/ssh_host_ed25519_key.pub /sys/class/net/eth0/address";
    let same = said(&lab, "a", identity);
    let first = said(&lab, "a", "sysctl -n vm.swappiness vm.dirty_ratio");
    said(
        &lab,
        "a",
        "echo vm.swappiness=7 > /etc/sysctl.d/90-x.conf; sysctl -qw vm.dirty_ratio=3; echo kept > /etc/kept",
    );
    said(&lab, "a", "sed -i 's/quiet/quiet mitigations=off/' /etc/default/grub; update-grub");
    assert!(!said(&lab, "a", "cat /proc/cmdline").contains("mitigations=off"));
    ssh(&lab, "a", "systemctl reboot");
    until("a is back with a new boot id", Duration::from_secs(120), || {
        boot_id(&lab, "a").is_some_and(|id| id != old)
    });
    assert_eq!(said(&lab, "a", identity), same);
    assert_eq!(said(&lab, "a", "cat /etc/kept"), "kept");
    let (_, ratio) = first.split_once('\n').unwrap();
    assert_eq!(said(&lab, "a", "sysctl -n vm.swappiness vm.dirty_ratio"), format!("7\n{ratio}"));
    assert!(said(&lab, "a", "cat /proc/cmdline").ends_with("quiet mitigations=off"));
    assert_eq!(boot_id(&lab, "b").unwrap(), neighbour, "a neighbour was rebooted too");
}

#[test]
fn a_host_that_was_powered_off_stays_off() {
    if !can(Tier::Booted) {
        return;
    }
    let bed = Bed::new();
    let lab = bed.up(Tier::Booted, &["a", "b"]);
    let supervisor = lab.supervisor();
    ssh(&lab, "a", "systemctl poweroff");
    until("a's groups are empty", Duration::from_secs(60), || {
        groups(supervisor)
            .iter()
            .all(|group| std::fs::read_to_string(group.join("a/cgroup.procs")).is_ok_and(|it| it.is_empty()))
            && lab.dial("a", 22).is_err()
    });
    assert!(supervisor.is_alive());
    assert_eq!(said(&lab, "b", "hostname"), "b");
}
