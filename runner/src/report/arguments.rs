//! The arguments of a module as data, from its schema: what the reference and `tunerun doc` print.
use modules::Entry;
use serde_json::Value as Json;

/// How deep mappings inside of arguments get rows of their own.
const DEPTH: usize = 3;

/// One argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name; a part of a mapping behind the mapping's name and a dot.
    pub name: String,
    /// Other names that mean the same.
    pub also: Vec<String>,
    /// What it may be, in words; words to be written as they stand are in backticks.
    pub value: String,
    /// Whether it must be given.
    pub needed: bool,
    /// What it is where it is not given, in backticks.
    pub default: Option<String>,
    /// What it says, with the meanings of its choices.
    pub words: String,
}

/// The paragraphs of a module's documentation, each on one line.
pub fn paragraphs(entry: &Entry) -> Vec<String> {
    let schema = (entry.schema)();
    described(&schema).unwrap_or_default().split("\n\n").map(line).collect()
}

/// What a module does: the first sentence of its documentation.
pub fn summary(entry: &Entry) -> String {
    let paragraph = paragraphs(entry).into_iter().next().unwrap_or_default();
    match paragraph.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => paragraph,
    }
}

/// The arguments of a module, parts of mappings behind their mapping.
pub fn arguments(entry: &Entry) -> Vec<Argument> {
    let schema = (entry.schema)();
    let mut rows = Vec::new();
    Table { root: &schema, aliases: entry.aliases }.rows(&schema, "", &mut rows);
    rows
}

struct Table<'a> {
    root: &'a Json,
    aliases: &'a [(&'a str, &'a str)],
}

impl Table<'_> {
    fn rows(&self, schema: &Json, above: &str, rows: &mut Vec<Argument>) {
        let required = |name: &str| {
            schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
        };
        for (name, argument) in schema["properties"].as_object().into_iter().flatten() {
            let full = format!("{above}{name}");
            let also = match above {
                "" => {
                    let own = self.aliases.iter().filter(|(_, own)| own == name);
                    own.map(|(other, _)| (*other).to_owned()).collect()
                }
                _ => Vec::new(),
            };
            let mut said = vec![line(described(argument).unwrap_or_default())];
            said.extend(self.choices(argument));
            rows.push(Argument {
                name: full.clone(),
                also,
                value: self.value(argument),
                needed: required(name),
                default: argument.get("default").filter(|default| says_something(default)).map(chosen),
                words: said.join(" "),
            });
            let inner = self.mapping(argument);
            if let Some(inner) = inner.filter(|_| full.split('.').count() < DEPTH) {
                self.rows(inner, &format!("{full}."), rows);
            }
        }
    }

    /// The schema that a reference names, or the schema itself.
    fn resolved<'s>(&'s self, schema: &'s Json) -> &'s Json {
        let mut schema = schema;
        // A definition that stands for another one alone is followed; a circle ends.
        for _ in 0..DEPTH {
            let name = schema["$ref"].as_str().and_then(|text| text.strip_prefix("#/$defs/"));
            let Some(named) = name.and_then(|name| self.root["$defs"].get(name)) else { break };
            schema = named;
        }
        schema
    }

    /// The alternatives of a schema without null, references resolved.
    fn ways<'s>(&'s self, schema: &'s Json) -> Vec<&'s Json> {
        let schema = self.resolved(schema);
        let ways = ["anyOf", "oneOf"].iter().find_map(|name| schema[*name].as_array());
        match ways {
            Some(ways) => {
                ways.iter().filter(|way| way["type"] != "null").flat_map(|way| self.ways(way)).collect()
            }
            None => vec![schema],
        }
    }

    /// What an argument may be, in words.
    fn value(&self, schema: &Json) -> String {
        let mut words: Vec<String> = Vec::new();
        for way in self.ways(schema) {
            for word in self.words(way) {
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        words.join(" or ")
    }

    fn words(&self, schema: &Json) -> Vec<String> {
        if let Some(only) = schema.get("const") {
            return vec![chosen(only)];
        }
        if let Some(choices) = schema["enum"].as_array() {
            return choices.iter().filter(|choice| !choice.is_null()).map(chosen).collect();
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Json::String(kind) => vec![kind],
            Json::Array(kinds) => kinds.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        let words = kinds.into_iter().filter(|kind| *kind != "null").map(|kind| match kind {
            "string" => "text".to_owned(),
            "integer" => "whole number".to_owned(),
            "boolean" => "true or false".to_owned(),
            "array" => match schema.get("items") {
                Some(items) => format!("list of {}", self.value(items)),
                None => "list".to_owned(),
            },
            "object" => match schema.get("additionalProperties").filter(|more| more.is_object()) {
                Some(more) => format!("mapping to {}", self.value(more)),
                None => "mapping".to_owned(),
            },
            other => other.to_owned(),
        });
        let words: Vec<String> = words.collect();
        if words.is_empty() { vec!["anything".to_owned()] } else { words }
    }

    /// What each choice means, where the choices are documented.
    fn choices(&self, schema: &Json) -> Vec<String> {
        let ways = self.ways(schema);
        let told = ways.iter().filter_map(|way| Some((way.get("const")?, described(way)?)));
        told.map(|(choice, meaning)| format!("{}: {}", chosen(choice), line(meaning))).collect()
    }

    /// The mapping with named parts that an argument may be.
    fn mapping<'s>(&'s self, schema: &'s Json) -> Option<&'s Json> {
        self.ways(schema).into_iter().find(|way| way.get("properties").is_some())
    }
}

fn described(schema: &Json) -> Option<&str> {
    schema.get("description").and_then(Json::as_str)
}

/// A paragraph on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn chosen(choice: &Json) -> String {
    match choice {
        Json::String(text) => code(text),
        other => code(&other.to_string()),
    }
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

/// Whether a default says something: an empty mapping, or one of empty parts, says nothing.
fn says_something(default: &Json) -> bool {
    match default {
        Json::Null => false,
        Json::Object(parts) if !parts.is_empty() => parts.values().any(|part| match part {
            Json::Array(items) => !items.is_empty(),
            other => says_something(other),
        }),
        _ => true,
    }
}
