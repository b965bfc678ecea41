//! What to do with a step that may or may not have happened: it is looked at, never guessed.
use crate::vocabulary::{Act, Back, Seen, Step};

/// What a look says of a step that was prepared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The state after the act is there: undo it.
    After,
    /// The state before it is there: nothing to do.
    Before,
    /// Neither: somebody else was there since. Never overwritten unasked.
    Conflict,
}

/// Tells a step's standing by what is seen now.
///
/// `left` is what was really seen after the act, where that was recorded; undo compares with *that*, since a
/// host may keep a value that means the same in another text.
pub fn found(step: &Step, left: Option<&Seen>, now: &Seen) -> Found {
    let after = left.is_some_and(|left| left.same_state(now)) || (left.is_none() && step.after.holds(now));
    let before = step.before.same_state(now);
    match (before, after) {
        // Any state would do: that nothing moved says that the act did not happen.
        (true, true) if step.is_act() && left.is_none() => Found::Before,
        (true, false) => Found::Before,
        (_, true) => Found::After,
        (false, false) => Found::Conflict,
    }
}

/// The act that goes back, and what stays all the same, in words.
pub fn way_back(step: &Step) -> (Option<&Act>, Option<&str>) {
    match &step.back {
        Back::Exactly(act) => (Some(act), None),
        Back::Approximately { act, stays } => (Some(act), Some(stays)),
        Back::None { why } => (None, Some(why)),
        Back::Nothing => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, found};
    use crate::shape::Shape;
    use crate::vocabulary::{Claim, HostPath, Seen, Step};

    #[test]
    fn a_third_value_is_a_conflict() {
        let path = HostPath::new("/proc/sys/vm/swappiness").unwrap();
        let value = |text: &str| Seen::Value(text.to_owned());
        let step = Step::write(Claim::new("sysctl", "vm.swappiness"), path, value("60"), "10", Shape::Words);
        assert_eq!(found(&step, None, &value("60")), Found::Before);
        assert_eq!(found(&step, None, &value("10")), Found::After);
        assert_eq!(found(&step, None, &value("7")), Found::Conflict);
        assert_eq!(found(&step, Some(&value("11")), &value("11")), Found::After);
        assert_eq!(found(&step, Some(&value("11")), &value("10")), Found::Conflict);
    }
}
