//! A lab for one test, and what the machine looks like from outside.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tests::program::{is_root, tunerun};
use tunerun::lab::{Lab, LabSpec, Tier};

/// A folder for labs that is this test's alone, removed at the end.
pub struct Bed {
    pub root: PathBuf,
}

impl Bed {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("tunerun-lab-{}-{number}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        Self { root }
    }

    pub fn spec(&self, tier: Tier, hosts: &[&str]) -> LabSpec {
        LabSpec { tier, ..LabSpec::new("t", hosts, self.root.clone(), tunerun().to_owned()) }
    }

    pub fn up(&self, tier: Tier, hosts: &[&str]) -> Lab {
        Lab::up(&self.spec(tier, hosts)).unwrap()
    }

    /// The processes that belong to labs of this bed: those that see its folder among their mounts.
    pub fn processes(&self) -> BTreeSet<i32> {
        let mark = self.root.display().to_string();
        pids()
            .filter(|pid| {
                fs::read_to_string(format!("/proc/{pid}/mountinfo")).is_ok_and(|it| it.contains(&mark))
            })
            .collect()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Whether labs of this tier can be tested here; loud where not.
pub fn can(tier: Tier) -> bool {
    let nspawn = Path::new("/usr/bin/systemd-nspawn").is_file();
    if tier == Tier::Booted && !nspawn {
        eprintln!("NOT TESTED: booted hosts need the package systemd-container");
        assert!(std::env::var_os("CI").is_none(), "CI must have systemd-container");
        return false;
    }
    is_root("a lab")
}

pub fn pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Runs a script on a host over ssh.
pub fn ssh(lab: &Lab, host: &str, script: &str) -> Output {
    let mut command = Command::new("ssh");
    command.arg("-F").arg(lab.dir().join("ssh_config")).args([host, script]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    lab.spawn(&mut command).unwrap().wait_with_output().unwrap()
}

/// The same; what it printed, and it must have worked.
pub fn said(lab: &Lab, host: &str, script: &str) -> String {
    let output = ssh(lab, host, script);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{host}: {script}: {}\n{out}\n{err}", output.status);
    out.trim_end().to_owned()
}

/// Waits until something is so.
pub fn until(what: &str, limit: Duration, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !so() {
        assert!(Instant::now() < deadline, "not within {limit:?}: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a lab must not change: the machine's own mounts, links, addresses, routes, named networks, loop devices and
/// control groups.
#[derive(Debug, PartialEq, Eq)]
pub struct Machine(Vec<(&'static str, BTreeSet<String>)>);

impl Machine {
    pub fn now() -> Self {
        let lines = |text: String| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        let ip = |words: &[&str]| {
            let output = Command::new("ip").args(words).output().unwrap();
            lines(String::from_utf8(output.stdout).unwrap())
        };
        let names = |folder: &str| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect::<BTreeSet<_>>()
        };
        let loops = names("/sys/block")
            .into_iter()
            .filter(|disk| Path::new(&format!("/sys/block/{disk}/loop")).exists());
        Self(vec![
            ("mounts", lines(fs::read_to_string("/proc/self/mountinfo").unwrap())),
            ("links", ip(&["-o", "link"])),
            ("addresses", ip(&["-o", "-4", "addr"])),
            ("routes", ip(&["route", "show", "table", "all", "type", "unicast"])),
            ("named networks", names("/run/netns")),
            ("loop devices", loops.collect()),
        ])
    }
}

/// The control groups of the lab whose supervisor this is.
pub fn groups(supervisor: tunerun::lab::Started) -> Vec<PathBuf> {
    let name = format!("tunerun-lab-{}-{}", supervisor.pid, supervisor.start);
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd"]
        .iter()
        .map(|at| Path::new(at).join(&name))
        .filter(|at| at.exists())
        .collect()
}
