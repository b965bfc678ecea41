//! Includes of tasks and roles, and the files of variables that are found only when a play begins.
use super::items::{Flow, Walker};
use super::layers::Layer;
use super::scope::Scope;
use super::setting::Unknown;
use crate::diagnostic::Diagnostic;
use crate::playbook::{Body, Include, Included, Play, Task, VarsFile};
use crate::source::Source;
use crate::template::Json;
use std::sync::{Arc, PoisonError};

impl<'w> Walker<'w> {
    pub(super) fn include(&mut self, include: &Include, prefix: &str) -> Flow {
        let task = &include.task;
        if !self.takes(task) {
            return Flow::Go;
        }
        let turns = match &task.repeat {
            None => Ok(vec![None]),
            Some(repeat) => {
                let scope = self.scope(Some(task), Vec::new());
                let extended = scope.flag(repeat.control.extended.as_ref(), false).unwrap_or(false);
                scope.turns(repeat, task).map(|turns| {
                    let items: Vec<Json> = turns.iter().map(|turn| turn.item.clone()).collect();
                    turns
                        .iter()
                        .map(|turn| Some((turn.index, Scope::turn_vars(repeat, turn, &items, extended))))
                        .collect()
                })
            }
        };
        let turns = match turns {
            Ok(turns) => turns,
            Err(unknown) => return self.undecided(task, prefix, unknown),
        };
        for turn in turns {
            let (place, vars) = match turn {
                None => (format!("{prefix}{}/", task.id.0), Vec::new()),
                Some((index, vars)) => (format!("{prefix}{}#{index}/", task.id.0), vars),
            };
            let around = self.around.len();
            self.around.extend(vars);
            let flow = self.included(include, prefix, &place);
            self.around.truncate(around);
            if !matches!(flow, Flow::Go) {
                return flow;
            }
        }
        Flow::Go
    }

    fn included(&mut self, include: &Include, prefix: &str, place: &str) -> Flow {
        let task = &include.task;
        let body = {
            let scope = self.scope(Some(task), Vec::new());
            match scope.all(&task.settings.when) {
                Err(unknown) => Err(unknown),
                Ok(Some(_)) => return Flow::Go,
                Ok(None) => self.body(include, &scope),
            }
        };
        let body = match body {
            Ok(body) => body,
            Err(unknown) => return self.undecided(task, prefix, unknown),
        };
        let public = match &include.what {
            Included::Role(call) => call.public,
            Included::Tasks(_) => false,
        };
        let roles = self.live.roles.len();
        self.live.roles.extend(body.roles.iter().cloned());
        if !body.handlers.is_empty() && !self.handlers.iter().any(|known| Arc::ptr_eq(known, &body)) {
            self.handlers.push(Arc::clone(&body));
        }
        let flow = self.items(&body.tasks, place);
        if !public {
            self.live.roles.truncate(roles);
        }
        flow
    }

    fn body(&self, include: &Include, scope: &Scope<'_>) -> Result<Arc<Body>, Unknown> {
        if let Some(body) = &include.body {
            return Ok(Arc::clone(body));
        }
        let name = |node: &crate::yaml::Node| -> Result<String, Unknown> {
            super::setting::text_of(&scope.evaluated(node)?.0)
                .ok_or_else(|| Unknown::wrong("this must come out as a name", &node.span))
        };
        let optional = |node: &Option<Arc<crate::yaml::Node>>| -> Result<String, Unknown> {
            node.as_ref().map_or(Ok(String::new()), |node| name(node))
        };
        let first = |mut problems: Vec<Diagnostic>| {
            let at =
                problems.iter().position(|problem| problem.severity == crate::diagnostic::Severity::Error);
            Unknown::Wrong(Box::new(problems.swap_remove(at.unwrap_or(0))))
        };
        match &include.what {
            Included::Tasks(node) => self.scene.loader.included_tasks(include, &name(node)?).map_err(first),
            Included::Role(call) => {
                let from = [&call.tasks_from, &call.vars_from, &call.defaults_from, &call.handlers_from];
                let from: Vec<String> = from.into_iter().map(optional).collect::<Result<_, _>>()?;
                let from = [&*from[0], &*from[1], &*from[2], &*from[3]];
                self.scene.loader.included_role(include, &name(&call.name)?, from).map_err(first)
            }
        }
    }

