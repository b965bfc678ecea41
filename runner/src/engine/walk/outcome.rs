//! What a walk says of each task: what it would do, or what it did.
use crate::diagnostic::Diagnostic;
use crate::engine::target::Target;
use crate::source::Span;
use crate::yaml::Node;
use modules::vocabulary::{Change, Claim, Evidence, Output, Read};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The name of one task of one host in one place: play, includes around it, the task's number, the loop's item.
/// The same at every walk.
pub type Key = String;

/// What one task asks of one host, or has done.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its name.
    pub key: Key,
    /// The task's number in the playbook, for selecting and for recording.
    pub task: u32,
    /// Its place in this walk.
    pub order: u32,
    /// The play's number, from 0.
    pub play: usize,
    /// What people call it.
    pub title: String,
    /// What the loop's item is called.
    pub label: Option<String>,
    /// The module's canonical name.
    pub module: String,
    /// Where it stands.
    pub span: Span,
    /// What it acts on.
    pub target: Target,
    /// Tasks of one number may share a batch: they fail together.
    pub fence: u32,
    /// The part of its play between gates: 0 before the first one, 1 under it, 2 after it …
    pub part: u32,
    /// Whether nothing may follow it in its batch: the controller must decide.
    pub ends_batch: bool,
    /// Seconds to wait before it is tried (again).
    pub delay: Option<f64>,
    /// What is looked at before it is asked again, where its `until` does not hold yet and only a look can change that.
    pub again: Option<Vec<Read>>,
    /// Whether nothing of it may be shown.
    pub secret: bool,
    /// How long the host may work on it, in seconds.
    pub timeout: Option<u64>,
    /// The failure that was ignored or handled, where it failed.
    pub failure: Option<Box<Diagnostic>>,
    /// Whether it waits until a boot has tried what it asks for.
    pub held: bool,
    /// What it comes to.
    pub what: What,
}

/// What a task comes to.
#[derive(Clone, Debug)]
pub enum What {
    /// It is left out.
    Skipped {
        /// The condition that is false, or another reason.
        why: String,
    },
    /// It asks for nothing: all is as it says already.
    Same {
        /// The result.
        result: Json,
        /// What the module says besides.
        notes: Vec<String>,
    },
    /// It says something.
    Said {
        /// The text.
        text: String,
        /// The result.
        result: Json,
    },
    /// It was asked while planning, since its author declared it a read.
    Probed {
        /// The result.
        result: Json,
    },
    /// It asks for a change.
    Change(Box<Change>),
    /// It waits: for a time, or for a person.
    Pause {
        /// Seconds; none waits for a person.
        seconds: Option<f64>,
        /// What the person is asked.
        prompt: Option<String>,
    },
    /// It is decided later.
    Late {
        /// After what.
        on: String,
    },
    /// It has failed, or will: known before anything is changed.
    Failed(Box<Diagnostic>),
    /// It was done.
    Done {
        /// Whether it changed something.
        changed: bool,
        /// Whether it failed and that was ignored or rescued.
        failed: bool,
    },
}

/// What was done for a task, kept over walks.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// The module's part of the result.
    pub result: Json,
    /// The program's answer, where the result holds one.
    pub answer: Option<Output>,
    /// Whether the module changed something.
    pub changed: bool,
    /// Why it failed, in words.
    pub error: Option<String>,
    /// Why it was left out.
    pub skipped: Option<String>,
    /// Whether it was asked while planning.
    pub probed: bool,
    /// Whether a secret was in its arguments: so one is in its result.
    pub secret: bool,
    /// The things that it changed.
    pub claims: Vec<Claim>,
    /// Variables that it sets.
    pub sets: Vec<(String, Json, bool)>,
    /// How often it was tried.
    pub tries: u32,
    /// Whether it was only looked at again, and the module is yet to say what that means.
    pub looked: bool,
    /// Whether what it did was taken back since.
    pub undone: bool,
    /// The verdict of `failed_when` and `changed_when`, once given.
    pub verdict: Option<Verdict>,
}

/// What the conditions of a task say of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The whole result, as `register` holds it.
    pub result: Json,
    /// Whether it counts as changed.
    pub changed: bool,
    /// Whether it counts as failed.
    pub failed: bool,
}

/// Whether what a task asks for is felt.
#[derive(Clone, Debug)]
pub struct Told {
    /// The host that was looked at.
    pub host: String,
    /// What people call the task.
    pub title: String,
    /// The proof.
    pub evidence: Evidence,
}

/// What a walk gives.
#[derive(Debug, Default)]
pub struct Walked {
    /// The tasks in order.
    pub planned: Vec<Planned>,
    /// What must be looked at before the walk is complete, by target.
    pub wanted: BTreeMap<Target, Vec<Read>>,
    /// Whether the host's part ends with a failure that nothing handles.
    pub failed: Option<Diagnostic>,
    /// Where the run is proven at its end: what is not as a task asked for.
    pub unproven: Vec<Diagnostic>,
    /// Whether what tasks ask for is felt, in their order.
    pub told: Vec<Told>,
    /// The gates over tasks and blocks.
    pub gates: Vec<Gated>,
}

/// A task or block under a gate.
#[derive(Clone, Debug)]
pub struct Gated {
    /// The play's number, from 0.
    pub play: usize,
    /// The part of the play that it is.
    pub part: u32,
    /// What people call it.
    pub title: String,
    /// `gate:` as written.
    pub gate: Arc<Node>,
}

impl Walked {
    /// Adds reads that are wanted of a target.
    pub(super) fn want(&mut self, target: &Target, reads: impl IntoIterator<Item = Read>) {
        let wanted = self.wanted.entry(target.clone()).or_default();
        for read in reads {
            if !wanted.contains(&read) {
                wanted.push(read);
            }
        }
    }

    /// Adds what a task proves. Of secret ones nothing is told.
    pub(super) fn tell(&mut self, host: &str, title: &str, secret: bool, evidence: Vec<Evidence>) {
        if secret {
            return;
        }
        self.told.extend(evidence.into_iter().map(|evidence| Told {
            host: host.to_owned(),
            title: title.to_owned(),
            evidence,
        }));
    }
}
