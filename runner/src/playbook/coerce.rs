//! Ansible's looseness about the types of arguments, in one place: from what was given to what a schema wants.
use serde_json::{Map, Value as Json};

use super::fields::boolean;

/// Why a value does not fit.
#[derive(Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Keys and numbers from the argument down to the value.
    pub path: Vec<String>,
    /// What is wanted, with its article.
    pub wanted: String,
    /// The words of which one is wanted, if it is such an argument.
    pub choices: Vec<String>,
}

/// A JSON schema with its definitions.
#[derive(Clone, Copy)]
pub struct Schema<'a> {
    root: &'a Json,
}

impl<'a> Schema<'a> {
    /// A schema as schemars makes them: an object with `properties`, `required` and `$defs`.
    pub fn new(root: &'a Json) -> Self {
        Self { root }
    }

    /// The argument names with their schemas.
    pub fn properties(&self) -> impl Iterator<Item = (&'a String, &'a Json)> {
        self.root.get("properties").and_then(Json::as_object).into_iter().flatten()
    }

    /// The schema of an argument.
    pub fn property(&self, name: &str) -> Option<&'a Json> {
        self.root.get("properties")?.get(name)
    }

    /// Whether arguments that the schema does not name are taken: it names none, or says so.
    pub fn is_open(&self) -> bool {
        self.root.get("properties").is_none()
            || self.root.get("additionalProperties").is_some_and(|more| *more != false)
    }

    /// The arguments that must be given.
    pub fn required(&self) -> Vec<&'a str> {
        let list = self.root.get("required").and_then(Json::as_array);
        list.into_iter().flatten().filter_map(Json::as_str).collect()
    }

    /// A schema with its references followed.
    pub(super) fn resolved(&self, schema: &'a Json) -> &'a Json {
        let mut schema = schema;
        for _ in 0..16 {
            let Some(pointer) =
                schema.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix('#'))
            else {
                break;
            };
            match self.root.pointer(pointer) {
                Some(found) => schema = found,
                None => break,
            }
        }
        schema
    }

    /// The value as the schema wants it.
    ///
    /// # Errors
    /// It cannot be read so even with Ansible's looseness.
    pub fn coerce(&self, value: &Json, schema: &'a Json) -> Result<Json, Misfit> {
        let schema = self.resolved(schema);
        let choices = self.choices(schema);
        if !choices.is_empty() {
            return choice(value, &choices).ok_or_else(|| misfit(self.describe(schema), &choices));
        }
        if let Some(variants) = variants(schema) {
            return self.any(value, schema, variants);
        }
        if let Some(parts) = schema.get("allOf").and_then(Json::as_array) {
            return parts.iter().try_fold(value.clone(), |value, part| self.coerce(&value, part));
        }
        let types = types(schema);
        if types.is_empty() {
            return Ok(value.clone());
        }
        let exact = types.iter().find(|kind| is(value, kind));
        for kind in exact.into_iter().chain(&types) {
            if let Some(found) = self.typed(value, kind, schema)? {
                return Ok(found);
            }
        }
        Err(misfit(self.describe(schema), &[]))
    }

    /// Whether a value is of the schema's type and range as it stands, without looseness.
    pub(super) fn exactly(&self, value: &Json, schema: &'a Json) -> bool {
        let types = types(schema);
        types.is_empty()
            || types.iter().any(|kind| is(value, kind) && (!value.is_number() || in_range(value, schema)))
    }

    fn any(&self, value: &Json, schema: &'a Json, variants: &'a [Json]) -> Result<Json, Misfit> {
        let mut first = None;
        for variant in variants {
            match self.coerce(value, variant) {
                Ok(found) if found == *value => return Ok(found),
                Ok(found) => {
                    first.get_or_insert(found);
                }
                Err(_) => {}
            }
        }
        first.ok_or_else(|| {
            let mut real = variants.iter().filter(|variant| types(self.resolved(variant)) != ["null"]);
            // An optional argument is told as if it were not: nobody thinks of null.
            match (real.next(), real.next()) {
                (Some(only), None) => self.coerce(value, only).err(),
                _ => None,
            }
            .unwrap_or_else(|| misfit(self.describe(schema), &[]))
        })
    }

    /// The value as one type, or nothing where it cannot be.
    fn typed(&self, value: &Json, kind: &str, schema: &'a Json) -> Result<Option<Json>, Misfit> {
        Ok(match kind {
            "null" => value.is_null().then_some(Json::Null),
            "boolean" => as_boolean(value).map(Json::Bool),
            "integer" => as_integer(value).filter(|number| in_range(number, schema)),
            "number" => as_number(value).filter(|number| in_range(number, schema)),
            "string" => as_text(value).map(Json::String),
            "array" => match as_list(value) {
                Some(members) => Some(self.members(members, schema)?),
                None => None,
            },
            "object" => match as_mapping(value) {
                Some(map) => Some(self.mapping(map, schema)?),
                None => None,
            },
            _ => None,
        })
    }

    fn members(&self, members: Vec<Json>, schema: &'a Json) -> Result<Json, Misfit> {
        let Some(items) = schema.get("items") else { return Ok(Json::Array(members)) };
        let mut list = Vec::with_capacity(members.len());
        for (at, member) in members.iter().enumerate() {
            list.push(self.coerce(member, items).map_err(|fault| below(fault, at.to_string()))?);
        }
        Ok(Json::Array(list))
    }

    fn mapping(&self, map: Map<String, Json>, schema: &'a Json) -> Result<Json, Misfit> {
        let named = schema.get("properties");
        let rest = schema.get("additionalProperties").filter(|more| more.is_object());
        let mut out = Map::new();
        for (key, value) in map {
            let inner = named.and_then(|named| named.get(&key)).or(rest);
            let value = match inner {
                Some(inner) => self.coerce(&value, inner).map_err(|fault| below(fault, key.clone()))?,
                None => value,
            };
            out.insert(key, value);
        }
        Ok(Json::Object(out))
    }

    /// The fixed words of an `enum`, a `const`, or a `oneOf` of such; empty where others are taken too.
    pub(super) fn choices(&self, schema: &'a Json) -> Vec<&'a Json> {
        if let Some(list) = schema.get("enum").and_then(Json::as_array) {
            return list.iter().collect();
        }
        if let Some(only) = schema.get("const") {
            return vec![only];
        }
        let Some(variants) = variants(schema) else { return Vec::new() };
        let mut all = Vec::new();
        for variant in variants {
            let variant = self.resolved(variant);
            if types(variant) == ["null"] {
                all.push(&Json::Null);
                continue;
            }
            let choices = self.choices(variant);
            if choices.is_empty() {
                return Vec::new();
            }
            all.extend(choices);
        }
        if all.iter().all(|choice| choice.is_null()) { Vec::new() } else { all }
    }

    /// What is wanted, in words.
    pub fn describe(&self, schema: &'a Json) -> String {
        let schema = self.resolved(schema);
        let choices = self.choices(schema);
        if !choices.is_empty() {
            return format!("one of {}", words(&choices).join(", "));
        }
        let mut parts: Vec<String> = Vec::new();
        match variants(schema) {
            Some(variants) => parts.extend(variants.iter().map(|variant| self.describe(variant))),
            None => parts.extend(types(schema).iter().map(|kind| self.kind(kind, schema))),
        }
        parts.retain(|part| part != "nothing");
        parts.dedup();
        parts.join(" or ")
    }

    fn kind(&self, kind: &str, schema: &'a Json) -> String {
        match kind {
            "null" => "nothing".to_owned(),
            "boolean" => "true or false".to_owned(),
            "integer" => format!("a whole number{}", range(schema)),
            "number" => format!("a number{}", range(schema)),
            "string" => "text".to_owned(),
            "array" => match schema.get("items").map(|items| self.describe(items)) {
                Some(of) if !of.is_empty() => format!("a list of {}", of.trim_start_matches("a ")),
                _ => "a list".to_owned(),
            },
            _ => "a mapping".to_owned(),
        }
    }
}

