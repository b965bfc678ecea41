//! How a cluster is run and reached: arguments that all modules of Ceph share, and the calls made of them.
use crate::files::place::known;
use crate::vocabulary::{Facts, Output, Read, Row, Stop};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt;

use super::answers::{OrchStatus, UpgradeStatus, json};

/// How a cluster is reached. Each field may also be set for many tasks by a variable: `ceph_fsid`, `ceph_conf`,
/// `ceph_client`, `ceph_keyring`, `ceph_timeout`, `ceph_by`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cluster {
    /// The cluster that is meant. Where another one answers, nothing is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fsid: Option<String>,
    /// Its ceph.conf on the host; else `/etc/ceph/ceph.conf`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conf: Option<String>,
    /// As whom to ask: `client.admin` where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The file of that client's key; else what ceph.conf says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keyring: Option<String>,
    /// After how many seconds a command that does not answer is ended; else 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    /// By what commands run: the host's own `ceph`, or the container of `cephadm shell`; else the first of the two
    /// that the host has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
}

/// By what commands run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The host's own `ceph`.
    Host,
    /// `cephadm shell`, which starts a container for each command.
    Cephadm,
}

impl By {
    fn word(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Cephadm => "cephadm",
        }
    }
}

/// Who starts and stops the daemons of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Packages: units such as `ceph-osd@3`.
    Packages,
    /// cephadm: units such as `ceph-FSID@osd.3`.
    Cephadm {
        /// The cluster's fsid.
        fsid: String,
    },
}

impl Layout {
    /// The unit of a daemon, such as `osd` and `3`.
    pub fn unit(&self, kind: &str, id: impl fmt::Display) -> String {
        match self {
            Self::Packages => format!("ceph-{kind}@{id}.service"),
            Self::Cephadm { fsid } => format!("ceph-{fsid}@{kind}.{id}.service"),
        }
    }
}

/// Where a command line may be.
const CEPH: [&str; 3] = ["/usr/bin/ceph", "/bin/ceph", "/usr/local/bin/ceph"];
const CEPHADM: [&str; 3] = ["/usr/sbin/cephadm", "/usr/bin/cephadm", "/usr/local/bin/cephadm"];
const CONF: &str = "/etc/ceph/ceph.conf";
const ROOK: &str = "/var/lib/rook";

/// Seconds that a command may take where nothing is said.
const TIMEOUT: u32 = 30;

/// What `timeout` answers where it had to end a command, politely and by force.
const TIMED_OUT: [i32; 2] = [124, 137];

impl Cluster {
    /// The cluster's command line on this host, after one round of looks.
    ///
    /// # Errors
    /// Refused where the host has none, and where the cluster is run by rook: there the operator undoes what is set.
    pub fn shell(&self, facts: &Facts) -> Result<Shell, Stop> {
        for (name, value) in [("client", &self.client), ("keyring", &self.keyring), ("conf", &self.conf)] {
            if value.as_ref().is_some_and(|value| value.starts_with('-') || value.trim().is_empty()) {
                return Err(Stop::refused(
                    "cluster",
                    format!("`{name}` of a cluster cannot be `{}`", value.as_deref().unwrap_or_default()),
                ));
            }
        }
        let by = match self.by {
            Some(by) => by,
            None => self.found(facts)?,
        };
        Ok(Shell { by, cluster: self.clone() })
    }

    /// The first command line that the host has.
    fn found(&self, facts: &Facts) -> Result<By, Stop> {
        let mut paths = Vec::new();
        for path in CEPH.iter().chain(&CEPHADM).chain([&CONF, &ROOK]) {
            paths.push(known(path)?);
        }
        let reads: Vec<Read> = paths.iter().cloned().map(Read::Stat).collect();
        facts.need(&reads)?;
        let mut there = Vec::new();
        for path in &paths {
            there.push(facts.stat(path)?.is_some());
        }
        let (ceph, rest) = there.split_at(CEPH.len());
        let (cephadm, rest) = rest.split_at(CEPHADM.len());
        let conf = self.conf.is_some() || rest.first() == Some(&true);
        if !conf && rest.get(1) == Some(&true) {
            return Err(rook("this host keeps /var/lib/rook and no /etc/ceph/ceph.conf"));
        }
        match (ceph.contains(&true), cephadm.contains(&true)) {
            (true, _) => Ok(By::Host),
            (false, true) => Ok(By::Cephadm),
            (false, false) => Err(Stop::refused("cluster", "this host has neither `ceph` nor `cephadm`")
                .way_out(
                    "name hosts that have them by the variable `ceph_via`, or install ceph-common there",
                )),
        }
    }
}