    /// A task of which not even the items are known.
    pub(super) fn undecided(&mut self, task: &Arc<Task>, prefix: &str, unknown: Unknown) -> Flow {
        let key = format!("{prefix}{}", task.id.0);
        let target = self.login();
        if matches!(unknown, Unknown::Late(_) | Unknown::Fact(_)) {
            // What it would have set is not known either.
            self.live.open = Some(format!("`{}`", task.title()));
        }
        let inst = self.unknown(task, &key, None, &target, unknown);
        self.finish(task, &key, vec![inst], false)
    }

    /// Finds the files of `vars_files` whose names are templates or which are encrypted as a whole.
    pub(super) fn late_files(&mut self, play: &'w Play) -> Result<(), Box<Diagnostic>> {
        for (at, file) in play.vars_files.iter().enumerate() {
            if file.loaded.is_some() {
                continue;
            }
            match self.late_file(play, file) {
                Ok(Some(layer)) => drop(self.live.files.insert(at, layer)),
                Ok(None) => {}
                Err(Unknown::Fact(name)) => {
                    self.want_fact(&name);
                    self.live.open = Some(format!("the fact `{name}`"));
                }
                Err(Unknown::Late(on)) => self.live.open = Some(on),
                Err(Unknown::Wrong(problem) | Unknown::Undefined(problem)) => return Err(problem),
            }
        }
        Ok(())
    }

    fn late_file(&self, play: &Play, file: &VarsFile) -> Result<Option<Layer>, Unknown> {
        let scope = self.scope(None, Vec::new());
        let mut names = Vec::new();
        for choice in &file.choices {
            let name = super::setting::text_of(&scope.evaluated(choice)?.0).unwrap_or_default();
            let path = crate::playbook::files::join(&play.folder, &name);
            if std::path::Path::new(&path).is_file() {
                return self.scene.variables_of(&path).map(Some).map_err(Unknown::Wrong);
            }
            names.push(name);
        }
        let span = file.choices.first().map(|choice| choice.span.clone());
        let message = match names.as_slice() {
            [name] => format!("the variables file `{name}` is not found"),
            many => format!("none of these variables files is found: {}", many.join(", ")),
        };
        let problem = Diagnostic::error(message, span).help(format!("names start from {}", play.folder));
        Err(Unknown::Wrong(Box::new(problem)))
    }
}

impl super::scene::Scene {
    /// The variables of a file, opened with the vault where it is encrypted; read once for all hosts.
    pub(super) fn variables_of(&self, path: &str) -> Result<Layer, Box<Diagnostic>> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layer) = files.get(path) {
            return Ok(Arc::clone(layer));
        }
        let (text, secret) = self.plain(path).map_err(|why| Box::new(Diagnostic::error(why, None)))?;
        let source = if secret { Source::secret(path, text) } else { Source::new(path, text) };
        let node =
            crate::yaml::parse_one(&source).map_err(|mut problems| Box::new(problems.swap_remove(0)))?;
        if !node.is_null() && node.as_map().is_none() {
            let message = format!("a file of variables should hold a mapping; it holds {}", node.kind());
            let problem = Diagnostic::error(message, node.span).help("write `name: value` lines");
            return Err(Box::new(problem));
        }
        let vars = node.entries().map(|(key, value)| {
            let var = self.layers.var(value);
            (key.key_text().into_owned(), if secret { var.secret() } else { var })
        });
        let layer: Layer = Arc::new(vars.collect());
        files.insert(path.to_owned(), Arc::clone(&layer));
        Ok(layer)
    }

    /// A file's text, and whether it was encrypted as a whole.
    fn plain(&self, path: &str) -> Result<(String, bool), String> {
        let text = self.loader.files().read(path).map_err(|why| format!("{path} cannot be read: {why}"))?;
        if !crate::vault::is_vault(&text) {
            return Ok((text, false));
        }
        let plain = crate::vault::decrypt(&text, &self.passwords)
            .map_err(|why| format!("{path} is encrypted and cannot be opened: {why}"))?;
        let plain =
            String::from_utf8(plain.to_vec()).map_err(|_| format!("{path} holds what is not UTF-8"))?;
        Ok((plain, true))
    }
}
