//! A plain host: namespaces around an sshd, which is the host's pid 1.
use super::spec::LabHost;
use super::{failed, knobs, network, refused};
use crate::diagnostic::Diagnostic;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::sys::stat::{Mode, SFlag, makedev, mknod};
use nix::unistd::{pivot_root, sethostname};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What would reach the machine itself: its clock, its modules, its memory, its disks.
const KEPT_FROM_HOSTS: &str =
    "-sys_time,-sys_module,-sys_rawio,-sys_boot,-mknod,-syslog,-wake_alarm,-block_suspend";

/// What a plain host is told on its standard input.
#[derive(Serialize, Deserialize)]
pub(super) struct Birth {
    /// Who it is.
    pub host: LabHost,
    /// Where its root is mounted.
    pub root: PathBuf,
    /// Where its kernel settings are mounted.
    pub settings: PathBuf,
}

/// A plain host that waits for its card.
pub(super) struct Waiting {
    /// Its process.
    pub child: Child,
    birth: Birth,
}

/// Starts a host up to where it waits for its card. Standard output and error go to `log`.
pub(super) fn start(program: &Path, birth: Birth, log: File) -> Result<Waiting, Box<Diagnostic>> {
    let errors = log.try_clone().map_err(failed("open the host's log"))?;
    // Unsharing a pid namespace is for the children of one thread, so this thread is the host's alone.
    let spawned = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(
                CloneFlags::CLONE_NEWNS
                    | CloneFlags::CLONE_NEWNET
                    | CloneFlags::CLONE_NEWPID
                    | CloneFlags::CLONE_NEWUTS
                    | CloneFlags::CLONE_NEWIPC,
            )?;
            Command::new(program)
                .arg("__lab-host")
                .env_clear()
                .stdin(Stdio::piped())
                .stdout(log)
                .stderr(errors)
                .spawn()
        });
        thread.join().unwrap_or_else(|_| Err(std::io::Error::other("its thread ended early")))
    });
    let child = spawned.map_err(failed(format!("start {}", birth.host.name)))?;
    Ok(Waiting { child, birth })
}

impl Waiting {
    /// Lets the host go on now that its card is plugged in.
    pub fn go(mut self) -> Result<Child, Box<Diagnostic>> {
        let name = self.birth.host.name.clone();
        let text = serde_json::to_vec(&self.birth)
            .map_err(|error| failed(format!("tell {name} who it is"))(error.into()))?;
        if let Some(mut input) = self.child.stdin.take() {
            input.write_all(&text).map_err(failed(format!("tell {name} who it is")))?;
        }
        Ok(self.child)
    }
}

/// What `__lab-host` does: becomes the host, as pid 1 of its namespaces. Returns only if that failed.
pub(super) fn become_host() -> Box<Diagnostic> {
    match prepare() {
        Ok(()) => failed("start the host's sshd")(
            Command::new("/usr/bin/setpriv")
                .arg(format!("--bounding-set={KEPT_FROM_HOSTS}"))
                .args(["/usr/sbin/sshd", "-D", "-e"])
                .env_clear()
                .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
                .stdin(Stdio::null())
                .exec(),
        ),
        Err(problem) => problem,
    }
}

fn prepare() -> Result<(), Box<Diagnostic>> {
    let birth: Birth = serde_json::from_reader(std::io::stdin())
        .map_err(|error| failed("read who this host is")(error.into()))?;
    sethostname(&birth.host.name).map_err(refused("name the host"))?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)
        .map_err(refused("keep the host's mounts to itself"))?;
    network::ipv6_off();
    network::card(&birth.host)?;
    mounts(&birth.root, &birth.settings)?;
    enter(&birth.root)
}

/// The file systems that every Linux has.
fn mounts(root: &Path, settings: &Path) -> Result<(), Box<Diagnostic>> {
    file_system(root, "proc", "proc", MsFlags::empty(), "")?;
    file_system(root, "sys", "sysfs", MsFlags::empty(), "")?;
    file_system(root, "run", "tmpfs", MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=755,size=16m")?;
    file_system(root, "dev", "tmpfs", MsFlags::MS_NOSUID, "mode=755,size=4m")?;
    for folder in ["run/sshd", "run/lock", "dev/pts", "dev/shm"] {
        fs::create_dir(root.join(folder)).map_err(failed(format!("make /{folder}")))?;
    }
    file_system(root, "dev/shm", "tmpfs", MsFlags::MS_NOSUID | MsFlags::MS_NODEV, "mode=1777,size=16m")?;
    file_system(root, "dev/pts", "devpts", MsFlags::MS_NOSUID, "newinstance,ptmxmode=0666,mode=620")?;
    devices(&root.join("dev"))?;
    knobs::put_in_place(root, settings)
}

fn file_system(
    root: &Path,
    at: &str,
    kind: &str,
    flags: MsFlags,
    options: &str,
) -> Result<(), Box<Diagnostic>> {
    let at = root.join(at);
    mount(Some("tunerun-lab"), &at, Some(kind), flags, Some(options))
        .map_err(refused(format!("mount {kind} at {}", at.display())))
}

/// The device files that programs count on.
fn devices(dev: &Path) -> Result<(), Box<Diagnostic>> {
    let known = [("null", 3), ("zero", 5), ("full", 7), ("random", 8), ("urandom", 9)];
    for (name, minor) in
        known.into_iter().map(|(name, minor)| (name, makedev(1, minor))).chain([("tty", makedev(5, 0))])
    {
        let path = dev.join(name);
        mknod(&path, SFlag::S_IFCHR, Mode::empty(), minor).map_err(refused(format!("make /dev/{name}")))?;
        fs::set_permissions(&path, Permissions::from_mode(0o666))
            .map_err(failed(format!("open /dev/{name}")))?;
    }
    for (link, to) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "fd/0"),
        ("stdout", "fd/1"),
        ("stderr", "fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(to, dev.join(link)).map_err(failed(format!("make /dev/{link}")))?;
    }
    Ok(())
}

/// Makes the host's root the only one there is.
fn enter(root: &Path) -> Result<(), Box<Diagnostic>> {
    std::env::set_current_dir(root).map_err(failed("enter the host's root"))?;
    pivot_root(".", ".").map_err(refused("change to the host's root"))?;
    umount2(".", MntFlags::MNT_DETACH).map_err(refused("leave the machine's root"))?;
    std::env::set_current_dir("/").map_err(failed("enter the host's root"))
}
