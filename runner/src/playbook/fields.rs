//! Reading a keyword's value: the right kind, or a problem at its place.
use std::sync::Arc;

use super::tree::Setting;
use crate::diagnostic::{Diagnostic, Problems};
use crate::yaml::{Data, Node};

/// Whether a text holds a template.
pub fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

/// Whether a node is text with a template.
pub fn templated(node: &Node) -> bool {
    node.as_str().is_some_and(is_template)
}

/// Moves a node out of a tree that is being taken apart.
pub fn grab(value: &mut Node) -> Node {
    let data = std::mem::replace(&mut value.data, Data::Null);
    Node { data, span: value.span.clone(), tag: value.tag.take() }
}

/// Adds "did you mean" to a problem.
pub fn nearest(problem: Diagnostic, near: Option<&str>) -> Diagnostic {
    match near {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None => problem,
    }
}

/// The problem of a value of the wrong kind.
pub fn unfit(key: &Node, value: &Node, wanted: &str) -> Diagnostic {
    let raw = value.raw();
    let short = raw.chars().count() <= 40 && !raw.contains('\n') && !raw.is_empty();
    let found = match &value.data {
        Data::Null => "; it is empty".to_owned(),
        Data::Seq(_) | Data::Map(_) => format!(", not {}", value.kind()),
        _ if short && value.tag.is_none() => format!(", not `{raw}`"),
        _ => format!(", not {}", value.kind()),
    };
    let span = if raw.is_empty() { key.span.clone() } else { value.span.clone() };
    Diagnostic::error(format!("`{}` wants {wanted}{found}", key.key_text()), span)
}

fn report<T>(problems: &mut Problems, problem: Diagnostic) -> Option<T> {
    problems.push(problem);
    None
}

/// Python's words for a boolean, as Ansible takes them where a boolean is wanted.
pub fn boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "yes" | "on" | "true" | "t" | "y" | "1" => Some(true),
        "no" | "off" | "false" | "f" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// A boolean, a word for one, or a template.
pub fn flag(key: &Node, value: &Node, problems: &mut Problems) -> Option<Setting<bool>> {
    match &value.data {
        Data::Bool(value) => Some(Setting::Fixed(*value)),
        Data::Int(value @ 0..=1) => Some(Setting::Fixed(*value == 1)),
        Data::Str(text) if is_template(text) => Some(Setting::Template(Arc::new(value.clone()))),
        Data::Str(text) if boolean(text).is_some() => boolean(text).map(Setting::Fixed),
        _ => report(problems, unfit(key, value, "yes or no").help("write `true`, `false` or a template")),
    }
}

/// Text, a number taken as text, or a template.
pub fn text(key: &Node, value: &Node, problems: &mut Problems) -> Option<Setting<String>> {
    match &value.data {
        Data::Str(text) if is_template(text) => Some(Setting::Template(Arc::new(value.clone()))),
        Data::Str(text) => Some(Setting::Fixed(text.clone())),
        Data::Int(number) => Some(Setting::Fixed(number.to_string())),
        _ => report(problems, unfit(key, value, "text")),
    }
}

/// Text that must be known now.
pub fn word(key: &Node, value: &Node, problems: &mut Problems) -> Option<String> {
    match text(key, value, problems)? {
        Setting::Fixed(text) => Some(text),
        Setting::Template(_) => {
            let message = format!("`{}` cannot be a template", key.key_text());
            report(problems, Diagnostic::error(message, value.span.clone()).help("write the value out"))
        }
    }
}

/// A name for a variable: letters, digits and `_`.
pub fn variable(key: &Node, value: &Node, problems: &mut Problems) -> Option<String> {
    let name = word(key, value, problems)?;
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if starts && letters.all(|letter| letter.is_alphanumeric() || letter == '_') {
        return Some(name);
    }
    let problem = Diagnostic::error(format!("`{name}` cannot be a variable's name"), value.span.clone());
    report(problems, problem.help("use letters, digits and `_`, and no digit first"))
}

/// A whole number not below `least`, or a template.
pub fn whole(key: &Node, value: &Node, least: i64, problems: &mut Problems) -> Option<Setting<i64>> {
    let found = match &value.data {
        Data::Int(number) => Some(*number),
        Data::Str(text) if is_template(text) => return Some(Setting::Template(Arc::new(value.clone()))),
        Data::Str(text) => text.trim().parse().ok(),
        _ => None,
    };
    match found.filter(|number| *number >= least) {
        Some(number) => Some(Setting::Fixed(number)),
        None => report(problems, unfit(key, value, &format!("a whole number from {least} on"))),
    }
}

