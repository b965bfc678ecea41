//! What belongs at a place of a document: the keywords, modules, arguments or words of a grammar.
use super::context::Step;
use crate::engine::vocabulary::vocabulary;
use crate::inventory::reserved::RESERVED;
use crate::playbook::keywords::{BLOCK, LOOP_CONTROL, PLAY, ROLE, SHARED, TASK};
use crate::playbook::meanings::{Form, Keyword, meaning, taken};
use crate::playbook::rollout::{Gate, Guard, Rollout, schema as grammar};
use crate::playbook::vocabulary::{Known, Meaning};
use serde_json::Value as Json;
use std::sync::Arc;

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A list of plays.
    Playbook,
    /// A list of tasks: of a role, or to be included.
    Tasks,
    /// Groups and hosts in YAML.
    Inventory,
    /// Groups and hosts in the INI form.
    Ini,
    /// Names and values.
    Vars,
    /// Something else.
    Other,
}

/// A part of a JSON schema.
#[derive(Clone, Debug)]
pub struct Shape {
    root: Arc<Json>,
    here: Vec<Json>,
}

/// A word that a mapping may hold.
pub struct Word {
    /// The word.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// What it may be.
    pub shape: Shape,
}

impl Shape {
    /// A whole schema.
    pub fn new(root: Json) -> Self {
        let root = Arc::new(root);
        let here = Self::flat(&root, &root, 0);
        Self { root, here }
    }

    /// What a schema may be: references followed, alternatives side by side.
    fn flat(root: &Json, schema: &Json, depth: usize) -> Vec<Json> {
        if depth > 8 {
            return Vec::new();
        }
        if let Some(pointer) =
            schema.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix('#'))
        {
            return root.pointer(pointer).map_or_else(Vec::new, |found| Self::flat(root, found, depth + 1));
        }
        let mut all = Vec::new();
        for key in ["anyOf", "oneOf", "allOf"] {
            for variant in schema.get(key).and_then(Json::as_array).into_iter().flatten() {
                all.extend(Self::flat(root, variant, depth + 1));
            }
        }
        all.push(schema.clone());
        all
    }

    fn at(&self, schema: &Json) -> Self {
        Self { root: Arc::clone(&self.root), here: Self::flat(&self.root, schema, 0) }
    }

    /// The words that it may hold, where it is a mapping.
    pub fn words(&self) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        for schema in &self.here {
            for (name, inner) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
                if !words.iter().any(|word| word.name == *name) {
                    let shape = self.at(inner);
                    let about =
                        inner.get("description").and_then(Json::as_str).unwrap_or_default().to_owned();
                    words.push(Word { name: name.clone(), about, shape });
                }
            }
        }
        words
    }

    /// The shape of one of its words, or of any word where its names are free.
    pub fn word(&self, name: &str) -> Option<Self> {
        let property = self.here.iter().find_map(|schema| schema.get("properties")?.get(name));
        let rest = || {
            self.here
                .iter()
                .find_map(|schema| schema.get("additionalProperties"))
                .filter(|rest| rest.is_object())
        };
        property.or_else(rest).map(|inner| self.at(inner))
    }

    /// The shape of its members, where it is a list.
    pub fn members(&self) -> Option<Self> {
        self.here.iter().find_map(|schema| schema.get("items")).map(|inner| self.at(inner))
    }

    /// The fixed words that it may be, each with its meaning.
    pub fn choices(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for schema in &self.here {
            let about = schema.get("description").and_then(Json::as_str).unwrap_or_default();
            let fixed =
                schema.get("enum").and_then(Json::as_array).into_iter().flatten().chain(schema.get("const"));
            found.extend(fixed.filter_map(Json::as_str).map(|word| (word.to_owned(), about.to_owned())));
            let is_flag = schema.get("type").is_some_and(|kind| match kind {
                Json::Array(kinds) => kinds.iter().any(|kind| kind == "boolean"),
                kind => kind == "boolean",
            });
            if is_flag {
                found.extend(["true", "false"].map(|word| (word.to_owned(), String::new())));
            }
        }
        found.dedup();
        found
    }
}

