//! Arguments of a module: names and literal values checked while loading, everything once templates are evaluated.
use std::collections::HashMap;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::coerce::{Misfit, Schema};
use super::fields::is_template;
use super::tree::{Action, Args};
use super::vocabulary::Known;
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::source::Span;
use crate::yaml::{Data, Node};

/// Where the arguments of a task stand.
#[derive(Clone, Debug)]
pub struct Places {
    /// The module's name.
    pub module: Span,
    /// Key and value of each argument, by the name as written.
    pub named: HashMap<String, (Span, Span)>,
}

impl Places {
    /// The places of an action's arguments.
    pub fn of(action: &Action) -> Self {
        Self::given(&action.span, &action.args.given)
    }

    fn given(module: &Span, given: &[(Node, Node)]) -> Self {
        let named = given
            .iter()
            .map(|(key, value)| (key.key_text().into_owned(), (key.span.clone(), value.span.clone())));
        Self { module: module.clone(), named: named.collect() }
    }

    fn key(&self, name: &str) -> Span {
        self.named.get(name).map_or_else(|| self.module.clone(), |(key, _)| key.clone())
    }

    fn value(&self, name: &str) -> Span {
        self.named.get(name).map_or_else(|| self.module.clone(), |(_, value)| value.clone())
    }
}

/// A module's typed arguments from evaluated ones. `null` counts as not given; leave out what was `omit`ted.
///
/// # Errors
/// Every argument that is unknown, does not fit, is missing, or is there under two names.
pub fn arguments<T: DeserializeOwned>(
    known: &Known,
    given: &Map<String, Json>,
    places: &Places,
) -> Result<T, Problems> {
    parsed(known, given, places, serde_json::from_value)
}

/// As [`arguments`], for what `parse` makes of them: a module's own `Entry::parse`, say.
///
/// # Errors
/// As [`arguments`].
pub fn parsed<T>(
    known: &Known,
    given: &Map<String, Json>,
    places: &Places,
    parse: impl Fn(Json) -> Result<T, serde_json::Error>,
) -> Result<T, Problems> {
    let schema = Schema::new(known.schema());
    let mut problems = Vec::new();
    let mut fitted = Map::new();
    let mut written: HashMap<String, &str> = HashMap::new();
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        let canonical = canonical(known, name);
        if let Some(first) = written.insert(canonical.to_owned(), name) {
            problems.push(twice(first, name, places.key(name)));
            continue;
        }
        let Some(property) = schema.property(canonical) else {
            if takes(known, canonical) {
                fitted.insert(canonical.to_owned(), value.clone());
            } else {
                problems.push(unknown(known, &schema, name, places.key(name)));
            }
            continue;
        };
        match schema.coerce(&octal(canonical, value), property) {
            Ok(value) => {
                fitted.insert(canonical.to_owned(), value);
            }
            Err(fault) => problems.push(unfit(name, value, &fault, places.value(name))),
        }
    }
    for name in schema.required() {
        if !fitted.contains_key(name) && !problems_name(&problems, name) {
            problems.push(missing(known, name, places.module.clone()));
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let fitted = Json::Object(fitted);
    parse(fitted.clone()).map_err(|error| vec![refused(&fitted, &error, &written, places, parse)])
}

/// A type may refuse what its schema takes (a size with an unknown unit): says which argument it was.
fn refused<T>(
    fitted: &Json,
    error: &serde_json::Error,
    written: &HashMap<String, &str>,
    places: &Places,
    parse: impl Fn(Json) -> Result<T, serde_json::Error>,
) -> Diagnostic {
    let message = error.to_string();
    let map = fitted.as_object().cloned().unwrap_or_default();
    // Values are read in order and the first bad one ends it: without it, the answer is another one.
    let culprit = map.keys().find(|key| {
        let mut rest = map.clone();
        rest.shift_remove(*key);
        parse(Json::Object(rest)).map_err(|error| error.to_string()).err().as_ref() != Some(&message)
    });
    match culprit {
        Some(key) if !message.starts_with("missing field") => {
            let name = written.get(key.as_str()).copied().unwrap_or(key);
            Diagnostic::error(format!("`{name}`: {message}"), places.value(name))
        }
        _ => Diagnostic::error(message, places.module.clone()),
    }
}

/// Checks what is known before any template is evaluated: the names, literal values, and what is missing.
/// `free`: free-form text is given too, which may stand for a required argument.
pub fn check(known: &Known, args: &Args, module: &Span, free: bool, problems: &mut Problems) {
    let schema = Schema::new(known.schema());
    let mut seen: Vec<(&str, String)> = Vec::with_capacity(args.given.len());
    let before = problems.len();
    for (key, value) in &args.given {
        let name = key.key_text().into_owned();
        let canonical = canonical(known, &name);
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == canonical) {
            problems.push(twice(first, &name, key.span.clone()));
            continue;
        }
        if let Some(property) = schema.property(canonical) {
            literal(&schema, property, canonical, &name, value, problems);
        } else if !takes(known, canonical) {
            let problem = unknown(known, &schema, &name, key.span.clone());
            // `{mode: u=rw,g=r}`: the comma ended the value.
            problems.push(
                if value.is_null() && !name.chars().all(|sign| sign.is_alphanumeric() || sign == '_') {
                    problem.help("inside `{…}` a comma ends a value: quote the value that it belongs to")
                } else {
                    problem
                },
            );
        }
        seen.push((self::canonical(known, key.as_str().unwrap_or_default()), name));
    }
    if free || problems.len() > before {
        return;
    }
    for name in schema.required() {
        if !seen.iter().any(|(canonical, _)| *canonical == name) {
            problems.push(missing(known, name, module.clone()));
        }
    }
    if problems.len() == before && args.given.iter().all(|(_, value)| is_literal(value)) {
        problems.extend(typed(known, args, module));
    }
}

