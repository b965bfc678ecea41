//! Gates that nothing carries out yet: no such play is begun, so that nobody takes it for judged.
use super::handlers::visit;
use super::tree::{Playbook, Task};
use crate::diagnostic::{Diagnostic, Problems};

/// Every `gate:` of a task or block of a playbook.
pub fn unjudged(playbook: &Playbook) -> Problems {
    let mut problems = Problems::new();
    for play in &playbook.plays {
        for part in [&play.pre_tasks, &play.role_tasks, &play.tasks, &play.post_tasks, &play.handlers] {
            visit(part, &mut |task| problems.extend(of_task(task)));
        }
    }
    problems
}

/// The same of a task that an include brought.
pub fn of_task(task: &Task) -> Option<Diagnostic> {
    let at = task.gate.as_ref()?.span.clone();
    let problem = Diagnostic::error("nothing carries out `gate:` of a task or block yet, so the play is not begun", at);
    Some(problem.help("give the task a play of its own, and the play the gate"))
}
