//! What `tunerun doc` prints of modules: from their schemas, so that it cannot be out of date.
use super::reference::summary;
use modules::Entry;
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Columns of a line of text.
const WIDTH: usize = 100;

/// All modules, one line each.
pub fn list() -> String {
    let width = modules::ALL.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    modules::ALL.iter().fold(String::new(), |mut out, entry| {
        let words = wrapped(summary(entry).trim_end_matches('.'), width + 2);
        let _ = write!(out, "{:width$}  {}", entry.name, words.trim_start());
        out
    })
}

/// One module: what it is for, its arguments, an example.
pub fn module(entry: &Entry) -> String {
    let schema = (entry.schema)();
    let mut out = format!("{}\n\n", entry.name);
    for paragraph in text(&schema, "description").split("\n\n") {
        out.push_str(&wrapped(&paragraph.replace('\n', " "), 0));
        out.push('\n');
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    out.push_str("Arguments (= is needed):\n");
    let properties = schema.get("properties").and_then(Json::as_object);
    for (name, property) in properties.into_iter().flatten() {
        argument(entry, name, property, required.contains(&name.as_str()), &schema, &mut out);
    }
    if let Some(free) = entry.free_form {
        let _ = writeln!(out, "\nText without a name is `{free}`.");
    }
    let _ = write!(out, "\nExample:\n{}", indented(entry.example, 2));
    out
}

fn argument(entry: &Entry, name: &str, property: &Json, needed: bool, schema: &Json, out: &mut String) {
    let mut facts = vec![kind(property, schema, 0)];
    if let Some(default) = property.get("default").filter(|default| !default.is_null()) {
        facts.push(format!("default {default}"));
    }
    let aliases: Vec<&str> =
        entry.aliases.iter().filter(|(_, of)| *of == name).map(|(alias, _)| *alias).collect();
    if !aliases.is_empty() {
        facts.push(format!("also {}", aliases.join(", ")));
    }
    facts.retain(|fact| !fact.is_empty());
    let mark = if needed { '=' } else { '-' };
    let _ = writeln!(out, "{mark} {name}  ({})", facts.join("; "));
    let words = text(property, "description").replace('\n', " ");
    if !words.is_empty() {
        out.push_str(&wrapped(&words, 6));
    }
}

/// The type of a property in words.
fn kind(property: &Json, schema: &Json, depth: u8) -> String {
    if depth > 4 {
        return "value".to_owned();
    }
    if let Some(of) = property.get("$ref").and_then(Json::as_str).and_then(|path| path.strip_prefix('#')) {
        return schema.pointer(of).map_or_else(String::new, |of| kind(of, schema, depth + 1));
    }
    if let Some(choices) = property.get("enum").and_then(Json::as_array) {
        let words: Vec<String> = choices.iter().filter(|choice| !choice.is_null()).map(plain).collect();
        return format!("one of {}", words.join(", "));
    }
    if let Some(only) = property.get("const") {
        return plain(only);
    }
    for several in ["anyOf", "oneOf"] {
        if let Some(kinds) = property.get(several).and_then(Json::as_array) {
            let mut words: Vec<String> = kinds
                .iter()
                .filter(|kind| kind.get("type").and_then(Json::as_str) != Some("null"))
                .map(|of| kind(of, schema, depth + 1))
                .collect();
            words.dedup();
            let constants = kinds.iter().all(|kind| kind.get("const").is_some());
            return if constants { format!("one of {}", words.join(", ")) } else { words.join(" or ") };
        }
    }
    let word = |name: &str| match name {
        "string" => "text".to_owned(),
        "boolean" => "yes or no".to_owned(),
        "integer" => "whole number".to_owned(),
        "object" => "mapping".to_owned(),
        "array" => match property.get("items") {
            Some(items) => format!("list of {}", kind(items, schema, depth + 1)),
            None => "list".to_owned(),
        },
        other => other.to_owned(),
    };
    match property.get("type") {
        Some(Json::String(name)) => word(name),
        Some(Json::Array(names)) => {
            let names = names.iter().filter_map(Json::as_str).filter(|name| *name != "null");
            names.map(word).collect::<Vec<_>>().join(" or ")
        }
        _ => match property.get("allOf").and_then(|all| all.get(0)) {
            Some(of) => kind(of, schema, depth + 1),
            None => "any value".to_owned(),
        },
    }
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn text(schema: &Json, name: &str) -> String {
    schema.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

/// Words in lines of at most `WIDTH` columns.
pub fn wrapped(words: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut line = " ".repeat(indent);
    let mut empty = true;
    for word in words.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{line}");
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{line}");
    out
}

fn indented(text: &str, columns: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(columns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_documented_in_lines_that_fit() {
        for entry in modules::ALL {
            let text = module(entry);
            assert!(text.contains("Example:"), "{text}");
            let long =
                text.lines().filter(|line| !line.starts_with("  ")).find(|line| line.chars().count() > 160);
            assert_eq!(long, None, "{}", entry.name);
            assert!(!text.contains("()"), "an argument without a type: {text}");
        }
        assert!(list().lines().count() >= modules::ALL.len());
    }
}
