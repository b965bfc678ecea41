//! Clears away what labs left whose supervisors are gone: cgroups, loop devices, folders.
use super::cgroup;
use super::requirement::program;
use super::state::{State, folders};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a sweep removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Control groups.
    pub cgroups: Vec<PathBuf>,
    /// Loop devices that were detached.
    pub loops: Vec<PathBuf>,
    /// Folders of labs.
    pub folders: Vec<PathBuf>,
}

/// Removes what gone labs left in `root` and in the machine's cgroups. Labs that run are not touched.
///
/// The caller holds the folder's lock, or no lab can be starting there.
pub fn sweep(root: &Path) -> Swept {
    let gone: Vec<PathBuf> = folders(root)
        .into_iter()
        .filter(|dir| !State::read(dir).is_some_and(|state| state.supervisor.is_alive()))
        .collect();
    let loops = loops(&gone);
    let folders = gone.into_iter().filter(|dir| fs::remove_dir_all(dir).is_ok()).collect();
    Swept { cgroups: cgroup::sweep(), loops, folders }
}

/// Detaches the loop devices whose files lie in folders of gone labs.
fn loops(gone: &[PathBuf]) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir("/sys/block") else { return Vec::new() };
    let left = entries.flatten().filter_map(|entry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).ok()?;
        let ours = gone.iter().any(|dir| Path::new(file.trim_end()).starts_with(dir));
        ours.then(|| Path::new("/dev").join(entry.file_name()))
    });
    left.filter(|device| detach(device)).collect()
}

fn detach(device: &Path) -> bool {
    program("losetup").is_some_and(|losetup| {
        Command::new(losetup).arg("-d").arg(device).status().is_ok_and(|status| status.success())
    })
}
