//! The changes of a play one by one: its gate over each of its tasks and blocks instead of over all, or only some of them.
use super::tree::{Item, Play, Playbook};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A task or block of a play with a gate: the play's number, and the rung's own among its sections, both from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rung {
    /// The play.
    pub play: usize,
    /// Which one of it.
    pub number: usize,
}

impl Rung {
    /// The part of a walk that it is: parts with even numbers are what lies between.
    pub const fn part(self) -> u32 {
        self.number as u32 * 2 + 1
    }
}

/// Puts the gate of each play over each of its tasks and blocks. What a play includes while it runs stays between them,
/// unjudged.
pub fn gate_each(playbook: &mut Playbook) {
    for play in &mut playbook.plays {
        let Some(gate) = play.gate.take() else { continue };
        for item in sections(play).into_iter().flatten() {
            match item {
                // The tree was loaded just now: nobody else holds its tasks.
                Item::Task(task) => {
                    if let Some(task) = Arc::get_mut(task) {
                        task.gate.get_or_insert_with(|| Arc::clone(&gate));
                    }
                }
                Item::Block(block) => {
                    block.gate.get_or_insert_with(|| Arc::clone(&gate));
                }
                Item::Include(_) => {}
            }
        }
    }
}

/// Leaves rungs away, as if they were not written.
pub fn leave_out(playbook: &mut Playbook, rungs: &BTreeSet<Rung>) {
    for (number, play) in playbook.plays.iter_mut().enumerate() {
        if play.gate.is_none() {
            continue;
        }
        let mut at = 0;
        for items in sections(play) {
            items.retain(|item| {
                if matches!(item, Item::Include(_)) {
                    return true;
                }
                at += 1;
                !rungs.contains(&Rung { play: number, number: at - 1 })
            });
        }
    }
}

fn sections(play: &mut Play) -> [&mut Vec<Item>; 4] {
    [&mut play.pre_tasks, &mut play.role_tasks, &mut play.tasks, &mut play.post_tasks]
}
