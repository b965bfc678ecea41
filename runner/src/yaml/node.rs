//! Looking into a node: accessors, words for messages, and the way into JSON.
use std::borrow::Cow;

use serde_json::{Map, Number, Value as Json};

use super::{Data, Node};

/// The key of the one-entry object that stands for a `!vault` value in JSON, as Ansible writes it.
pub const VAULT_KEY: &str = "__ansible_vault";
/// The key of the one-entry object that stands for an `!unsafe` value (never a template) in JSON, as Ansible writes it.
pub const UNSAFE_KEY: &str = "__ansible_unsafe";

impl Node {
    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match &self.data {
            Data::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        match self.data {
            Data::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The whole number, if it is one that an `i64` holds.
    pub fn as_int(&self) -> Option<i64> {
        match self.data {
            Data::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The members, if it is a list.
    pub fn as_seq(&self) -> Option<&[Node]> {
        match &self.data {
            Data::Seq(members) => Some(members),
            _ => None,
        }
    }

    /// The pairs in written order, if it is a mapping.
    pub fn as_map(&self) -> Option<&[(Node, Node)]> {
        match &self.data {
            Data::Map(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// True for `null`, `~` and nothing at all.
    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Null)
    }

    /// The value of a key, if this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|(_, value)| value)
    }

    /// A key and its value, if this is a mapping that has it.
    pub fn entry(&self, key: &str) -> Option<(&Node, &Node)> {
        self.entries().find(|(found, _)| found.key_text() == key)
    }

    /// The pairs of a mapping in written order; none for everything else.
    pub fn entries(&self) -> impl Iterator<Item = (&Node, &Node)> {
        self.as_map().unwrap_or_default().iter().map(|(key, value)| (key, value))
    }

    /// What it is, as words for a message: "text", "a list" and so on.
    pub fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "empty",
            Data::Bool(_) => "a boolean",
            Data::Int(_) | Data::UInt(_) => "a whole number",
            Data::Float(_) => "a number",
            Data::Str(_) if self.tag.as_deref() == Some("!vault") => "an encrypted value",
            Data::Str(_) => "text",
            Data::Seq(_) => "a list",
            Data::Map(_) => "a mapping",
        }
    }

    /// The text of a key as it is looked up and as JSON holds it: text itself, other scalars as written.
    pub fn key_text(&self) -> Cow<'_, str> {
        match &self.data {
            Data::Str(text) => Cow::Borrowed(text),
            Data::Null => Cow::Borrowed("null"),
            Data::Bool(value) => Cow::Borrowed(if *value { "true" } else { "false" }),
            Data::Int(value) => Cow::Owned(value.to_string()),
            Data::UInt(value) => Cow::Owned(value.to_string()),
            Data::Float(value) => Cow::Owned(value.to_string()),
            Data::Seq(_) | Data::Map(_) => Cow::Borrowed(self.span.text()),
        }
    }

    /// The text as it was written (`0644`, `"a\n"`, `on`); for an alias that is `*name`.
    pub fn raw(&self) -> &str {
        self.span.text()
    }

    /// The value as JSON. A `!vault` value becomes `{VAULT_KEY: text}`, an `!unsafe` one `{UNSAFE_KEY: value}`
    /// (each text in it, if it is a list or mapping). Infinity and NaN, which JSON lacks, become text.
    pub fn to_json(&self) -> Json {
        self.json(self.tag.as_deref() == Some("!unsafe"))
    }

    fn json(&self, guarded: bool) -> Json {
        let guarded = guarded || self.tag.as_deref() == Some("!unsafe");
        match &self.data {
            Data::Null => Json::Null,
            Data::Bool(value) => Json::Bool(*value),
            Data::Int(value) => Json::from(*value),
            Data::UInt(value) => Json::from(*value),
            Data::Float(value) => {
                Number::from_f64(*value).map_or_else(|| Json::from(odd(*value)), Json::Number)
            }
            Data::Str(text) if self.tag.as_deref() == Some("!vault") => single(VAULT_KEY, text),
            Data::Str(text) if guarded => single(UNSAFE_KEY, text),
            Data::Str(text) => Json::String(text.clone()),
            Data::Seq(members) => Json::Array(members.iter().map(|member| member.json(guarded)).collect()),
            Data::Map(pairs) => Json::Object(
                pairs.iter().map(|(key, value)| (key.key_text().into_owned(), value.json(guarded))).collect(),
            ),
        }
    }
}

fn single(key: &str, text: &str) -> Json {
    let mut map = Map::new();
    map.insert(key.to_owned(), Json::String(text.to_owned()));
    Json::Object(map)
}

/// Python's words for the floats that JSON cannot hold.
fn odd(value: f64) -> &'static str {
    match value {
        value if value.is_nan() => "nan",
        value if value < 0.0 => "-inf",
        _ => "inf",
    }
}
