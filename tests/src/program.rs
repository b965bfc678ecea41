//! The `tunerun` program itself, built if need be, for tests that start it.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program, built from this very tree; or the one that `TUNERUN_PROGRAM` names, where a whole suite has built it.
///
/// # Panics
/// If it cannot be built.
pub fn tunerun() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        if let Some(program) = std::env::var_os("TUNERUN_PROGRAM") {
            return program.into();
        }
        let test = std::env::current_exe().expect("a running test is a file");
        let profile = test.ancestors().nth(2).expect("tests are built into PROFILE/deps");
        let target = profile.parent().expect("a profile is built into the target folder");
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "-p", "tunerun", "--bin", "tunerun", "--target-dir"]).arg(target);
        if profile.ends_with("release") {
            build.arg("--release");
        }
        assert!(build.status().expect("cargo is there").success(), "tunerun could not be built");
        profile.join("tunerun")
    })
}

/// Whether this test runs as root. Where it does not, says so loudly, and fails under CI.
///
/// # Panics
/// Under CI, if not root.
pub fn is_root(what: &str) -> bool {
    let root =
        std::fs::metadata("/proc/self").is_ok_and(|about| std::os::unix::fs::MetadataExt::uid(&about) == 0);
    if !root {
        eprintln!("NOT TESTED: {what} needs root");
        assert!(std::env::var_os("CI").is_none(), "{what} needs root, and CI must give it");
    }
    root
}
