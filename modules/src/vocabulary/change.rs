//! What one task asks of one target.
use super::dead_man::DeadMan;
use super::evidence::Evidence;
use super::row::Row;
use super::step::Step;
use super::wait::Wait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// When a change is felt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// At once.
    #[default]
    Now,
    /// When a daemon starts again.
    DaemonRestart,
    /// When a guest is powered off and on.
    GuestPowerCycle,
    /// When the host boots.
    HostReboot,
    /// Only when the thing is made.
    CreationOnly,
}

impl Effect {
    /// What is still to come before it is felt, in words.
    pub fn owed_words(self) -> &'static str {
        match self {
            Self::Now => "at once",
            Self::DaemonRestart => "after a restart of the daemon",
            Self::GuestPowerCycle => "after a power cycle of the guest",
            Self::HostReboot => "after a reboot",
            Self::CreationOnly => "when it is made anew",
        }
    }
}

/// An idempotent act that states call for; done once, after the states, in this order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// systemd reads its units again.
    DaemonReload,
    /// A file that is made from others is made again.
    Regenerate(Row),
    /// The kernel or a daemon reads settings again without a restart.
    Reload(Row),
    /// A unit is started again.
    Restart(String),
    /// A guest is powered off and on.
    GuestCycle(GuestCycle),
    /// The host boots.
    Reboot,
}

/// A guest that is powered off and on: shut down within a time, waited for, started. One that is off stays off.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct GuestCycle {
    /// Which libvirt.
    pub uri: String,
    /// The domain's uuid.
    pub uuid: String,
    /// Its name when this was planned.
    pub name: String,
    /// How long it may take to shut down, in seconds.
    pub timeout: u32,
    /// Whether it is destroyed where it does not shut down in time.
    pub destroy: bool,
    /// When that may happen.
    pub when: CycleTime,
}

/// When a guest may be powered off and on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CycleTime {
    /// Not by this run: it is owed and told.
    Never,
    /// When a person says so.
    Asked,
    /// Between two times of the host's day, `HHMM`; the first may be later than the second.
    Within {
        /// From.
        from: String,
        /// To, not included.
        to: String,
    },
}

impl GuestCycle {
    /// The call that does it; none where this run may not.
    pub fn row(&self) -> Option<Row> {
        let (from, to) = match &self.when {
            CycleTime::Never => return None,
            CycleTime::Asked => ("", ""),
            CycleTime::Within { from, to } => (from.as_str(), to.as_str()),
        };
        let timeout = self.timeout.to_string();
        let destroy = if self.destroy { "destroy" } else { "" };
        Some(self.at("guest-power-cycle", [self.uuid.as_str(), timeout.as_str(), destroy, from, to]))
    }

    /// The call that starts the guest where it is off.
    pub fn start(&self) -> Row {
        self.at("guest-start", [self.uuid.as_str()])
    }

    /// The look at the number that the guest has since it was started last: each start gives it another one.
    pub fn started(&self) -> Row {
        self.at("virsh-domid", [self.uuid.as_str()])
    }

    fn at<'a>(&self, name: &str, args: impl IntoIterator<Item = &'a str>) -> Row {
        let mut row = Row::new(name, args);
        row.env = vec![("LIBVIRT_DEFAULT_URI".to_owned(), self.uri.clone())];
        row
    }
}

impl Activation {
    /// The activation that a call of a program is. A handler that makes this call folds with what states ask
    /// for, and an undo that restores states does it again after them.
    pub fn of_row(row: &Row) -> Option<Self> {
        match (row.name.as_str(), row.args.as_slice()) {
            ("systemctl-daemon-reload", []) => Some(Self::DaemonReload),
            ("systemctl-restart", [unit]) => Some(Self::Restart(unit.clone())),
            ("systemctl-reload", [_]) => Some(Self::Reload(row.clone())),
            ("reboot", _) => Some(Self::Reboot),
            _ => None,
        }
    }
}

/// The names of risks that somebody must accept by `accept_risk: {NAME: reason}`. A closed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskName {
    /// A protection is taken away.
    Security,
    /// Data may be lost.
    DataLoss,
    /// Something cannot be brought to the wanted state in place; the rest is applied and this is reported.
    CannotConverge,
    /// A guest is destroyed rather than shut down.
    DestroyGuest,
    /// The whole cluster is affected at once.
    BlastRadiusCluster,
    /// No guard watches the clients.
    NoGuard,
    /// A new kernel line cannot be tried once before it becomes the default.
    NoTryBoot,
    /// More memory is promised than the host has.
    Memory,
    /// There is no way back.
    Irreversible,
}

