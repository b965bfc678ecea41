//! Problems of an open document, with the texts as they are typed.
use super::names::{playbook_folder, role_folder};
use super::place::Kind;
use super::position::Lines;
use crate::diagnostic::{Diagnostic, Problems, Severity};
use crate::engine::vocabulary::vocabulary;
use crate::inventory::{self, Inventory, InventorySource, World};
use crate::playbook::lints::told;
use crate::playbook::{Files, Loader, Overlay, files};
use crate::source::Source;
use crate::yaml;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The playbook that stands for one, where a file of tasks is open alone.
const STAND_IN: &str = ".tunerun-open.yaml";

/// What documents are checked with.
pub struct Ground<'a> {
    /// The files on the disk.
    pub files: &'a dyn Files,
    /// The disk as inventories see it.
    pub world: &'a dyn World,
    /// Texts of open documents, by path.
    pub texts: &'a BTreeMap<String, String>,
    /// Further folders of roles.
    pub role_paths: &'a [String],
}

/// The problems of a document, as the protocol has them.
pub fn diagnostics(ground: &Ground<'_>, path: &str, text: &str, kind: Kind) -> Vec<Json> {
    let problems = match kind {
        Kind::Playbook => {
            let files = Overlay::new(ground.files, ground.texts);
            told(&Loader::new(&files, vocabulary(), ground.role_paths.to_vec()), path)
        }
        Kind::Tasks => tasks(ground, path),
        Kind::Inventory | Kind::Ini => hosts(ground, path),
        Kind::Vars => vars(path, text),
        Kind::Other => Problems::new(),
    };
    let lines = Lines::new(text);
    let mut shown: Vec<Json> = Vec::new();
    let mut elsewhere: BTreeMap<&str, Vec<&Diagnostic>> = BTreeMap::new();
    for problem in &problems {
        match &problem.span {
            Some(span) if span.source.name != path => {
                elsewhere.entry(&span.source.name).or_default().push(problem);
            }
            span => {
                let range = span.as_ref().map_or(0..0, |span| span.start..span.end);
                shown.push(diagnostic(problem, &lines.range(range), severity(problem)));
            }
        }
    }
    let stand_in = files::join(&playbook_folder(path), STAND_IN);
    for (other, problems) in elsewhere.iter().filter(|(other, _)| **other != stand_in) {
        // An open one tells its own problems.
        if ground.texts.contains_key(*other) {
            continue;
        }
        let first = &problems[0].span.as_ref().map_or_else(String::new, ToString::to_string);
        let message = format!("{} in {other}, first at {first}: {}", count(problems), problems[0].message);
        let about = Diagnostic::warning(message, None);
        shown.push(diagnostic(&about, &lines.range(0..0), 3));
    }
    shown
}

fn count(problems: &[&Diagnostic]) -> String {
    match problems.len() {
        1 => "1 problem".to_owned(),
        many => format!("{many} problems"),
    }
}

fn severity(problem: &Diagnostic) -> u8 {
    match problem.severity {
        Severity::Error => 1,
        Severity::Warning => 2,
    }
}

fn diagnostic(problem: &Diagnostic, range: &Json, severity: u8) -> Json {
    let mut message = problem.message.clone();
    for more in problem.label.iter().chain(&problem.notes) {
        message.push('\n');
        message.push_str(more);
    }
    if let Some(help) = &problem.help {
        message.push_str("\nhelp: ");
        message.push_str(help);
    }
    json!({"range": range, "severity": severity, "source": "tunerun", "message": message})
}

/// A file of tasks is read as a part of its role, or of a play that includes nothing else.
fn tasks(ground: &Ground<'_>, path: &str) -> Problems {
    let root = playbook_folder(path);
    let stand_in = files::join(&root, STAND_IN);
    let role = role_folder(path);
    let text = match &role {
        Some(role) if path.contains("/handlers/") => format!("- hosts: all\n  roles:\n    - role: {role}\n"),
        Some(role) => {
            let file = path.rsplit('/').next().unwrap_or(path);
            let inside = path.strip_prefix(&format!("{role}/tasks/")).unwrap_or(file);
            format!("- hosts: all\n  tasks:\n    - import_role: {{name: {role:?}, tasks_from: {inside:?}}}\n")
        }
        None => format!("- hosts: all\n  tasks:\n    - import_tasks: {path:?}\n"),
    };
    let mut texts = ground.texts.clone();
    texts.insert(stand_in.clone(), text);
    let files = Overlay::new(ground.files, &texts);
    let mut problems = told(&Loader::new(&files, vocabulary(), ground.role_paths.to_vec()), &stand_in);
    // The handlers of the plays that include it are not known here.
    problems.retain(|problem| !problem.message.starts_with("no handler is named"));
    problems
}

fn hosts(ground: &Ground<'_>, path: &str) -> Problems {
    let world = Open { under: ground.world, texts: ground.texts };
    let sources = [InventorySource::Path(PathBuf::from(path))];
    match Inventory::load(&sources, &world, None) {
        Ok((_, warnings)) => warnings,
        Err(problems) => problems,
    }
}

fn vars(path: &str, text: &str) -> Problems {
    if crate::vault::is_vault(text) {
        return Problems::new();
    }
    match yaml::parse_one(&Source::new(path, text)) {
        Err(problems) => problems,
        Ok(node) if node.as_map().is_some() || node.is_null() => Problems::new(),
        Ok(node) => {
            let message = format!("a file of variables should hold a mapping; it holds {}", node.kind());
            vec![Diagnostic::error(message, node.span).help("write `name: value` lines")]
        }
    }
}

/// The disk with open texts above it. Programs are not run, and nothing is decrypted, for the sake of an editor.
struct Open<'a> {
    under: &'a dyn World,
    texts: &'a BTreeMap<String, String>,
}

impl World for Open<'_> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path.to_str().and_then(|path| self.texts.get(path)) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => self.under.read(path),
        }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.under.list(path)
    }

    fn kind(&self, path: &Path) -> Option<inventory::Kind> {
        match path.to_str().and_then(|path| self.texts.get(path)) {
            Some(_) => Some(inventory::Kind::File),
            None => self.under.kind(path),
        }
    }

    fn run(&self, _: &Path, _: &[&str]) -> io::Result<inventory::Output> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "programs are not run by an editor"))
    }

    fn decrypt(&self, _: &str, _: &str) -> Result<String, String> {
        Ok(String::new())
    }
}
