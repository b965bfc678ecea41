//! `apt`: Ansible's name for packages of Debian and Ubuntu, with its own arguments.
use super::family::Family;
use super::wish::{State, Wish, apt_samples};
use crate::argument::Names;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Packages of Debian and Ubuntu. As `package`; hosts of another family are refused.
///
/// Units, errors and sources: as `package`. `cache_valid_time` needs no clock here: lists are fetched only where
/// something is to be installed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Apt {
    /// The packages: a list, or one text with commas.
    #[serde(default)]
    pub name: Names,
    /// Whether they are installed.
    #[serde(default)]
    pub state: State,
    /// Fetch the lists first, where something is to be installed.
    #[serde(default)]
    pub update_cache: bool,
    /// Seconds for which lists count as fresh; any number above 0 is as `update_cache`.
    #[serde(default)]
    pub cache_valid_time: u64,
    /// Whether recommended packages come along; else as the host is set up.
    #[serde(default)]
    pub install_recommends: Option<bool>,
    /// Whether configuration goes with packages that go.
    #[serde(default)]
    pub purge: bool,
    /// Whether an older version may be installed over a newer one.
    #[serde(default)]
    pub allow_downgrade: bool,
    /// Seconds to wait for another run of apt; apt's own way is taken.
    #[serde(default)]
    pub lock_timeout: Option<u32>,
}

impl Apt {
    fn wish(&self) -> Wish<'_> {
        let mut options = Vec::new();
        options.extend(match self.install_recommends {
            Some(true) => Some("--install-recommends"),
            Some(false) => Some("--no-install-recommends"),
            None => None,
        });
        options.extend(self.allow_downgrade.then_some("--allow-downgrades"));
        Wish {
            packages: &self.name,
            state: self.state,
            update_cache: self.update_cache || self.cache_valid_time > 0,
            purge: self.purge,
            options,
            only: Some(Family::Apt),
        }
    }
}

impl Module for Apt {
    const NAME: &'static str = "apt";
    const EXAMPLE: &'static str = "\
- name: Tools for NUMA, from fresh lists
  apt:
    name: numactl
    update_cache: true
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("pkg", "name"),
        ("package", "name"),
        ("update-cache", "update_cache"),
        ("install-recommends", "install_recommends"),
        ("allow-downgrade", "allow_downgrade"),
        ("allow_downgrades", "allow_downgrade"),
    ];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.wish().plan(facts)
    }

    fn samples() -> Vec<Sample> {
        apt_samples()
    }
}
