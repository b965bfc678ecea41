//! `dnf` (and `yum`): Ansible's names for packages of RPM hosts, with their own arguments.
use super::family::Family;
use super::wish::{State, Wish};
use crate::argument::Names;
use crate::host::Host;
use crate::module::{Module, Sample};
use crate::vocabulary::{Change, Facts, Output, Read, Row, Seen, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Packages of RPM hosts. As `package`; hosts of another family are refused.
///
/// Units, errors and sources: as `package`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dnf {
    /// The packages: a list, or one text with commas.
    #[serde(default)]
    pub name: Names,
    /// Whether they are installed.
    #[serde(default)]
    pub state: State,
    /// Fetch the lists first, where something is to be installed.
    #[serde(default)]
    pub update_cache: bool,
    /// Whether an older version may be installed over a newer one; dnf itself allows it where a version is named.
    #[serde(default = "crate::argument::yes")]
    pub allow_downgrade: bool,
    /// Whether packages that are only recommended come along.
    #[serde(default = "crate::argument::yes")]
    pub install_weak_deps: bool,
}

impl Dnf {
    fn wish(&self) -> Wish<'_> {
        let options =
            if self.install_weak_deps { Vec::new() } else { vec!["--setopt=install_weak_deps=False"] };
        let (state, update_cache) = (self.state, self.update_cache);
        Wish { packages: &self.name, state, update_cache, purge: false, options, only: Some(Family::Dnf) }
    }
}

impl Module for Dnf {
    const NAME: &'static str = "dnf";
    const EXAMPLE: &'static str = "\
- name: Tools for NUMA
  dnf:
    name: numactl
    state: present
";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("pkg", "name"), ("expire-cache", "update_cache")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.wish().plan(facts)
    }

    fn samples() -> Vec<Sample> {
        let look = Family::Dnf.look(&["numactl".to_owned()]);
        let none = Seen::Output(Output {
            status: 1,
            stdout: "package numactl is not installed\n".into(),
            stderr: "".into(),
        });
        let there = Seen::Output(Output::ok("numactl installed\nnumactl=2.0.16-4.el9 installed\n"));
        let host = Host::new().file("/usr/bin/dnf", "").answer(look.clone(), none.clone()).answer(
            Row::new("dnf-candidates", ["numactl"]),
            Seen::Output(Output::ok("numactl\t2.0.16-4.el9\n")),
        );
        let calls = vec![
            (Row::new("dnf-install", ["--", "numactl"]), vec![(Read::Ask(look.clone()), there)]),
            (Row::new("dnf-remove", ["numactl"]), vec![(Read::Ask(look), none)]),
        ];
        vec![Sample { about: "it comes", args: json!({ "name": "numactl" }), host, calls }]
    }
}
