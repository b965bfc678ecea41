//! Values that are not there: decided later, facts not read yet, parameters to leave out.
use serde_json::json;

use super::Json;

const MISSING: &str = "\u{0}missing";
const OMIT: &str = "\u{0}omit";

/// Why a value cannot be known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is decided after the named task.
    Late(String),
    /// It is a fact of that name which has not been read.
    Fact(String),
}

/// A mark that stands for a value decided after `on` (a task, as shown to people).
pub fn late(on: &str) -> Json {
    json!({ MISSING: { "late": on } })
}

/// A mark that stands for a fact which has not been read yet.
pub fn unread_fact(name: &str) -> Json {
    json!({ MISSING: { "fact": name } })
}

/// A mark that stands for `omit`: the parameter is to be left out.
pub fn omit() -> Json {
    json!({ OMIT: null })
}

/// Whether the value is the mark of [`omit`].
pub fn is_omit(value: &Json) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1 && map.contains_key(OMIT))
}

/// What this very value misses, if it is a mark.
pub fn missing(value: &Json) -> Option<Missing> {
    let map = value.as_object().filter(|map| map.len() == 1)?.get(MISSING)?;
    let text = |key: &str| map.get(key).and_then(Json::as_str).map(str::to_owned);
    text("late").map(Missing::Late).or_else(|| text("fact").map(Missing::Fact))
}

/// The first mark anywhere inside the value.
pub fn find_missing(value: &Json) -> Option<Missing> {
    missing(value).or_else(|| match value {
        Json::Array(items) => items.iter().find_map(find_missing),
        Json::Object(map) => map.values().find_map(find_missing),
        _ => None,
    })
}
