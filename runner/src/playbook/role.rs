//! Roles: their folder, variables, tasks, handlers and dependencies.
use std::sync::Arc;

use super::fields::{self, grab, templated};
use super::files;
use super::keywords;
use super::loader::Reader;
use super::settings::{Layer, LayerKind, Owner, Settings, WORDS};
use super::tree::{Block, Body, Item, Place};
use crate::diagnostic::{Diagnostic, did_you_mean};
use crate::source::Span;
use crate::vault::is_vault;
use crate::yaml::{Data, Node};

/// A role's folder and variables.
#[derive(Debug)]
pub struct Role {
    /// Its name as tasks show it.
    pub name: String,
    /// Its folder.
    pub path: String,
    /// `defaults/`: the lowest rank of all variables (2 in Ansible's list).
    pub defaults: Option<Arc<Node>>,
    /// `vars/`: above the play's (15).
    pub vars: Option<Arc<Node>>,
    /// `meta/argument_specs.yml` as written.
    pub argument_specs: Option<Arc<Node>>,
    /// Whether it may run twice with the same parameters.
    pub allow_duplicates: bool,
}

impl Role {
    /// Whether both are one role with the same files of variables.
    fn brings_the_same(&self, other: &Role) -> bool {
        let file = |vars: &Option<Arc<Node>>| vars.as_ref().map(|vars| vars.span.source.name.clone());
        self.path == other.path
            && file(&self.vars) == file(&other.vars)
            && file(&self.defaults) == file(&other.defaults)
    }
}

/// What tells two uses of one role apart: parameters, `vars`, `when` and `tags`, but not how it is run.
fn identity(node: &Node) -> String {
    let told = node.entries().filter(|(key, _)| {
        let word = key.key_text();
        let kept = matches!(word.as_ref(), "when" | "tags" | "vars");
        kept || !(matches!(word.as_ref(), "role" | "name") || WORDS.contains(&word.as_ref()))
    });
    told.map(|(key, value)| format!("{}={}", key.key_text(), value.to_json())).collect::<Vec<_>>().join(" ")
}

const EXTENSIONS: [&str; 4] = [".yml", ".yaml", ".json", ""];