/// What belongs at a place.
#[derive(Clone)]
pub enum Place {
    /// A list of plays.
    Plays,
    /// A play's keywords.
    Play,
    /// A list of tasks.
    Tasks,
    /// A task's keywords and modules.
    Task,
    /// A list of roles.
    Roles,
    /// A role's keywords.
    Role,
    /// Arguments of a module.
    Arguments(&'static Known, Shape),
    /// Words of a grammar.
    Grammar(Shape),
    /// `loop_control`.
    LoopControl,
    /// Names of risks.
    Risks,
    /// Names of variables that a person chooses.
    Variables,
    /// Names of groups.
    Groups,
    /// The parts of a group.
    Group,
    /// Names of hosts.
    Hosts,
    /// Variables of a host or group, of which some mean something.
    Reserved,
    /// The value of a keyword.
    Value(&'static Keyword),
    /// Nothing that is known.
    Unknown,
}

impl Place {
    /// The place at the end of a way through a document.
    pub fn of(kind: Kind, path: &[Step]) -> Self {
        let root = match kind {
            Kind::Playbook => Self::Plays,
            Kind::Tasks => Self::Tasks,
            Kind::Inventory => Self::Groups,
            Kind::Vars => Self::Variables,
            Kind::Ini | Kind::Other => Self::Unknown,
        };
        path.iter().fold(root, |place, step| place.into_step(step))
    }

    fn into_step(self, step: &Step) -> Self {
        match (self, step) {
            (Self::Plays, Step::Member) => Self::Play,
            (Self::Tasks, Step::Member) => Self::Task,
            (Self::Roles, Step::Member) => Self::Role,
            (Self::Grammar(shape), Step::Member) => shape.members().map_or(Self::Unknown, Self::Grammar),
            (Self::Arguments(known, shape), Step::Member) => {
                shape.members().map_or(Self::Unknown, |shape| Self::Arguments(known, shape))
            }
            (Self::Variables, _) => Self::Variables,
            (place @ Self::Value(_), Step::Member) => place,
            (_, Step::Member) => Self::Unknown,
            (place, Step::Key(key)) => place.below(key),
        }
    }

    /// What belongs below a key of this place.
    pub fn below(self, key: &str) -> Self {
        match self {
            Self::Play | Self::Role => keyword(key),
            Self::Task => match module(key) {
                Some(known) => Self::Arguments(known, Shape::new(known.schema().clone())),
                None => keyword(key),
            },
            Self::Arguments(known, shape) => {
                let canonical = crate::playbook::arguments::canonical(known, key);
                shape.word(canonical).map_or(Self::Unknown, |shape| Self::Arguments(known, shape))
            }
            Self::Grammar(shape) => shape.word(key).map_or(Self::Unknown, Self::Grammar),
            Self::LoopControl => meaning(key).map_or(Self::Unknown, Self::Value),
            Self::Groups => Self::Group,
            Self::Group => match key {
                "hosts" => Self::Hosts,
                "children" => Self::Groups,
                "vars" => Self::Reserved,
                _ => Self::Unknown,
            },
            Self::Hosts => Self::Reserved,
            Self::Variables => Self::Variables,
            _ => Self::Unknown,
        }
    }

    /// The keywords that may be written here.
    pub fn keywords(&self) -> Vec<&'static Keyword> {
        match self {
            Self::Play => taken(&[&PLAY, &SHARED]),
            Self::Task => taken(&[&TASK, &BLOCK, &SHARED]),
            Self::Role => taken(&[&ROLE, &SHARED]),
            Self::LoopControl => taken(&[&LOOP_CONTROL]),
            _ => Vec::new(),
        }
    }
}

/// A module by its short or long name.
pub fn module(name: &str) -> Option<&'static Known> {
    match vocabulary().meaning(name) {
        Meaning::Module(known) => Some(known),
        _ => None,
    }
}

fn keyword(name: &str) -> Place {
    let Some(keyword) = meaning(name) else { return Place::Unknown };
    match keyword.form {
        Form::Tasks => Place::Tasks,
        Form::Roles => Place::Roles,
        Form::LoopControl => Place::LoopControl,
        Form::Risks => Place::Risks,
        Form::Rollout => Place::Grammar(Shape::new(grammar::<Rollout>())),
        Form::Guard => Place::Grammar(Shape::new(grammar::<Guard>())),
        Form::Gate => Place::Grammar(Shape::new(grammar::<Gate>())),
        Form::Mapping if name == "vars" => Place::Variables,
        _ => Place::Value(keyword),
    }
}

/// What a document is, by its path and its text.
pub fn kind(path: &str, text: &str) -> Kind {
    let name = path.rsplit('/').next().unwrap_or(path);
    let within = |folder: &str| path.contains(&format!("/{folder}/"));
    if within("group_vars")
        || within("host_vars")
        || within("defaults")
        || (within("vars") && !text.starts_with("- "))
    {
        return Kind::Vars;
    }
    let lines = super::outline::outline(text);
    let is_yaml = name.ends_with(".yaml") || name.ends_with(".yml");
    if !is_yaml {
        let section = text.lines().any(|line| line.starts_with('[') && line.trim_end().ends_with(']'));
        return if section || name.ends_with(".ini") { Kind::Ini } else { Kind::Other };
    }
    let top = |names: &[&str]| {
        lines.iter().any(|line| line.column <= 2 && line.key(text).is_some_and(|key| names.contains(&key)))
    };
    let is_list = lines
        .first()
        .is_some_and(|line| !line.dashes.is_empty() || text[line.value.clone()].starts_with('['));
    if is_list || lines.is_empty() {
        let is_tasks = (within("tasks") || within("handlers")) && !top(&["hosts", "import_playbook"]);
        let has_plays = top(&["hosts", "import_playbook", "tasks", "roles"]);
        let has_task = lines
            .iter()
            .any(|line| line.column == 2 && line.key(text).is_some_and(|key| module(key).is_some()));
        return if is_tasks || (!has_plays && has_task) { Kind::Tasks } else { Kind::Playbook };
    }
    if lines.iter().any(|line| line.column == 0 && matches!(line.key(text), Some("tasks" | "roles"))) {
        return Kind::Playbook;
    }
    let groups =
        lines.iter().any(|line| line.column > 0 && matches!(line.key(text), Some("hosts" | "children")));
    if groups
        || within("inventories")
        || within("inventory")
        || name.starts_with("hosts")
        || name.starts_with("inventory")
    {
        return Kind::Inventory;
    }
    Kind::Vars
}

/// The meaning of a variable that says how a host is reached.
pub fn reserved(name: &str) -> Option<&'static crate::inventory::reserved::Reserved> {
    RESERVED.iter().find(|reserved| reserved.name == name)
}