fn misfit(wanted: String, choices: &[&Json]) -> Misfit {
    Misfit { path: Vec::new(), wanted, choices: words(choices) }
}

fn below(mut fault: Misfit, key: String) -> Misfit {
    fault.path.insert(0, key);
    fault
}

fn words(choices: &[&Json]) -> Vec<String> {
    let shown = choices.iter().filter(|choice| !choice.is_null());
    shown.map(|choice| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned)).collect()
}

fn variants(schema: &Json) -> Option<&[Json]> {
    schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Json::as_array).map(Vec::as_slice)
}

fn types(schema: &Json) -> Vec<&str> {
    match schema.get("type") {
        Some(Json::String(one)) => vec![one],
        Some(Json::Array(many)) => many.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn is(value: &Json, kind: &str) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

fn range(schema: &Json) -> String {
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" from {least} on"),
        (None, Some(most)) => format!(" up to {most}"),
        (None, None) => String::new(),
    }
}

fn in_range(number: &Json, schema: &Json) -> bool {
    let value = number.as_f64().unwrap_or_default();
    let bound = |name: &str| schema.get(name).and_then(Json::as_f64);
    bound("minimum").is_none_or(|least| value >= least) && bound("maximum").is_none_or(|most| value <= most)
}

/// The choice that is meant; `yes` without quotes means the word, if there is such a choice.
fn choice(value: &Json, choices: &[&Json]) -> Option<Json> {
    if choices.contains(&value) {
        return Some(value.clone());
    }
    let texts: Vec<String> = match value {
        Json::Bool(true) => ["yes", "on", "true", "True"].map(str::to_owned).into(),
        Json::Bool(false) => ["no", "off", "false", "False"].map(str::to_owned).into(),
        Json::String(text) => vec![text.trim().to_owned()],
        Json::Number(number) => vec![number.to_string()],
        _ => return None,
    };
    choices
        .iter()
        .find(|choice| {
            let word = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
            texts.contains(&word)
        })
        .map(|choice| (*choice).clone())
}

