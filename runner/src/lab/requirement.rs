//! What the machine must have before a lab can start; everything that is missing is named at once.
use super::spec::{LabSpec, Tier};
use crate::diagnostic::{Diagnostic, Problems};
use std::path::{Path, PathBuf};

/// Where programs of the system are looked for, whatever the caller's PATH is.
const FOLDERS: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// A program by its name, if it is installed.
pub(super) fn program(name: &str) -> Option<PathBuf> {
    FOLDERS.iter().map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}

/// The tier that is meant: [`Tier::Auto`] becomes what this machine can do.
pub(super) fn tier(asked: Tier) -> Tier {
    match asked {
        Tier::Auto if program("systemd-nspawn").is_some() => Tier::Booted,
        Tier::Auto => Tier::Plain,
        other => other,
    }
}

/// Everything that keeps this lab from starting here; empty if nothing does.
pub fn problems(spec: &LabSpec) -> Problems {
    let mut found = asked_wrongly(spec);
    if !nix::unistd::geteuid().is_root() {
        found.push(
            Diagnostic::error("a lab needs root: its hosts are made of mounts, networks and cgroups", None)
                .note("user namespaces are not enough: an overlay over / and sshd's setgroups are refused there")
                .note("plan, lint, doc and `connection: local` work without root")
                .help(format!("sudo {}", spec.command)),
        );
    }
    found.extend(apart(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default()));
    found.extend(missing(spec.tier, &|name| program(name).is_some()));
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    for (name, why) in [("overlay", "for the hosts' roots"), ("fuse", "for the hosts' kernel settings")] {
        if !known.lines().any(|line| line.split_whitespace().last() == Some(name)) && !loaded(name) {
            found.push(
                Diagnostic::error(format!("this kernel has no `{name}` file system, needed {why}"), None)
                    .help(format!("sudo modprobe {name}")),
            );
        }
    }
    found
}

/// Folders of the root that every host needs and that this machine keeps on a file system of their own: an overlay
/// over `/` does not see into those.
fn apart(mountinfo: &str) -> Problems {
    let points: Vec<&str> = mountinfo.lines().filter_map(|line| line.split(' ').nth(4)).collect();
    let needed = ["/usr", "/etc", "/var", "/var/lib"].into_iter().filter(|folder| points.contains(folder));
    needed
        .map(|folder| {
            Diagnostic::error(
                format!("{folder} is a file system of its own, which a lab's hosts could not see"),
                None,
            )
            .help("run the lab on a machine that has it on the root file system")
        })
        .collect()
}

/// The programs that are not there, each with the package that brings it.
fn missing(tier: Tier, is_there: &dyn Fn(&str) -> bool) -> Problems {
    let mut needed = vec![("sshd", "openssh-server"), ("ip", "iproute2"), ("setpriv", "util-linux")];
    if tier == Tier::Booted {
        needed.push(("systemd-nspawn", "systemd-container"));
    }
    let gone = needed.into_iter().filter(|(name, _)| !is_there(name));
    gone.map(|(name, package)| {
        Diagnostic::error(format!("`{name}` is not installed, and a lab needs it"), None)
            .help(format!("sudo apt-get install {package}"))
    })
    .collect()
}

/// Asks the kernel to load what it can load; whether it did.
fn loaded(module: &str) -> bool {
    let Some(modprobe) = program("modprobe") else { return false };
    std::process::Command::new(modprobe).arg("-q").arg(module).status().is_ok_and(|status| status.success())
}

/// What is wrong with the question itself.
fn asked_wrongly(spec: &LabSpec) -> Problems {
    let mut found = Problems::new();
    let plain = |name: &str| {
        !name.is_empty()
            && name.len() <= 63
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    if !plain(&spec.name) {
        found.push(Diagnostic::error(format!("`{}` cannot name a lab", spec.name), None).help(NAMES));
    }
    for (at, host) in spec.hosts.iter().enumerate() {
        if !plain(host) || host.contains('_') || host.ends_with('-') {
            found.push(Diagnostic::error(format!("`{host}` cannot name a lab's host"), None).help(NAMES));
        } else if spec.hosts[..at].contains(host) {
            found.push(Diagnostic::error(format!("the lab's host `{host}` is named twice"), None));
        }
    }
    if spec.hosts.is_empty() {
        found.push(Diagnostic::error("a lab needs at least one host", None));
    }
    if spec.hosts.len() > MOST_HOSTS {
        found.push(
            Diagnostic::error(format!("{} hosts are more than a lab can have", spec.hosts.len()), None)
                .note("a Linux bridge has 1024 ports, and the neighbour table ends there too")
                .help(format!("ask for at most {MOST_HOSTS} hosts")),
        );
    }
    if spec.upper_mib < 16 {
        found.push(Diagnostic::error("a lab's host needs at least 16 MiB to write to", None));
    }
    found
}

/// A bridge has 1024 ports, number 0 is not one, and the neighbour table needs room for its own.
const MOST_HOSTS: usize = 1000;

/// What a name may be.
const NAMES: &str = "use up to 63 letters, digits, `-` and `_`, beginning with a letter or digit";

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(hosts: &[&str]) -> LabSpec {
        LabSpec::new("t", hosts, "/nonexistent".into(), "/nonexistent".into())
    }

    #[test]
    fn every_wrong_name_is_told() {
        let found = asked_wrongly(&LabSpec { name: "../x".into(), ..spec(&["a b", "ok", "ok", ""]) });
        let words: Vec<_> = found.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(
            words,
            [
                "`../x` cannot name a lab",
                "`a b` cannot name a lab's host",
                "the lab's host `ok` is named twice",
                "`` cannot name a lab's host"
            ]
        );
    }

    #[test]
    fn what_is_missing_is_named_by_its_package() {
        let helps = |tier, there: &str| -> Vec<_> {
            missing(tier, &|name| name == there || name == "setpriv")
                .into_iter()
                .filter_map(|it| it.help)
                .collect()
        };
        assert_eq!(helps(Tier::Plain, "ip"), ["sudo apt-get install openssh-server"]);
        let two = ["sudo apt-get install iproute2", "sudo apt-get install systemd-container"];
        assert_eq!(helps(Tier::Booted, "sshd"), two);
    }

    #[test]
    fn a_folder_on_a_file_system_of_its_own_is_named() {
        let info = "22 27 0:21 / / rw - ext4 /dev/vda rw\n23 22 0:22 / /var rw - ext4 /dev/vdb rw\n";
        assert_eq!(apart(info).len(), 1);
        assert!(apart(info)[0].message.starts_with("/var is"));
        assert_eq!(apart("23 22 0:22 / /var/lib/docker rw - ext4 /dev/vdb rw\n"), []);
    }

    #[test]
    fn a_bridge_ends_at_its_last_port() {
        let names: Vec<String> = (0..1001).map(|n| format!("h{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(asked_wrongly(&spec(&names[..1000])), []);
        assert_eq!(asked_wrongly(&spec(&names)).len(), 1);
        assert_eq!(asked_wrongly(&spec(&[])).len(), 1);
    }
}
