//! Which programs a host's packages are kept by, and how their answers read.
use crate::vocabulary::{Facts, HostPath, Output, Read, Row, Spoil, Stop};

/// A family of package tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Debian's dpkg and apt.
    Apt,
    /// RPM and dnf.
    Dnf,
}

/// Programs by which a family is told, in the order in which they are looked for.
const SIGNS: [(&str, Option<Family>); 6] = [
    ("/usr/bin/apt-get", Some(Family::Apt)),
    ("/usr/bin/dnf", Some(Family::Dnf)),
    ("/usr/bin/yum", None),
    ("/usr/bin/zypper", None),
    ("/usr/bin/pacman", None),
    ("/sbin/apk", None),
];

fn signs() -> Vec<Read> {
    SIGNS.iter().filter_map(|(path, _)| HostPath::new(path).ok()).map(Read::Stat).collect()
}

impl Family {
    /// The family of a host.
    pub fn of(facts: &Facts) -> Result<Self, Stop> {
        facts.need(&signs())?;
        for (path, family) in SIGNS {
            if facts.stat(&HostPath::new(path).map_err(Stop::failed)?)?.is_some() {
                return family.ok_or_else(|| {
                    Stop::failed(format!("packages of this host are kept by {path}, which is not known here"))
                        .way_out("install by a `command` with `creates:` and `undo:`")
                });
            }
        }
        Err(Stop::failed("this host has neither apt-get nor dnf"))
    }

    /// The name that Ansible's facts give it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Apt => "apt",
            Self::Dnf => "dnf",
        }
    }

    /// The narrow look at some packages: lines `NAME installed` and `NAME=VERSION installed`.
    pub fn look(self, names: &[String]) -> Row {
        let name = match self {
            Self::Apt => "dpkg-installed",
            Self::Dnf => "rpm-installed",
        };
        Row::new(name, names.iter().cloned())
    }

    /// The row that tells which versions could be installed.
    pub fn candidates(self, names: &[String]) -> Row {
        match self {
            Self::Apt => Row::new("apt-policy", names.iter().cloned()),
            Self::Dnf => Row::new("dnf-candidates", names.iter().cloned()),
        }
    }

    /// The candidate of a package, where the answer names one.
    pub fn candidate(self, answer: &Output, name: &str) -> Option<String> {
        let text = answer.text();
        match self {
            Self::Apt => {
                let mut lines = text.lines().skip_while(|line| line.strip_suffix(':') != Some(name));
                let found = lines.find_map(|line| line.trim().strip_prefix("Candidate: ").map(str::to_owned));
                found.filter(|version| version != "(none)")
            }
            Self::Dnf => text.lines().find_map(|line| {
                line.split_once('\t')
                    .filter(|(found, _)| *found == name)
                    .map(|(_, version)| version.to_owned())
            }),
        }
    }

    /// The call that installs `NAME` or `NAME=VERSION`.
    pub fn install(self, options: &[&str], packages: &[String]) -> Row {
        let name = match self {
            Self::Apt => "apt-get-install",
            Self::Dnf => "dnf-install",
        };
        let words = packages.iter().map(|package| match self {
            Self::Apt => package.clone(),
            Self::Dnf => package.replacen('=', "-", 1),
        });
        Row::new(
            name,
            options.iter().map(|option| (*option).to_owned()).chain(["--".to_owned()]).chain(words),
        )
    }

    /// The call that takes packages away.
    pub fn remove(self, purge: bool, names: &[String]) -> Row {
        let name = match (self, purge) {
            (Self::Apt, false) => "apt-get-remove",
            (Self::Apt, true) => "apt-get-purge",
            (Self::Dnf, _) => "dnf-remove",
        };
        Row::new(name, names.iter().cloned())
    }

    /// The call that fetches the lists.
    pub fn update(self) -> Row {
        let name = match self {
            Self::Apt => "apt-get-update",
            Self::Dnf => "dnf-makecache",
        };
        Row::new(name, Vec::<String>::new())
    }
}

/// What nobody knows any more after packages came or went. Files that are there stay as they are: a package manager
/// never overwrites what it does not own, and the comparison before each write catches the rest.
pub(crate) fn spoils() -> Vec<Spoil> {
    let answers = [
        "dpkg-installed",
        "dpkg-query",
        "apt-policy",
        "rpm-installed",
        "rpm-query",
        "dnf-candidates",
        "systemctl-unit-files",
        "systemctl-units",
        "getent",
        "id",
        "modinfo",
        "probe",
        "probe-shell",
    ];
    let folders = ["/etc", "/usr", "/var", "/opt", "/lib", "/sbin", "/bin"];
    let missing = folders.iter().filter_map(|folder| HostPath::new(folder).ok()).map(Spoil::Missing);
    answers.iter().map(|name| Spoil::Answers((*name).to_owned())).chain(missing).collect()
}
