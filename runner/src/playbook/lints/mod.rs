//! What is legal and worth a look.
mod attribution;
mod commands;
mod refusals;
mod said;
mod templates;
mod traps;

pub use templates::template_problems;

use super::loader::Loader;
use super::tags::tasks;
use super::tree::{Playbook, Task};
use crate::diagnostic::{Diagnostic, Problems, Severity};
use crate::source::Source;
use crate::template::{TemplateWorld, Templates};
use std::sync::Arc;

/// All that can be told of a playbook without a host, by file and place: what cannot be understood, and what is worth
/// a look in all the rest.
pub fn told(loader: &Loader<'_>, path: &str) -> Problems {
    let (playbook, mut problems) = loader.look(path);
    problems.extend(template_problems(&Templates::new(TemplateWorld::default()), &playbook));
    let told: Vec<_> = problems.iter().filter_map(line).collect();
    // What was not understood is not judged: the rest of its line was told already.
    problems.extend(lints(&playbook).into_iter().filter(|lint| {
        lint.severity == Severity::Warning || line(lint).is_none_or(|at| !told.contains(&at))
    }));
    let file = |problem: &Diagnostic| {
        let span = problem.span.as_ref()?;
        let at = playbook.sources.iter().position(|source| Arc::ptr_eq(source, &span.source));
        Some((at.unwrap_or(usize::MAX), span.start))
    };
    problems.sort_by_key(file);
    problems
}

/// The file and line of a problem.
fn line(problem: &Diagnostic) -> Option<(*const Source, usize)> {
    let span = problem.span.as_ref()?;
    Some((Arc::as_ptr(&span.source), span.line_column().0))
}

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
