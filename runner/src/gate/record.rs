//! What is stored of a gate: enough to give the same answer again without any host.
use super::experiment::Experiment;
use super::judge::{Judgement, judge};
use super::run::Run;
use super::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the format.
pub const FORMAT: u16 = 1;

/// A gate as it is stored: one JSON document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The version of this format.
    pub format: u16,
    /// What was fixed before the first run.
    pub experiment: Experiment,
    /// The arm of each slot of the first canary, for the eye: `ABBAABBA`.
    pub order: String,
    /// What must be alike between arms: versions of tools, kernel, governor, congestion control.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fingerprint: BTreeMap<String, String>,
    /// Every run, repeats and failures included, in the order they were made.
    pub runs: Vec<Run>,
    /// Where the raw outputs lie and their digests, run by run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub raw: Vec<Raw>,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// A raw output that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raw {
    /// The run it belongs to, by its place in `runs`.
    pub run: u32,
    /// The file beside the record.
    pub path: String,
    /// Its SHA-256.
    pub sha256: String,
}

/// Why a record cannot be replayed to its answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Unlike {
    /// It is of a format that this version does not know.
    Format(u16),
    /// Its runs do not end the gate.
    Open,
    /// They give another answer.
    Differs(Box<Verdict>),
}

/// The numbers in a name, in order: `play1-wave0-gate12` comes behind `play1-wave0-gate3`.
fn numbers(name: &str) -> Vec<u64> {
    name.split(|sign: char| !sign.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

impl Record {
    /// A record of an experiment with its runs, and the answer if there is one.
    pub fn new(experiment: Experiment, runs: Vec<Run>) -> Self {
        let verdict = match judge(&experiment, &runs) {
            Judgement::Answer(verdict) => Some(*verdict),
            Judgement::Wants(_) => None,
        };
        let arms = (0..experiment.slots()).map(|slot| format!("{:?}", experiment.arm(0, slot))).collect();
        Self {
            format: FORMAT,
            order: arms,
            experiment,
            fingerprint: BTreeMap::new(),
            runs,
            raw: Vec::new(),
            verdict,
        }
    }

    /// Reads the gates of a run from its folder, in the order in which they were carried out. What cannot be read is
    /// left out.
    pub fn of_run(folder: &std::path::Path) -> Vec<Self> {
        let entries = std::fs::read_dir(folder.join("gates")).into_iter().flatten().flatten();
        let files = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "json"));
        let mut records: Vec<Self> =
            files.filter_map(|path| serde_json::from_slice(&std::fs::read(path).ok()?).ok()).collect();
        records.sort_by_key(|record| numbers(&record.experiment.id));
        records
    }

    /// Judges the stored runs again.
    ///
    /// # Errors
    /// Where the format is newer, the runs do not decide, or they decide otherwise.
    pub fn replay(&self) -> Result<Verdict, Unlike> {
        if self.format > FORMAT {
            return Err(Unlike::Format(self.format));
        }
        match judge(&self.experiment, &self.runs) {
            Judgement::Wants(_) => Err(Unlike::Open),
            Judgement::Answer(verdict) if self.verdict.as_ref().is_none_or(|stored| *stored == *verdict) => {
                Ok(*verdict)
            }
            Judgement::Answer(verdict) => Err(Unlike::Differs(verdict)),
        }
    }
}
