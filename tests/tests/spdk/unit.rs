//! The target as a unit of a real systemd: started with its list, started again, killed, taken back.
use crate::bed::{ALL, Bed};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tests::program::{is_root, tunerun};
use tunerun::lab::{Lab, LabSpec, Tier};

/// Runs a script on the host over ssh.
fn on(lab: &Lab, script: &str, input: Option<&Path>) -> (bool, String) {
    let mut command = Command::new("ssh");
    command.arg("-F").arg(lab.dir().join("ssh_config")).args(["hv1", script]);
    let input = input.map_or(Stdio::null(), |path| fs::File::open(path).unwrap().into());
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = lab.spawn(&mut command).unwrap().wait_with_output().unwrap();
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

fn said(lab: &Lab, script: &str) -> String {
    let (fine, text) = on(lab, script, None);
    assert!(fine, "{script}: {text}");
    text.trim_end().to_owned()
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story")]
fn a_unit_keeps_its_list_over_restarts() {
    if !Path::new("/usr/bin/systemd-nspawn").is_file() {
        eprintln!("NOT TESTED: booted hosts need the package systemd-container");
        assert!(std::env::var_os("CI").is_none(), "CI must have systemd-container");
        return;
    }
    if !is_root("a lab") {
        return;
    }
    let bed = Bed::new();
    let spec = LabSpec {
        tier: Tier::Booted,
        ..LabSpec::new("lab", &["hv1"], bed.root.clone(), tunerun().to_owned())
    };
    let lab = Lab::up(&spec).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_spdk_target"));
    let (fine, text) =
        on(&lab, "cat > /usr/local/bin/vhost && chmod 755 /usr/local/bin/vhost", Some(program));
    assert!(fine, "{text}");
    fs::write(bed.root.join("hosts.yml"), "all:\n  vars: {ansible_connection: lab}\n  hosts: {hv1: {}}\n")
        .unwrap();
    let play = |target: &str, list: &str| {
        let text = format!(
            "- hosts: all\n  gather_facts: false\n  tasks:\n  - name: the target\n    spdk_vhost:\n      socket: /run/spdk.sock\n      \
             target: {{program: /usr/local/bin/vhost, memory: 1G, {target}}}\n{list}"
        );
        fs::write(bed.root.join("play.yml"), text).unwrap();
    };
    let tunerun = |words: &[&str]| {
        let output = bed.words(words).env("TUNERUN_LABS", &bed.root).output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.code(), text)
    };
    let fine = |words: &[&str]| {
        let (code, text) = tunerun(words);
        assert_eq!(code, Some(0), "{words:?}: {text}");
        text
    };
    let run = ["play", "play.yml", "-i", "hosts.yml", "--yes"];
    play("reactors: 0x3", ALL);
    fine(&run);
    assert_eq!(
        said(&lab, "systemctl is-active spdk-vhost; systemctl is-enabled spdk-vhost"),
        "active\nenabled"
    );
    assert!(!fine(&run).contains("changed on"), "a second run changes nothing");
    // Killed, it comes back with all that it exported.
    said(
        &lab,
        "p=$(systemctl show -P MainPID spdk-vhost); kill -KILL $p; \
         for i in $(seq 300); do n=$(systemctl show -P MainPID spdk-vhost); \
         [ \"$n\" != 0 ] && [ \"$n\" != $p ] && [ -S /run/spdk.sock ] && systemctl is-active -q spdk-vhost && exit 0; sleep 0.1; done; exit 1",
    );
    assert!(!fine(&run).contains("changed on"), "nothing is lost by a restart");
    // A change of the list reaches the running target, and the next one too.
    play("reactors: 0x3", &ALL.replace(", 3: Aio0", ", 5: Aio0"));
    let pid = said(&lab, "systemctl show -P MainPID spdk-vhost");
    fine(&run);
    assert_eq!(said(&lab, "systemctl show -P MainPID spdk-vhost"), pid, "it is not started again for that");
    said(&lab, "systemctl restart spdk-vhost");
    assert!(!fine(&run).contains("changed on"));
    // Fewer cores than a controller is pinned to.
    play("reactors: 0x1, restart: true", ALL);
    let (code, text) = tunerun(&run);
    assert!(code == Some(1) && text.contains("core 1"), "{text}");
    // A target that cannot start: its own words are in the journal, and everything goes back.
    let before = said(&lab, "cat /etc/systemd/system/spdk-vhost.service");
    let list = said(&lab, "systemctl stop spdk-vhost; cat /etc/spdk/tunerun-vhost.json");
    play("reactors: 0x3", &ALL.replace("512M", "512G"));
    let (code, text) = tunerun(&run);
    assert!(code == Some(1) && text.contains("systemctl' 'start"), "{text}");
    assert_eq!(said(&lab, "cat /etc/systemd/system/spdk-vhost.service"), before);
    assert_eq!(said(&lab, "cat /etc/spdk/tunerun-vhost.json"), list);
    let journal = said(&lab, "journalctl --no-pager -u spdk-vhost");
    assert!(journal.contains("Cannot allocate memory"), "{journal}");
    drop(lab);
}
