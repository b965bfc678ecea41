//! One run of the benchmarks in one arm: the sample, with all that is needed to trust it or not.
use super::words::Arm;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One run of all benchmarks of a gate on one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The host that was measured.
    pub host: String,
    /// Its place in the order, from 0. A repeated run has the place of the first try.
    pub slot: u32,
    /// The arm that was meant.
    pub arm: Arm,
    /// Whether that arm was live while it was measured.
    pub live: Live,
    /// What came of it.
    pub end: RunEnd,
    /// The boot or power cycle it was measured in, where the change needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// The versions of the tools that measured it: alike in all runs, or nothing can be compared.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub versions: BTreeMap<String, String>,
    /// Things to know when reading its figures: `stalls`, `loose`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// The share of the variance between runs that comes from within them, as far as the seconds of this run tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
}

/// Whether an arm was live, by reading it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Live {
    /// What was read back is the arm's state.
    Proven {
        /// What was read.
        seen: String,
    },
    /// What was read back is not.
    Differs {
        /// What the arm is.
        expected: String,
        /// What was read.
        seen: String,
    },
    /// It was not read back.
    Unknown,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunEnd {
    /// The benchmarks ran.
    Measured {
        /// Their figures by path: the benchmark's id, then the figure's.
        figures: BTreeMap<String, Figure>,
    },
    /// Something went wrong.
    Failed(Fault),
}

/// One figure of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// A number.
    Number(f64),
    /// A percentile of too few completions.
    Insufficient {
        /// Completions there were.
        had: u64,
        /// Completions it needs.
        needs: u64,
    },
    /// The tool or sensor cannot tell it.
    NotAvailable {
        /// Why.
        why: String,
    },
}

impl Figure {
    /// A figure of a number; one that is not finite is not available.
    pub fn of(number: f64) -> Self {
        if number.is_finite() {
            Self::Number(number)
        } else {
            Self::NotAvailable { why: format!("the tool reported {number}") }
        }
    }
}

/// Why a run gives no figures. The first two may be the change's own doing, the others never count as such.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// A tool failed, data did not match, or the host could not be reached.
    Tool {
        /// What it said.
        what: String,
    },
    /// A limit was exceeded.
    Limit {
        /// Which and by how much.
        what: String,
    },
    /// The host or cluster was not fit to measure: health, scrub, recovery, stolen time, throttling.
    Unfit {
        /// What was wrong.
        what: String,
    },
    /// The figures never became steady.
    Unsteady {
        /// By how much.
        what: String,
    },
    /// The load was stopped because it hurt others.
    Aborted {
        /// What it hurt.
        what: String,
    },
}

impl Fault {
    /// Whether the change itself may be what broke the run.
    pub const fn may_be_the_change(&self) -> bool {
        matches!(self, Self::Tool { .. } | Self::Limit { .. })
    }

    /// In words.
    pub fn text(&self) -> String {
        match self {
            Self::Tool { what } | Self::Limit { what } => what.clone(),
            Self::Unfit { what } => format!("not fit to measure: {what}"),
            Self::Unsteady { what } => format!("never steady: {what}"),
            Self::Aborted { what } => format!("the load was stopped: {what}"),
        }
    }
}
