//! The schema of one benchmark: its own words, and one tool.
use super::amounts::Share;
use super::gate::Bench;
use crate::bench::Benchmark;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value as Json, json};
use std::borrow::Cow;

/// A benchmark is read from a map of words, which tells no deriving what it may hold.
impl JsonSchema for Bench {
    fn schema_name() -> Cow<'static, str> {
        "Bench".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let share = generator.subschema_for::<Share>().to_value();
        let mut properties = Map::new();
        let mut word = |name: &str, about: &str, mut schema: Json| {
            schema["description"] = about.into();
            properties.insert(name.to_owned(), schema);
        };
        word("id", "Its name in the paths of figures.", json!({"type": "string"}));
        word("on", "The hosts that load. Default: each changed host itself.", json!({"type": "string"}));
        word("peer", "The other end, for tools that need one.", json!({"type": "string"}));
        word("share", "The share of this load that the changed hosts serve. Default: all of it.", share);
        let tools = Benchmark::json_schema(generator).to_value();
        let mut one = Vec::new();
        for tool in tools["oneOf"].as_array().into_iter().flatten() {
            for (name, schema) in tool["properties"].as_object().into_iter().flatten() {
                let about = tool["description"].as_str().unwrap_or_default();
                let mut schema = schema.clone();
                schema["description"] = about.into();
                properties.insert(name.clone(), schema);
                one.push(json!({"required": [name]}));
            }
        }
        json_schema!({
            "type": "object",
            "description": "One benchmark: its name, where it runs, what it loads, and one tool with its arguments.",
            "properties": properties,
            "required": ["id"],
            "additionalProperties": false,
            "oneOf": one,
        })
    }
}
