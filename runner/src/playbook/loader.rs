//! Loading a playbook with all that it names: one entry for the whole, two for what a template named later.
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::files::{self, Files};
use super::role::Role;
use super::tree::{Body, Include, Included, Item, Place, Playbook, TaskId};
use super::vocabulary::Vocabulary;
use crate::diagnostic::{Diagnostic, Problems, Severity};
use crate::source::{Source, Span};
use crate::yaml::{self, Node};

/// Loads playbooks. It lives as long as the run: includes with templated names are loaded through it when they are decided.
pub struct Loader<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) role_paths: Vec<String>,
    next: AtomicU32,
    later: Mutex<HashMap<(TaskId, String), Arc<Body>>>,
}

impl<'a> Loader<'a> {
    /// A loader that looks for roles in `roles/` beside the playbook, then in `role_paths`.
    pub fn new(files: &'a dyn Files, vocabulary: &'a Vocabulary, role_paths: Vec<String>) -> Self {
        Self { files, vocabulary, role_paths, next: AtomicU32::new(0), later: Mutex::default() }
    }

    /// Where files come from.
    pub fn files(&self) -> &'a dyn Files {
        self.files
    }

    /// Loads a playbook and everything that needs no template to be found.
    ///
    /// # Errors
    /// All problems of all files, warnings among them.
    pub fn load(&self, path: &str) -> Result<Playbook, Problems> {
        let (mut playbook, problems) = self.look(path);
        if problems.iter().any(|problem| problem.severity == Severity::Error) {
            return Err(problems);
        }
        playbook.warnings = problems;
        Ok(playbook)
    }

    /// As much of a playbook as can be understood, and all its problems: for those who only look. It must not be
    /// played where one of them is an error.
    pub fn look(&self, path: &str) -> (Playbook, Problems) {
        let mut reader = Reader::new(self, Arc::from(files::folder(path)));
        let plays = reader.playbook(path, None);
        in_order(&mut reader.problems, &reader.sources);
        (Playbook { plays, warnings: Vec::new(), sources: reader.sources }, reader.problems)
    }

    /// The tasks of an `include_tasks` whose evaluated name is `name`; the same answer for the same name.
    ///
    /// # Errors
    /// The file is not found, or its problems.
    pub fn included_tasks(&self, include: &Include, name: &str) -> Result<Arc<Body>, Problems> {
        self.later(include, name.to_owned(), |reader| {
            let span = match &include.what {
                Included::Tasks(node) => node.span.clone(),
                Included::Role(call) => call.name.span.clone(),
            };
            reader.tasks_file(name, &span, &include.children, &include.task.place)
        })
    }

    /// What an `include_role` brings, its arguments evaluated: role, then `tasks_from`, `vars_from`, `defaults_from`,
    /// `handlers_from`, empty where they are not given; the same answer for the same names.
    ///
    /// # Errors
    /// The role or one of its files is not found, or their problems.
    pub fn included_role(
        &self,
        include: &Include,
        name: &str,
        from: [&str; 4],
    ) -> Result<Arc<Body>, Problems> {
        let key = format!("{name}\0{}", from.join("\0"));
        self.later(include, key, |reader| {
            let span = match &include.what {
                Included::Tasks(node) => node.span.clone(),
                Included::Role(call) => call.name.span.clone(),
            };
            let from = from.map(|file| Some(file).filter(|file| !file.is_empty()));
            reader.role(name, &span, from, &include.children).unwrap_or_default()
        })
    }

    fn later(
        &self,
        include: &Include,
        key: String,
        load: impl FnOnce(&mut Reader<'_>) -> Body,
    ) -> Result<Arc<Body>, Problems> {
        let key = (include.task.id, key);
        // The lock is held while loading, so that two hosts that name one file get the same task numbers.
        let mut later = self.later.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(body) = later.get(&key) {
            return Ok(Arc::clone(body));
        }
        let mut reader = Reader::new(self, Arc::clone(&include.task.place.playbook_folder));
        let mut body = load(&mut reader);
        if reader.problems.iter().any(|problem| problem.severity == Severity::Error) {
            return Err(reader.problems);
        }
        body.handlers.append(&mut reader.handlers);
        if body.roles.is_empty() {
            body.roles = reader.roles;
        }
        body.sources = reader.sources;
        let body = Arc::new(body);
        later.insert(key, Arc::clone(&body));
        Ok(body)
    }

    fn number(&self) -> TaskId {
        TaskId(self.next.fetch_add(1, Ordering::Relaxed))
    }
}