/// A planner of arguments that hold no template, if there is one.
pub fn literal_planner(known: &Known, args: &Args) -> Option<Box<dyn modules::Planner>> {
    if args.free.is_some() || !args.given.iter().all(|(_, value)| is_literal(value)) {
        return None;
    }
    let (fitted, _) = fitted(known, args)?;
    known.parse?(fitted).ok()
}

/// What the module's own types refuse of arguments that hold no template: units, modes, paths.
fn typed(known: &Known, args: &Args, module: &Span) -> Option<Diagnostic> {
    let parse = known.parse?;
    let (fitted, written) = fitted(known, args)?;
    let error = parse(fitted.clone()).err()?;
    Some(refused(&fitted, &error, &written, &Places::given(module, &args.given), parse))
}

/// Literal arguments as the schema wants them, and the names as they were written.
fn fitted<'a>(known: &Known, args: &'a Args) -> Option<(Json, HashMap<String, &'a str>)> {
    let schema = Schema::new(known.schema());
    let mut written = HashMap::new();
    let mut fitted = Map::new();
    for (key, value) in args.given.iter().filter(|(_, value)| !value.is_null()) {
        let name = key.as_str()?;
        let canonical = canonical(known, name);
        let json = octal(canonical, &value.to_json());
        let json = match schema.property(canonical) {
            Some(property) => schema.coerce(&json, property).ok()?,
            None => json,
        };
        written.insert(canonical.to_owned(), name);
        fitted.insert(canonical.to_owned(), json);
    }
    Some((Json::Object(fitted), written))
}

fn literal<'a>(
    schema: &Schema<'a>,
    property: &'a Json,
    canonical: &str,
    name: &str,
    value: &Node,
    problems: &mut Problems,
) {
    if value.is_null() || !is_literal(value) {
        return;
    }
    if MODES.contains(&canonical)
        && value.as_int().is_some_and(|mode| mode > 7)
        && !value.raw().starts_with('0')
    {
        let raw = value.raw();
        let octal = value.as_int().unwrap_or_default();
        problems.push(
            Diagnostic::error(
                format!("`{name}: {raw}` is a decimal number, the mode 0{octal:o}"),
                value.span.clone(),
            )
            .help(format!("write \"0{raw}\", with quotes")),
        );
        return;
    }
    let json = value.to_json();
    match schema.coerce(&octal(canonical, &json), property) {
        Ok(Json::String(_)) if value.as_bool().is_some() && schema.describe(property) == "text" => {
            let raw = value.raw();
            problems.push(
                Diagnostic::error(
                    format!("`{name}` wants text; `{raw}` means true or false in YAML"),
                    value.span.clone(),
                )
                .help(format!("quote it: \"{raw}\"")),
            );
        }
        Ok(_) => {}
        Err(fault) => {
            let found = fault.path.iter().try_fold(value, |node, step| inner(node, step)).unwrap_or(value);
            problems.push(unfit(name, &found.to_json(), &fault, found.span.clone()));
        }
    }
}

