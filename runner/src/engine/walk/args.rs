//! The arguments of a task, evaluated and made into what the module plans with.
use super::scope::Scope;
use super::setting::{Unknown, text_of};
use crate::diagnostic::Diagnostic;
use crate::playbook::{Places, Task, arguments};
use crate::template::Json;
use modules::{Entry, Planner};
use serde_json::{Map, json};

/// A task's module with its arguments.
pub(super) struct Called {
    /// What plans.
    pub planner: Box<dyn Planner>,
    /// Whether a secret is in the arguments.
    pub secret: bool,
}

impl Scope<'_> {
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

    /// The module of a task with its arguments.
    pub(super) fn called(&self, task: &Task, entry: &Entry) -> Result<Called, Unknown> {
        let (mut given, mut secret) = self.given(task, entry.free_form)?;
        let mut brought = Map::new();
        secret |= self.bring(task, &mut given, &mut brought)?;
        self.steer(task, &mut given)?;
        if entry.scope == modules::Scope::Cluster {
            self.reach_cluster(&mut given)?;
        }
        let places = Places::of(&task.action);
        let vocabulary = crate::engine::vocabulary::vocabulary();
        let known = vocabulary.get(entry.name).ok_or_else(|| {
            Unknown::Wrong(Box::new(Diagnostic::error(
                "the module is not in the vocabulary",
                task.action.span.clone(),
            )))
        })?;
        let mut fitted: Json = arguments(known, &given, &places).map_err(|mut problems| {
            let mut first = problems.swap_remove(0);
            first.notes.extend(problems.into_iter().map(|problem| problem.message));
            Unknown::Wrong(Box::new(first))
        })?;
        if let Json::Object(fitted) = &mut fitted {
            fitted.extend(brought);
        }
        let planner = (entry.parse)(fitted).map_err(|why| {
            Unknown::Wrong(Box::new(Diagnostic::error(why.to_string(), task.action.span.clone())))
        })?;
        Ok(Called { planner, secret })
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
