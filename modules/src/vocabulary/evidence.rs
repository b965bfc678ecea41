//! Whether what a task asks for is felt, told by something else than what was written.
use super::change::Effect;
use serde::{Deserialize, Serialize};

/// The proof that a setting is live: *applied but not live* is an answer of its own.
///
/// A module tells it from facts in its plan, whether or not anything is to be done. Plans are asked again on the
/// final facts, so the same code tells how it stands before a change and after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What is proven, one sentence: "the kernel runs with init_on_alloc=0".
    pub what: String,
    /// What was looked at: a file, a command, a method.
    pub proof: String,
    /// How it stands.
    pub standing: Standing,
}

/// How a setting stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is felt; `seen` is what proves it.
    Live {
        /// What was seen.
        seen: String,
    },
    /// It is written and not felt yet.
    Owed {
        /// What makes it felt.
        until: Effect,
        /// What was seen instead.
        seen: String,
    },
    /// It is neither written nor felt.
    Absent {
        /// What was seen instead.
        seen: String,
    },
    /// Nothing on this target can tell.
    NotAvailable {
        /// Why not.
        why: String,
    },
}

impl Evidence {
    /// The evidence of something that was looked at: `is_live` and `is_written` tell how it stands.
    pub fn told(
        what: impl Into<String>,
        proof: impl Into<String>,
        (is_live, is_written): (bool, bool),
        seen: impl Into<String>,
        until: Effect,
    ) -> Self {
        let seen = seen.into();
        let standing = match (is_live, is_written) {
            (true, _) => Standing::Live { seen },
            (false, true) => Standing::Owed { until, seen },
            (false, false) => Standing::Absent { seen },
        };
        Self { what: what.into(), proof: proof.into(), standing }
    }

    /// The evidence of something that nothing on this target can tell.
    pub fn not_available(what: impl Into<String>, proof: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), proof: proof.into(), standing: Standing::NotAvailable { why: why.into() } }
    }
}
