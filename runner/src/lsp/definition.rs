//! Where the word under the caret is set: variables, handlers, roles, files.
use super::complete::Asked;
use super::context::{Context, last_key};
use super::names::{Around, Set, playbook_folder, role_folder};
use super::place::Place;
use crate::playbook::files::{folder, join};
use std::ops::Range;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The file.
    pub path: String,
    /// The bytes in it; nothing at its beginning for a whole file.
    pub range: Range<usize>,
}

/// The places where the word under the caret is set.
pub fn definitions(asked: &Asked<'_>, context: &Context) -> Vec<Target> {
    let word = context.word.as_str();
    if context.expression.is_some() {
        let name = word.split('.').next().unwrap_or_default();
        let around = Around::of(asked.files, asked.path, asked.text);
        return targets(around.variables(), name);
    }
    let key = context.value_of.clone().or_else(|| last_key(&context.path)).unwrap_or_default();
    let value = whole_value(asked.text, context);
    let place = Place::of(asked.kind, &context.path);
    match key.rsplit('.').next().unwrap_or(&key) {
        "notify" => targets(Around::of(asked.files, asked.path, asked.text).handlers(), &value),
        "roles" | "role" => role(asked, word),
        "name" if matches!(&place, Place::Arguments(known, _) if known.name.ends_with("_role")) => {
            role(asked, word)
        }
        "import_tasks" | "include_tasks" | "import_playbook" | "vars_files" | "include_vars" | "file"
        | "src" => file(asked, word),
        "import_role" | "include_role" => role(asked, word.trim_start_matches("name=")),
        _ => Vec::new(),
    }
}

fn targets(sets: Vec<Set>, name: &str) -> Vec<Target> {
    let found = sets.into_iter().filter(|set| set.name == name);
    found.map(|set| Target { path: set.path, range: set.range }).collect()
}

/// The text of a value with blanks in it: up to a quote, a comma, a bracket or the end of the line.
fn whole_value(text: &str, context: &Context) -> String {
    let start = text[..context.range.start].rfind(['\n', ':', ',', '[', '"', '\'']).map_or(0, |at| at + 1);
    let end = text[context.range.end..]
        .find(['\n', ',', ']', '"', '\'', '}'])
        .map_or(text.len(), |at| context.range.end + at);
    text[start..end].trim().trim_start_matches("- ").trim().to_owned()
}

fn role(asked: &Asked<'_>, name: &str) -> Vec<Target> {
    let roles = join(&playbook_folder(asked.path), "roles");
    let folder = join(&roles, name);
    let parts = ["tasks", "defaults", "vars", "meta"];
    let files = parts
        .iter()
        .flat_map(|part| ["main.yaml", "main.yml"].map(|main| join(&folder, &format!("{part}/{main}"))));
    files.filter(|path| asked.files.is_file(path)).take(1).map(|path| Target { path, range: 0..0 }).collect()
}

fn file(asked: &Asked<'_>, name: &str) -> Vec<Target> {
    let mut folders = vec![folder(asked.path), playbook_folder(asked.path)];
    folders.extend(role_folder(asked.path));
    for base in &folders {
        for inner in ["", "tasks", "vars", "files", "templates", "handlers"] {
            let path = join(&join(base, inner), name);
            if asked.files.is_file(&path) {
                return vec![Target { path, range: 0..0 }];
            }
        }
    }
    Vec::new()
}
