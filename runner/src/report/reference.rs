//! The reference of all modules as Markdown, from their schemas, documentation and examples.
use modules::{Entry, Scope};
use serde_json::Value as Json;

/// How deep mappings inside of arguments get rows of their own.
const DEPTH: usize = 3;

/// Every module in the order of their names, with a list of them on top.
pub fn reference() -> String {
    let mut text = "# Modules\n\n\
         What each module does, its arguments and an example. Made from the modules' own schemas and documentation: \
         `tunerun doc MODULE` shows one of them.\n\n"
        .to_owned();
    for entry in modules::ALL {
        text.push_str(&format!("- [`{0}`](#{0}): {1}\n", entry.name, summary(entry)));
    }
    for entry in modules::ALL {
        text.push('\n');
        text.push_str(&one(entry));
    }
    text
}

/// One module; none where no module has that name.
pub fn module(name: &str) -> Option<String> {
    modules::find(name).map(one)
}

/// What a module does: the first sentence of its documentation.
pub fn summary(entry: &Entry) -> String {
    let schema = (entry.schema)();
    let description = described(&schema).unwrap_or_default();
    let paragraph = line(description.split("\n\n").next().unwrap_or_default());
    match paragraph.split_once(". ") {
        Some((sentence, _)) => format!("{sentence}."),
        None => paragraph,
    }
}

fn one(entry: &Entry) -> String {
    let schema = (entry.schema)();
    let paragraphs = described(&schema).unwrap_or_default().split("\n\n").map(line);
    let mut text = format!("## {}\n\n", entry.name);
    paragraphs.for_each(|paragraph| text.push_str(&format!("{paragraph}\n\n")));
    text.push_str(match entry.scope {
        Scope::Host => "Acts on a host.",
        Scope::Guest => "Acts on a guest.",
        Scope::Cluster => "Acts on a cluster.",
    });
    if let Some(argument) = entry.free_form {
        text.push_str(&format!(" Free text behind `{}:` is the argument `{argument}`.", entry.name));
    }
    text.push_str("\n\n");
    let mut rows = Vec::new();
    Table { root: &schema, aliases: entry.aliases }.rows(&schema, "", &mut rows);
    if rows.is_empty() {
        text.push_str("It takes no arguments.\n\n");
    } else {
        text.push_str("| argument | value | default | what it says |\n| --- | --- | --- | --- |\n");
        rows.iter().for_each(|row| text.push_str(row));
        text.push('\n');
    }
    text.push_str(&format!("```yaml\n{}\n```\n", entry.example.trim()));
    text
}

struct Table<'a> {
    root: &'a Json,
    aliases: &'a [(&'a str, &'a str)],
}

impl Table<'_> {
    fn rows(&self, schema: &Json, above: &str, rows: &mut Vec<String>) {
        let required = |name: &str| {
            schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
        };
        for (name, argument) in schema["properties"].as_object().into_iter().flatten() {
            let full = format!("{above}{name}");
            let others: Vec<String> = match above {
                "" => {
                    self.aliases.iter().filter(|(_, own)| own == name).map(|(other, _)| code(other)).collect()
                }
                _ => Vec::new(),
            };
            let also =
                if others.is_empty() { String::new() } else { format!(", also {}", others.join(", ")) };
            let default = match (required(name), argument.get("default")) {
                (true, _) => "required".to_owned(),
                (false, None | Some(Json::Null)) => String::new(),
                (false, Some(default)) => chosen(default),
            };
            let mut said = vec![line(described(argument).unwrap_or_default())];
            said.extend(self.choices(argument));
            rows.push(format!(
                "| {}{also} | {} | {default} | {} |\n",
                code(&full),
                cell(&self.value(argument)),
                cell(&said.join(" "))
            ));
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

/// Text that may stand between bars.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::{module, reference};

    #[test]
    fn one_module_tells_arguments_names_and_an_example() {
        let text = module("sysctl").unwrap();
        assert!(text.starts_with("## sysctl\n\n"), "{text}");
        for part in [
            "| `name`, also `key` | text | required |",
            "| `state` | `present` or `absent` | `present` |",
            "`absent`: It is not.",
            "```yaml\n- name: ",
        ] {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        assert!(module("sysctrl").is_none());
    }

    #[test]
    fn parts_of_a_mapping_have_rows_of_their_own() {
        assert!(module("systemd_unit").unwrap().contains("| `drop_in.name` | text | required |"));
    }

    #[test]
    fn every_argument_has_a_row_of_four_cells() {
        let text = reference();
        for entry in modules::ALL {
            let schema = (entry.schema)();
            for name in schema["properties"].as_object().into_iter().flat_map(|all| all.keys()) {
                assert!(
                    module(entry.name).unwrap().contains(&format!("\n| `{name}`")),
                    "{} {name}",
                    entry.name
                );
            }
        }
        for row in text.lines().filter(|line| line.starts_with('|')) {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 5, "{row}");
        }
    }
}
