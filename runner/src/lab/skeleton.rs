//! The layer that all hosts share above the machine's own root: what is empty, and what is the same on each host.
use super::keys::Pair;
use super::{failed, refused};
use crate::diagnostic::Diagnostic;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::stat::{Mode, SFlag, mknod};
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The folders of the machine's root that hosts see; every other folder there is empty on them.
const SEEN: [&str; 11] =
    ["bin", "sbin", "lib", "lib32", "lib64", "libx32", "usr", "etc", "var", "opt", "boot"];

/// Folders below those that are empty on a host: what is scratch, private to the machine, or made for this host.
/// Units enabled on the machine and its mounts are not the host's, so `/etc/systemd/system` begins empty too.
const EMPTY: [(&str, u32); 6] = [
    ("var/tmp", 0o1777),
    // What runs left on the machine itself is not the hosts'.
    ("var/lib/tunerun", 0o700),
    ("etc/ssh", 0o755),
    ("etc/systemd/system", 0o755),
    ("etc/systemd/network", 0o755),
    ("boot/grub", 0o755),
];

/// Folders without which no host can run; the folder tunerun was started in is not hidden if it holds one.
const NEEDED: [&str; 9] = [
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/bin",
    "/sbin",
    "/lib",
    "/etc/ssh",
    "/etc/systemd",
    "/var/lib/dpkg",
];

/// The sshd of every host. A connection a host never meets MaxStartups; MaxSessions stays OpenSSH's own.
const SSHD: &str = "\
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
LogLevel ERROR
MaxStartups 1000
Subsystem sftp internal-sftp
";

/// The boot loader's settings as a fresh Debian has them.
const GRUB: &str = "\
# If you change this file, run 'update-grub' afterwards to update
# /boot/grub/grub.cfg.

GRUB_DEFAULT=0
GRUB_TIMEOUT=5
GRUB_DISTRIBUTOR=`lsb_release -i -s 2> /dev/null || echo Debian`
GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"
GRUB_CMDLINE_LINUX=\"\"
";

/// GRUB's programs, as far as a host without a boot loader has a use for them.
const GRUB_PROGRAMS: &str = include_str!("grub.sh");

