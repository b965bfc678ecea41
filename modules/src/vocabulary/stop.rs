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

    /// Names the argument that a refusal is about, where it names none.
    pub fn blame(mut self, argument: &'static str) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.argument = refusal.argument.or(Some(argument));
        }
        self
    }

    /// Adds the way out to a refusal.
    pub fn way_out(mut self, way_out: impl Into<String>) -> Self {
        if let Self::Refused(refusal) = &mut self {
            refusal.way_out = Some(way_out.into());
        }
        self
    }
}

/// The reads that an answer misses; none where it misses nothing.
pub fn missing<T>(answer: Result<T, Stop>) -> Vec<Read> {
    match answer {
        Err(Stop::Unread(reads)) => reads,
        _ => Vec::new(),
    }
}

/// All answers, or why there are not all: what they miss together, so that it shares one round, else the first
/// other stop.
///
/// # Errors
/// As said.
pub fn all<T>(answers: impl IntoIterator<Item = Result<T, Stop>>) -> Result<Vec<T>, Stop> {
    let (mut known, mut unread, mut other) = (Vec::new(), Vec::new(), None);
    for answer in answers {
        match answer {
            Ok(answer) => known.push(answer),
            Err(Stop::Unread(reads)) => unread.extend(reads),
            Err(stop) => other = other.or(Some(stop)),
        }
    }
    match (unread.is_empty(), other) {
        (false, _) => Err(Stop::Unread(unread)),
        (true, Some(stop)) => Err(stop),
        (true, None) => Ok(known),
    }
}

/// The number of a planned task on its target: the order of planning.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct TaskId(pub u32);

#[cfg(test)]
mod tests {
    use super::{Stop, TaskId, all, missing};
    use crate::vocabulary::Read;

    #[test]
    fn what_many_answers_miss_is_asked_for_together() {
        let read = |name: &str| Read::Glob(name.to_owned());
        let unread = |name: &str| Err::<u8, Stop>(Stop::Unread(vec![read(name)]));
        let late = || Err(Stop::Late(TaskId(3)));
        assert_eq!(all([Ok(1), Ok(2)]), Ok(vec![1, 2]));
        assert_eq!(missing(all([late(), unread("a"), Ok(1), unread("b")])), [read("a"), read("b")]);
        assert_eq!(all([Ok(1), late(), Err(Stop::failed("x"))]), Err(Stop::Late(TaskId(3))));
        assert_eq!(missing(all([Ok(1)])), []);
    }
}
