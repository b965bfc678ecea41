//! What is wrong with a `rollout:`, `guard:` or `gate:` as it stands, each part at its place, by the grammar's own schema.
use super::amounts::fits;
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::playbook::coerce::Schema;
use crate::playbook::fields::is_template;
use crate::yaml::{Data, Node};
use serde_json::Value as Json;

/// Checks a value. What a template hides is left for later.
pub(super) fn check(schema: &Json, key: &Node, value: &Node, problems: &mut Problems) {
    let mut checker = Checker { schema: Schema::new(schema), key, problems };
    checker.value(schema, value, &key.key_text());
}

/// Where a part of the grammar is explained.
pub(super) fn explained(key: &Node) -> String {
    format!("`tunerun doc {}` explains it", key.key_text())
}

struct Checker<'a> {
    schema: Schema<'a>,
    key: &'a Node,
    problems: &'a mut Problems,
}

impl<'a> Checker<'a> {
    fn value(&mut self, schema: &'a Json, value: &Node, path: &str) {
        if value.tag.is_some() || value.as_str().is_some_and(is_template) {
            return;
        }
        let name = schema.get("$ref").and_then(Json::as_str).and_then(|at| at.strip_prefix("#/$defs/"));
        if let Some(fit) = name.and_then(|name| fits(name, &value.to_json())) {
            if let Err(wanted) = fit {
                self.unfit(path, value, wanted, &[]);
            }
            return;
        }
        let schema = self.schema.resolved(schema);
        let choices = self.schema.choices(schema);
        if !choices.is_empty() {
            let words: Vec<&str> = choices.iter().filter_map(|choice| choice.as_str()).collect();
            if !words.contains(&word(value).as_str()) {
                self.unfit(path, value, &format!("one of {}", words.join(", ")), &words);
            }
            return;
        }
        if let Some(variants) = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(key)?.as_array())
            && schema.get("properties").is_none()
        {
            return self.variant(schema, variants, value, path);
        }
        match &value.data {
            Data::Map(pairs) if is_kind(schema, "object") => self.mapping(schema, pairs, value, path),
            Data::Seq(members) if is_kind(schema, "array") => {
                for (at, member) in members.iter().enumerate() {
                    if let Some(items) = schema.get("items") {
                        self.value(items, member, &format!("{path}.{at}"));
                    }
                }
            }
            Data::Null if is_kind(schema, "null") => {}
            Data::Null if path == self.key.key_text() => {
                let wanted = self.schema.describe(schema);
                self.unfit(path, value, &wanted, &[]);
            }
            _ if self.schema.exactly(&value.to_json(), schema) => {}
            _ if is_kind(schema, "array") => self.unfit(path, value, "a list", &[]),
            _ => {
                let wanted = self.schema.describe(schema);
                self.unfit(path, value, &wanted, &[]);
            }
        }
    }

    /// Of several shapes, the one that the value looks like.
    fn variant(&mut self, schema: &'a Json, variants: &'a [Json], value: &Node, path: &str) {
        let fits_one = variants.iter().any(|variant| {
            let mut none = Problems::new();
            let mut trial = Checker { schema: self.schema, key: self.key, problems: &mut none };
            trial.value(variant, value, path);
            none.is_empty()
        });
        if fits_one {
            return;
        }
        let keys: Vec<String> = value.entries().map(|(key, _)| key_word(key)).collect();
        let known = |variant: &&'a Json| {
            let variant = self.schema.resolved(variant);
            let names = variant.get("properties").and_then(Json::as_object);
            names.map(|names| keys.iter().filter(|key| names.contains_key(*key)).count())
        };
        let nearest = match &value.data {
            Data::Map(_) => variants
                .iter()
                .filter(|variant| known(variant).is_some())
                .max_by_key(|variant| known(variant)),
            _ => {
                // What may be left out is told as if it may not: nobody thinks of null.
                let mut real = variants.iter().filter(|variant| !is_kind(variant, "null"));
                let only = real.next();
                only.filter(|_| real.next().is_none())
            }
        };
        match nearest {
            Some(variant) => self.value(variant, value, path),
            None => {
                let wanted = self.wanted(schema, variants);
                self.unfit(path, value, &wanted, &[]);
            }
        }
    }

    /// What is wanted of several shapes: amounts in their own words.
    fn wanted(&self, schema: &'a Json, variants: &'a [Json]) -> String {
        let amount = |variant: &Json| {
            let name = variant.get("$ref")?.as_str()?.strip_prefix("#/$defs/")?;
            fits(name, &Json::Null)?.err()
        };
        let words: Vec<String> = variants
            .iter()
            .filter(|variant| !is_kind(variant, "null"))
            .map(|variant| amount(variant).map_or_else(|| self.schema.describe(variant), str::to_owned))
            .filter(|words| !words.is_empty())
            .collect();
        if words.is_empty() { self.schema.describe(schema) } else { words.join(", or ") }
    }

    fn mapping(&mut self, schema: &'a Json, pairs: &[(Node, Node)], value: &Node, path: &str) {
        let properties = schema.get("properties").and_then(Json::as_object);
        let rest = schema.get("additionalProperties");
        let mut there = Vec::new();
        for (key, value) in pairs {
            let word = key_word(key);
            match (properties.and_then(|all| all.get(&word)), rest) {
                (Some(property), _) => self.value(property, value, &format!("{path}.{word}")),
                (None, Some(rest)) if rest.is_object() => self.value(rest, value, &format!("{path}.{word}")),
                (None, Some(Json::Bool(false))) => {
                    let names = properties.into_iter().flatten().map(|(name, _)| name.as_str());
                    let names: Vec<&str> = names.collect();
                    let problem = Diagnostic::error(format!("`{path}` takes no `{word}`"), key.span.clone())
                        .note(format!("it takes: {}", names.join(", ")));
                    self.problems.push(match did_you_mean(&word, names) {
                        Some(near) => problem.help(format!("did you mean `{near}`?")),
                        None => problem.help(explained(self.key)),
                    });
                }
                _ => {}
            }
            there.push(word);
        }
        let near = |name: &str| there.iter().any(|word| did_you_mean(word, [name]).is_some());
        for name in schema.get("required").and_then(Json::as_array).into_iter().flatten() {
            let Some(name) = name.as_str().filter(|name| !near(name)) else { continue };
            let span = if path == self.key.key_text() { &self.key.span } else { &value.span };
            let problem = Diagnostic::error(format!("`{path}` needs `{name}`"), span.clone());
            self.problems.push(problem.help(format!("add `{name}:`; {}", explained(self.key))));
        }
        self.one_of(schema, &there, value, path);
    }

    /// Where one of several words must be there: none, or two.
    fn one_of(&mut self, schema: &'a Json, there: &[String], value: &Node, path: &str) {
        let Some(sets) = schema.get("oneOf").and_then(Json::as_array) else { return };
        let words: Vec<&str> = sets.iter().filter_map(|set| set["required"][0].as_str()).collect();
        let said: Vec<&str> =
            words.iter().copied().filter(|word| there.iter().any(|there| there == word)).collect();
        // A misspelt one is told as that.
        let near = there.iter().any(|there| {
            let own = schema["properties"].get(there).is_some();
            !own && did_you_mean(there, words.iter().copied()).is_some()
        });
        if said.len() == 1 || (said.is_empty() && near) {
            return;
        }
        let message = match &said[..] {
            [] => format!("`{path}` names none of its tools"),
            _ => format!("`{path}` names more than one tool: {}", said.join(", ")),
        };
        let problem = Diagnostic::error(message, value.span.clone());
        self.problems.push(problem.help(format!("say one of {}", words.join(", "))));
    }

    fn unfit(&mut self, path: &str, value: &Node, wanted: &str, choices: &[&str]) {
        let raw = value.raw();
        let found = match &value.data {
            Data::Null => "nothing".to_owned(),
            Data::Seq(_) | Data::Map(_) => value.kind().to_owned(),
            _ if raw.chars().count() <= 40 && !raw.contains('\n') => format!("`{raw}`"),
            _ => value.kind().to_owned(),
        };
        let span = if raw.is_empty() { self.key.span.clone() } else { value.span.clone() };
        let problem = Diagnostic::error(format!("`{path}` wants {wanted}, not {found}"), span);
        self.problems.push(match did_you_mean(&word(value), choices.iter().copied()) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help(explained(self.key)),
        });
    }
}

/// A word as it stands: `off` is a boolean to YAML, and a word here.
fn word(value: &Node) -> String {
    value.as_str().map_or_else(|| value.raw().to_owned(), str::to_owned)
}

/// A key as it stands: `on` is a boolean to YAML.
fn key_word(key: &Node) -> String {
    if key.as_bool().is_some() { key.raw().to_owned() } else { key.key_text().into_owned() }
}

fn is_kind(schema: &Json, kind: &str) -> bool {
    match schema.get("type") {
        Some(Json::String(one)) => one == kind,
        Some(Json::Array(many)) => many.iter().any(|one| one == kind),
        _ => false,
    }
}
