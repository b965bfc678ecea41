//! What is legal and worth a look.
mod attribution;
mod commands;
mod refusals;
mod said;
mod traps;

use super::tags::tasks;
use super::tree::{Playbook, Task};
use crate::diagnostic::Problems;

/// Problems of tasks: arguments that a module refuses on every host, commands that say less than they could, known traps of tuning, measurements that cannot say
/// which change they measured.
pub fn lints(playbook: &Playbook) -> Problems {
    let mut problems = Problems::new();
    for play in &playbook.plays {
        let tasks = tasks(play);
        for task in &tasks {
            problems.extend(refusals::refusal(task));
            problems.extend(commands::command(task));
            problems.extend(traps::traps(task));
        }
        problems.extend(attribution::attribution(&tasks));
    }
    let all: Vec<&Task> = playbook.plays.iter().flat_map(tasks).collect();
    problems.extend(traps::contradictions(&all));
    problems
}