/// A number not below 0, or a template.
pub fn number(key: &Node, value: &Node, problems: &mut Problems) -> Option<Setting<f64>> {
    let found = match &value.data {
        Data::Int(number) => number.to_string().parse().ok(),
        Data::Float(number) => Some(*number),
        Data::Str(text) if is_template(text) => return Some(Setting::Template(Arc::new(value.clone()))),
        Data::Str(text) => text.trim().trim_end_matches('%').parse().ok(),
        _ => None,
    };
    match found.filter(|number: &f64| *number >= 0.0) {
        Some(number) => Some(Setting::Fixed(number)),
        None => report(problems, unfit(key, value, "a number from 0 on")),
    }
}

/// One text or a list of texts, templates among them.
pub fn texts(key: &Node, value: &mut Node, problems: &mut Problems) -> Vec<Arc<Node>> {
    let node = grab(value);
    let members = match node.data {
        Data::Seq(members) => members,
        Data::Null => return Vec::new(),
        data => vec![Node { data, ..node }],
    };
    let mut texts = Vec::with_capacity(members.len());
    for mut member in members {
        match member.data {
            Data::Str(_) => texts.push(Arc::new(member)),
            Data::Int(number) => {
                member.data = Data::Str(number.to_string());
                texts.push(Arc::new(member));
            }
            _ => problems.push(unfit(key, &member, "text or a list of texts")),
        }
    }
    texts
}

/// Conditions: text, a boolean, or a list of them.
pub fn conditions(key: &Node, value: &mut Node, problems: &mut Problems) -> Vec<Arc<Node>> {
    let node = grab(value);
    let members = match node.data {
        Data::Seq(members) => members,
        data => vec![Node { data, ..node }],
    };
    let mut conditions = Vec::with_capacity(members.len());
    for member in members {
        match &member.data {
            Data::Str(text) if text.trim().is_empty() => problems.push(unfit(key, &member, "an expression")),
            Data::Str(_) | Data::Bool(_) => conditions.push(Arc::new(member)),
            _ => {
                let help =
                    "write an expression such as `x is defined`; quote it if it starts with `[` or `{`";
                problems.push(unfit(key, &member, "an expression, a boolean, or a list of them").help(help));
            }
        }
    }
    conditions
}

/// A mapping, a template that gives one, or a list of both.
pub fn mappings(key: &Node, value: &mut Node, problems: &mut Problems) -> Vec<Arc<Node>> {
    let node = grab(value);
    let members = match node.data {
        Data::Seq(members) => members,
        Data::Null => return Vec::new(),
        data => vec![Node { data, ..node }],
    };
    let mut mappings = Vec::with_capacity(members.len());
    for member in members {
        if member.as_map().is_some() || templated(&member) {
            mappings.push(Arc::new(member));
        } else {
            problems.push(unfit(key, &member, "a mapping"));
        }
    }
    mappings
}

/// A mapping of variables; a list of mappings, as old playbooks have it, is joined.
pub fn variables(key: &Node, value: &mut Node, problems: &mut Problems) -> Option<Arc<Node>> {
    let mut node = grab(value);
    match node.data {
        Data::Null => return None,
        Data::Seq(members) if members.iter().all(|member| member.as_map().is_some()) => {
            let pairs = members.into_iter().flat_map(|member| match member.data {
                Data::Map(pairs) => pairs,
                _ => Vec::new(),
            });
            node.data = Data::Map(pairs.collect());
        }
        Data::Map(_) => {}
        data => {
            node.data = data;
            let problem = unfit(key, &node, "a mapping of names and values");
            return report(problems, problem.help("write each as `name: value`, without a `-`"));
        }
    }
    for (name, _) in node.entries() {
        variable(name, name, problems);
    }
    Some(Arc::new(node))
}

/// A list of tasks, plays or roles; nothing at all is an empty one.
pub fn list(key: &Node, value: &mut Node, of: &str, problems: &mut Problems) -> Vec<Node> {
    let node = grab(value);
    match node.data {
        Data::Seq(members) => members,
        Data::Null => Vec::new(),
        data => {
            let node = Node { data, ..node };
            problems.push(unfit(key, &node, &format!("a list of {of}")).help("start each member with `- `"));
            Vec::new()
        }
    }
}
