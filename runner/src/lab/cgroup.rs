//! Control groups of booted hosts: one each, for systemd counts on being alone in its own.
use super::failed;
use super::process::Started;
use crate::diagnostic::Diagnostic;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What the folders of all labs begin with, at the top of each hierarchy.
const PREFIX: &str = "tunerun-lab-";

/// How long processes that were killed may take to leave their group.
const LEAVING: Duration = Duration::from_secs(10);

/// The folder of a lab, named by its supervisor so that a later sweep knows whether it still runs.
pub(super) fn folder(supervisor: Started) -> String {
    format!("{PREFIX}{}-{}", supervisor.pid, supervisor.start)
}

/// The hierarchies that systemd works with: version 2, and version 1's own.
pub(super) fn hierarchies() -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().filter_map(hierarchy).collect()
}

/// The mount point of one line of mountinfo, if it is such a hierarchy.
fn hierarchy(line: &str) -> Option<PathBuf> {
    let (mount, source) = line.split_once(" - ")?;
    let mut source = source.split(' ');
    let kind = source.next()?;
    let options = source.nth(1)?;
    let wanted = kind == "cgroup2" || kind == "cgroup" && options.split(',').any(|it| it == "name=systemd");
    let at = mount.split(' ').nth(4)?;
    (wanted && at.starts_with("/sys/fs/cgroup")).then(|| PathBuf::from(at))
}

/// Makes the groups of a host and returns their folders.
pub(super) fn make(supervisor: Started, host: &str) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
    hierarchies()
        .into_iter()
        .map(|hierarchy| {
            let group = hierarchy.join(folder(supervisor)).join(host);
            fs::create_dir_all(&group).map_err(failed(format!("make {}", group.display())))?;
            Ok(group)
        })
        .collect()
}

/// Moves the calling process, and so what it becomes, into these groups.
pub(super) fn enter(groups: &[PathBuf]) -> Result<(), Box<Diagnostic>> {
    for group in groups {
        fs::write(group.join("cgroup.procs"), "0").map_err(failed(format!("enter {}", group.display())))?;
    }
    Ok(())
}

/// The processes in a group and below it, as the reader's pid namespace counts.
pub(super) fn processes(group: &Path) -> Vec<i32> {
    let mut found: Vec<i32> = fs::read_to_string(group.join("cgroup.procs"))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.parse().ok())
        .filter(|pid| *pid > 0)
        .collect();
    for below in children(group) {
        found.extend(processes(&below));
    }
    found
}

fn children(group: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(group) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// Removes a group and those below it; whether that is done. Processes that have just been killed make it busy for a
/// moment, which is waited for up to `limit`.
pub(super) fn remove(group: &Path, limit: Duration) -> bool {
    for below in children(group) {
        remove(&below, limit);
    }
    let deadline = Instant::now() + limit;
    while group.exists() && fs::remove_dir(group).is_err() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Removes the groups of one lab in every hierarchy.
pub(super) fn remove_lab(supervisor: Started) {
    for hierarchy in hierarchies() {
        remove(&hierarchy.join(folder(supervisor)), LEAVING);
    }
}

/// Removes the groups of labs whose supervisors are gone, and returns those that were removed.
pub(super) fn sweep() -> Vec<PathBuf> {
    let all = hierarchies();
    let labs = all.iter().flat_map(|hierarchy| children(hierarchy));
    labs.filter(|group| of(group).is_some_and(|supervisor| !supervisor.is_alive()))
        .filter(|group| remove(group, Duration::from_secs(1)))
        .collect()
}

/// The supervisor that a group is named by.
fn of(group: &Path) -> Option<Started> {
    let (pid, start) = group.file_name()?.to_str()?.strip_prefix(PREFIX)?.split_once('-')?;
    Some(Started { pid: pid.parse().ok()?, start: start.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_those_of_systemd() {
        let two = "41 40 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        assert_eq!(hierarchy(two), Some("/sys/fs/cgroup/unified".into()));
        let one =
            "40 30 0:29 / /sys/fs/cgroup/systemd rw,relatime shared:5 - cgroup cgroup rw,xattr,name=systemd";
        assert_eq!(hierarchy(one), Some("/sys/fs/cgroup/systemd".into()));
        assert_eq!(hierarchy("39 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"), None);
        assert_eq!(hierarchy("39 30 0:28 / / rw - ext4 /dev/vda rw"), None);
    }

    #[test]
    fn a_group_tells_its_supervisor() {
        let supervisor = Started { pid: 12, start: 345 };
        assert_eq!(of(Path::new("/sys/fs/cgroup").join(folder(supervisor)).as_path()), Some(supervisor));
        assert_eq!(of(Path::new("/sys/fs/cgroup/tunerun-lab-x-y")), None);
        assert_eq!(of(Path::new("/sys/fs/cgroup/user.slice")), None);
    }
}
