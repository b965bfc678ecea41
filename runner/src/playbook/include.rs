//! `import_…`, resolved while loading, and `include_…`, decided while planning.
use std::sync::Arc;

use super::fields::{self, grab, nearest, templated};
use super::loader::Reader;
use super::role::literal;
use super::settings::{Layer, LayerKind, Owner, Settings};
use super::tree::{Block, Body, Include, Included, Item, RoleCall, Task};
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::source::Span;
use crate::yaml::{Data, Node};

/// Inheritable keywords that mean something on an include itself.
pub(super) const TAKEN: [&str; 7] =
    ["ignore_errors", "no_log", "run_once", "tags", "timeout", "vars", "when"];

const APPLY: [&str; 4] = ["tags", "become", "when", "vars"];

impl Reader<'_> {
    /// Turns a task whose module steers loading into what it brings.
    ///
    /// `private`: the task's own keywords that an include does not take.
    pub(super) fn steered(&mut self, task: Task, around: &Arc<Settings>, private: &[Node]) -> Option<Item> {
        if matches!(task.action.module.as_str(), "include_tasks" | "include_role") {
            for key in private {
                let message = format!("`{}` on an include reaches no task in it", key.key_text());
                self.tell(
                    Diagnostic::error(message, key.span.clone()).help("put it under `apply:` of the include"),
                );
            }
        }
        match task.action.module.as_str() {
            "import_tasks" => self.import_tasks(task),
            "import_role" => self.import_role(task),
            "include_tasks" => self.include_tasks(task, around),
            "include_role" => self.include_role(task, around),
            "import_playbook" => {
                let problem = Diagnostic::error(
                    "`import_playbook` stands between plays, not among tasks",
                    task.action.span,
                );
                self.tell(problem.help("move it to the left margin, or use `import_tasks`"));
                None
            }
            _ => Some(Item::Task(Arc::new(task))),
        }
    }

    fn import_tasks(&mut self, mut task: Task) -> Option<Item> {
        self.no_loop(&task, "include_tasks");
        let file = self.file(&mut task)?;
        if templated(&file) {
            let problem = Diagnostic::error("the name of an import cannot be a template", file.span.clone());
            self.tell(problem.help("use `include_tasks`, which is decided for each host"));
            return None;
        }
        self.old_style(&mut task);
        let settings = handed_down(&task);
        let name = file.as_str().unwrap_or_default().trim().to_owned();
        let body = self.tasks_file(&name, &file.span, &settings, &task.place);
        Some(grouped(task, body))
    }

    fn import_role(&mut self, task: Task) -> Option<Item> {
        self.no_loop(&task, "include_role");
        let call = self.call(&task)?;
        if !literal(&call) {
            let problem =
                Diagnostic::error("the names of an import cannot be templates", call.name.span.clone());
            self.tell(problem.help("use `include_role`, which is decided for each host"));
            return None;
        }
        let settings = handed_down(&task);
        let mut body = self.called(&call, &settings)?;
        self.handlers.append(&mut body.handlers);
        Some(grouped(task, body))
    }

    fn include_tasks(&mut self, mut task: Task, around: &Arc<Settings>) -> Option<Item> {
        let file = self.file(&mut task)?;
        let children = self.children(&mut task, around);
        let name = file.as_str().unwrap_or_default().trim().to_owned();
        let known = !templated(&file) && !self.is_open(&name, &task);
        let body = known.then(|| Arc::new(self.tasks_file(&name, &file.span, &children, &task.place)));
        let what = Included::Tasks(Arc::new(file));
        Some(Item::Include(Include { task: Arc::new(task), what, body, children }))
    }

    /// A file may include itself under a condition: it is then loaded when that is decided.
    fn is_open(&self, name: &str, task: &Task) -> bool {
        let here = super::files::join(&task.place.folder, name);
        self.open.contains(&here)
    }

    fn include_role(&mut self, mut task: Task, around: &Arc<Settings>) -> Option<Item> {
        let call = self.call(&task)?;
        let children = self.children(&mut task, around);
        let before = self.roles.len();
        let open = call
            .name
            .as_str()
            .is_some_and(|name| self.open.iter().any(|open| open.ends_with(&format!("/{name} (role)"))));
        let body =
            if literal(&call) && !open { Some(Arc::new(self.called(&call, &children)?)) } else { None };
        // Variables of an included role are no play-wide ones until it was included.
        self.roles.truncate(before);
        let what = Included::Role(call);
        Some(Item::Include(Include { task: Arc::new(task), what, body, children }))
    }

    fn called(&mut self, call: &RoleCall, settings: &Arc<Settings>) -> Option<Body> {
        let text = |node: &Option<Arc<Node>>| node.as_ref().and_then(|node| node.as_str().map(str::to_owned));
        let from = [&call.tasks_from, &call.vars_from, &call.defaults_from, &call.handlers_from].map(text);
        let from = [0, 1, 2, 3].map(|at: usize| from[at].as_deref());
        self.role(call.name.as_str()?.trim(), &call.name.span, from, settings)
    }

    /// What the children of an include inherit: what is around it, its `vars` as parameters, and `apply:`.
    fn children(&mut self, task: &mut Task, around: &Arc<Settings>) -> Arc<Settings> {
        let mut children = Settings::clone(around);
        if let Some(layer) = own_vars(&task.settings, around) {
            children.vars.push(Layer { kind: LayerKind::IncludeParams, vars: layer });
        }
        let at = task.action.args.given.iter().position(|(key, _)| key.key_text() == "apply");
        let Some(at) = at else { return Arc::new(children) };
        let (key, value) = task.action.args.given.remove(at);
        let kind = value.kind();
        let span = value.span.clone();
        let Data::Map(pairs) = value.data else {
            let problem =
                Diagnostic::error(format!("`{}` wants a mapping; this is {kind}", key.key_text()), span);
            self.tell(problem);
            return Arc::new(children);
        };
        for (key, mut value) in pairs {
            if !children.take(Owner::Block, &key, &mut value, &mut self.problems) {
                let word = key.key_text();
                let problem = Diagnostic::error(format!("`apply` takes no `{word}`"), key.span.clone());
                self.tell(nearest(problem, did_you_mean(&word, APPLY)));
            }
        }
        Arc::new(children)
    }

    fn no_loop(&mut self, task: &Task, instead: &str) {
        if let Some(repeat) = &task.repeat {
            let problem = Diagnostic::error("an import takes no loop", repeat.over.span.clone());
            self.tell(problem.help(format!("use `{instead}`, which is decided while planning")));
        }
    }

    /// The file's name from free-form text or `file:`.
    fn file(&mut self, task: &mut Task) -> Option<Node> {
        let args = &mut task.action.args;
        let named = args.given.iter_mut().find(|(key, _)| key.key_text() == "file");
        let file = args.free.take().or_else(|| named.map(|(_, value)| grab(value)));
        match file {
            Some(file) if file.as_str().is_some_and(|name| !name.trim().is_empty()) => Some(file),
            _ => {
                let message = format!("`{}` names no file", task.action.module);
                let problem = Diagnostic::error(message, task.action.span.clone());
                self.tell(problem.help(format!("write `{}: file.yml`", task.action.written)));
                None
            }
        }
    }

    /// `import_tasks: file.yml tags=x`.
    fn old_style(&mut self, task: &mut Task) {
        for (key, mut value) in std::mem::take(&mut task.action.args.given) {
            if key.key_text() == "tags" {
                Arc::make_mut(&mut task.settings).take(Owner::Task, &key, &mut value, &mut self.problems);
            }
        }
    }

    fn call(&mut self, task: &Task) -> Option<RoleCall> {
        let get = |name: &str| task.action.args.get(name).map(|node| Arc::new(node.clone()));
        let Some(name) = get("name").or_else(|| get("role")).filter(|name| name.as_str().is_some()) else {
            let message = format!("`{}` names no role", task.action.module);
            let problem = Diagnostic::error(message, task.action.span.clone());
            self.tell(problem.help("add `name: the_role` below it"));
            return None;
        };
        let public = task.action.args.get("public");
        let public = public
            .is_some_and(|value| value.as_bool().or_else(|| fields::boolean(value.raw())) == Some(true));
        Some(RoleCall {
            name,
            tasks_from: get("tasks_from"),
            vars_from: get("vars_from"),
            defaults_from: get("defaults_from"),
            handlers_from: get("handlers_from"),
            public: public || task.action.module == "import_role",
        })
    }
}

/// What the tasks of an import inherit: everything of the import, its `vars` as a block's.
fn handed_down(task: &Task) -> Arc<Settings> {
    let mut settings = Arc::clone(&task.settings);
    if settings.vars.iter().any(|layer| layer.kind == LayerKind::Task) {
        for layer in &mut Arc::make_mut(&mut settings).vars {
            if layer.kind == LayerKind::Task {
                layer.kind = LayerKind::Block;
            }
        }
    }
    settings
}

/// The `vars` that a task has itself.
fn own_vars(own: &Settings, around: &Settings) -> Option<Arc<Node>> {
    let last = own.vars.last().filter(|_| own.vars.len() > around.vars.len())?;
    Some(Arc::clone(&last.vars))
}

fn grouped(task: Task, body: Body) -> Item {
    let span: Span = task.span;
    Item::Block(Block { name: task.name, block: body.tasks, ..Block::empty(span) })
}
