//! Whether every handler that is notified is there.
use super::fields::templated;
use super::tree::{Item, Play, Task};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};

/// Tells notified names that no handler has. Nothing is told where a template may still bring handlers.
pub fn check(play: &Play, problems: &mut Problems) {
    let mut known = Vec::new();
    let mut open = names(&play.handlers, &mut known);
    for (_, items) in play.sections() {
        open |= brought(items, &mut known);
    }
    if open {
        return;
    }
    let mut told = Vec::new();
    let mut tell = |task: &Task| {
        for node in &task.settings.notify {
            let Some(name) = node.as_str().filter(|_| !templated(node)) else { continue };
            if known.iter().any(|known| known == name) || told.contains(&node.span.start) {
                continue;
            }
            told.push(node.span.start);
            let problem = Diagnostic::error(
                format!("no handler is named `{name}` or listens to it"),
                node.span.clone(),
            );
            problems.push(match did_you_mean(name, known.iter().map(String::as_str)) {
                Some(near) => problem.help(format!("did you mean `{near}`?")),
                None if known.is_empty() => problem.help("add it under `handlers:` of the play or role"),
                None => problem.help(format!("handlers here: {}", known.join(", "))),
            });
        }
    };
    for (_, items) in play.sections() {
        visit(items, &mut tell);
    }
    visit(&play.handlers, &mut tell);
}

/// Collects names and topics of handlers; true where one of them is a template.
fn names(items: &[Item], known: &mut Vec<String>) -> bool {
    let mut open = false;
    let mut include = false;
    each(items, &mut |item| match item {
        Item::Task(task) => {
            known.extend(task.listen.iter().cloned());
            let Some(name) = &task.name else { return };
            open |= templated(name);
            if let Some(name) = name.as_str() {
                known.push(name.to_owned());
                known.extend(task.place.role.iter().map(|role| format!("{} : {name}", role.name)));
            }
        }
        Item::Include(found) => {
            known.extend(found.task.name.iter().filter_map(|name| name.as_str().map(str::to_owned)));
            known.extend(found.task.listen.iter().cloned());
            match &found.body {
                Some(body) => open |= names(&body.tasks, known),
                None => include = true,
            }
        }
        Item::Block(_) => {}
    });
    open || include
}

/// Collects the handlers of included roles; true where an include is decided later.
fn brought(items: &[Item], known: &mut Vec<String>) -> bool {
    let mut open = false;
    each(items, &mut |item| {
        if let Item::Include(include) = item {
            match &include.body {
                Some(body) => {
                    open |= names(&body.handlers, known);
                    open |= brought(&body.tasks, known);
                }
                None => open = true,
            }
        }
    });
    open
}

fn each<'a>(items: &'a [Item], see: &mut dyn FnMut(&'a Item)) {
    for item in items {
        see(item);
        if let Item::Block(block) = item {
            for part in [&block.block, &block.rescue, &block.always] {
                each(part, see);
            }
        }
    }
}

/// Every task, those of includes that are loaded already among them, includes as tasks too.
pub fn visit(items: &[Item], see: &mut dyn FnMut(&Task)) {
    each(items, &mut |item| match item {
        Item::Task(task) => see(task),
        Item::Include(include) => {
            see(&include.task);
            if let Some(body) = &include.body {
                visit(&body.tasks, see);
                visit(&body.handlers, see);
            }
        }
        Item::Block(_) => {}
    });
}