fn inner<'a>(node: &'a Node, step: &str) -> Option<&'a Node> {
    match node.as_seq() {
        Some(members) => members.get(step.parse::<usize>().ok()?),
        None => node.get(step),
    }
}

/// Whether a value holds no template and nothing encrypted.
fn is_literal(node: &Node) -> bool {
    node.tag.is_none()
        && match &node.data {
            Data::Str(text) => !is_template(text),
            Data::Seq(members) => members.iter().all(is_literal),
            Data::Map(pairs) => pairs.iter().all(|(key, value)| is_literal(key) && is_literal(value)),
            _ => true,
        }
}

/// Arguments that hold a file mode.
const MODES: [&str; 2] = ["mode", "directory_mode"];

/// `mode: 0644` without quotes is the number 420: modules take modes as octal text.
fn octal(name: &str, value: &Json) -> Json {
    match value.as_u64() {
        Some(mode) if MODES.contains(&name) => Json::String(format!("{mode:04o}")),
        _ => value.clone(),
    }
}

/// The argument that a name or alias means.
pub fn canonical<'a>(known: &'a Known, name: &'a str) -> &'a str {
    known.aliases.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, canonical)| canonical)
}

fn takes(known: &Known, name: &str) -> bool {
    let open = match known.schema {
        Some(_) => Schema::new(known.schema()).is_open(),
        None => known.arguments.is_empty(),
    };
    open || known.arguments.contains(&name)
}

/// Whether a module has an argument or alias of this name.
pub fn names(known: &Known, name: &str) -> bool {
    Schema::new(known.schema()).property(canonical(known, name)).is_some() || known.arguments.contains(&name)
}

fn problems_name(problems: &Problems, name: &str) -> bool {
    problems.iter().any(|problem| problem.message.contains(&format!("`{name}`")))
}

fn twice(first: &str, again: &str, span: Span) -> Diagnostic {
    Diagnostic::error(format!("`{again}` and `{first}` are the same argument"), span).help("keep one of them")
}

fn missing(known: &Known, name: &str, span: Span) -> Diagnostic {
    Diagnostic::error(format!("`{}` needs `{name}`", known.name), span)
        .help(format!("add `{name}:`; `tunerun doc {}` explains it", known.name))
}

fn unknown(known: &Known, schema: &Schema<'_>, name: &str, span: Span) -> Diagnostic {
    let mut names: Vec<&str> = known.arguments.to_vec();
    names.extend(schema.properties().map(|(name, _)| name.as_str()));
    names.sort_unstable();
    names.dedup();
    let aliases = known.aliases.iter().map(|(alias, _)| *alias);
    let problem = Diagnostic::error(format!("`{}` takes no `{name}`", known.name), span);
    let problem = match did_you_mean(name, names.iter().copied().chain(aliases)) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if super::settings::WORDS.contains(&name) || super::keywords::TASK.contains(&name) => {
            problem.help(format!("`{name}` is a keyword of the task: indent it like the module's name"))
        }
        None if known.schema.is_some() => {
            problem.help(format!("`tunerun doc {}` explains its arguments", known.name))
        }
        None => problem,
    };
    problem.note(format!("arguments: {}", names.join(", ")))
}

