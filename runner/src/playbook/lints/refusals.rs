//! What a module refuses whatever the host is like: a unit that there is not, a pattern that cannot be read.
use crate::diagnostic::Diagnostic;
use crate::playbook::arguments;
use crate::playbook::tree::Task;
use crate::playbook::vocabulary::Known;
use modules::vocabulary::{Facts, Identity, Stop};
use std::sync::Arc;

/// Modules whose arguments the runner completes before they plan: a source becomes a content.
const COMPLETED: [&str; 3] = ["copy", "template", "script"];

/// A planner that refuses before it has looked at anything refuses its arguments alone.
pub(super) fn refusal(task: &Task) -> Option<Diagnostic> {
    let module = task.action.module.as_str();
    if COMPLETED.contains(&module) {
        return None;
    }
    let known = Known::of(modules::find(module)?);
    let planner = arguments::literal_planner(&known, &task.action.args)?;
    let nothing = Facts::new(Arc::default(), Identity::default());
    let Err(Stop::Refused(refusal)) = planner.plan(&nothing) else { return None };
    let places = arguments::Places::of(&task.action);
    let argument = refusal.argument.and_then(|argument| {
        let written = |(name, _): &(&String, _)| arguments::canonical(&known, name) == argument;
        places.named.iter().find(written)
    });
    let (message, span) = match (argument, refusal.argument) {
        (Some((name, (_, value))), _) => (format!("`{name}`: {}", refusal.why), value.clone()),
        (None, Some(argument)) => (format!("`{argument}`: {}", refusal.why), places.module.clone()),
        (None, None) => (refusal.why.clone(), places.module.clone()),
    };
    // A condition may keep it from ever being asked.
    let problem = if task.settings.when.is_empty() {
        Diagnostic::error(message, span)
    } else {
        Diagnostic::warning(message, span)
    };
    Some(
        problem.help(
            refusal.way_out.unwrap_or_else(|| format!("`tunerun doc {module}` explains its arguments")),
        ),
    )
}
