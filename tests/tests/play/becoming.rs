//! Becoming another user over SSH with a password: from the inventory, asked for, wrong, missing; never shown or kept.
use crate::bed::{Bed, Done, on_all};
use crate::terminal::Terminal;
use std::os::unix::fs::MetadataExt as _;
use tests::program::is_root;
use tests::sshd::{PASSWORD, Setup, Sshd};

/// A host over SSH whose login user needs the password for everything.
fn over_ssh(password: &str) -> Option<(Sshd, Bed)> {
    if !is_root("sshd in a mount namespace") {
        return None;
    }
    assert!(std::path::Path::new("/usr/bin/sudo").exists(), "these tests need the package sudo");
    let sudoers = "Defaults timestamp_timeout=0\ntuner ALL=(ALL) ALL\n".to_owned();
    let server = Sshd::start(&Setup { sudoers, ..Setup::default() });
    let bed = Bed::one();
    let (folder, dir) = (server.folder.display(), bed.dir.display());
    let inventory = format!(
        "all:\n  hosts:\n    a:\n      ansible_host: 127.0.0.1\n      ansible_port: {}\n      ansible_user: tuner\n\
         \x20     ansible_ssh_private_key_file: {folder}/id_ed25519\n\
         \x20     ansible_ssh_common_args: -o UserKnownHostsFile={folder}/known_hosts -o IdentitiesOnly=yes\n\
         \x20     tunerun_state_dir: {dir}/state\n      root: {dir}/roots/a\n      ansible_become: true\n{password}",
        server.port
    );
    bed.file("hosts.yml", &inventory);
    bed.file("site.yml", &on_all("- copy: {dest: \"{{ root }}/x\", content: x}"));
    Some((server, bed))
}

/// The password is nowhere in what was shown, recorded or logged.
fn is_kept_from(bed: &Bed, server: &Sshd, done: &Done) {
    done.never_says("horse");
    assert!(!server.log().contains("horse"));
    for folder in ["runs", "state"] {
        let found =
            std::process::Command::new("grep").args(["-r", "horse"]).arg(bed.dir.join(folder)).output();
        assert!(found.unwrap().stdout.is_empty(), "the password is in {folder}");
    }
}

#[test]
fn the_password_of_the_inventory() {
    let line = format!("      ansible_become_password: {PASSWORD}\n");
    let Some((server, bed)) = over_ssh(&line) else { return };
    let done = bed.call(&["--yes", "--diff"]);
    done.ok();
    assert_eq!(bed.got("a/x").as_deref(), Some("x"));
    assert_eq!(std::fs::metadata(bed.dir.join("roots/a/x")).unwrap().uid(), 0);
    is_kept_from(&bed, &server, &done);
    bed.tunerun(&["undo", "last"]).ok();
    assert!(bed.names("a").is_empty());
}

#[test]
fn a_wrong_password_and_none() {
    for (line, words) in [("      ansible_become_password: wrong horse\n", "password"), ("", "password")] {
        let Some((server, bed)) = over_ssh(line) else { return };
        let done = bed.call(&["--yes"]);
        done.ended(3).says(words).says("sudo");
        assert!(bed.names("a").is_empty() && bed.runs().is_empty());
        is_kept_from(&bed, &server, &done);
    }
}

#[test]
fn the_password_is_asked_for_once() {
    let Some((server, bed)) = over_ssh("") else { return };
    let mut terminal = Terminal::play(&bed, "--ask-become-pass --yes");
    terminal.answer("BECOME password", &format!("{PASSWORD}\n"));
    let done = terminal.ended();
    done.ok();
    assert_eq!(bed.got("a/x").as_deref(), Some("x"));
    is_kept_from(&bed, &server, &done);
}