fn rook(why: &str) -> Stop {
    Stop::refused("cluster", format!("the cluster is run by rook: {why}")).way_out(
        "set it where rook's operator reads it, or it sets it back: `spec.cephConfig` of the CephCluster, or its toolbox",
    )
}

/// A cluster's command line on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    by: By,
    cluster: Cluster,
}

impl Shell {
    /// A call of a row of the tables (see [`crate::programs`]), with the row's operands.
    pub fn row<A: Into<String>>(&self, name: &str, operands: impl IntoIterator<Item = A>) -> Row {
        self.row_within(name, self.cluster.timeout.unwrap_or(TIMEOUT), operands)
    }

    /// The same, with a shorter time limit in seconds.
    pub fn row_within<A: Into<String>>(
        &self,
        name: &str,
        seconds: u32,
        operands: impl IntoIterator<Item = A>,
    ) -> Row {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let seconds = seconds.min(self.cluster.timeout.unwrap_or(TIMEOUT)).max(1);
        let mut args = vec![
            self.by.word().to_owned(),
            seconds.to_string(),
            text(&self.cluster.conf),
            text(&self.cluster.keyring),
            text(&self.cluster.client),
        ];
        args.extend(operands.into_iter().map(Into::into));
        Row::new(name, args)
    }

    /// A row without operands.
    pub fn plain(&self, name: &str) -> Row {
        self.row(name, Vec::<String>::new())
    }

