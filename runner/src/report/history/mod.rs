//! A run as its journal tells it: what reports of runs are made from. Plain data without secrets; nothing here acts.
mod fold;
mod moment;
mod points;
#[cfg(test)]
pub mod recorded;
mod records;
mod setting;
mod standing;
#[cfg(test)]
mod tests;
mod veil;

pub use moment::{Moment, lasted};
pub use points::{Paired, Points, points};
pub use records::records;
pub use setting::{Difference, Fate, Line, Mark, Setting};
pub use standing::{Standing, exit_words};
pub use veil::Veil;

use crate::gate::{Outcome, Record as GateRecord};
use crate::journal::{HostEnd, Invocation, Journaled};
use serde_json::Value as Json;

/// A run.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Its name.
    pub run: String,
    /// What it was asked for; none where its journal does not tell.
    pub began: Option<Began>,
    /// How it stands.
    pub standing: Standing,
    /// The exit code that it ended with.
    pub exit: Option<u8>,
    /// When its last record was written.
    pub until: Option<Moment>,
    /// When it ended.
    pub ended: Option<Moment>,
    /// Its hosts, by name.
    pub hosts: Vec<Host>,
    /// Its gates, in the order in which they were carried out.
    pub gates: Vec<Gate>,
    /// What persons and rules decided.
    pub decided: Vec<Decided>,
    /// What an undo left as it is.
    pub left: Vec<String>,
    /// Its records without secrets, for machines.
    pub records: Vec<Json>,
    /// What no text may hold.
    pub veil: Veil,
    /// Bytes at the end of the journal that are no whole record.
    pub torn: usize,
    /// Why the journal cannot be read, where it cannot.
    pub unreadable: Option<String>,
    /// Whether the journal tells which tasks hold secrets; where it does not, no value is shown.
    pub tells_secrets: bool,
}

/// What a run was asked for.
#[derive(Clone, Debug, Default)]
pub struct Began {
    /// When.
    pub at: Option<Moment>,
    /// By whom.
    pub by: String,
    /// The program's version.
    pub version: String,
    /// As it was typed.
    pub command: String,
    /// Files with digests.
    pub made_from: Vec<(String, String)>,
    /// What was asked for; none where it was not a play of a playbook.
    pub asked: Option<Box<Invocation>>,
    /// The run that it goes on with.
    pub continues: Option<String>,
}

/// A host in a run.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub address: String,
    /// What was sent to it, in order.
    pub batches: Vec<Batch>,
    /// What was changed there.
    pub settings: Vec<Setting>,
    /// Activations that were done, and when.
    pub activated: Vec<(Option<Moment>, String)>,
    /// Activations that are still owed.
    pub owed: Vec<String>,
    /// How often it was booted.
    pub reboots: u32,
    /// How its part ended.
    pub end: Option<End>,
}

/// How a host's part ended.
#[derive(Clone, Debug)]
pub struct End {
    /// When.
    pub at: Option<Moment>,
    /// How.
    pub how: HostEnd,
    /// Why.
    pub why: Option<String>,
    /// Round trips of its connection.
    pub round_trips: Option<u64>,
}

/// A batch.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// Its number on its host.
    pub number: u32,
    /// When it was prepared.
    pub at: Option<Moment>,
    /// When its answer came.
    pub until: Option<Moment>,
    /// What it is for.
    pub kind: Kind,
    /// The titles of its tasks.
    pub tasks: Vec<String>,
    /// How many steps it has.
    pub steps: usize,
    /// How many of them were reached, and seen.
    pub proven: usize,
    /// What came of it.
    pub came: Came,
}

/// What a batch is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It brings states.
    #[default]
    Forward,
    /// It takes states back.
    Back,
    /// It makes states felt: restarts, power cycles.
    Activation,
    /// It boots the host.
    Boot,
}

impl Kind {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Forward => "change",
            Self::Back => "way back",
            Self::Activation => "activation",
            Self::Boot => "boot",
        }
    }
}