fn as_boolean(value: &Json) -> Option<bool> {
    match value {
        Json::Bool(value) => Some(*value),
        Json::String(text) => boolean(text),
        Json::Number(number) => match number.as_f64() {
            Some(1.0) => Some(true),
            Some(0.0) => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn as_integer(value: &Json) -> Option<Json> {
    match value {
        Json::Number(number) if number.is_i64() || number.is_u64() => Some(value.clone()),
        Json::Number(number) => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15)?;
            format!("{whole:.0}").parse::<i64>().ok().map(Json::from)
        }
        Json::String(text) => {
            let text = text.trim();
            text.parse::<i64>().map(Json::from).or_else(|_| text.parse::<u64>().map(Json::from)).ok()
        }
        _ => None,
    }
}

fn as_number(value: &Json) -> Option<Json> {
    match value {
        Json::Number(_) => Some(value.clone()),
        Json::String(text) => as_integer(value).or_else(|| {
            let number = text.trim().parse::<f64>().ok()?;
            serde_json::Number::from_f64(number).map(Json::Number)
        }),
        _ => None,
    }
}

fn as_text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        // What a template gave is written as Ansible writes it; a literal boolean is told before.
        Json::Bool(true) => Some("True".to_owned()),
        Json::Bool(false) => Some("False".to_owned()),
        _ => None,
    }
}

fn as_list(value: &Json) -> Option<Vec<Json>> {
    match value {
        Json::Array(members) => Some(members.clone()),
        Json::String(text) if text.trim().is_empty() => Some(Vec::new()),
        Json::String(text) => Some(text.split(',').map(|part| Json::from(part.trim())).collect()),
        Json::Null => None,
        single => Some(vec![single.clone()]),
    }
}

