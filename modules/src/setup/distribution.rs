//! Facts of the distribution: os-release(5) in Ansible's words.
use crate::files::place::known;
use crate::files::text::TextFile;
use crate::vocabulary::{Facts, HostPath, Read, Stop, missing};
use serde_json::Value as Json;
use std::collections::BTreeMap;

const RELEASE: &str = "/etc/os-release";
const DEBIAN: &str = "/etc/debian_version";
const CENTOS: &str = "/etc/centos-release";

/// `ID` of os-release, Ansible's name, and its family.
const NAMES: &[(&str, &str, &str)] = &[
    ("almalinux", "AlmaLinux", "RedHat"),
    ("alpine", "Alpine", "Alpine"),
    ("amzn", "Amazon", "RedHat"),
    ("arch", "Archlinux", "Archlinux"),
    ("centos", "CentOS", "RedHat"),
    ("debian", "Debian", "Debian"),
    ("fedora", "Fedora", "RedHat"),
    ("gentoo", "Gentoo", "Gentoo"),
    ("kali", "Kali", "Debian"),
    ("linuxmint", "Linux Mint", "Debian"),
    ("nixos", "NixOS", "NixOS"),
    ("ol", "OracleLinux", "RedHat"),
    ("openEuler", "openEuler", "RedHat"),
    ("opensuse-leap", "openSUSE Leap", "Suse"),
    ("opensuse-tumbleweed", "openSUSE Tumbleweed", "Suse"),
    ("raspbian", "Debian", "Debian"),
    ("rhel", "RedHat", "RedHat"),
    ("rocky", "Rocky", "RedHat"),
    ("sle-micro", "SLE Micro", "Suse"),
    ("sles", "SLES", "Suse"),
    ("sles_sap", "SLES_SAP", "Suse"),
    ("ubuntu", "Ubuntu", "Debian"),
];

/// What must be read.
pub(super) fn reads(facts: &Facts) -> Vec<Read> {
    [RELEASE, DEBIAN, CENTOS]
        .iter()
        .filter_map(|path| HostPath::new(path).ok())
        .flat_map(|path| missing(TextFile::read(facts, &path)))
        .collect()
}

fn fields(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| line.trim().split_once('='))
        .map(|(name, value)| (name, value.trim().trim_matches(['"', '\''])))
        .collect()
}

/// One of `distribution`, `family`, `release`, `version`, `major`.
pub(super) fn of(facts: &Facts, what: &str) -> Result<Json, Stop> {
    let file = TextFile::read(facts, &known(RELEASE)?)?;
    let fields = fields(&file.text);
    let get = |name: &str| fields.get(name).copied().unwrap_or_default();
    let id = get("ID");
    let named = NAMES.iter().find(|(known, ..)| *known == id);
    let family = || {
        let like = get("ID_LIKE")
            .split_whitespace()
            .find_map(|like| NAMES.iter().find(|(known, ..)| *known == like));
        named.or(like).map_or_else(|| get("NAME").to_owned(), |(_, _, family)| (*family).to_owned())
    };
    let text = match what {
        "distribution" => named.map_or_else(|| get("NAME").to_owned(), |(_, name, _)| (*name).to_owned()),
        "family" => family(),
        "release" => release(&fields),
        _ => {
            let version = version(facts, id, get("VERSION_ID"))?;
            match what {
                "major" => version.split('.').next().unwrap_or_default().to_owned(),
                _ => version,
            }
        }
    };
    Ok(Json::from(if text.is_empty() { "NA".to_owned() } else { text }))
}

fn release(fields: &BTreeMap<&str, &str>) -> String {
    let get = |name: &str| fields.get(name).copied().unwrap_or_default();
    let bracketed =
        get("VERSION").split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(name, _)| name);
    match get("VERSION_CODENAME") {
        "" => bracketed.unwrap_or_default().to_owned(),
        name => name.to_owned(),
    }
}

/// Debian and CentOS keep their minor version outside of os-release.
fn version(facts: &Facts, id: &str, version: &str) -> Result<String, Stop> {
    match id {
        "debian" | "raspbian" => {
            let own = TextFile::read(facts, &known(DEBIAN)?)?.text.trim().to_owned();
            Ok(if own.starts_with(|letter: char| letter.is_ascii_digit()) { own } else { version.to_owned() })
        }
        "centos" => {
            let text = TextFile::read(facts, &known(CENTOS)?)?.text;
            let own = text.split_whitespace().skip_while(|word| *word != "release").nth(1).unwrap_or(version);
            Ok(own.split('.').take(2).collect::<Vec<_>>().join("."))
        }
        _ => Ok(version.to_owned()),
    }
}

/// Package managers by family of distribution, and the programs that they are told by.
const MANAGERS: [(&str, &str); 7] = [
    ("/usr/bin/apt-get", "apt"),
    ("/usr/bin/dnf", "dnf"),
    ("/usr/bin/yum", "yum"),
    ("/usr/bin/zypper", "zypper"),
    ("/usr/bin/pacman", "pacman"),
    ("/sbin/apk", "apk"),
    ("/usr/bin/emerge", "portage"),
];

/// What must be read.
pub(super) fn manager_reads(_: &Facts) -> Vec<Read> {
    MANAGERS.iter().filter_map(|(path, _)| HostPath::new(path).ok()).map(Read::Stat).collect()
}

/// `pkg_mgr`.
pub(super) fn manager(facts: &Facts) -> Result<Json, Stop> {
    for (path, name) in MANAGERS {
        if facts.stat(&known(path)?)?.is_some() {
            return Ok(Json::from(name));
        }
    }
    Ok(Json::from("unknown"))
}
