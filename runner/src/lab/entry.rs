//! What the hidden subcommands `tunerun __lab-…` do: the lab's own processes, started from the same program.
use super::{booted, cgroup, failed, knobs, plain, supervisor};
use crate::diagnostic::Diagnostic;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Does what a hidden subcommand asks for; none if the first word is not one of them.
pub fn hidden(words: &[OsString]) -> Option<Result<(), Box<Diagnostic>>> {
    let (first, rest) = words.split_first()?;
    Some(match first.to_str()? {
        "__lab-supervisor" => {
            supervisor::run();
            Ok(())
        }
        "__lab-host" => Err(plain::become_host()),
        "__lab-grouped" => Err(grouped(rest)),
        "__lab-settings" => knobs::put_in_place(Path::new("/"), Path::new(booted::SETTINGS)),
        _ => return None,
    })
}

/// Enters the cgroups named before `--` and becomes the program after it.
fn grouped(words: &[OsString]) -> Box<Diagnostic> {
    let mut words = words.iter();
    let groups: Vec<PathBuf> = words.by_ref().take_while(|word| *word != "--").map(PathBuf::from).collect();
    if let Err(problem) = cgroup::enter(&groups) {
        return problem;
    }
    let Some(program) = words.next() else { return Diagnostic::error("no program is named", None).into() };
    failed(format!("run {}", program.display()))(Command::new(program).args(words).exec())
}
