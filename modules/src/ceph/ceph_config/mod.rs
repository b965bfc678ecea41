//! `ceph_config`: options of a cluster's daemons and clients, in the mons' database or in ceph.conf.
mod conf;
mod felt;
mod file;
mod memory;
mod mons;
mod proof;
mod risks;
mod samples;
mod typed;
mod who;

use crate::argument::Names;
use crate::ceph::Cluster;
use crate::module::{Module, Sample, Scope};
use crate::vocabulary::{Change, Facts, Stop};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use typed::Value;
use who::Who;

/// Options of a cluster's daemons and clients: in the mons' database, or with `file` in a ceph.conf.
///
/// In the database it acts once for the whole cluster, on the first host of `ceph_via` (the group `mons` where nothing
/// is said) that can be reached, whatever hosts the play has; the task is refused where the cluster that answers is
/// not the one that `ceph_fsid` names. Values compare by the option's type: `8G` is `8589934592`, `yes` is `true`,
/// `0.5` is `0.500000`; an equal value is not written, since that would add a version to the cluster's log. The way
/// back puts the old value back or removes the option, and touches nothing else. Whether daemons hold it is asked of
/// the daemons themselves; where they do not, what is stored, what they hold and the default are told together.
///
/// Units: sizes take K, M, G … as powers of 1024, other numbers as powers of 1000, times take s, m, h, d, w. Default:
/// nothing is set that is not named.
///
/// Refused: options that Ceph does not know, values that it would not take, a daemon, CRUSH bucket or device class
/// that is not there (Ceph stores options for them and no daemon ever reads them), a mask where the section belongs,
/// `osd_memory_target` while `osd_memory_target_autotune` owns it, anything while `ceph orch upgrade` runs, a cluster
/// that rook runs, and the six `ms_*_mode`, which have a module of their own: `ceph_msgr_mode`. What is set in a
/// ceph.conf wins over the database.
///
/// A protection that is taken away (`auth_*_required` with `none`, `auth_allow_insecure_global_id_reclaim`) needs
/// `accept_risk: {security: …}`.
///
/// Where `osd_memory_target` grows beyond what hosts have, the sum is told with its parts, and `accept_risk: {memory: …}`
/// is needed. In the database that is judged for every host by what its OSDs say (OSDs and a reserve alone); in a file
/// for its own host, with huge pages and guests.
///
/// Sources: Ceph's manual, "Configuring Ceph"; trials on 16.2 of which options running daemons take, since
/// `can_update_at_runtime` is wrong both ways.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CephConfig {
    /// For whom: `global`, `osd`, `mon`, `mgr`, `mds`, `client`, or one of them: `osd.3`, `client.libvirt`. A mask may
    /// stand behind it: `osd/host:h0`.
    pub who: String,
    /// Which of them: `host:NAME` or another CRUSH bucket, `class:NAME`, or both with `/` between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mask: Option<String>,
    /// The option, with `value`; with `state: absent` one or more. Blanks and `-` in a name mean `_`.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub name: Names,
    /// The option's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Several options with their values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, Value>,
    /// `absent` removes the options, so that their defaults or wider sections count again.
    #[serde(default)]
    pub state: State,
    /// The ceph.conf to edit on each host of the play, instead of the mons' database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How the cluster is reached.
    #[serde(default)]
    pub cluster: Cluster,
}

/// Whether an option shall be set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It has the value.
    #[default]
    Present,
    /// It is not set here.
    Absent,
}

fn is_empty(names: &Names) -> bool {
    names.list().is_empty()
}

/// Options with what they shall be; none means that they shall not be set.
type Wished<'a> = Vec<(String, Option<&'a Value>)>;

/// The six options whose wrong values lock everybody out.
const MSGR_MODES: [&str; 6] = [
    "ms_client_mode",
    "ms_cluster_mode",
    "ms_mon_client_mode",
    "ms_mon_cluster_mode",
    "ms_mon_service_mode",
    "ms_service_mode",
];

