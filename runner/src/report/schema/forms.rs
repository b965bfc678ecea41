//! What keywords may be, as schemas.
use crate::playbook::meanings::{Form, Keyword, taken};
use serde_json::{Map, Value as Json, json};

/// Text with a template in it.
const TEMPLATE: &str = r"\{\{|\{%";

/// The properties of keywords, each with its meaning.
pub(super) fn keywords(lists: &[&'static [&'static str]]) -> Map<String, Json> {
    taken(lists).into_iter().map(|keyword| (keyword.name.to_owned(), described(keyword))).collect()
}

fn described(keyword: &Keyword) -> Json {
    let mut schema = form(keyword.form);
    schema["description"] = keyword.about.into();
    schema
}

fn form(form: Form) -> Json {
    match form {
        Form::Any => json!({}),
        Form::Flag => flag(),
        Form::Text | Form::Variable => json!({"type": ["string", "number"]}),
        Form::Texts => {
            json!({"type": ["string", "number", "array", "null"], "items": {"type": ["string", "number"]}})
        }
        Form::Conditions => {
            json!({"type": ["string", "boolean", "array"], "items": {"type": ["string", "boolean"]}})
        }
        Form::Whole => {
            json!({"type": ["integer", "string"], "pattern": format!("^ *[0-9]+ *$|{TEMPLATE}"), "minimum": 0})
        }
        Form::Number => {
            json!({"type": ["number", "string"], "pattern": format!("^ *[0-9.]+ *%?$|{TEMPLATE}"), "minimum": 0})
        }
        Form::List => json!({"type": ["array", "null"]}),
        Form::Mapping => {
            json!({"type": ["object", "array", "string", "null"], "items": {"type": ["object", "string"]}})
        }
        Form::Loop => json!({"type": ["array", "string", "null"], "pattern": TEMPLATE}),
        Form::LoopControl => json!({"$ref": "#/$defs/loop_control"}),
        Form::Batch => batch(),
        Form::Batches => json!({"anyOf": [batch(), {"type": "array", "items": batch()}]}),
        Form::Tasks => json!({"$ref": "#/$defs/items"}),
        Form::Roles => json!({"type": ["array", "null"], "items": {"$ref": "#/$defs/role"}}),
        Form::Prompts => json!({"type": ["array", "null"], "items": prompt()}),
        Form::Risks => risks(),
        Form::Method | Form::Connection | Form::Strategy | Form::Order => words(form),
        Form::Rollout => json!({"$ref": "#/$defs/rollout"}),
        Form::Guard => json!({"$ref": "#/$defs/guard"}),
        Form::Gate => json!({"$ref": "#/$defs/gate"}),
    }
}

/// A boolean, Ansible's words for one, or a template.
pub(super) fn flag() -> Json {
    let words = "^([Yy]es|[Nn]o|[Oo]n|[Oo]ff|[Tt]rue|[Ff]alse|YES|NO|ON|OFF|TRUE|FALSE|[01tfynTFYN])$";
    json!({"anyOf": [{"type": "boolean"}, {"enum": [0, 1]}, {"type": "string", "pattern": format!("{words}|{TEMPLATE}")}]})
}

/// One of a closed list, by its short or long name, or a template.
pub(super) fn words_of(choices: &[&str]) -> Json {
    json!({"anyOf": [{"enum": choices}, {"type": "string", "pattern": format!(r"\.({})$|{TEMPLATE}", choices.join("|"))}]})
}

fn words(form: Form) -> Json {
    words_of(form.choices())
}

fn batch() -> Json {
    json!({"type": ["integer", "string"], "pattern": format!("^ *[0-9]+(\\.[0-9]+)? *%?$|{TEMPLATE}"), "minimum": 0})
}

fn risks() -> Json {
    let all = modules::vocabulary::RiskName::ALL;
    let properties: Map<String, Json> = all
        .iter()
        .map(|risk| {
            let schema = json!({"type": "string", "minLength": 1, "description": risk.meaning()});
            (risk.as_str().to_owned(), schema)
        })
        .collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn prompt() -> Json {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The variable."},
            "prompt": {"type": "string", "description": "The question."},
            "default": {"description": "The answer where none is given."},
            "private": flag(),
            "confirm": flag(),
            "unsafe": {},
        },
        "required": ["name"],
        "additionalProperties": false,
    })
}

/// Where a schema wants a number, a boolean, a list or a fixed word, a template may stand.
pub(super) fn templated(map: &mut Map<String, Json>) {
    if let Some(Json::String(kind)) = map.get("type")
        && matches!(kind.as_str(), "integer" | "boolean" | "number" | "array" | "object")
        && !map.contains_key("properties")
    {
        let kind = json!([kind, "string"]);
        map.insert("type".into(), kind);
    }
    if let Some(Json::Array(kinds)) = map.get_mut("type")
        && !kinds.iter().any(|kind| kind == "string")
    {
        kinds.push("string".into());
    }
    let template = json!({"type": "string", "pattern": TEMPLATE});
    if let Some(words) = map.remove("enum") {
        map.remove("type");
        map.insert("anyOf".into(), json!([{"enum": words}, template]));
    } else if let Some(Json::Array(words)) = map.get_mut("oneOf")
        && words.iter().all(|word| word.get("const").is_some() || word.get("anyOf").is_some())
    {
        words.push(template);
    }
    if let Some(Json::String(pattern)) = map.get("pattern") {
        let pattern = format!("{pattern}|{TEMPLATE}");
        map.insert("pattern".into(), pattern.into());
    }
}
