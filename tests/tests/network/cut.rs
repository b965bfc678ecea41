//! Changes that really cut the link: the host takes them back by itself, whoever is gone meanwhile.
use crate::bed::{ssh, until};
use crate::stage::{Stage, stage, stage_of};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tunerun::lab::Tier;

/// The flags of a card that is up are an odd number: without the lowest bit it goes down.
const DOWN: &str = "- name: the card goes down
  sysfs: {path: /sys/class/net/eth0/flags, value: '0x1002'}
  dead_man: 6";

/// How long a host may take to be back: its deadline, and time for a busy machine.
const BACK: Duration = Duration::from_secs(60);

fn is_up(stage: &Stage, host: &str) -> bool {
    ssh(&stage.lab, host, "cat /sys/class/net/eth0/operstate").status.success()
}

fn timers(stage: &Stage, host: &str) -> String {
    stage.said(host, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c 'sh /var/lib/tunerun/.*/[d]ead-man ' || :")
}

#[test]
fn a_cut_link_comes_back_by_itself_and_the_run_says_so() {
    let Some(stage) = stage(&["a", "b"]) else { return };
    let play = stage.playbook(&format!(
        "- copy: {{dest: /etc/before, content: \"1\\n\"}}\n{DOWN}\n  when: inventory_hostname == 'a'\n- copy: {{dest: /etc/after, content: \"1\\n\"}}"
    ));
    let began = Instant::now();
    let (code, said) = stage.tunerun(&play);
    assert!(code != Some(0) && began.elapsed() < BACK + BACK, "{code:?} after {:?}\n{said}", began.elapsed());
    assert!(said.contains("the change cut the link") && said.contains("took it back by itself"), "{said}");
    assert!(said.contains("1 as before, 0 as the change would have it"), "{said}");
    assert!(is_up(&stage, "a"));
    assert_eq!(
        stage.said("a", "cat /etc/before; ls /etc/after 2>&1 | grep -c cannot"),
        "1\n1",
        "only that batch went"
    );
    assert_eq!(stage.said("b", "cat /etc/before /etc/after"), "1\n1", "the other host went on");
    assert!(
        stage.journal().contains("cut the link, and the host took it back by itself"),
        "{}",
        stage.journal()
    );
    assert_eq!(timers(&stage, "a"), "0", "no timer is left");
    // Nothing is left open: the next run begins.
    stage.fine(&stage.playbook("- copy: {dest: /etc/next, content: \"1\\n\"}"));
    stage.fine(&["undo", "last"]);
}

#[test]
fn a_command_goes_back_by_its_own_undo() {
    let Some(stage) = stage(&["a"]) else { return };
    let play = stage.playbook(
        "- command: ip link set eth0 down
  args: {undo: ip link set eth0 up}
  dead_man: 6",
    );
    let (code, said) = stage.tunerun(&play);
    assert!(code != Some(0) && said.contains("took it back by itself"), "{code:?}\n{said}");
    assert!(is_up(&stage, "a"));
    // What the host did itself is not done again.
    let undo = stage.fine(&["undo", "last"]);
    assert!(undo.contains("nothing") || undo.contains("already"), "{undo}");
}

#[test]
fn a_killed_controller_leaves_no_host_behind() {
    let Some(stage) = stage(&["a"]) else { return };
    let mut run = stage.start(&stage.playbook(DOWN));
    until("the link is cut", BACK, || !quick(&stage));
    run.kill().unwrap();
    run.wait().unwrap();
    until("the host is back", BACK, || quick(&stage));
    until("its timer has ended", BACK, || timers(&stage, "a") == "0");
    assert_eq!(stage.said("a", "cat /sys/class/net/eth0/flags"), "0x1003");
    let (code, said) = stage.tunerun(&stage.playbook("- copy: {dest: /etc/next, content: \"1\\n\"}"));
    assert!(code != Some(0) && said.contains("resume"), "a run that was cut off stays open: {said}");
    stage.fine(&["resume", "last"]);
    stage.fine(&stage.playbook("- copy: {dest: /etc/next, content: \"1\\n\"}"));
}

#[test]
fn a_controller_that_is_killed_while_armed_confirms_nothing() {
    let Some(stage) = stage(&["a"]) else { return };
    stage.said("a", "ethtool -K eth0 rx off");
    let mut run = stage.start(&stage.playbook(
        "- nic_offload: {device: eth0, features: {rx: true}, persist: false, integrity_probe: sleep 600}
  dead_man: 8",
    ));
    until("the change is made", BACK, || stage.said("a", "ethtool -k eth0").contains("rx-checksumming: on"));
    run.kill().unwrap();
    run.wait().unwrap();
    until("the host has gone back", BACK, || {
        stage.said("a", "ethtool -k eth0").contains("rx-checksumming: off") && timers(&stage, "a") == "0"
    });
    assert_eq!(stage.said("a", "pgrep -fc '[s]leep 600' || :"), "0", "what the batch ran is ended first");
    stage.fine(&["resume", "last"]);
    assert!(stage.said("a", "ethtool -k eth0").contains("rx-checksumming: off"));
}

#[test]
fn a_recovery_disarms_what_still_waits() {
    let Some(stage) = stage(&["a"]) else { return };
    stage.said("a", "ethtool -K eth0 rx off");
    let mut run = stage.start(&stage.playbook(
        "- nic_offload: {device: eth0, features: {rx: true}, persist: false, integrity_probe: sleep 3}
  dead_man: 40",
    ));
    until("the change is made", BACK, || stage.said("a", "ethtool -k eth0").contains("rx-checksumming: on"));
    run.kill().unwrap();
    run.wait().unwrap();
    // The script's shell and its probe end with the connection, or at their own end; then the lock is free.
    stage.fine(&["resume", "last"]);
    assert!(stage.said("a", "ethtool -k eth0").contains("rx-checksumming: off"));
    stage.said("a", "ethtool -K eth0 gro on");
    until("the timer has seen that it is not needed", BACK, || timers(&stage, "a") == "0");
    assert_eq!(stage.said("a", "cat /var/lib/tunerun/*/*/decided/by"), "recovered");
    assert!(
        stage.said("a", "ethtool -k eth0").contains("generic-receive-offload: on"),
        "nothing went back twice"
    );
}

#[test]
fn under_systemd_the_timer_is_a_unit_of_its_own() {
    let Some(stage) = stage_of(Tier::Booted, &["a"]) else { return };
    stage.fine(&stage.playbook(
        "- shell: systemctl list-units --no-legend 'tunerun-dead-man-*' > /etc/seen
  args: {undo: rm -f /etc/seen}
  dead_man: 20",
    ));
    let seen = stage.said("a", "cat /etc/seen");
    assert!(seen.contains("running"), "a login manager may end what a session leaves: {seen}");
    until("the unit has ended", BACK, || {
        stage.said("a", "systemctl list-units --no-legend --all 'tunerun-dead-man-*'").is_empty()
    });
    let (code, said) = stage.tunerun(&stage.playbook(DOWN));
    assert!(code != Some(0) && said.contains("took it back by itself"), "{code:?}\n{said}");
    assert!(is_up(&stage, "a"));
}

#[test]
fn a_confirmed_change_outlives_its_deadline() {
    let Some(stage) = stage(&["a"]) else { return };
    let began = Instant::now();
    stage.fine(&stage.playbook("- sysfs: {path: /sys/class/net/eth0/mtu, value: 1400}\n  dead_man: 6"));
    assert_eq!(stage.said("a", "cat /var/lib/tunerun/*/*/decided/by"), "confirmed");
    until("the deadline is over", BACK, || {
        began.elapsed() > Duration::from_secs(8) && timers(&stage, "a") == "0"
    });
    assert_eq!(stage.said("a", "cat /sys/class/net/eth0/mtu"), "1400");
    stage.fine(&["undo", "last"]);
    assert_eq!(stage.said("a", "cat /sys/class/net/eth0/mtu"), "1500");
}

/// Whether a connection can be made right now: a link that is cut answers nothing at all.
fn quick(stage: &Stage) -> bool {
    let mut command = std::process::Command::new("timeout");
    command.args(["3", "ssh", "-F"]).arg(stage.lab.dir().join("ssh_config")).args(["a", "true"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    stage.lab.spawn(&mut command).unwrap().wait().unwrap().success()
}