impl Reader<'_> {
    /// The members of `roles:` or of a role's dependencies, as blocks.
    pub(super) fn roles(&mut self, nodes: Vec<Node>, settings: &Arc<Settings>) -> Vec<Item> {
        nodes.into_iter().filter_map(|node| self.role_use(node, settings)).collect()
    }

    fn role_use(&mut self, node: Node, parent: &Arc<Settings>) -> Option<Item> {
        let span = node.span.clone();
        let kind = node.kind();
        let identity = identity(&node);
        let ((name, place), settings) = match node.data {
            Data::Str(name) => ((name, span.clone()), Arc::clone(parent)),
            Data::Map(pairs) => self.role_pairs(pairs, &span, parent)?,
            _ => {
                let message = format!("a role is a name or a mapping with `role:`; this is {kind}");
                self.tell(Diagnostic::error(message, span));
                return None;
            }
        };
        if fields::is_template(&name) {
            let problem = Diagnostic::error("a role in `roles:` cannot be named by a template", place);
            self.tell(problem.help("use a task with `include_role:`, whose name may be one"));
            return None;
        }
        let body = self.role(&name, &place, [None; 4], &settings)?;
        self.handlers.extend(body.handlers);
        let role = body.roles.last()?;
        let once = (!role.allow_duplicates).then(|| Arc::from(format!("{} {identity}", role.path)));
        Some(Item::Block(Block { block: body.tasks, once, ..Block::empty(span) }))
    }

    /// Name and settings of a role that is given as a mapping; foreign keys are its parameters.
    fn role_pairs(
        &mut self,
        pairs: Vec<(Node, Node)>,
        span: &Span,
        parent: &Arc<Settings>,
    ) -> Option<((String, Span), Arc<Settings>)> {
        let mut settings = Settings::clone(parent);
        let mut name = None;
        let mut params = Vec::new();
        for (key, mut value) in pairs {
            let word = key.key_text();
            match word.as_ref() {
                "role" | "name" if name.is_some() => {}
                "role" | "name" => {
                    name = fields::text(&key, &value, &mut self.problems).map(|_| {
                        let text = value.as_str().map_or_else(|| value.raw().to_owned(), str::to_owned);
                        (text, value.span.clone())
                    });
                }
                "collections" => {}
                "src" | "version" | "scm" => {
                    let message = format!("`{word}` belongs to a requirements file of ansible-galaxy");
                    let problem = Diagnostic::error(message, key.span.clone());
                    self.tell(problem.help("put the role into `roles/` and name it by `role:`"));
                }
                _ if settings.take(Owner::Role, &key, &mut value, &mut self.problems) => {}
                word => match keywords::refused(word).filter(|_| !word.starts_with("user")) {
                    Some(refusal) => self.problems.push(keywords::refusal(refusal, &key)),
                    None => {
                        let words = keywords::SHARED.into_iter().chain(keywords::ROLE);
                        if let Some(near) = did_you_mean(word, words) {
                            let message = format!("`{word}` is taken as a parameter of the role");
                            self.problems.push(
                                Diagnostic::warning(message, key.span.clone())
                                    .help(format!("did you mean `{near}`? If not, put it under `vars:`")),
                            );
                        }
                        params.push((key, value));
                    }
                },
            }
        }
        if !params.is_empty() {
            let vars = Arc::new(Node { data: Data::Map(params), span: span.clone(), tag: None });
            settings.vars.push(Layer { kind: LayerKind::RoleParams, vars });
        }
        if name.is_none() {
            let problem = Diagnostic::error("a role without its name", span.clone());
            self.tell(problem.help("add `role: name`"));
        }
        Some((name?, Arc::new(settings)))
    }

    /// Everything that a role brings: its dependencies' tasks and its own, and all their handlers. `from` names other
    /// files than `main` in tasks, vars, defaults and handlers.
    pub(super) fn role(
        &mut self,
        name: &str,
        span: &Span,
        from: [Option<&str>; 4],
        settings: &Arc<Settings>,
    ) -> Option<Body> {
        let path = self.role_folder(name, span)?;
        let key = format!("{path} (role)");
        self.inside(&key, span, |reader| Some(reader.role_body(name, &path, span, from, settings)))
    }

    fn role_body(
        &mut self,
        name: &str,
        path: &str,
        span: &Span,
        from: [Option<&str>; 4],
        settings: &Arc<Settings>,
    ) -> Body {
        let [tasks_from, vars_from, defaults_from, handlers_from] = from;
        let meta = self.role_file(path, "meta", "main").and_then(|file| self.yaml(&file, None));
        let allow_duplicates = meta
            .as_ref()
            .and_then(|meta| meta.get("allow_duplicates"))
            .and_then(Node::as_bool)
            .unwrap_or(false);
        let specs = self.role_file(path, "meta", "argument_specs").and_then(|file| self.yaml(&file, None));
        let role = Arc::new(Role {
            name: name.rsplit('/').next().unwrap_or(name).to_owned(),
            path: path.to_owned(),
            defaults: self.role_vars(path, "defaults", defaults_from, span),
            vars: self.role_vars(path, "vars", vars_from, span),
            argument_specs: specs.map(Arc::new),
            allow_duplicates,
        });
        let mut body = Body::default();
        if let Some(mut meta) = meta {
            let outer = std::mem::take(&mut self.roles);
            let handlers = std::mem::take(&mut self.handlers);
            let dependencies = self.dependencies(&mut meta);
            body.tasks.extend(self.roles(dependencies, settings));
            body.roles.extend(std::mem::replace(&mut self.roles, outer));
            body.handlers.extend(std::mem::replace(&mut self.handlers, handlers));
        }
        body.roles.push(Arc::clone(&role));
        for role in &body.roles {
            if !self.roles.iter().any(|known| known.brings_the_same(role)) {
                self.roles.push(Arc::clone(role));
            }
        }
        body.tasks.extend(self.role_items(&role, "tasks", tasks_from, span, settings));
        body.handlers.extend(self.role_items(&role, "handlers", handlers_from, span, settings));
        body
    }

    fn dependencies(&mut self, meta: &mut Node) -> Vec<Node> {
        let Data::Map(pairs) = &mut meta.data else { return Vec::new() };
        let found = pairs.iter_mut().find(|(key, _)| key.key_text() == "dependencies");
        found.map_or_else(Vec::new, |(key, value)| fields::list(key, value, "roles", &mut self.problems))
    }

    fn role_items(
        &mut self,
        role: &Arc<Role>,
        kind: &str,
        from: Option<&str>,
        span: &Span,
        settings: &Arc<Settings>,
    ) -> Vec<Item> {
        let Some(file) = self.role_part(&role.path, kind, from, span) else { return Vec::new() };
        self.inside(&file, span, |reader| {
            let place = Arc::new(Place {
                folder: files::folder(&file),
                playbook_folder: Arc::clone(&reader.playbook_folder),
                role: Some(Arc::clone(role)),
            });
            let nodes = reader.listed(&file, Some(span), kind);
            reader.items(nodes, settings, &place)
        })
    }

    fn role_vars(&mut self, path: &str, kind: &str, from: Option<&str>, span: &Span) -> Option<Arc<Node>> {
        let file = self.role_part(path, kind, from, span)?;
        let vars = self.variables_file(&file, Some(span));
        // A role's variables are wanted before any password is at hand: empty ones would be a silent lie.
        if vars.is_none() && self.source(&file, Some(span)).is_some_and(|source| is_vault(&source.text)) {
            let message =
                format!("{file} is encrypted as a whole, and the variables of a role are not opened");
            let help =
                "encrypt its values one by one (`!vault`), or load it by `vars_files` or `include_vars`";
            self.tell(Diagnostic::error(message, span.clone()).help(help));
        }
        vars
    }

    /// The mapping of a variables file; nothing for an empty one and for one that is encrypted as a whole.
    pub(super) fn variables_file(&mut self, path: &str, from: Option<&Span>) -> Option<Arc<Node>> {
        let source = self.source(path, from)?;
        if is_vault(&source.text) {
            if let Err(why) = crate::vault::check(&source.text) {
                let header = source.text.lines().next().map_or(0, str::len);
                let problem = Diagnostic::error(why.to_string(), Span::new(&source, 0, header));
                self.tell(
                    problem.help("encrypt it again: `tunerun vault encrypt FILE`, or by ansible-vault"),
                );
            }
            return None;
        }
        let mut node =
            crate::yaml::parse_one(&source).map_err(|problems| self.problems.extend(problems)).ok()?;
        if node.is_null() {
            return None;
        }
        if node.as_map().is_none() {
            let message = format!("a file of variables should hold a mapping; it holds {}", node.kind());
            self.tell(Diagnostic::error(message, node.span).help("write `name: value` lines"));
            return None;
        }
        Some(Arc::new(grab(&mut node)))
    }

    /// The file of a kind: `main` if there is one, or the one that was named, which must be there.
    fn role_part(&mut self, path: &str, kind: &str, from: Option<&str>, span: &Span) -> Option<String> {
        let Some(name) = from else { return self.role_file(path, kind, "main") };
        if let Some(file) = self.role_file(path, kind, name) {
            return Some(file);
        }
        self.find(&[files::join(path, kind)], name, span)
    }

    fn role_file(&self, path: &str, kind: &str, name: &str) -> Option<String> {
        let folder = files::join(path, kind);
        let mut candidates =
            EXTENSIONS.iter().map(|extension| files::join(&folder, &format!("{name}{extension}")));
        candidates.find(|file| self.loader.files.is_file(file))
    }

    /// The folder of a role: beside the playbook, in the configured ones, or a path.
    fn role_folder(&mut self, name: &str, span: &Span) -> Option<String> {
        let beside = files::join(&self.playbook_folder, "roles");
        let mut folders = vec![beside];
        folders.extend(self.loader.role_paths.iter().cloned());
        folders.push(self.playbook_folder.to_string());
        let mut paths = folders.iter().map(|folder| files::join(folder, name));
        if let Some(path) = paths.find(|path| self.loader.files.is_folder(path)) {
            return Some(path);
        }
        let mut problem = Diagnostic::error(format!("there is no role `{name}`"), span.clone())
            .note(format!("looked for it in: {}", folders.join(", ")));
        let names: Vec<String> =
            folders.iter().filter_map(|folder| self.loader.files.list(folder).ok()).flatten().collect();
        problem = if let Some(near) = did_you_mean(name, names.iter().map(String::as_str)) {
            problem.help(format!("did you mean `{near}`?"))
        } else if name.matches('.').count() == 2 {
            problem.help(
                "collections are not searched: copy the role into `roles/` and name it without its prefix",
            )
        } else {
            problem.help("put it into `roles/` beside the playbook")
        };
        self.tell(problem);
        None
    }
}

/// Whether all names of a call are known without evaluating a template.
pub(super) fn literal(call: &super::tree::RoleCall) -> bool {
    let files = [&call.tasks_from, &call.vars_from, &call.defaults_from, &call.handlers_from];
    !templated(&call.name) && files.into_iter().flatten().all(|file| !templated(file))
}
