//! Handlers: who is notified, and what runs when they are flushed.
use super::items::{Flow, Walker};
use super::setting::{Unknown, text_of};
use crate::playbook::{Include, Item, Play, Task};
use crate::template::Json;
use std::sync::Arc;

/// A handler as it is written.
enum Handler<'p> {
    Task(&'p Arc<Task>),
    Include(&'p Include),
}

impl Handler<'_> {
    fn task(&self) -> &Arc<Task> {
        match self {
            Self::Task(task) => task,
            Self::Include(include) => &include.task,
        }
    }
}

impl<'w> Walker<'w> {
    pub(super) fn notify(&mut self, task: &Task, uncertain: bool) {
        for node in &task.settings.notify {
            let names = {
                let scope = self.scope(Some(task), Vec::new());
                scope.evaluated(node).map(|(value, _)| value)
            };
            let names = match names {
                Ok(Json::Array(names)) => names.iter().filter_map(super::setting::text_of).collect(),
                Ok(value) => super::setting::text_of(&value).into_iter().collect::<Vec<_>>(),
                Err(_) => continue,
            };
            for name in names {
                match self.notified.iter_mut().find(|(known, _)| *known == name) {
                    Some(known) => known.1 &= uncertain,
                    None => self.notified.push((name, uncertain)),
                }
            }
        }
    }

    /// Runs the handlers that were notified, in the order in which they are written; those they notify follow.
    pub(super) fn flush(&mut self, play: &'w Play) -> Flow {
        self.flushes += 1;
        let bodies = self.handlers.clone();
        let mut handlers = Vec::new();
        for items in bodies.iter().map(|body| &body.handlers[..]).chain([&play.handlers[..]]) {
            listed(items, &mut handlers);
        }
        for round in 0..8 {
            let notified = std::mem::take(&mut self.notified);
            if notified.is_empty() {
                return Flow::Go;
            }
            let prefix = format!("h{}.{round}/", self.flushes);
            for (at, uncertain) in self.called_for(&handlers, &notified) {
                let handler = &handlers[at];
                if uncertain {
                    let unknown = Unknown::Late("the tasks that notify it".to_owned());
                    let _ = self.undecided(handler.task(), &prefix, unknown);
                    continue;
                }
                let flow = match handler {
                    Handler::Task(task) => self.task(task, &prefix),
                    Handler::Include(include) => self.include(include, &prefix),
                };
                if !matches!(flow, Flow::Go) {
                    return flow;
                }
            }
        }
        Flow::Go
    }

    /// The handlers that are called, in order, and whether that is not certain yet. Of two with one name the later
    /// counts; all that listen to a topic are called.
    fn called_for(&self, handlers: &[Handler<'_>], notified: &[(String, bool)]) -> Vec<(usize, bool)> {
        let names: Vec<(String, Option<String>)> = handlers
            .iter()
            .map(|handler| {
                let task = handler.task();
                let scope = self.scope(Some(task), Vec::new());
                let name = task.name.as_ref().and_then(|node| scope.evaluated(node).ok());
                let name = name.and_then(|(value, _)| text_of(&value)).unwrap_or_default();
                let long = task.place.role.as_ref().map(|role| format!("{} : {name}", role.name));
                (name, long)
            })
            .collect();
        let mut called = std::collections::BTreeMap::new();
        for (word, uncertain) in notified {
            let named = names.iter().rposition(|(name, long)| name == word || long.as_ref() == Some(word));
            let listen =
                handlers.iter().enumerate().filter(|(_, handler)| handler.task().listen.contains(word));
            for at in named.into_iter().chain(listen.map(|(at, _)| at)) {
                *called.entry(at).or_insert(true) &= *uncertain;
            }
        }
        called.into_iter().collect()
    }
}

fn listed<'p>(items: &'p [Item], handlers: &mut Vec<Handler<'p>>) {
    for item in items {
        match item {
            Item::Task(task) => handlers.push(Handler::Task(task)),
            Item::Block(block) => listed(&block.block, handlers),
            Item::Include(include) => handlers.push(Handler::Include(include)),
        }
    }
}
