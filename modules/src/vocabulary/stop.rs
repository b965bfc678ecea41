//! Why a module cannot give its change now.
use super::read::Read;

/// Why a module cannot give its change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Something must be looked at first.
    Unread(Vec<Read>),
    /// Something is known only after the planned task with this number.
    Late(TaskId),
    /// The change is refused.
    Refused(Refusal),
}

/// A refusal: what, why, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The argument that asks for it, if one does.
    pub argument: Option<&'static str>,
    /// Why not, one sentence.
    pub why: String,
    /// What to do instead.
    pub way_out: Option<String>,
}

impl Stop {
    /// A refusal of an argument.
    pub fn refused(argument: &'static str, why: impl Into<String>) -> Self {
        Self::Refused(Refusal { argument: Some(argument), why: why.into(), way_out: None })
    }

    /// A failure that no single argument is to blame for.
    pub fn failed(why: impl Into<String>) -> Self {
        Self::Refused(Refusal { argument: None, why: why.into(), way_out: None })
    }

    /// Adds the way out to a refusal.
    pub fn way_out(mut self, way_out: impl Into<String>) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.way_out = Some(way_out.into());
        }
        self
    }
}

/// The number of a planned task on its target: the order of planning.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct TaskId(pub u32);
