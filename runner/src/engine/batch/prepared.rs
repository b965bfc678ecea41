//! A batch whose way back is on disk: the only thing that the executor takes.
use crate::engine::target::Acting;
use modules::fold::Folded;
use modules::vocabulary::{Activation, Read};
use serde::{Deserialize, Serialize};

/// A maximal run of steps of one target and identity that the host can do without asking the controller.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The host, by its name in the inventory.
    pub host: String,
    /// Its number on that host within the run, from 1.
    pub number: u32,
    /// As whom it acts there.
    #[serde(default)]
    pub acting: Acting,
    /// The steps in order.
    pub steps: Vec<Folded>,
    /// The activations among the steps: an undo runs them again once the states are back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activations: Vec<Activation>,
    /// What to look at afterwards besides the steps' own looks, so that every task can be asked again.
    #[serde(default)]
    pub verify: Vec<Read>,
    /// Whether the run wants nothing more of this host: the mark of an open run goes with it.
    #[serde(default)]
    pub last: bool,
    /// Whether it takes back what an earlier batch did.
    #[serde(default)]
    pub undo: bool,
    /// The steps that it takes back: the numbers of the tasks of its own steps count these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undoes: Vec<Undoes>,
    /// How long the host waits for a new connection before it takes the batch back by itself, in seconds; none where
    /// it cannot cut the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_man: Option<u32>,
    /// How long the host may work on it, in seconds; none means as long as it takes.
    #[serde(default)]
    pub timeout: Option<u64>,
    /// The cluster that it changes, by its fsid: the host is only the way to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
}

/// A step of an earlier batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Undoes {
    /// The batch's number on its host.
    pub batch: u32,
    /// The step, from 0.
    pub step: u32,
}

impl Batch {
    /// The earlier steps that one of its own takes back.
    pub fn undoes(&self, index: usize) -> impl Iterator<Item = Undoes> + '_ {
        let tasks = self.steps.get(index).map(|folded| folded.tasks.as_slice()).unwrap_or_default();
        tasks.iter().filter_map(|task| self.undoes.get(task.0 as usize).copied())
    }
}

/// A batch whose record has reached the disk of the controller. Only [`crate::journal::Journal::prepare`] makes one,
/// after the sync, and it is used up by being carried out: "no step reaches a host before its way back is on disk" is
/// a type error, not a rule.
#[derive(Debug)]
pub struct Prepared {
    batch: Batch,
    run: String,
    holder: String,
}

impl Prepared {
    /// For the journal alone.
    pub(crate) fn after_sync(batch: Batch, run: &str, holder: &str, _: crate::journal::Synced) -> Self {
        Self { batch, run: run.to_owned(), holder: holder.to_owned() }
    }

    /// The batch.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The run that it belongs to.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Who holds the host's lock meanwhile: a word of this process alone.
    pub fn holder(&self) -> &str {
        &self.holder
    }
}