/// Sorts problems by file, in the order the files were read, then by place.
fn in_order(problems: &mut Problems, sources: &[Arc<Source>]) {
    let order: HashMap<*const Source, usize> =
        sources.iter().enumerate().map(|(at, source)| (Arc::as_ptr(source), at)).collect();
    problems.sort_by_key(|problem| {
        let span = problem.span.as_ref();
        span.map(|span| (order.get(&Arc::as_ptr(&span.source)).copied(), span.start))
    });
}

/// One loading: what was read and found wrong so far.
pub(super) struct Reader<'a> {
    pub(super) loader: &'a Loader<'a>,
    pub(super) problems: Problems,
    pub(super) sources: Vec<Arc<Source>>,
    pub(super) playbook_folder: Arc<str>,
    /// Files that are being read, outer first: a file that imports itself is an error.
    pub(super) open: Vec<String>,
    /// Roles of the play, with their variables.
    pub(super) roles: Vec<Arc<Role>>,
    /// Handlers that roles brought.
    pub(super) handlers: Vec<Item>,
}

impl<'a> Reader<'a> {
    fn new(loader: &'a Loader<'a>, playbook_folder: Arc<str>) -> Self {
        Self {
            loader,
            problems: Vec::new(),
            sources: Vec::new(),
            playbook_folder,
            open: Vec::new(),
            roles: Vec::new(),
            handlers: Vec::new(),
        }
    }

    pub(super) fn number(&self) -> TaskId {
        self.loader.number()
    }

