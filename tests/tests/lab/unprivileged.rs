//! A user who is not root is told why there is no lab, and what to type.
use crate::bed::{Bed, can};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use tests::program::tunerun;
use tunerun::lab::Tier;

const NOBODY: u32 = 65_534;

#[test]
fn nobody_gets_the_right_words() {
    if !can(Tier::Plain) {
        return;
    }
    let bed = Bed::new();
    let program = bed.root.join("tunerun");
    fs::copy(tunerun(), &program).unwrap();
    for path in [&bed.root, &program] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut command = Command::new(&program);
    command
        .args(["lab", "up"])
        .env("TUNERUN_LABS", bed.root.join("labs"))
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY);
    let output = command.output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    for part in
        ["needs root", "mounts, networks and cgroups", "sudo /", "/tunerun lab up", "connection: local"]
    {
        assert!(words.contains(part), "`{part}` is not in:\n{words}");
    }
    assert!(!bed.root.join("labs").exists());
}
