//! What may be written at the caret.
use super::context::{Context, last_key};
use super::names::{Around, playbook_folder};
use super::place::{Kind, Place, Shape, module, reserved};
use crate::inventory::reserved::RESERVED;
use crate::playbook::Files;
use crate::playbook::keywords::refused;
use crate::playbook::meanings::Form;
use crate::report::arguments::{Argument, arguments, summary};
use modules::vocabulary::RiskName;
use serde_json::{Value as Json, json};

/// Kinds of completions, by the protocol's numbers.
const VARIABLE: u8 = 6;
const MODULE: u8 = 9;
const PROPERTY: u8 = 10;
const VALUE: u8 = 12;
const CHOICE: u8 = 20;
const FILE: u8 = 17;

/// Variables that every host has.
pub const MAGIC: [(&str, &str); 10] = [
    ("inventory_hostname", "The host's name in the inventory."),
    ("inventory_hostname_short", "The same up to its first dot."),
    ("group_names", "The groups that the host is in."),
    ("groups", "The hosts of each group."),
    ("hostvars", "The variables of all hosts, by name."),
    ("playbook_dir", "The folder of the playbook."),
    ("role_path", "The folder of the role."),
    ("ansible_check_mode", "Whether nothing may be changed."),
    ("ansible_play_hosts", "The hosts of the play that have not failed."),
    ("item", "The item of the loop."),
];

/// The document that is asked about.
pub struct Asked<'a> {
    /// Its path.
    pub path: &'a str,
    /// Its text.
    pub text: &'a str,
    /// What it is.
    pub kind: Kind,
    /// The files around it.
    pub files: &'a dyn Files,
}

/// What may be written.
pub fn complete(asked: &Asked<'_>, context: &Context) -> Vec<Json> {
    if context.expression.is_some() {
        return variables(asked);
    }
    let place = Place::of(asked.kind, &context.path);
    match &context.value_of {
        Some(key) => values(asked, place, key),
        None => keys(asked, &place, context),
    }
}

fn item(label: &str, kind: u8, about: &str, insert: Option<String>) -> Json {
    let mut item = json!({"label": label, "kind": kind});
    if !about.is_empty() {
        item["documentation"] = json!({"kind": "markdown", "value": about});
    }
    if let Some(insert) = insert {
        item["insertText"] = insert.into();
    }
    item
}

fn key(label: &str, kind: u8, about: &str) -> Json {
    item(label, kind, about, Some(format!("{label}:")))
}

fn keys(asked: &Asked<'_>, place: &Place, context: &Context) -> Vec<Json> {
    let mut items: Vec<Json> = place
        .keywords()
        .into_iter()
        .filter(|keyword| refused(keyword.name).is_none())
        .map(|keyword| key(keyword.name, PROPERTY, keyword.about))
        .collect();
    match place {
        Place::Task => items.extend(modules()),
        Place::Arguments(known, shape) => {
            let words = shape.words();
            items.extend(words.iter().map(|word| key(&word.name, PROPERTY, &word.about)));
            if words.is_empty() {
                items.extend(known.arguments.iter().map(|name| key(name, PROPERTY, "")));
            }
        }
        Place::Grammar(shape) => {
            items.extend(shape.words().iter().map(|word| key(&word.name, PROPERTY, &word.about)));
        }
        Place::Risks => {
            items.extend(RiskName::ALL.iter().map(|risk| key(risk.as_str(), PROPERTY, risk.meaning())));
        }
        Place::Group => items.extend(
            [
                ("hosts", "Hosts by name, each with its variables."),
                ("children", "Groups in this group."),
                ("vars", "Variables of all its hosts."),
            ]
            .map(|(name, about)| key(name, PROPERTY, about)),
        ),
        Place::Reserved => {
            items.extend(RESERVED.iter().map(|reserved| key(reserved.name, VARIABLE, reserved.about)));
        }
        // A member of a list that is a text: a role's name, a handler's.
        Place::Value(_) | Place::Tasks | Place::Roles | Place::Unknown => {
            if let Some(owner) = last_key(&context.path) {
                items.extend(values(
                    asked,
                    Place::of(asked.kind, &context.path[..context.path.len().saturating_sub(2)]),
                    &owner,
                ));
            }
        }
        _ => {}
    }
    if let Place::Role = place {
        items.extend(roles(asked));
    }
    items
}