    pub(super) fn tell(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    /// Reads a file that is known to be there; `from` is what named it.
    pub(super) fn source(&mut self, path: &str, from: Option<&Span>) -> Option<Arc<Source>> {
        match self.loader.files.read(path) {
            Ok(text) => {
                let source = Source::new(path, text);
                self.sources.push(Arc::clone(&source));
                Some(source)
            }
            Err(error) => {
                let problem = self.unread(path, &error, from);
                self.tell(problem);
                None
            }
        }
    }

    /// Why a file cannot be read, with the byte that is no UTF-8 or a near name that is there.
    fn unread(&self, path: &str, error: &std::io::Error, from: Option<&Span>) -> Diagnostic {
        let problem = |why: &str| Diagnostic::error(format!("cannot read `{path}`: {why}"), from.cloned());
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                let name = path.rsplit('/').next().unwrap_or(path);
                let there = self.loader.files.list(&files::folder(path)).unwrap_or_default();
                let near = crate::diagnostic::did_you_mean(name, there.iter().map(String::as_str));
                super::fields::nearest(problem("there is no such file"), near)
            }
            std::io::ErrorKind::IsADirectory => {
                problem("it is a folder").help("name the playbook in it, such as `site.yaml`")
            }
            std::io::ErrorKind::InvalidData => {
                let bytes = self.loader.files.bytes(path).unwrap_or_default();
                if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
                    return problem("it is UTF-16 text")
                        .help(format!("save it as UTF-8: `iconv -f UTF-16 -t UTF-8 {path}`"));
                }
                let source = Source::new(path, String::from_utf8_lossy(&bytes).into_owned());
                let at = source.text.find('\u{fffd}').unwrap_or_default();
                let mut problem = problem("it is not UTF-8 text")
                    .help(format!("save it as UTF-8: `iconv -f LATIN1 -t UTF-8 {path}`"));
                problem.notes.extend(from.map(|from| format!("named at {from}")));
                problem.span = Some(Span::new(&source, at, at + '\u{fffd}'.len_utf8()));
                problem
            }
            _ => problem(&error.to_string()),
        }
    }

    /// Reads a file as one YAML document, and its problems.
    pub(super) fn yaml(&mut self, path: &str, from: Option<&Span>) -> Option<Node> {
        let source = self.source(path, from)?;
        yaml::parse_one(&source).map_err(|problems| self.problems.extend(problems)).ok()
    }

    /// The members of a file that must be a list.
    pub(super) fn listed(&mut self, path: &str, from: Option<&Span>, of: &str) -> Vec<Node> {
        let Some(mut node) = self.yaml(path, from) else { return Vec::new() };
        if node.is_null() {
            return Vec::new();
        }
        match super::fields::grab(&mut node).data {
            yaml::Data::Seq(members) => members,
            data => {
                node.data = data;
                let message = format!("this file should hold a list of {of}; it holds {}", node.kind());
                let mut problem = Diagnostic::error(message, node.span)
                    .help("start each member with `- `, and indent what belongs to it");
                problem.notes.extend(from.map(|from| format!("named at {from}")));
                self.tell(problem);
                Vec::new()
            }
        }
    }

    /// Runs `read` while a file is open; a file that is open already imports itself.
    pub(super) fn inside<T: Default>(
        &mut self,
        path: &str,
        from: &Span,
        read: impl FnOnce(&mut Self) -> T,
    ) -> T {
        if self.open.iter().any(|open| open == path) {
            // A file that is read twice is told once.
            if !self.problems.iter().any(|problem| problem.span.as_ref() == Some(from)) {
                let open = self.open.iter().map(String::as_str).skip_while(|open| *open != path);
                let chain = open.chain([path]).collect::<Vec<_>>().join(" > ").replace(" (role)", "");
                let (what, help) = match path.strip_suffix(" (role)") {
                    Some(role) => {
                        (format!("the role `{role}` depends on itself"), "take one of these dependencies out")
                    }
                    None => (
                        format!("`{path}` imports itself"),
                        "take one of these imports out; a loop over tasks is `include_tasks` with a `when:` that ends it",
                    ),
                };
                self.tell(
                    Diagnostic::error(what, from.clone()).note(format!("the way round: {chain}")).help(help),
                );
            }
            return T::default();
        }
        self.open.push(path.to_owned());
        let value = read(self);
        self.open.pop();
        value
    }

    /// The first of some folders that has a file, or a problem that says where it was looked for.
    pub(super) fn find(&mut self, folders: &[String], name: &str, span: &Span) -> Option<String> {
        let paths: Vec<String> = folders.iter().map(|folder| files::join(folder, name)).collect();
        if let Some(found) = paths.iter().find(|path| self.loader.files.is_file(path)) {
            return Some(found.clone());
        }
        let mut problem = Diagnostic::error(format!("there is no file `{name}`"), span.clone())
            .note(format!("looked for: {}", paths.join(", ")));
        let names: Vec<String> =
            folders.iter().filter_map(|folder| self.loader.files.list(folder).ok()).flatten().collect();
        if let Some(near) = crate::diagnostic::did_you_mean(name, names.iter().map(String::as_str)) {
            problem = problem.help(format!("did you mean `{near}`?"));
        }
        self.tell(problem);
        None
    }

    /// A file of tasks by its name, as seen from a place.
    pub(super) fn tasks_file(
        &mut self,
        name: &str,
        span: &Span,
        settings: &Arc<super::settings::Settings>,
        place: &Arc<Place>,
    ) -> Body {
        let mut folders = vec![place.folder.clone()];
        if let Some(role) = &place.role {
            folders.push(files::join(&role.path, "tasks"));
        }
        folders.push(place.playbook_folder.to_string());
        folders.dedup();
        let Some(path) = self.find(&folders, name, span) else { return Body::default() };
        let tasks = self.inside(&path, span, |reader| {
            let place = Arc::new(Place {
                folder: files::folder(&path),
                playbook_folder: Arc::clone(&place.playbook_folder),
                role: place.role.clone(),
            });
            let nodes = reader.listed(&path, Some(span), "tasks");
            reader.items(nodes, settings, &place)
        });
        Body { tasks, ..Body::default() }
    }
}
