//! What a playbook asks of a gate, which nothing gives yet: no such play is begun, so that nobody takes it for judged.
use super::handlers::visit;
use super::tree::{Playbook, Task};
use crate::diagnostic::{Diagnostic, Problems};
use crate::source::Span;

/// Every `rollout:`, `guard:` and `gate:` of a playbook.
pub fn unjudged(playbook: &Playbook) -> Problems {
    let mut problems = Problems::new();
    for play in &playbook.plays {
        let of_play = [("rollout", &play.rollout), ("guard", &play.guard), ("gate", &play.gate)];
        for (word, node) in of_play {
            problems.extend(node.iter().map(|node| problem(word, node.span.clone())));
        }
        for part in [&play.pre_tasks, &play.role_tasks, &play.tasks, &play.post_tasks, &play.handlers] {
            visit(part, &mut |task| problems.extend(of_task(task)));
        }
    }
    problems
}

/// The same of a task that an include brought.
pub fn of_task(task: &Task) -> Option<Diagnostic> {
    task.gate.as_ref().map(|node| problem("gate", node.span.clone()))
}

fn problem(word: &str, at: Span) -> Diagnostic {
    let instead = match word {
        "gate" => "measure before and after by hand, and write what is expected as `expect:`",
        "rollout" => "use `serial:` with `max_fail_percentage: 0`: a few hosts first",
        _ => "use `serial:`, and `ceph_flag` and `ceph_osd_restart`, which have guards of their own",
    };
    Diagnostic::error(format!("nothing carries out `{word}:` yet, so the play is not begun"), at)
        .help(instead)
}