fn modules() -> impl Iterator<Item = Json> {
    let steering = crate::engine::vocabulary::vocabulary();
    let words = steering.names().into_iter().filter(|name| modules::find(name).is_none()).map(str::to_owned);
    let words: Vec<String> = words.collect();
    let all = modules::ALL.iter().map(|entry| key(entry.name, MODULE, &summary(entry)));
    all.chain(words.into_iter().map(|name| key(&name, MODULE, "It steers a run, as in Ansible.")))
}

/// The values of a key.
fn values(asked: &Asked<'_>, place: Place, key: &str) -> Vec<Json> {
    let short = key.rsplit('.').next().unwrap_or(key);
    match short {
        "notify" => {
            return named(
                Around::of(asked.files, asked.path, asked.text).handlers().into_iter().map(|set| set.name),
                VALUE,
            );
        }
        "roles" | "role" | "import_role" | "include_role" => return roles(asked),
        "import_tasks" | "include_tasks" | "import_playbook" | "vars_files" | "include_vars" => {
            return beside(asked);
        }
        "name" if matches!(&place, Place::Arguments(known, _) if known.name.ends_with("_role")) => {
            return roles(asked);
        }
        _ => {}
    }
    if let Some(reserved) = reserved(key).filter(|_| matches!(place, Place::Reserved)) {
        return named(reserved.kind.choices().iter().map(|word| (*word).to_owned()), CHOICE);
    }
    match place.below(key) {
        Place::Arguments(_, shape) | Place::Grammar(shape) => choices(&shape),
        Place::Value(keyword) if keyword.form == Form::Flag || !keyword.form.choices().is_empty() => {
            named(keyword.form.choices().iter().map(|word| (*word).to_owned()), CHOICE)
        }
        _ => Vec::new(),
    }
}

fn choices(shape: &Shape) -> Vec<Json> {
    shape.choices().iter().map(|(word, about)| item(word, CHOICE, about, None)).collect()
}

fn named(names: impl Iterator<Item = String>, kind: u8) -> Vec<Json> {
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names.iter().map(|name| item(name, kind, "", None)).collect()
}

fn roles(asked: &Asked<'_>) -> Vec<Json> {
    let folder = crate::playbook::files::join(&playbook_folder(asked.path), "roles");
    named(asked.files.list(&folder).unwrap_or_default().into_iter(), FILE)
}

/// Files of YAML beside the document, and in the folders where tasks and variables are.
fn beside(asked: &Asked<'_>) -> Vec<Json> {
    let here = crate::playbook::files::folder(asked.path);
    let mut names = Vec::new();
    for inner in ["", "tasks", "vars"] {
        let folder = crate::playbook::files::join(&here, inner);
        for name in asked.files.list(&folder).unwrap_or_default() {
            if name.ends_with(".yaml") || name.ends_with(".yml") {
                names.push(if inner.is_empty() { name } else { format!("{inner}/{name}") });
            }
        }
    }
    named(names.into_iter(), FILE)
}

fn variables(asked: &Asked<'_>) -> Vec<Json> {
    let sets = Around::of(asked.files, asked.path, asked.text).variables();
    let mut items: Vec<Json> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for set in sets.iter().filter(|set| seen.insert(set.name.clone())) {
        let name = set.path.rsplit('/').next().unwrap_or(&set.path);
        items.push(item(&set.name, VARIABLE, &format!("Set by `{}` in {name}.", set.by), None));
    }
    items.extend(MAGIC.iter().map(|(name, about)| item(name, VARIABLE, about, None)));
    let facts = modules::FACTS.iter().filter(|fact| !fact.is_refused());
    items.extend(facts.map(|fact| item(&format!("ansible_{}", fact.name), VARIABLE, fact.about, None)));
    items
}

/// The rows of a module's arguments, for hovers.
pub fn argument(name: &str, path: &str) -> Option<Argument> {
    let known = module(name)?;
    let entry = modules::find(known.name)?;
    let rows = arguments(entry);
    rows.into_iter().find(|row| row.name == path || row.also.iter().any(|also| also == path))
}