/// The menu of a host that has not been touched: what the programs write from [`GRUB`].
const GRUB_MENU: &str = "\
# Written by a stand-in for grub-mkconfig on a host of a tunerun lab.
if [ \"${next_entry}\" ] ; then
   set default=\"${next_entry}\"
   set next_entry=
   save_env next_entry
else
   set default=\"0\"
fi
menuentry 'GNU/Linux' --class gnu-linux --id gnulinux-simple {
	linux	/boot/vmlinuz root=/dev/vda1 ro  quiet
}
menuentry 'GNU/Linux (recovery mode)' --class gnu-linux --id gnulinux-recovery {
	linux	/boot/vmlinuz root=/dev/vda1 ro single\x20
}
if [ -f ${config_directory}/custom.cfg ]; then
  source ${config_directory}/custom.cfg
fi
";

/// GRUB's environment block without a variable, but for its filling.
const GRUB_ENVIRONMENT: &str = "# GRUB Environment Block\n";

/// What hosts boot by systemd: enough for a person and a runner to log in, and nothing else of the machine's.
pub(super) const TARGET: &str = "\
[Unit]
Description=A host of a tunerun lab
Requires=basic.target
Wants=dbus.service dbus.socket systemd-logind.service ssh.service sshd.service
After=basic.target rescue.service rescue.target
Conflicts=rescue.service rescue.target
AllowIsolate=yes
";

/// What puts the kernel settings of this host in place before anything reads them.
const SETTINGS: &str = "\
[Unit]
Description=Kernel settings of this host of a tunerun lab
DefaultDependencies=no
Before=sysinit.target systemd-sysctl.service systemd-modules-load.service
Conflicts=shutdown.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/lib/tunerun-lab/tunerun __lab-settings
";

/// Builds the layer in `fs/skel` and returns its folder. `names` is the hosts file of all.
pub(super) fn build(
    fs_dir: &Path,
    client: &Pair,
    hidden: &[PathBuf],
    names: &str,
) -> Result<PathBuf, Box<Diagnostic>> {
    let skel = fs_dir.join("skel");
    let (work, merged) = (fs_dir.join("skel.work"), fs_dir.join("skel.merged"));
    for folder in [&skel, &work, &merged] {
        fs::create_dir_all(folder).map_err(failed(format!("make {}", folder.display())))?;
    }
    let empty = emptied(hidden)?;
    for (folder, _) in &empty {
        hide(&skel, folder)?;
    }
    overlay(&merged, &[Path::new("/")], &skel, &work)?;
    let filled = empty
        .iter()
        .try_for_each(|(folder, mode)| open_again(&merged.join(folder), *mode))
        .and_then(|()| fill(&merged, client, names));
    umount2(&merged, MntFlags::MNT_DETACH).map_err(refused("let go of the shared layer"))?;
    filled.map(|()| skel)
}

/// Mounts an overlay; the first of `lower` is the uppermost.
pub(super) fn overlay(
    target: &Path,
    lower: &[&Path],
    upper: &Path,
    work: &Path,
) -> Result<(), Box<Diagnostic>> {
    let escaped = |path: &Path| {
        let text = path.display().to_string();
        text.replace('\\', "\\\\").replace(':', "\\:").replace(',', "\\,")
    };
    let lower: Vec<String> = lower.iter().map(|path| escaped(path)).collect();
    let options =
        format!("lowerdir={},upperdir={},workdir={}", lower.join(":"), escaped(upper), escaped(work));
    mount(Some("tunerun-lab"), target, Some("overlay"), MsFlags::empty(), Some(options.as_str()))
        .map_err(refused(format!("mount a root at {}", target.display())))
}

/// The folders that are empty on hosts, relative to the root, with their modes; parents come first.
fn emptied(hidden: &[PathBuf]) -> Result<Vec<(PathBuf, u32)>, Box<Diagnostic>> {
    let mut found: BTreeSet<(PathBuf, u32)> = BTreeSet::new();
    for entry in fs::read_dir("/").map_err(failed("read /"))?.flatten() {
        let name = entry.file_name();
        let seen = SEEN.iter().any(|seen| name == *seen);
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !seen {
            let mode = match name.to_str() {
                Some("tmp") => 0o1777,
                Some("root") => 0o700,
                _ => 0o755,
            };
            found.insert((PathBuf::from(name), mode));
        }
    }
    found.extend(EMPTY.iter().map(|(folder, mode)| (PathBuf::from(folder), *mode)));
    for folder in hidden {
        let needed = NEEDED.iter().any(|needed| Path::new(needed).starts_with(folder));
        let Ok(relative) = folder.strip_prefix("/") else { continue };
        let covered = found.iter().any(|(already, _)| relative.starts_with(already));
        if !needed && !covered && folder.is_dir() {
            found.insert((relative.to_owned(), 0o755));
        }
    }
    Ok(found.into_iter().filter(|(folder, _)| Path::new("/").join(folder).is_dir()).collect())
}

/// Puts a whiteout where the folder is. A folder that is then made over it by the overlay is opaque, without the
/// need of a program that sets extended attributes.
fn hide(skel: &Path, folder: &Path) -> Result<(), Box<Diagnostic>> {
    let mut at = PathBuf::new();
    for part in folder.parent().into_iter().flat_map(Path::components) {
        at.push(part);
        let here = skel.join(&at);
        if !here.exists() {
            let like = fs::metadata(Path::new("/").join(&at)).map_err(failed("read the machine's root"))?;
            fs::create_dir(&here)
                .and_then(|()| std::os::unix::fs::chown(&here, Some(like.uid()), Some(like.gid())))
                .and_then(|()| fs::set_permissions(&here, Permissions::from_mode(like.mode() & 0o7777)))
                .map_err(failed(format!("make {}", here.display())))?;
        }
    }
    mknod(&skel.join(folder), SFlag::S_IFCHR, Mode::empty(), 0)
        .map_err(refused(format!("hide /{} from the hosts", folder.display())))
}

/// Makes the hidden folder anew, empty.
fn open_again(folder: &Path, mode: u32) -> Result<(), Box<Diagnostic>> {
    fs::create_dir(folder)
        .and_then(|()| fs::set_permissions(folder, Permissions::from_mode(mode)))
        .map_err(failed(format!("make {}", folder.display())))
}

/// Writes what is the same on each host.
fn fill(root: &Path, client: &Pair, names: &str) -> Result<(), Box<Diagnostic>> {
    let authorized = format!("{} tunerun-lab\n", client.public);
    // The machine's disks are not the hosts': an fstab would make a booted host wait for them.
    let environment = format!("{GRUB_ENVIRONMENT:#<1024}");
    for (path, text, mode) in [
        ("boot/grub/grubenv", environment.as_str(), 0o644),
        ("etc/ssh/sshd_config", SSHD, 0o644),
        ("etc/default/grub", GRUB, 0o644),
        ("boot/grub/grub.cfg", GRUB_MENU, 0o444),
        ("usr/lib/tunerun-lab/grub", GRUB_PROGRAMS, 0o755),
        ("etc/fstab", "", 0o644),
        ("etc/hosts", names, 0o644),
        ("etc/crypttab", "", 0o600),
        ("etc/machine-id", "", 0o444),
        ("root/.ssh/authorized_keys", authorized.as_str(), 0o600),
        ("etc/systemd/system/tunerun-lab.target", TARGET, 0o644),
        ("etc/systemd/system/tunerun-lab-settings.service", SETTINGS, 0o644),
        ("usr/lib/tunerun-lab/tunerun", "", 0o755),
        ("usr/lib/tunerun-lab/settings/.empty", "", 0o644),
    ] {
        file(&root.join(path), text, mode)?;
    }
    fs::set_permissions(root.join("root/.ssh"), Permissions::from_mode(0o700))
        .map_err(failed("close /root/.ssh"))?;
    link(root, "etc/systemd/system/default.target", "tunerun-lab.target")?;
    let settings = "etc/systemd/system/sysinit.target.wants/tunerun-lab-settings.service";
    link(root, settings, "../tunerun-lab-settings.service")?;
    for name in ["grub-mkconfig", "update-grub", "grub-reboot", "grub-set-default", "grub-probe"] {
        link(root, &format!("usr/sbin/{name}"), "../lib/tunerun-lab/grub")?;
    }
    link(root, "usr/bin/grub-editenv", "../lib/tunerun-lab/grub")?;
    Ok(())
}

/// Writes one file with its mode, and the folders above it.
pub(super) fn file(path: &Path, text: &str, mode: u32) -> Result<(), Box<Diagnostic>> {
    parents(path)?;
    let _ = fs::remove_file(path);
    fs::write(path, text)
        .and_then(|()| fs::set_permissions(path, Permissions::from_mode(mode)))
        .map_err(failed(format!("write {}", path.display())))
}

/// Makes a link, whatever was there.
fn link(root: &Path, path: &str, to: &str) -> Result<(), Box<Diagnostic>> {
    let path = root.join(path);
    parents(&path)?;
    let _ = fs::remove_file(&path);
    std::os::unix::fs::symlink(to, &path).map_err(failed(format!("make {}", path.display())))
}

/// Makes the folders above a path.
fn parents(path: &Path) -> Result<(), Box<Diagnostic>> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(failed(format!("make {}", parent.display())))
}