/// What came of a batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Came {
    /// All of it was done and seen.
    Done,
    /// A step failed.
    Failed(String),
    /// Nothing was written.
    NothingWritten(String),
    /// Whether it was done is not known.
    Lost(String),
    /// No answer is recorded.
    #[default]
    Open,
}

impl Came {
    /// What went wrong.
    pub fn trouble(&self) -> Option<&str> {
        match self {
            Self::Done => None,
            Self::Failed(why) | Self::NothingWritten(why) | Self::Lost(why) => Some(why),
            Self::Open => Some("no answer is recorded"),
        }
    }
}

/// A gate.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// Its name.
    pub id: String,
    /// When it began.
    pub began: Option<Moment>,
    /// When it gave its answer.
    pub ended: Option<Moment>,
    /// Where the change was on and off.
    pub hosts: Vec<String>,
    /// Its answer.
    pub outcome: Option<Outcome>,
    /// Why, in one sentence.
    pub why: String,
    /// Whether the change stays.
    pub kept: Option<bool>,
    /// Its runs, where they are stored.
    pub record: Option<GateRecord>,
    /// The look after the last wave, on one of its hosts: the record of the gate with the runs of that look behind its own.
    pub spot_check: Option<GateRecord>,
}

impl Gate {
    /// What is judged.
    pub fn change(&self) -> &str {
        let change = self.record.as_ref().map_or("", |record| record.experiment.change.as_str());
        if change.is_empty() { &self.id } else { change }
    }

    /// What is judged, with the wave where it is a later one.
    pub fn title(&self) -> String {
        match self.record.as_ref().map_or(0, |record| record.experiment.wave) {
            0 => self.change().to_owned(),
            wave => format!("{}, wave {}", self.change(), wave + 1),
        }
    }

    /// The runs of the look after the last wave.
    pub fn spot_runs(&self) -> &[crate::gate::Run] {
        let own = self.record.as_ref().map_or(0, |record| record.runs.len());
        self.spot_check.as_ref().and_then(|check| check.runs.get(own..)).unwrap_or_default()
    }

    /// The answer as it is printed.
    pub fn word(&self) -> &'static str {
        self.outcome.map_or("NO ANSWER", Outcome::word)
    }
}

/// A decision.
#[derive(Clone, Debug)]
pub struct Decided {
    /// When.
    pub at: Option<Moment>,
    /// What.
    pub what: String,
    /// By whom.
    pub by: String,
}

impl History {
    /// From a journal and the gates beside it.
    pub fn of(run: &str, journaled: &Journaled, gates: Vec<GateRecord>) -> Self {
        fold::fold(run, journaled, gates)
    }

    /// Of a run whose journal cannot be read: its name, its gates, and why.
    pub fn unreadable(run: &str, why: String, gates: Vec<GateRecord>) -> Self {
        let mut history = fold::fold(run, &Journaled::default(), gates);
        (history.standing, history.unreadable) = (Standing::Unreadable, Some(why));
        history
    }

    /// When it began.
    pub fn began_at(&self) -> Option<Moment> {
        self.began.as_ref().and_then(|began| began.at)
    }

    /// Whether what it changed was taken back as a whole by the run itself.
    pub fn rolled_back(&self) -> bool {
        self.exit == Some(7)
    }

    /// Whether the changes were judged one by one.
    pub fn is_ladder(&self) -> bool {
        let asked = self.began.as_ref().and_then(|began| began.asked.as_ref());
        asked.is_some_and(|asked| asked.ladder)
    }

    /// The playbook's file, without its folder; empty where none was played.
    pub fn playbook(&self) -> &str {
        let asked = self.began.as_ref().and_then(|began| began.asked.as_ref());
        let path = asked.map_or("", |asked| asked.playbook.as_str());
        path.rsplit('/').next().unwrap_or_default()
    }

    /// Steps that were reached and seen, over all hosts, ways back left out.
    pub fn steps_done(&self) -> usize {
        let forward = |batch: &&Batch| batch.kind != Kind::Back;
        let batches = self.hosts.iter().flat_map(|host| &host.batches);
        batches.filter(forward).map(|batch| batch.proven).sum()
    }
}
