//! The JSON schema of playbooks, for editors: keywords of plays, blocks and tasks, and every module's arguments.
use crate::playbook::keywords::{BLOCK, PLAY, ROLE, SHARED, TASK};
use serde_json::{Map, Value as Json, json};

/// The schema of a playbook. Editors complete and check by it; `tunerun lint` knows more.
pub fn playbook() -> Json {
    let mut definitions = Map::new();
    for entry in modules::ALL {
        definitions.insert(format!("module_{}", entry.name), definition((entry.schema)(), entry.name));
    }
    definitions.insert("items".into(), json!({"type": ["array", "null"], "items": {"$ref": "#/$defs/item"}}));
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
fn definition(mut schema: Json, module: &str) -> Json {
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
    }
    let from = "#/$defs/";
    let to = format!("#/$defs/module_{module}/$defs/");
    moved(&mut schema, from, &to);
    // Text stands for arguments too, and values may be templates: those are checked by `tunerun lint`.
    json!({"anyOf": [schema.clone(), {"type": ["string", "null"]}], "$defs": schema.get("$defs").cloned().unwrap_or_else(|| json!({}))})
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
            if let Some(Json::String(kind)) = map.get("type")
                && matches!(kind.as_str(), "integer" | "boolean" | "number" | "array")
            {
                let kind = json!([kind, "string"]);
                map.insert("type".into(), kind);
            }
        }
        Json::Array(list) => list.iter_mut().for_each(|value| moved(value, from, to)),
        _ => {}
    }
}

fn any(names: &[&[&str]]) -> Map<String, Json> {
    names.iter().flat_map(|names| names.iter()).map(|name| ((*name).to_owned(), json!({}))).collect()
}

fn sections(properties: &mut Map<String, Json>, names: &[&str]) {
    for name in names {
        properties.insert((*name).to_owned(), json!({"$ref": "#/$defs/items"}));
    }
}

fn play() -> Json {
    let mut properties = any(&[&SHARED, &PLAY]);
    sections(&mut properties, &["pre_tasks", "tasks", "post_tasks", "handlers"]);
    properties.insert("roles".into(), json!({"type": ["array", "null"], "items": {"$ref": "#/$defs/role"}}));
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "anyOf": [{"required": ["hosts"]}, {"required": ["import_playbook"]}],
    })
}

fn role() -> Json {
    let properties = any(&[&SHARED, &ROLE]);
    json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": properties}]})
}

fn item() -> Json {
    let mut properties = any(&[&SHARED, &TASK, &BLOCK]);
    sections(&mut properties, &["block", "rescue", "always"]);
    for name in crate::engine::vocabulary::vocabulary().names() {
        properties.insert(name.to_owned(), json!({}));
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
    json!({
        "type": "object",
        "properties": properties,
        "patternProperties": prefixed,
        "additionalProperties": true,
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
        let schema = playbook();
        walk(&schema, &schema);
        assert!(schema.pointer("/$defs/item/properties/sysctl/$ref").is_some());
        assert!(schema.pointer("/$defs/play/properties/serial").is_some());
    }
}