impl CephConfig {
    /// The options that are asked for, in order, each once.
    fn wished(&self) -> Result<Wished<'_>, Stop> {
        let names = self.name.list();
        let mut wished: Wished<'_> = match (self.state, names.as_slice(), &self.value) {
            (State::Absent, _, Some(_)) => {
                return Err(Stop::refused("value", "an option that shall not be set has no value")
                    .way_out("leave `value` out"));
            }
            (State::Absent, names, None) => {
                let mapped = self.options.keys();
                names.iter().chain(mapped).map(|name| (spelled(name), None)).collect()
            }
            (State::Present, [], None) => Vec::new(),
            (State::Present, [name], Some(value)) => vec![(spelled(name), Some(value))],
            (State::Present, [], Some(_)) => {
                return Err(Stop::refused("name", "`value` is given, and not of which option"));
            }
            (State::Present, _, _) => {
                return Err(Stop::refused("value", "`name` and `value` name one option with its value")
                    .way_out("write several as `options: {NAME: VALUE}`"));
            }
        };
        if self.state == State::Present {
            wished.extend(self.options.iter().map(|(name, value)| (spelled(name), Some(value))));
        }
        wished.sort_by(|one, two| one.0.cmp(&two.0));
        if let Some(pair) = wished.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Stop::refused("options", format!("`{}` is named twice", pair[0].0)));
        }
        if wished.is_empty() {
            return Err(Stop::refused("name", "no option is named"));
        }
        for (name, _) in &wished {
            self.may_set(name)?;
        }
        Ok(wished)
    }

    fn may_set(&self, name: &str) -> Result<(), Stop> {
        let argument = if self.options.is_empty() { "name" } else { "options" };
        if MSGR_MODES.contains(&name) {
            return Err(Stop::refused(
                argument,
                format!("`{name}` alone may lock every daemon and client out: Ceph takes any text for it, and then hangs"),
            )
            .way_out("use `ceph_msgr_mode`, which sets all six in the safe order and proves live connections"));
        }
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_/.".contains(letter);
        if name.is_empty() || !name.chars().all(plain) || name.starts_with(['/', '.']) {
            return Err(Stop::refused(argument, format!("`{name}` is no name of an option")));
        }
        Ok(())
    }
}

/// A name as Ceph stores it: blanks and `-` mean `_`. Names of managers' modules keep theirs.
fn spelled(name: &str) -> String {
    let name = name.trim();
    if name.starts_with("mgr/") {
        return name.to_owned();
    }
    name.split(|letter: char| letter == '-' || letter.is_whitespace()).collect::<Vec<_>>().join("_")
}

/// Whether the value of an option is somebody's secret, which no diff or report may show.
fn is_secret(name: &str) -> bool {
    let words = ["password", "passwd", "secret", "token", "private_key", "access_key"];
    words.iter().any(|word| name.contains(word)) || name == "key"
}

/// A value as it may be shown.
fn shown(name: &str, value: &str) -> String {
    if is_secret(name) { "(hidden)".to_owned() } else { value.to_owned() }
}

impl Module for CephConfig {
    const NAME: &'static str = "ceph_config";
    const SCOPE: Scope = Scope::Cluster;
    const EXAMPLE: &'static str = "\
- name: Each OSD may use eight gibibytes
  ceph_config:
    who: osd
    name: osd_memory_target
    value: 8G
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("option", "name"), ("section", "who")];

    fn scope(&self) -> Scope {
        if self.file.is_some() { Scope::Host } else { Scope::Cluster }
    }

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        let wished = self.wished()?;
        let who = Who::parse(&self.who, self.mask.as_deref())?;
        let mut change = match &self.file {
            Some(file) => self.plan_file(facts, file, &who, &wished)?,
            None => self.plan_mons(facts, &who, &wished)?,
        };
        if wished.iter().any(|(name, _)| name == "rbd_cache") {
            change.notes.push(
                "rbd_cache does not reach guests of QEMU: its drives say their own, so set cache=none on each drive too"
                    .to_owned(),
            );
        }
        if wished.iter().any(|(name, value)| value.is_some() && is_secret(name))
            && self.file.is_none()
            && !change.is_empty()
        {
            change.notes.push(
                "a secret is set by `ceph config set`: while it runs, others on that host may see it in the list of processes"
                    .to_owned(),
            );
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::stored().into_iter().chain(samples::in_files()).collect()
    }
}

#[cfg(test)]
mod tests;