fn unfit(name: &str, value: &Json, fault: &Misfit, span: Span) -> Diagnostic {
    let path: String = fault.path.iter().map(|step| format!(".{step}")).collect();
    let found = match value {
        Json::Null => "nothing".to_owned(),
        Json::Bool(value) => value.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) if text.chars().count() <= 40 => format!("\"{text}\""),
        Json::String(_) => "this text".to_owned(),
        Json::Array(_) => "a list".to_owned(),
        Json::Object(_) => "a mapping".to_owned(),
    };
    let problem = Diagnostic::error(format!("`{name}{path}` wants {}, not {found}", fault.wanted), span);
    match value.as_str().and_then(|word| did_you_mean(word, fault.choices.iter().map(String::as_str))) {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem,
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::source::Source;

    /// A module as others are: optional values, a word, a list, a type with a mind of its own.
    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Copy {
        dest: String,
        #[serde(default)]
        mode: Option<String>,
        #[serde(default)]
        backup: bool,
        #[serde(default)]
        state: State,
        #[serde(default)]
        attributes: Vec<String>,
        #[serde(default)]
        size: Option<Even>,
    }

    #[derive(Debug, Default, Deserialize, JsonSchema, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum State {
        /// There.
        #[default]
        Present,
        /// Gone.
        Absent,
    }

    #[derive(Debug, Deserialize, JsonSchema, PartialEq)]
    #[serde(try_from = "u32")]
    struct Even(u32);

    impl TryFrom<u32> for Even {
        type Error = String;
        fn try_from(value: u32) -> Result<Self, String> {
            if value.is_multiple_of(2) { Ok(Self(value)) } else { Err(format!("{value} is odd")) }
        }
    }

    fn known() -> Known {
        Known::typed("copy", || schemars::schema_for!(Copy).to_value()).aliased(&[("name", "dest")])
    }

    fn read(given: Json) -> Result<Copy, Vec<(String, String)>> {
        let source = Source::new("t", "copy");
        let places = Places { module: Span::new(&source, 0, 4), named: HashMap::new() };
        arguments(&known(), given.as_object().expect("map"), &places).map_err(|problems| {
            problems.into_iter().map(|problem| (problem.message, problem.help.unwrap_or_default())).collect()
        })
    }

    #[test]
    fn loose_values_become_typed_ones() {
        let copy = read(json!({
            "name": "/x", "mode": 420, "backup": "yes", "state": "absent", "attributes": "a,b", "size": "4"
        }));
        let expected = Copy {
            dest: "/x".to_owned(),
            mode: Some("0644".to_owned()),
            backup: true,
            state: State::Absent,
            attributes: vec!["a".to_owned(), "b".to_owned()],
            size: Some(Even(4)),
        };
        assert_eq!(copy, Ok(expected));
        assert_eq!(read(json!({"dest": 5, "mode": null})).map(|copy| copy.dest), Ok("5".to_owned()));
    }

    #[test]
    fn open_schemas_take_any_name() {
        for schema in [|| json!({"properties": {}, "additionalProperties": true}), || json!({"oneOf": []})] {
            assert!(takes(&Known::typed("set_fact", schema), "anything"));
        }
        assert!(!takes(&Known::typed("copy", || json!({"properties": {}})), "anything"));
        assert!(takes(&Known::any("set_fact"), "anything"));
    }

    #[test]
    fn all_faults_are_told_at_once() {
        let faults =
            read(json!({"bakup": 1, "state": "presnt", "backup": "maybe", "foo": 1})).expect_err("faults");
        let told: Vec<&str> = faults.iter().map(|(message, _)| message.as_str()).collect();
        assert_eq!(
            told,
            [
                "`copy` takes no `bakup`",
                "`state` wants one of present, absent, not \"presnt\"",
                "`backup` wants true or false, not \"maybe\"",
                "`copy` takes no `foo`",
                "`copy` needs `dest`",
            ]
        );
        assert_eq!(faults[0].1, "did you mean `backup`?");
        assert_eq!(faults[1].1, "did you mean `present`?");
        assert_eq!(read(json!({"dest": "a", "size": 3})).expect_err("odd")[0].0, "`size`: 3 is odd");
        assert_eq!(
            read(json!({"dest": "a", "name": "b"})).expect_err("twice")[0].0,
            "`name` and `dest` are the same argument"
        );
    }
}
