//! Filters from and to YAML; what is written reads back the same, in PyYAML's block style.
use super::super::Json;
use super::super::calls::{Bound, Callee, row};
use super::super::eval::Eval;
use super::super::fault::Fault;
use super::super::show;
use super::super::value::Val;
use crate::source::Source;
use crate::yaml;

pub(super) static TABLE: [Callee; 4] = [
    row("from_yaml", &["value"], from_yaml),
    row("from_yaml_all", &["value"], from_yaml_all),
    row("to_nice_yaml", YAML, to_nice_yaml),
    row("to_yaml", YAML, to_yaml),
];

const YAML: &[&str] = &["value", "indent", "sort_keys", "default_flow_style", "width", "allow_unicode"];

fn documents(eval: &Eval<'_>, bound: &Bound) -> Result<Vec<Json>, Fault> {
    let text = bound.str(eval, 0, "text")?;
    let read = yaml::parse(&Source::new("<from_yaml>", &*text));
    let nodes = read.map_err(|_| bound.fail("this is no YAML"))?;
    Ok(nodes.iter().map(yaml::Node::to_json).collect())
}

fn from_yaml(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    if bound.input().as_str().is_none() {
        return Ok(bound.input().clone());
    }
    let mut documents = documents(eval, bound)?;
    match documents.len() {
        0 => Ok(Val::None),
        1 => eval.plain(documents.remove(0), bound.place),
        _ => Err(bound.fail("there are several documents: use `from_yaml_all`")),
    }
}

fn from_yaml_all(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    eval.plain(Json::Array(documents(eval, bound)?), bound.place)
}

fn to_yaml(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let why = "its mix of styles is not offered: use `to_nice_yaml` or `to_json`";
    Err(Fault::unsupported("filter `to_yaml`", why, bound.range()))
}

fn to_nice_yaml(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let indent = bound.int(1)?.unwrap_or(4).clamp(2, 9) as usize;
    let sort = bound.get(2).map_or(Ok(true), |val| eval.truth(val, bound.place))?;
    if bound.get(3).is_some_and(|val| !matches!(val, Val::Bool(false))) {
        let why = "only the block style is offered: leave it out";
        return Err(Fault::unsupported("`default_flow_style`", why, bound.range()));
    }
    let width = bound.int(4)?.unwrap_or(80);
    let json = eval.json(bound.input(), bound.place)?;
    let writer = Writer { indent, sort, width: usize::try_from(width).unwrap_or(80), bound };
    let mut out = String::new();
    match &json {
        Json::Array(items) if !items.is_empty() => writer.list(items, 0, &mut out)?,
        Json::Object(map) if !map.is_empty() => writer.map(map, 0, &mut out)?,
        scalar => {
            out.push_str(&writer.scalar(scalar)?);
            out.push('\n');
        }
    }
    Ok(Val::text(out))
}

struct Writer<'a> {
    indent: usize,
    sort: bool,
    width: usize,
    bound: &'a Bound,
}

impl Writer<'_> {
    fn list(&self, items: &[Json], depth: usize, out: &mut String) -> Result<(), Fault> {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push_str(&" ".repeat(depth));
            }
            out.push('-');
            // libyaml pads the dash before collections only.
            let inner = matches!(item, Json::Array(items) if !items.is_empty())
                || matches!(item, Json::Object(map) if !map.is_empty());
            out.push_str(&" ".repeat(if inner { self.indent - 1 } else { 1 }));
            self.value(item, depth + self.indent, true, out)?;
        }
        Ok(())
    }

    fn map(&self, map: &serde_json::Map<String, Json>, depth: usize, out: &mut String) -> Result<(), Fault> {
        let mut entries: Vec<_> = map.iter().collect();
        if self.sort {
            entries.sort_by_key(|(key, _)| *key);
        }
        for (index, (key, item)) in entries.into_iter().enumerate() {
            if index > 0 {
                out.push_str(&" ".repeat(depth));
            }
            out.push_str(&self.text(key)?);
            out.push(':');
            match item {
                Json::Array(items) if !items.is_empty() => {
                    out.push('\n');
                    out.push_str(&" ".repeat(depth));
                    self.list(items, depth, out)?;
                }
                Json::Object(map) if !map.is_empty() => {
                    out.push('\n');
                    out.push_str(&" ".repeat(depth + self.indent));
                    self.map(map, depth + self.indent, out)?;
                }
                _ => {
                    out.push(' ');
                    self.value(item, depth, false, out)?;
                }
            }
        }
        Ok(())
    }

    fn value(&self, item: &Json, depth: usize, inline: bool, out: &mut String) -> Result<(), Fault> {
        match item {
            Json::Array(items) if inline && !items.is_empty() => self.list(items, depth, out),
            Json::Object(map) if inline && !map.is_empty() => self.map(map, depth, out),
            scalar => {
                out.push_str(&self.scalar(scalar)?);
                let line = out.rsplit('\n').next().unwrap_or("");
                if line.chars().count() > self.width && scalar.as_str().is_some_and(|text| text.contains(' '))
                {
                    let why = "PyYAML would fold this line: give `width=1000`, or use `to_nice_json`";
                    return Err(Fault::unsupported("long lines in `to_nice_yaml`", why, self.bound.range()));
                }
                out.push('\n');
                Ok(())
            }
        }
    }

    fn scalar(&self, scalar: &Json) -> Result<String, Fault> {
        Ok(match scalar {
            Json::String(text) => self.text(text)?,
            Json::Number(n) => match n.as_f64().filter(|_| n.is_f64()) {
                Some(f) => show::float(f),
                None => n.to_string(),
            },
            Json::Bool(b) => b.to_string(),
            Json::Null => "null".to_owned(),
            Json::Array(_) => "[]".to_owned(),
            Json::Object(_) => "{}".to_owned(),
        })
    }

    /// Plain where that reads back as the same text, else in single quotes.
    fn text(&self, text: &str) -> Result<String, Fault> {
        if text.chars().any(|c| c.is_control()) {
            let why = "text with line breaks is not offered here: use `to_nice_json`";
            return Err(Fault::unsupported("line breaks in `to_nice_yaml`", why, self.bound.range()));
        }
        if plain(text) { Ok(text.to_owned()) } else { Ok(format!("'{}'", text.replace('\'', "''"))) }
    }
}

/// Whether the text stands without quotes, by PyYAML's rules.
fn plain(text: &str) -> bool {
    let Some(first) = text.chars().next() else { return false };
    let rest = text.chars().nth(1);
    let indicator = "#,[]{}&*!|>'\"%@`".contains(first)
        || ("?:-".contains(first) && rest.is_none_or(char::is_whitespace));
    let reads_as_text = || {
        let source = Source::new("<text>", text);
        let typed = yaml::parse_one(&source).map(|node| node.to_json());
        matches!(typed, Ok(Json::String(read)) if read == text)
    };
    let old = ["y", "n", "Y", "N", "=", "<<", "---", "..."].contains(&text);
    let number =
        first.is_ascii_digit() && text.chars().all(|c| c.is_ascii_digit() || "-: .TtZ_+".contains(c));
    !(indicator
        || (old && !"yYnN".contains(text))
        || number && text.contains(['-', ':'])
        || text.starts_with([' ', '-']) && rest.is_none_or(|c| c == '-')
        || text.ends_with(' ')
        || text.contains(": ")
        || text.ends_with(':')
        || text.contains(" #"))
        && reads_as_text()
}
