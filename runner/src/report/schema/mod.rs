//! The JSON schemas of playbooks, inventories and plans, for editors and for programs that read plans.
mod forms;
mod inventory;
mod plan;

pub use inventory::inventory;
pub use plan::plan;

use crate::playbook::keywords::{BLOCK, LOOP_CONTROL, PLAY, ROLE, SHARED, TASK};
use crate::playbook::rollout::{Gate, Guard, Rollout, schema as grammar};
use forms::{keywords, templated};
use serde_json::{Map, Value as Json, json};

/// The schema of a playbook: keywords of plays, blocks and tasks, and every module's arguments. Editors complete and check by it; `tunerun lint` knows more.
pub fn playbook() -> Json {
    let mut definitions = Map::new();
    for entry in modules::ALL {
        definitions.insert(format!("module_{}", entry.name), definition((entry.schema)(), entry.name));
    }
    for (name, schema) in
        [("rollout", grammar::<Rollout>()), ("guard", grammar::<Guard>()), ("gate", grammar::<Gate>())]
    {
        definitions.insert(name.into(), part(schema, name));
    }
    definitions.insert("items".into(), json!({"type": ["array", "null"], "items": {"$ref": "#/$defs/item"}}));
    definitions.insert("loop_control".into(), closed(keywords(&[&LOOP_CONTROL])));
    definitions.insert("item".into(), item());
    definitions.insert("role".into(), role());
    definitions.insert("play".into(), play());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A playbook of tunerun",
        "type": "array",
        "items": {"$ref": "#/$defs/play"},
        "$defs": definitions,
    })
}

/// A module's arguments as a definition of the whole: its own definitions get names of their own.
fn definition(schema: Json, module: &str) -> Json {
    let aliases = modules::find(module).map(|entry| entry.aliases).unwrap_or_default();
    let mut schema = part(schema, &format!("module_{module}"));
    if let Some(properties) = schema.get_mut("properties").and_then(Json::as_object_mut) {
        for (alias, name) in aliases {
            let other = properties.get(*name).cloned().unwrap_or_default();
            properties.insert((*alias).to_owned(), other);
        }
    }
    // What is needed may come under another name, by `args:` or by `module_defaults:`: that is checked by `lint`.
    let described = schema.get("description").cloned().unwrap_or_default();
    let definitions = schema.get("$defs").cloned().unwrap_or_else(|| json!({}));
    if let Some(map) = schema.as_object_mut() {
        map.remove("required");
        map.remove("$defs");
    }
    json!({"description": described, "anyOf": [schema, {"type": ["string", "array", "null"]}], "$defs": definitions})
}

/// A schema as a definition of the whole: its references lead to its own definitions, and templates fit everywhere.
fn part(mut schema: Json, name: &str) -> Json {
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
        map.remove("title");
    }
    moved(&mut schema, "#/$defs/", &format!("#/$defs/{name}/$defs/"));
    schema
}

fn moved(schema: &mut Json, from: &str, to: &str) {
    match schema {
        Json::Object(map) => {
            for (name, value) in map.iter_mut() {
                match value {
                    Json::String(path) if name == "$ref" => {
                        if let Some(rest) = path.strip_prefix(from) {
                            *path = format!("{to}{rest}");
                        }
                    }
                    // What is checked by type may be a template, which is text.
                    _ => moved(value, from, to),
                }
            }
            templated(map);
        }
        Json::Array(list) => list.iter_mut().for_each(|value| moved(value, from, to)),
        _ => {}
    }
}

fn closed(properties: Map<String, Json>) -> Json {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn play() -> Json {
    let mut schema = closed(keywords(&[&SHARED, &PLAY]));
    schema["anyOf"] = json!([{"required": ["hosts"]}, {"required": ["import_playbook"]}]);
    // An import passes these on to its plays.
    schema["properties"]["when"] = keywords(&[&TASK])["when"].clone();
    schema
}

/// A role: every key that is no keyword is a parameter.
fn role() -> Json {
    let mut properties = keywords(&[&SHARED, &ROLE]);
    properties.insert("name".into(), properties["role"].clone());
    json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": properties}]})
}

fn item() -> Json {
    let mut properties = keywords(&[&SHARED, &TASK, &BLOCK]);
    for name in crate::engine::vocabulary::vocabulary().names() {
        properties.entry(name.to_owned()).or_insert_with(|| json!({}));
    }
    let mut prefixed = Map::new();
    for entry in modules::ALL {
        let of = json!({"$ref": format!("#/$defs/module_{}", entry.name)});
        properties.insert(entry.name.to_owned(), of.clone());
        let name = format!("^(ansible\\.(builtin|posix)|community\\.general|tunerun)\\.{}$", entry.name);
        prefixed.insert(name, of);
    }
    prefixed.insert("^with_".into(), json!({}));
    prefixed.insert("\\.".into(), json!({}));
    // Ansible's names of modules that have another one here.
    for name in crate::playbook::vocabulary::renamed() {
        properties.entry(name.to_owned()).or_insert_with(|| json!({}));
    }
    json!({
        "type": "object",
        "properties": properties,
        "patternProperties": prefixed,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reference in the schema leads somewhere.
    #[test]
    fn references_are_whole() {
        fn walk(at: &Json, root: &Json) {
            match at {
                Json::Object(map) => {
                    if let Some(path) = map.get("$ref").and_then(Json::as_str) {
                        assert!(root.pointer(&path[1..]).is_some(), "{path}");
                    }
                    map.values().for_each(|value| walk(value, root));
                }
                Json::Array(list) => list.iter().for_each(|value| walk(value, root)),
                _ => {}
            }
        }
        for schema in [playbook(), inventory(), plan()] {
            walk(&schema, &schema);
        }
        let schema = playbook();
        assert!(schema.pointer("/$defs/item/properties/sysctl/$ref").is_some());
        for keyword in ["play/properties/serial", "item/properties/when", "item/properties/rescue"] {
            let about = schema.pointer(&format!("/$defs/{keyword}/description")).and_then(Json::as_str);
            assert!(about.is_some_and(|about| !about.is_empty()), "{keyword}");
        }
        let nested = schema.pointer("/$defs/gate/properties/run/description");
        assert!(nested.is_some(), "{}", schema["$defs"]["gate"]["properties"]["run"]);
    }
}
