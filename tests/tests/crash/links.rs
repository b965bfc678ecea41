//! Links that break and hosts that lose their shells in the middle of a batch.
use crate::bed::Said;
use crate::fleet::Fleet;
use std::time::{Duration, Instant};

const SLOW: &str = r#"- hosts: all
  gather_facts: false
  tasks:
    - {copy: {dest: /etc/crash.old, content: "new\n"}}
    - shell: {cmd: "sleep SECONDS; echo late > /etc/crash.late", undo: rm -f /etc/crash.late}
    - {copy: {dest: /etc/crash.last, content: "last\n"}}
"#;

fn slow(fleet: &Fleet, seconds: u32) {
    std::fs::write(fleet.root.join("play.yml"), SLOW.replace("SECONDS", &seconds.to_string())).unwrap();
}

/// Starts a play and waits until its command is at work.
fn acting(fleet: &Fleet, host: &str) -> std::process::Child {
    let child = fleet.start(host, &["play", "play.yml", "--yes"]);
    let wait = "for i in $(seq 200); do tail -n 1 /var/lib/tunerun/*/1/log 2>/dev/null | grep -qx 'begun 1' && exit; sleep 0.05; done; exit 1";
    fleet.on(host, wait).ended(0);
    child
}

fn ended(child: std::process::Child) -> Said {
    Said::of(child.wait_with_output().unwrap())
}

#[track_caller]
fn is_old(fleet: &Fleet, host: &str, what: &str) {
    fleet.is_one_of(host, &[&fleet.old], what);
    fleet.on(host, "test ! -e /etc/crash.late").ended(0);
}

/// The shell of a connection, by its loop; the script below it, by its parent.
const SHELL: &str = "pgrep -o -f '[_]p h '";

#[test]
fn a_host_that_loses_its_shell_goes_back() {
    let Some(fleet) = Fleet::up(4) else { return };
    slow(&fleet, 2);
    let kills = [
        ("the interpreter", format!("kill -KILL $({SHELL})")),
        ("the script", format!("pkill -KILL -P $({SHELL}) sh")),
        ("sshd", "pkill -KILL -f 'sshd.*: root@notty' || pkill -KILL -f 'sshd-session: root'".to_owned()),
    ];
    for (number, (what, kill)) in kills.into_iter().enumerate() {
        let host = format!("h{}", number + 1);
        let child = acting(&fleet, &host);
        // The connection that kills is a session too: it may end by its own kill.
        let _ = fleet.on(
            &host,
            &format!("setsid sh -c '{}' >/dev/null 2>&1 </dev/null &", kill.replace('\'', "'\\''")),
        );
        let said = ended(child);
        assert!([Some(1), Some(6)].contains(&said.code), "{what}: {}", said.text);
        fleet.settled(&host);
        fleet.tunerun(&host, &["resume", "last"]).ended(0);
        fleet.tunerun(&host, &["undo", "last"]).ended(0);
        is_old(&fleet, &host, what);
        fleet.tunerun_plain(&host, &["show", "last"]).ended(0).says(&["batch 1 lost: "]);
        fleet.play(&host).ended(0);
        fleet.tunerun(&host, &["undo", "last"]).ended(0);
        is_old(&fleet, &host, what);
    }
}

#[test]
fn a_link_that_goes_down_in_mid_apply_is_told_and_resumed() {
    let Some(fleet) = Fleet::up(2) else { return };
    slow(&fleet, 3);
    // Back soon: the run itself takes the batch back over a new connection. Back late: resume does.
    for (host, down, codes) in [("h1", 5, [1, 6]), ("h2", 25, [6, 6])] {
        let child = acting(&fleet, host);
        let script = format!("ip link set eth0 down; sleep {down}; ip link set eth0 up");
        fleet.on(host, &format!("setsid sh -c 'sleep 0.5; {script}' >/dev/null 2>&1 </dev/null &")).ended(0);
        let begun = Instant::now();
        let said = ended(child);
        assert!(codes.map(Some).contains(&said.code), "{host}: {:?} {}", said.code, said.text);
        let rest = Duration::from_secs(down + 2).saturating_sub(begun.elapsed());
        std::thread::sleep(rest);
        fleet.tunerun(host, &["resume", "last"]).ended(0);
        is_old(&fleet, host, "link down");
        fleet.tunerun(host, &["undo", "last"]).ended(0);
        is_old(&fleet, host, "link down");
        fleet.play(host).ended(0);
    }
}

#[test]
fn recovery_waits_for_a_script_that_still_runs() {
    let Some(fleet) = Fleet::up(2) else { return };
    slow(&fleet, 4);
    let mut child = acting(&fleet, "h1");
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    fleet.tunerun("h1", &["undo", "last"]).ended(0);
    assert!(begun.elapsed() > Duration::from_secs(1), "it did not wait");
    is_old(&fleet, "h1", "undone");
    std::thread::sleep(Duration::from_secs(4).saturating_sub(begun.elapsed()));
    is_old(&fleet, "h1", "and so it stays");
    // One that does not end is told, and left alone.
    slow(&fleet, 25);
    let mut child = acting(&fleet, "h2");
    let run = fleet.on("h2", "ls /var/lib/tunerun | grep '^2'").text.trim().to_owned();
    child.kill().unwrap();
    child.wait().unwrap();
    let said = fleet.tunerun("h2", &["undo", "last"]).ended(15);
    said.says(&["held by another run", &run, "which came from"]);
    fleet.on("h2", "pkill -x sleep; sleep 0.5; test ! -e /etc/crash.last").ended(0);
    fleet.settled("h2");
    fleet.tunerun("h2", &["undo", "last"]).ended(0);
    is_old(&fleet, "h2", "undone at last");
}
