//! `package`: installed packages, by apt or dnf.
use super::family::Family;
use super::wish::{State, Wish, apt_samples};
use crate::argument::Names;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Installed packages, by apt or dnf, whichever the host has.
///
/// `NAME=VERSION` asks for a version (`*` at its end takes any that begins so). `latest` compares with the newest that
/// the host's lists know; lists are fetched (`update_cache`) only where something is to be installed, so that a second
/// run changes nothing.
///
/// The way back is approximate: packages are taken away or brought to their old version again; users, logs and
/// configuration that they made stay, and so do other packages that came along. After packages came or went, files
/// that are not there yet are known only late.
///
/// Errors: a package that the lists do not know (unless `update_cache` fetches new ones first), a file or URL in place
/// of a name, a host with another package manager. Sources: apt-get(8), dpkg-query(1), dnf(8), rpm(8).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// The packages: a list, or one text with commas.
    #[serde(default)]
    pub name: Names,
    /// Whether they are installed.
    #[serde(default)]
    pub state: State,
    /// Fetch the lists first, where something is to be installed.
    #[serde(default)]
    pub update_cache: bool,
    /// Which package manager; it must be the host's own.
    #[serde(default, rename = "use")]
    pub by: Option<String>,
}

impl Package {
    fn wish(&self) -> Result<Wish<'_>, Stop> {
        let only = match self.by.as_deref() {
            None | Some("auto") => None,
            Some("apt") => Some(Family::Apt),
            Some("dnf" | "dnf5" | "yum") => Some(Family::Dnf),
            Some(other) => {
                return Err(Stop::refused("use", format!("`{other}` is not known here"))
                    .way_out("use apt, dnf or auto"));
            }
        };
        let (state, update_cache) = (self.state, self.update_cache);
        Ok(Wish { packages: &self.name, state, update_cache, purge: false, options: Vec::new(), only })
    }
}

impl Module for Package {
    const NAME: &'static str = "package";
    const EXAMPLE: &'static str = "\
- name: The tools that later tasks need
  package:
    name: [ethtool, numactl]
    state: present
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("pkg", "name")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.wish()?.plan(facts)
    }

    fn samples() -> Vec<Sample> {
        apt_samples()
    }
}
