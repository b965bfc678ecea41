//! How a rollout ends before its end.
use std::fmt;

/// Why a rollout goes no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Halt {
    /// It was taken back.
    RolledBack {
        /// Why.
        why: String,
        /// What could not be taken back, by host.
        left: Vec<String>,
        /// Only what the last wave changed; earlier waves stay.
        wave: bool,
    },
    /// It waits for a person. What was judged stays; what was not is taken off.
    Held {
        /// Why.
        why: String,
    },
    /// A loss was found and stands, since the playbook says so.
    Regress {
        /// Which.
        why: String,
    },
    /// A gate could not decide, and it waits for a person.
    Inconclusive {
        /// Why.
        why: String,
    },
}

impl Halt {
    /// How many hosts are not wholly back.
    pub fn left(&self) -> &[String] {
        match self {
            Self::RolledBack { left, .. } => left,
            Self::Held { .. } | Self::Regress { .. } | Self::Inconclusive { .. } => &[],
        }
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RolledBack { why, left, wave } => {
                let what = if *wave { "rolled back what this wave changed" } else { "rolled back" };
                write!(f, "{what}: {why}")?;
                if !left.is_empty() {
                    write!(f, "; NOT TAKEN BACK: {}", left.join("; "))?;
                }
                Ok(())
            }
            Self::Held { why } => write!(f, "held: {why}"),
            Self::Regress { why } => write!(f, "a regression stands: {why}"),
            Self::Inconclusive { why } => write!(f, "held, not decided: {why}"),
        }
    }
}
