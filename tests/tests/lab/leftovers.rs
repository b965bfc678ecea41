//! What gone labs left behind is swept by the next start, and what runs is not.
use crate::bed::{Bed, can, groups, said};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use tunerun::lab::{Lab, LabSpec, Tier};

/// A process that has ended, by a name that none has now.
fn gone() -> (u32, u64) {
    let mut child = Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    (child.id(), 1)
}

fn hierarchies() -> Vec<PathBuf> {
    ["/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup"]
        .iter()
        .map(PathBuf::from)
        .filter(|at| at.join("cgroup.procs").exists())
        .collect()
}

#[test]
fn a_start_sweeps_cgroups_loop_devices_and_folders() {
    if !can(Tier::Plain) {
        return;
    }
    let bed = Bed::new();
    let (pid, start) = gone();
    let left: Vec<PathBuf> =
        hierarchies().iter().map(|at| at.join(format!("tunerun-lab-{pid}-{start}"))).collect();
    left.iter().for_each(|group| fs::create_dir_all(group.join("a/below")).unwrap());
    let folder = bed.root.join("gone");
    fs::create_dir(&folder).unwrap();
    let disk = folder.join("disk");
    File::create(&disk).unwrap().set_len(1 << 20).unwrap();
    let made = Command::new("losetup").args(["-f", "--show"]).arg(&disk).output().unwrap();
    let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    assert!(device.starts_with("/dev/loop"), "{}", String::from_utf8_lossy(&made.stderr));
    let backing = Path::new("/sys/block").join(device.trim_start_matches("/dev/")).join("loop/backing_file");
    assert!(backing.exists());

    let lab = bed.up(Tier::Plain, &["a"]);
    assert!(!backing.exists(), "the loop device is still there");
    assert!(left.iter().all(|group| !group.exists()), "cgroups are still there");
    assert!(!folder.exists());
    lab.down().unwrap();
}

#[test]
fn a_start_does_not_touch_what_runs() {
    if !can(Tier::Booted) {
        return;
    }
    let bed = Bed::new();
    let lab = bed.up(Tier::Booted, &["a"]);
    let made = groups(lab.supervisor());
    assert!(!made.is_empty());
    let other = Lab::up(&LabSpec { name: "other".into(), ..bed.spec(Tier::Plain, &["z"]) }).unwrap();
    assert_eq!(groups(lab.supervisor()), made);
    assert_eq!(said(&lab, "a", "systemctl is-active ssh"), "active");
    other.down().unwrap();
    assert_eq!(said(&lab, "a", "hostname"), "a");
}
