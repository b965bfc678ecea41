//! The arguments of a task, evaluated and made into what the module plans with.
use super::scope::Scope;
use super::setting::{Unknown, text_of};
use super::sources::Brought;
use crate::diagnostic::Diagnostic;
use crate::playbook::{Places, Task, arguments};
use crate::template::{Held, Json, Templates};
use modules::vocabulary::share;
use modules::{Entry, Planner};
use serde_json::{Map, json};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

/// A task's module with its arguments.
#[derive(Clone)]
pub(super) struct Called {
    /// What plans.
    pub planner: Arc<dyn Planner>,
    /// Whether a secret is in the arguments.
    pub secret: bool,
}

/// How many of them are kept: files that are included at every walk are tasks of their own each time.
const KEPT: usize = 16_384;

/// Tasks whose arguments are the same on every host and at every walk, by where they are in memory.
#[derive(Default)]
pub(super) struct Constants(RwLock<HashMap<usize, (Arc<Task>, Called)>>);

impl Constants {
    fn get(&self, task: &Arc<Task>) -> Option<Called> {
        let kept = self.0.read().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(Arc::as_ptr(task) as usize)).map(|(_, called)| called.clone())
    }

    fn keep(&self, task: &Arc<Task>, called: &Called) {
        // The task is kept with it: an address that was freed and used again would be another task.
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(Arc::as_ptr(task) as usize, (Arc::clone(task), called.clone()));
    }
}

/// Whether a value is the same whatever the variables are.
fn is_constant(value: &Json) -> bool {
    match value {
        Json::String(text) => !Templates::is_template(text),
        Json::Array(items) => items.iter().all(is_constant),
        Json::Object(map) => {
            map.iter().all(|(key, value)| !Templates::is_template(key) && is_constant(value))
        }
        _ => true,
    }
}

impl Scope<'_> {
    /// The module of a task with its arguments, made once where they hold no template and nothing else is taken in.
    pub(super) fn called(&self, task: &Arc<Task>, entry: &Entry) -> Result<Called, Unknown> {
        if let Some(called) = self.scene.constants.get(task) {
            return Ok(called);
        }
        let called = self.evaluated_call(task, entry)?;
        let takes_in =
            matches!(task.action.module.as_str(), "copy" | "template" | "command" | "shell" | "script");
        if !takes_in && task.settings.module_defaults.is_empty() {
            let given = task.action.args.given.iter().map(|(_, value)| value);
            let mut all = given.chain(&task.action.args.free).map(|node| self.scene.layers.var(node));
            if all.all(|var| matches!(&var.held, Held::Data(value) if is_constant(value))) {
                self.scene.constants.keep(task, &called);
            }
        }
        Ok(called)
    }

    /// The evaluated arguments by name, `module_defaults` below them. The second says whether a secret was read.
    pub(super) fn given(
        &self,
        task: &Task,
        free_form: Option<&str>,
    ) -> Result<(Map<String, Json>, bool), Unknown> {
        let mut given = Map::new();
        let mut secret = false;
        for defaults in &task.settings.module_defaults {
            for (key, value) in defaults.entries() {
                let name = key.key_text();
                let meant = name.as_ref() == task.action.written
                    || name.rsplit('.').next() == Some(&task.action.module);
                if meant {
                    let (value, tainted) = self.evaluated(value)?;
                    secret |= tainted;
                    if let Json::Object(map) = value {
                        given.extend(map);
                    }
                }
            }
        }
        for (key, value) in &task.action.args.given {
            let (value, tainted) = self.evaluated(value)?;
            secret |= tainted;
            if crate::template::is_omit(&value) {
                given.shift_remove(key.key_text().as_ref());
            } else {
                given.insert(key.key_text().into_owned(), value);
            }
        }
        if let (Some(free), Some(name)) = (&task.action.args.free, free_form) {
            let (value, tainted) = self.evaluated(free)?;
            secret |= tainted;
            given.insert(name.to_owned(), json!(text_of(&value).unwrap_or_default()));
        }
        Ok((given, secret))
    }

    fn evaluated_call(&self, task: &Task, entry: &Entry) -> Result<Called, Unknown> {
        let (mut given, mut secret) = self.given(task, entry.free_form)?;
        let mut brought = Brought::default();
        secret |= self.bring(task, &mut given, &mut brought)?;
        self.steer(task, &mut given)?;
        let places = Places::of(&task.action);
        let vocabulary = crate::engine::vocabulary::vocabulary();
        let known = vocabulary.get(entry.name).ok_or_else(|| {
            Unknown::Wrong(Box::new(Diagnostic::error(
                "the module is not in the vocabulary",
                task.action.span.clone(),
            )))
        })?;
        // Modules of hosts that ask a cluster, too.
        if known.schema()["properties"].get("cluster").is_some() {
            self.reach_cluster(&mut given)?;
        }
        let mut fitted: Json = arguments(known, &given, &places).map_err(|mut problems| {
            let mut first = problems.swap_remove(0);
            first.notes.extend(problems.into_iter().map(|problem| problem.message));
            Unknown::Wrong(Box::new(first))
        })?;
        if let Json::Object(fitted) = &mut fitted {
            fitted.extend(brought.args);
        }
        let planner = share::read(&mut brought.contents, || (entry.parse)(fitted)).map_err(|why| {
            Unknown::Wrong(Box::new(Diagnostic::error(why.to_string(), task.action.span.clone())))
        })?;
        Ok(Called { planner: Arc::from(planner), secret })
    }

    /// What keywords say of a command: its environment, what it spoils, its way back.
    fn steer(&self, task: &Task, given: &mut Map<String, Json>) -> Result<(), Unknown> {
        if !matches!(task.action.module.as_str(), "command" | "shell" | "script") {
            return Ok(());
        }
        let mut environment = Map::new();
        for node in &task.settings.environment {
            if let (Json::Object(map), _) = self.evaluated(node)? {
                environment.extend(map);
            }
        }
        if !environment.is_empty() {
            let pairs: Map<String, Json> = environment
                .into_iter()
                .map(|(name, value)| (name, json!(text_of(&value).unwrap_or_default())))
                .collect();
            given.entry("env").or_insert(Json::Object(pairs));
        }
        for (name, node) in [("spoils", &task.spoils), ("undo", &task.undo)] {
            if let Some(node) = node {
                given.insert(name.to_owned(), self.evaluated(node)?.0);
            }
        }
        Ok(())
    }
}
