//! The marks that acts leave on a host: what was begun, what ended, what has gone back.
use std::collections::{BTreeMap, BTreeSet};

/// The marks of one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// Whether the host has not booted since: what is not marked did not happen then. Marks are not synced one by one.
    pub same_boot: bool,
    /// Steps whose act was begun.
    pub begun: BTreeSet<u32>,
    /// Steps whose act ended, with its status.
    pub ended: BTreeMap<u32, i32>,
    /// Steps that have gone back.
    pub undone: BTreeSet<u32>,
}

/// The marks of a run on a host, by batch; none where nobody looked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logs {
    /// Whether the host was looked at.
    pub looked: bool,
    /// The process group of an act that was begun and still runs, though nobody holds the lock for it.
    pub running: Option<u32>,
    /// The marks of each batch whose script began.
    pub batches: BTreeMap<u32, Marks>,
}

/// How far an act came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// It did not begin.
    Nowhere,
    /// It began, and did not end.
    Half,
    /// It ended.
    Through,
    /// Nobody knows.
    Unknown,
}

impl Logs {
    /// How far the act of a step came, as far as marks tell.
    pub fn came(&self, batch: u32, step: u32) -> Came {
        match self.batches.get(&batch) {
            None if self.looked => Came::Nowhere,
            None => Came::Unknown,
            Some(marks) if marks.ended.contains_key(&step) => Came::Through,
            Some(marks) if marks.begun.contains(&step) => Came::Half,
            Some(marks) if marks.same_boot => Came::Nowhere,
            Some(_) => Came::Unknown,
        }
    }

    /// Whether a step is marked as gone back.
    pub fn is_undone(&self, batch: u32, step: u32) -> bool {
        self.batches.get(&batch).is_some_and(|marks| marks.undone.contains(&step))
    }
}

/// Takes the marks from what the host printed. A line that a crash cut is left out.
pub(super) fn logs_of(text: &str) -> Logs {
    let mut logs = Logs { looked: true, ..Logs::default() };
    let now = text.lines().rev().find_map(|line| line.strip_prefix("now ")).unwrap_or_default();
    let mut batch = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["batch", number] => batch = number.parse().ok(),
            ["boot", id] => marks(&mut logs, batch, |marks| marks.same_boot = *id == now),
            ["running", group] => logs.running = group.parse().ok(),
            ["begun", step] => marks(&mut logs, batch, |marks| marks.begun.extend(step.parse::<u32>())),
            ["undone", step] => marks(&mut logs, batch, |marks| marks.undone.extend(step.parse::<u32>())),
            ["ended", step, status] => marks(&mut logs, batch, |marks| {
                if let (Ok(step), Ok(status)) = (step.parse(), status.parse()) {
                    marks.ended.insert(step, status);
                }
            }),
            _ => {}
        }
    }
    logs
}

fn marks(logs: &mut Logs, batch: Option<u32>, set: impl FnOnce(&mut Marks)) {
    if let Some(batch) = batch {
        set(logs.batches.entry(batch).or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::{Came, Logs, logs_of};

    #[test]
    fn marks_tell_how_far_an_act_came() {
        let logs =
            logs_of("batch 1\nboot a\nbegun 0\nended 0 0\nbegun 1\nbatch 2\nboot b\nundone 3\nnow a\n");
        assert_eq!(logs.came(1, 0), Came::Through);
        assert_eq!(logs.came(1, 1), Came::Half);
        assert_eq!(logs.came(1, 2), Came::Nowhere);
        assert_eq!(logs.came(2, 0), Came::Unknown, "the host has booted since");
        assert_eq!(logs.came(3, 0), Came::Nowhere, "its script did not begin");
        assert_eq!(Logs::default().came(1, 0), Came::Unknown);
        assert!(logs.is_undone(2, 3) && !logs.is_undone(1, 0));
    }
}