impl RiskName {
    /// All of them, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Security,
        Self::DataLoss,
        Self::CannotConverge,
        Self::DestroyGuest,
        Self::BlastRadiusCluster,
        Self::NoGuard,
        Self::NoTryBoot,
        Self::Memory,
        Self::Irreversible,
    ];

    /// The name as it is written in a playbook.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Security => "security",
            Self::DataLoss => "data_loss",
            Self::CannotConverge => "cannot_converge",
            Self::DestroyGuest => "destroy_guest",
            Self::BlastRadiusCluster => "blast_radius_cluster",
            Self::NoGuard => "no_guard",
            Self::NoTryBoot => "no_try_boot",
            Self::Memory => "memory",
            Self::Irreversible => "irreversible",
        }
    }

    /// What accepting it means, one sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Security => "a protection of the host or its data is weakened or taken away",
            Self::DataLoss => "data may be lost, now or at the next power cut",
            Self::CannotConverge => {
                "what cannot be reached in place stays as it is and is reported; the rest is applied"
            }
            Self::DestroyGuest => "a guest that does not shut down in time is destroyed",
            Self::BlastRadiusCluster => "the change reaches every daemon of a cluster at once",
            Self::NoGuard => "nothing watches the clients' health while the change or the load runs",
            Self::NoTryBoot => "a new kernel line becomes the default without one trial boot",
            Self::Memory => {
                "huge pages, OSDs, guests and a reserve together may want more memory than the host has"
            }
            Self::Irreversible => "there is no way back from the change",
        }
    }
}

/// A risk that a change carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Risk {
    /// Which waiver accepts it.
    pub name: RiskName,
    /// What exactly is risked here.
    pub why: String,
}

/// What a person reads of a change, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Diff {
    /// A text file, line by line.
    Text {
        /// The file.
        title: String,
        /// Its text before; empty for a new file.
        before: String,
        /// Its text after; empty for one that goes.
        after: String,
        /// Whether others than the owner cannot read it: then it is shown only when asked for.
        #[serde(default)]
        private: bool,
    },
    /// One value.
    Value {
        /// Its name, with the file or subject where that is not plain.
        name: String,
        /// Before; none where there was none.
        before: Option<String>,
        /// After; none where there is none.
        after: Option<String>,
    },
    /// Tokens of one line, such as kernel arguments.
    Tokens {
        /// The line's name.
        name: String,
        /// Tokens in order with their marks.
        tokens: Vec<Token>,
    },
    /// A sentence.
    Note(String),
}

/// One token of a [`Diff::Tokens`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Token {
    /// Its text.
    pub text: String,
    /// What becomes of it.
    pub mark: Mark,
    /// Where it comes from: file, line and variable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// What becomes of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It stays.
    Same,
    /// It comes.
    Added,
    /// It goes.
    Removed,
}

/// What one task asks of one target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// What `register` holds, without `changed`, `failed` and `skipped`: the engine adds those.
    #[serde(default)]
    pub result: Json,
    /// The states to reach; empty where nothing is to be done.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The cluster that it changes, by its fsid; none for a change of the host itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The step whose program's answer becomes the result: `rc`, `stdout`, `stderr` and their lines.
    #[serde(default)]
    pub answer: Option<usize>,
    /// What the states call for.
    #[serde(default)]
    pub then: BTreeSet<Activation>,
    /// What to wait for after the steps; waiting changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<Wait>,
    /// What takes it back by itself where it has cut the host off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_man: Option<DeadMan>,
    /// When it is felt.
    #[serde(default)]
    pub effect: Effect,
    /// What somebody must accept.
    #[serde(default)]
    pub risks: Vec<Risk>,
    /// What a person reads.
    #[serde(default)]
    pub diff: Vec<Diff>,
    /// What to say besides, one sentence each: lints, hints, what is not live yet.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The proofs of being live, told also where nothing is to be done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<Evidence>,
}

impl Change {
    /// Nothing to do; `result` is what `register` holds.
    pub fn nothing(result: Json) -> Self {
        Self { result, ..Self::default() }
    }

    /// Whether it counts as changed: a state is reached, or a guest is powered off and on for one that was reached
    /// before.
    pub fn is_felt(&self) -> bool {
        let cycles =
            |then: &Activation| matches!(then, Activation::GuestCycle(cycle) if cycle.row().is_some());
        !self.steps.is_empty() || self.then.iter().any(cycles)
    }

    /// Whether anything is to be done.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.then.is_empty()
    }
}
