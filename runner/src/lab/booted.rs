//! A booted host: systemd as its pid 1, started by systemd-nspawn and started again when it asks for a reboot.
use super::knobs::Settings;
use super::network::{card, inside, ipv6_off, plug, unplug};
use super::requirement::program;
use super::spec::LabHost;
use super::{cgroup, cmdline, failed};
use crate::diagnostic::Diagnostic;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Where a host sees its own settings.
pub(super) const SETTINGS: &str = "/usr/lib/tunerun-lab/settings";

/// What systemd-nspawn ends with under `--keep-unit` when the host asked for a reboot.
const REBOOT: i32 = 133;

/// How long systemd-nspawn may take until the host has a network of its own.
const LEADER: Duration = Duration::from_secs(60);

/// What a booted host is made of.
pub(super) struct Frame {
    /// Who it is.
    pub host: LabHost,
    /// Where its root is mounted.
    pub root: PathBuf,
    /// Its kernel settings, and where they are mounted.
    pub settings: (Settings, PathBuf),
    /// Its control groups.
    pub groups: Vec<PathBuf>,
    /// Where its console is written.
    pub log: PathBuf,
    /// The program that hosts find at `/usr/lib/tunerun-lab/tunerun`.
    pub program: PathBuf,
}

/// A booted host, with the thread that boots it again when it asks for it.
pub(super) struct Booted {
    ending: Arc<AtomicBool>,
    off: Arc<AtomicBool>,
}

impl Booted {
    /// Boots a host; its console is written to its log.
    pub fn start(frame: Frame) -> Self {
        let host = Self { ending: Arc::default(), off: Arc::default() };
        let (ending, off) = (Arc::clone(&host.ending), Arc::clone(&host.off));
        std::thread::spawn(move || {
            frame.run(&ending);
            off.store(true, Ordering::Release);
        });
        host
    }

    /// Lets it stay off when it ends.
    pub fn stop_watching(&self) {
        self.ending.store(true, Ordering::Release);
    }

    /// Whether it was powered off, or could not be booted.
    pub fn is_off(&self) -> bool {
        self.off.load(Ordering::Acquire)
    }
}

impl Frame {
    /// Boots the host as often as it asks for it.
    fn run(&self, ending: &AtomicBool) {
        while !ending.load(Ordering::Acquire) {
            let again = match self.boot() {
                Ok(status) => status.code() == Some(REBOOT),
                Err(problem) => {
                    self.note(&problem);
                    false
                }
            };
            self.clear();
            if !again {
                return;
            }
        }
    }

    /// One boot, from power on to power off.
    fn boot(&self) -> Result<ExitStatus, Box<Diagnostic>> {
        self.settings.0.boot(&cmdline::next(&self.root));
        let mut nspawn = self.nspawn()?;
        let wired = self.wire(&mut nspawn);
        if wired.is_err() {
            let _ = nspawn.kill();
        }
        let status = nspawn.wait().map_err(failed(format!("wait for {}", self.host.name)))?;
        wired.map(|()| status)
    }

    fn nspawn(&self) -> Result<Child, Box<Diagnostic>> {
        let nspawn = program("systemd-nspawn")
            .ok_or_else(|| Diagnostic::error("`systemd-nspawn` is not installed", None))?;
        let log = File::options().append(true).create(true).open(&self.log);
        let log = log.map_err(failed(format!("write {}", self.log.display())))?;
        let errors = log.try_clone().map_err(failed("open the host's log"))?;
        let mut command = Command::new(&self.program);
        command.arg("__lab-grouped").args(&self.groups).arg("--").arg(nspawn);
        command.args([
            "--quiet",
            "--register=no",
            "--keep-unit",
            "--kill-signal=SIGRTMIN+3",
            "--private-network",
        ]);
        command.args(["--link-journal=no", "--resolv-conf=off", "--timezone=off", "--console=read-only"]);
        // Its disks are the machine's to whoever can name them; the clock and the modules nspawn keeps back itself.
        command.arg("--drop-capability=CAP_MKNOD,CAP_SYS_RAWIO,CAP_SYS_MODULE,CAP_SYS_TIME");
        command.arg(format!("--machine={}", self.host.name));
        command.arg("--directory").arg(&self.root);
        command.arg(format!("--bind-ro={}:/usr/lib/tunerun-lab/tunerun", colons(&self.program)));
        command.arg(format!("--bind={}:{SETTINGS}", colons(&self.settings.1)));
        command.arg("--boot");
        // The network's settings are the host's own and real; the others it gets as copies.
        command.env_clear().env("SYSTEMD_NSPAWN_API_VFS_WRITABLE", "network");
        command.env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        command.spawn().map_err(failed(format!("start {}", self.host.name)))
    }

    /// Gives the host its card as soon as it has a network of its own.
    fn wire(&self, nspawn: &mut Child) -> Result<(), Box<Diagnostic>> {
        let Some(leader) = self.leader(nspawn)? else { return Ok(()) };
        let network = format!("/proc/{leader}/ns/net");
        let network = File::open(&network).map_err(failed(format!("open {network}")))?;
        inside(&network, || {
            ipv6_off();
            Ok(())
        })?;
        plug(&[(&self.host, leader)])?;
        inside(&network, || card(&self.host))
    }

    /// The host's pid 1, once it has a network of its own; none if the host ended before.
    fn leader(&self, nspawn: &mut Child) -> Result<Option<u32>, Box<Diagnostic>> {
        let here = fs::read_link("/proc/self/ns/net").map_err(failed("read its network's name"))?;
        let deadline = Instant::now() + LEADER;
        while Instant::now() < deadline {
            let found = children(nspawn.id()).into_iter().find(|pid| {
                fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|network| network != here)
            });
            if found.is_some() {
                return Ok(found);
            }
            if nspawn.try_wait().map_err(failed("wait for systemd-nspawn"))?.is_some() {
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Err(Diagnostic::error(format!("{} got no network of its own", self.host.name), None).into())
    }

    /// Ends what is left of a boot. If systemd-nspawn was killed, its host goes on without it: it ends here.
    fn clear(&self) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            let left: Vec<i32> = self.groups.iter().flat_map(|group| cgroup::processes(group)).collect();
            if left.is_empty() {
                break;
            }
            for pid in left {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        unplug(&self.host);
    }

    fn note(&self, problem: &Diagnostic) {
        if let Ok(mut log) = File::options().append(true).create(true).open(&self.log) {
            let _ = writeln!(log, "{}", problem.message);
            problem.notes.iter().for_each(|note| {
                let _ = writeln!(log, "{note}");
            });
        }
    }
}

/// A path as systemd-nspawn's `--bind` reads it.
fn colons(path: &Path) -> String {
    path.display().to_string().replace('\\', "\\\\").replace(':', "\\:")
}

/// The children of a process.
fn children(parent: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let above = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        above == Some(parent)
    })
    .collect()
}