fn as_mapping(value: &Json) -> Option<Map<String, Json>> {
    match value {
        Json::Object(map) => Some(map.clone()),
        Json::String(text) if text.trim_start().starts_with('{') => serde_json::from_str(text).ok(),
        Json::String(text) if text.contains('=') => {
            let pairs = text
                .split(',')
                .flat_map(str::split_whitespace)
                .map(|pair| pair.split_once('=').map(|(key, value)| (key.to_owned(), Json::from(value))));
            pairs.collect()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: &Json, value: Json) -> Result<Json, String> {
        Schema::new(&Json::Null).coerce(&value, schema).map_err(|fault| fault.wanted)
    }

    #[test]
    fn values_are_read_as_ansible_reads_them() {
        let boolean = json!({"type": "boolean"});
        for word in [json!("yes"), json!("True"), json!("on"), json!(1), json!("1"), json!(1.0), json!(true)]
        {
            assert_eq!(check(&boolean, word), Ok(json!(true)));
        }
        assert_eq!(check(&boolean, json!("maybe")), Err("true or false".to_owned()));
        let integer = json!({"type": ["integer", "null"], "minimum": 0, "maximum": 255});
        assert_eq!(check(&integer, json!(" 5 ")), Ok(json!(5)));
        assert_eq!(check(&integer, json!(5.0)), Ok(json!(5)));
        assert_eq!(check(&integer, json!(300)), Err("a whole number from 0 to 255".to_owned()));
        assert_eq!(check(&integer, json!("5G")), Err("a whole number from 0 to 255".to_owned()));
        assert_eq!(check(&integer, Json::Null), Ok(Json::Null));
        let text = json!({"type": "string"});
        assert_eq!(check(&text, json!(5)), Ok(json!("5")));
        assert_eq!(check(&text, json!(1.0)), Ok(json!("1.0")));
        assert_eq!(check(&text, json!(true)), Ok(json!("True")));
        assert_eq!(check(&text, json!(["a"])), Err("text".to_owned()));
        let list = json!({"type": "array", "items": {"type": "string"}});
        assert_eq!(check(&list, json!("a, b")), Ok(json!(["a", "b"])));
        assert_eq!(check(&list, json!(5)), Ok(json!(["5"])));
        assert_eq!(check(&list, json!([1, "b"])), Ok(json!(["1", "b"])));
        assert_eq!(check(&list, json!([{}])), Err("text".to_owned()));
        let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        assert_eq!(check(&map, json!("a=1 b=2")), Ok(json!({"a": 1, "b": 2})));
        assert_eq!(check(&map, json!("{\"a\": \"1\"}")), Ok(json!({"a": 1})));
    }

    #[test]
    fn choices_and_variants() {
        let word = json!({"oneOf": [{"const": "present"}, {"const": "absent"}]});
        assert_eq!(check(&word, json!("absent")), Ok(json!("absent")));
        assert_eq!(check(&word, json!("latest")), Err("one of present, absent".to_owned()));
        let yes = json!({"enum": ["yes", "dist", null]});
        assert_eq!(check(&yes, json!(true)), Ok(json!("yes")));
        let both = json!({"anyOf": [{"type": "boolean"}, {"type": "string"}]});
        assert_eq!(check(&both, json!("yes")), Ok(json!("yes")));
        assert_eq!(check(&both, json!(true)), Ok(json!(true)));
        assert_eq!(check(&both, json!([])), Err("true or false or text".to_owned()));
        let optional = json!({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]});
        assert_eq!(check(&optional, json!(0)), Err("a whole number from 1 on".to_owned()));
        assert_eq!(check(&json!(true), json!([1])), Ok(json!([1])));
    }

    #[test]
    fn definitions_and_paths() {
        let root = json!({"$defs": {"Size": {"type": "integer"}}});
        let list = json!({"type": "array", "items": {"type": "object", "properties": {"size": {"$ref": "#/$defs/Size"}}}});
        let schema = Schema::new(&root);
        assert_eq!(schema.coerce(&json!([{"size": "3"}]), &list), Ok(json!([{"size": 3}])));
        let fault = schema.coerce(&json!([{"size": "x"}]), &list).expect_err("a misfit");
        assert_eq!(
            (fault.path, fault.wanted),
            (vec!["0".to_owned(), "size".to_owned()], "a whole number".to_owned())
        );
    }
}