    /// Asks for many rows in one round.
    ///
    /// # Errors
    /// [`Stop::Unread`].
    pub fn need<'a>(&self, facts: &Facts, rows: impl IntoIterator<Item = &'a Row>) -> Result<(), Stop> {
        let reads: Vec<Read> = rows.into_iter().cloned().map(Read::Ask).collect();
        facts.need(&reads)
    }

    /// The fsid of the cluster that answers. Asked in a round before all else: where nobody answers, one command
    /// waits in vain and not ten.
    ///
    /// # Errors
    /// Refused where it is not the one that is meant, and where rook runs it.
    pub fn fsid(&self, facts: &Facts) -> Result<String, Stop> {
        self.need(facts, &[self.plain("ceph-fsid"), self.plain("ceph-orch-status")])?;
        let seen = self.text(facts, &self.plain("ceph-fsid"))?.trim().to_owned();
        let is_fsid =
            seen.len() == 36 && seen.bytes().all(|letter| letter == b'-' || letter.is_ascii_hexdigit());
        if !is_fsid {
            return Err(Stop::failed(format!("`ceph fsid` answered `{seen}`, which is no fsid")));
        }
        if let Some(meant) =
            self.cluster.fsid.as_ref().filter(|meant| !meant.trim().eq_ignore_ascii_case(&seen))
        {
            return Err(Stop::refused(
                "cluster",
                format!("the cluster that answers is {seen}, and `ceph_fsid` says {}", meant.trim()),
            )
            .way_out("mend `ceph_fsid` in the inventory, or the ceph.conf and `ceph_via` that lead to another cluster"));
        }
        if self.backend(facts)?.as_deref() == Some("rook") {
            return Err(rook("its orchestrator is rook"));
        }
        Ok(seen)
    }

    /// The orchestrator's name, where there is one.
    ///
    /// # Errors
    /// [`Stop::Unread`], [`Stop::Late`].
    pub fn backend(&self, facts: &Facts) -> Result<Option<String>, Stop> {
        let output = facts.output(&self.plain("ceph-orch-status"))?;
        if output.status != 0 {
            // ENOENT: no orchestrator is configured; EINVAL: this release has none.
            return Ok(None);
        }
        Ok(json::<OrchStatus>(&output).ok().and_then(|status| status.backend))
    }

    /// Who starts and stops the daemons.
    ///
    /// # Errors
    /// As [`Shell::fsid`].
    pub fn layout(&self, facts: &Facts) -> Result<Layout, Stop> {
        let fsid = self.fsid(facts)?;
        Ok(match self.backend(facts)?.as_deref() {
            Some("cephadm") => Layout::Cephadm { fsid },
            _ => Layout::Packages,
        })
    }

    /// What [`Shell::no_upgrade`] asks, to share a round with the module's own rows.
    ///
    /// # Errors
    /// [`Stop::Unread`], [`Stop::Late`].
    pub fn upgrade_rows(&self, facts: &Facts) -> Result<Vec<Row>, Stop> {
        Ok(self.backend(facts)?.map(|_| self.plain("ceph-orch-upgrade-status")).into_iter().collect())
    }

    /// Refuses while an upgrade of the cluster runs: its daemons restart in an order of their own, and options change
    /// their meaning between releases.
    ///
    /// # Errors
    /// The refusal; [`Stop::Unread`].
    pub fn no_upgrade(&self, facts: &Facts) -> Result<(), Stop> {
        if self.backend(facts)?.is_none() {
            return Ok(());
        }
        let output = facts.output(&self.plain("ceph-orch-upgrade-status"))?;
        let Ok(status) = json::<UpgradeStatus>(&output) else { return Ok(()) };
        if !status.in_progress {
            return Ok(());
        }
        let to = status.target_image.map(|image| format!(" to {image}")).unwrap_or_default();
        Err(Stop::failed(format!("an upgrade of the cluster{to} is running")).way_out(
            "wait until `ceph orch upgrade status` says that it is over, or pause it by `ceph orch upgrade pause` and play again",
        ))
    }

    /// What a row answered, as text.
    ///
    /// # Errors
    /// [`Stop::Unread`], [`Stop::Late`], or a failure in the cluster's words.
    pub fn text(&self, facts: &Facts, row: &Row) -> Result<String, Stop> {
        let output = facts.output(row)?;
        match output.status {
            0 => Ok(output.text()),
            _ => Err(self.trouble(row, &output)),
        }
    }

    /// What a row answered, as a typed value.
    ///
    /// # Errors
    /// As [`Shell::text`], and where the answer is not what is expected.
    pub fn json<T: DeserializeOwned>(&self, facts: &Facts, row: &Row) -> Result<T, Stop> {
        let output = facts.output(row)?;
        if output.status != 0 {
            return Err(self.trouble(row, &output));
        }
        json(&output)
            .map_err(|why| Stop::failed(format!("the answer of `{}` cannot be read: {why}", words(row))))
    }

    /// Why a row could not be answered.
    pub fn trouble(&self, row: &Row, output: &Output) -> Stop {
        let said = output.error_text();
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default().to_owned();
        let words = words(row);
        if TIMED_OUT.contains(&output.status) {
            return Stop::failed(format!(
                "`{words}` did not answer within {} s",
                row.args.get(1).map_or("30", String::as_str)
            ))
            .way_out("see whether the mons have a quorum and the host reaches them; `ceph_timeout` gives more time");
        }
        let stop = Stop::failed(format!("`{words}` failed with status {}: {last}", output.status));
        match output.status {
            127 => stop.way_out("install ceph-common on the host, or name hosts that have it by `ceph_via`"),
            1 | 13 if said.contains("keyring") || said.contains("ermission denied") => {
                stop.way_out("give the host the admin's keyring, or say by `ceph_client` and `ceph_keyring` whom to ask as")
            }
            _ => stop,
        }
    }
}

/// A row as a person would type it.
fn words(row: &Row) -> String {
    let program = crate::programs::program(&row.name);
    let verb = program.and_then(|program| program.words.last()).copied().unwrap_or_default();
    let mut operands = row.args.iter().skip(5);
    if row.name.starts_with("ceph-tell-") {
        let whom = operands.next().map(String::as_str).unwrap_or_default();
        return std::iter::once(format!("ceph tell {whom} {verb}"))
            .chain(operands.cloned())
            .collect::<Vec<_>>()
            .join(" ");
    }
    std::iter::once(format!("ceph {verb}")).chain(operands.cloned()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
