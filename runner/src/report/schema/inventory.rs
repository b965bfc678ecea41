//! The schema of inventories in the YAML form.
use super::forms::{flag, words_of};
use crate::inventory::reserved::{RESERVED, Reserved, ReservedKind};
use serde_json::{Map, Value as Json, json};

/// The schema of an inventory: groups with hosts, children and variables.
pub fn inventory() -> Json {
    let reserved: Map<String, Json> =
        RESERVED.iter().map(|reserved| (reserved.name.to_owned(), variable(reserved))).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An inventory of tunerun",
        "type": "object",
        // These are of a group, and stand under one.
        "properties": {"hosts": false, "children": false, "vars": false},
        "additionalProperties": {"$ref": "#/$defs/group"},
        "$defs": {
            "group": {
                "description": "A group: its hosts, the groups in it, and variables of all of them.",
                "type": ["object", "null"],
                "properties": {
                    "hosts": {
                        "description": "Hosts by name, each with its variables. A range is written `osd[01:20]`.",
                        "type": ["object", "string", "null"],
                        "additionalProperties": {"$ref": "#/$defs/host"},
                    },
                    "children": {
                        "description": "Groups in this group.",
                        "type": ["object", "string", "null"],
                        "additionalProperties": {"$ref": "#/$defs/group"},
                    },
                    "vars": {"$ref": "#/$defs/vars", "description": "Variables of all its hosts."},
                },
                "additionalProperties": false,
            },
            "host": {"$ref": "#/$defs/vars", "description": "A host and its variables."},
            "vars": {
                "type": ["object", "null"],
                "properties": reserved,
                "propertyNames": {"pattern": "^[\\p{L}_][\\p{L}\\p{N}_]*$"},
            },
        },
    })
}

fn variable(reserved: &Reserved) -> Json {
    let mut schema = match reserved.kind {
        ReservedKind::Any => json!({}),
        ReservedKind::Text => json!({"type": ["string", "number", "object", "null"]}),
        ReservedKind::Texts => json!({"type": ["string", "array"], "items": {"type": "string"}}),
        ReservedKind::Whole => json!({"type": ["integer", "string"]}),
        ReservedKind::Flag => flag(),
        kind => words_of(kind.choices()),
    };
    schema["description"] = reserved.about.into();
    schema
}
