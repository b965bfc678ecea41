//! Where in a document the caret stands: the keys around it, and whether a key or a value is being written.
use super::outline::{Line, one, outline};
use std::ops::Range;

/// A step from the root of a document to a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into the value of a key.
    Key(String),
    /// Into a member of a list.
    Member,
}

/// What the caret stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// The way from the root.
    pub path: Vec<Step>,
    /// The key whose value it is; none where a key is written.
    pub value_of: Option<String>,
    /// What stands before the caret, of this key or value.
    pub prefix: String,
    /// The whole word under the caret.
    pub word: String,
    /// The bytes of that word.
    pub range: Range<usize>,
    /// Inside of an expression: what stands before the caret there.
    pub expression: Option<String>,
}

/// Keys whose values are expressions without braces.
const EXPRESSIONS: [&str; 6] = ["when", "until", "changed_when", "failed_when", "that", "var"];

/// The context of a byte of a text.
pub fn context(text: &str, at: usize) -> Context {
    let lines = outline(text);
    let start = text[..at].rfind('\n').map_or(0, |found| found + 1);
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    let here = text[start..end].trim_end_matches('\r');
    let before = lines.partition_point(|line| line.start < start);
    let mut line = lines.get(before).filter(|line| line.start == start).cloned();
    if line.is_none() && here.trim().is_empty() {
        // Nothing is written yet: the caret's own column tells where it will belong.
        let mut empty = one(start, here);
        empty.column = at - start;
        line = Some(empty);
    }
    let block = line.is_none();
    let line = line.unwrap_or_else(|| one(start, here));
    let (word, range) = word_at(text, at, start..start + here.len());
    let mut found = Context {
        path: Vec::new(),
        value_of: None,
        prefix: text[range.start..at.max(range.start)].to_owned(),
        word,
        range,
        expression: expression(&text[start..at]),
    };
    if block {
        // Inside of a block text: the key above that it belongs to.
        let owner = lines[..before].last();
        if let Some(owner) = owner {
            found.path = parents(text, &lines[..before - 1], owner);
            found.value_of = owner.key(text).map(str::to_owned);
        }
        return found;
    }
    found.path = parents(text, &lines[..before], &line);
    let in_value =
        line.key.is_some() && at >= line.value.start.min(line.key.as_ref().map_or(at, |key| key.end + 1));
    let flows = in_value || line.key.is_none() && text[line.value.clone()].starts_with(['{', '[']);
    if in_value {
        found.value_of = line.key(text).map(str::to_owned);
    }
    if flows {
        flow(&text[line.value.start.min(at)..at], &mut found);
    } else if line.key.is_none() && !line.dashes.is_empty() && !here.trim().is_empty() {
        // `- word` may become a key, or be a member as it stands.
        found.value_of = None;
    }
    let owner = found.value_of.clone().or_else(|| last_key(&found.path));
    if found.expression.is_none()
        && owner.is_some_and(|key| EXPRESSIONS.contains(&key.as_str()))
        && (in_value || !line.dashes.is_empty())
    {
        let value = line.value.start.min(at);
        found.expression = Some(text[value..at].trim_start_matches(['"', '\'']).to_owned());
    }
    found
}

/// The last key of a path, members aside.
pub fn last_key(path: &[Step]) -> Option<String> {
    path.iter().rev().find_map(|step| match step {
        Step::Key(key) => Some(key.clone()),
        Step::Member => None,
    })
}

/// The way from the root to the mapping or list that a line belongs to.
pub fn parents(text: &str, above: &[Line], line: &Line) -> Vec<Step> {
    let mut climb = Climb { steps: Vec::new(), limit: line.column, in_list: false };
    climb.dashes(line);
    for other in above.iter().rev() {
        if climb.limit == 0 && !climb.in_list {
            break;
        }
        climb.line(text, other);
    }
    climb.steps.reverse();
    climb.steps
}

/// The way up from a line: what stands further left owns it.
struct Climb {
    /// The innermost step first.
    steps: Vec<Step>,
    /// The column of what was reached.
    limit: usize,
    /// Whether that is the dash of a member, whose list belongs to a key.
    in_list: bool,
}

impl Climb {
    /// The dashes of a line that stand left of what was reached.
    fn dashes(&mut self, line: &Line) {
        for dash in line.dashes.iter().rev() {
            if *dash < self.limit {
                self.steps.push(Step::Member);
                self.limit = *dash;
                self.in_list = true;
            }
        }
    }

    fn line(&mut self, text: &str, line: &Line) {
        let beside = line.column == self.limit;
        // A list may stand in the column of the key that it belongs to.
        let heads_list = self.in_list && beside && line.value(text).is_empty();
        let owner = line.key(text).filter(|_| line.column < self.limit || heads_list);
        if let Some(key) = owner {
            self.steps.push(Step::Key(key.to_owned()));
            (self.limit, self.in_list) = (line.column, false);
            self.dashes(line);
        } else if !self.in_list || line.dashes.contains(&self.limit) {
            // The first key of this very member, or the member before.
            self.dashes(line);
        }
    }
}

/// Goes into mappings and lists that are written in one line, up to the caret.
fn flow(written: &str, found: &mut Context) {
    /// An open bracket, and the key before the colon inside of it.
    struct Open {
        map: bool,
        key: Option<String>,
        from: usize,
    }
    let mut open: Vec<Open> = Vec::new();
    let mut quote = None;
    let mut owner = found.value_of.take();
    let mut skip = 0;
    for (at, sign) in written.char_indices() {
        if at < skip {
            continue;
        }
        match (sign, quote) {
            (sign, Some(inside)) if sign == inside => quote = None,
            (_, Some(_)) => {}
            ('"' | '\'', None) => quote = Some(sign),
            ('{', None) if written[at..].starts_with("{{") => {
                skip = written[at..].find("}}").map_or(written.len(), |end| at + end + 2);
            }
            ('{' | '[', None) => {
                match (open.last(), owner.take()) {
                    (Some(outer), _) if outer.map => found.path.extend(outer.key.clone().map(Step::Key)),
                    (Some(_), _) => found.path.push(Step::Member),
                    (None, Some(key)) => found.path.push(Step::Key(key)),
                    (None, None) => {}
                }
                open.push(Open { map: sign == '{', key: None, from: at + 1 });
            }
            ('}' | ']', None) => {
                open.pop();
                found.path.pop();
            }
            (':', None) if written[at + 1..].starts_with(' ') || at + 1 == written.len() => {
                if let Some(inner) = open.last_mut().filter(|inner| inner.map && inner.key.is_none()) {
                    inner.key = Some(written[inner.from..at].trim().trim_matches(['"', '\'']).to_owned());
                }
            }
            (',', None) => {
                if let Some(inner) = open.last_mut() {
                    (inner.key, inner.from) = (None, at + 1);
                }
            }
            _ => {}
        }
    }
    match open.last() {
        Some(inner) if inner.map => found.value_of.clone_from(&inner.key),
        Some(_) => {
            // A member of a list is told as the value of the list's key.
            found.value_of = match found.path.pop() {
                Some(Step::Key(key)) => Some(key),
                _ => None,
            };
        }
        None => found.value_of = owner,
    }
}

/// The expression that is open before the caret.
fn expression(before: &str) -> Option<String> {
    let open = before.rfind("{{").or_else(|| before.rfind("{%"))?;
    let inside = &before[open + 2..];
    (!inside.contains("}}") && !inside.contains("%}")).then(|| inside.to_owned())
}

/// The word around a byte: letters of names, dots and dashes.
fn word_at(text: &str, at: usize, line: Range<usize>) -> (String, Range<usize>) {
    let part = |sign: char| sign.is_alphanumeric() || matches!(sign, '_' | '.' | '-' | '/' | '%');
    let start = text[line.start..at].rfind(|sign| !part(sign)).map_or(line.start, |found| {
        let sign = text[line.start + found..].chars().next().map_or(1, char::len_utf8);
        line.start + found + sign
    });
    let end =
        text[at..line.end.max(at)].find(|sign| !part(sign)).map_or(line.end.max(at), |found| at + found);
    (text[start..end].to_owned(), start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The context at the mark `|` of a text.
    fn at(marked: &str) -> (String, Option<String>, String, Option<String>) {
        let at = marked.find('¦').unwrap();
        let text = marked.replace('¦', "");
        let found = context(&text, at);
        let path: Vec<String> = found
            .path
            .iter()
            .map(|step| match step {
                Step::Key(key) => key.clone(),
                Step::Member => "-".to_owned(),
            })
            .collect();
        (path.join("/"), found.value_of, found.prefix, found.expression)
    }

    fn told(marked: &str) -> String {
        let (path, value_of, prefix, expression) = at(marked);
        let of = value_of.map(|key| format!(" = {key}")).unwrap_or_default();
        let inside = expression.map(|text| format!(" in [{text}]")).unwrap_or_default();
        format!("{path}{of} `{prefix}`{inside}")
    }

    #[test]
    fn keys_are_written_below_what_stands_left_of_them() {
        assert_eq!(told("- hosts: all\n  ga¦"), "- `ga`");
        assert_eq!(told("- hosts: all\n  tasks:\n    - sys¦"), "-/tasks/- `sys`");
        assert_eq!(
            told("- hosts: all\n  tasks:\n    - name: x\n      sysctl:\n        na¦"),
            "-/tasks/-/sysctl `na`"
        );
        assert_eq!(told("- hosts: all\n  tasks:\n    - name: x\n      ¦\n    - debug:\n"), "-/tasks/- ``");
        assert_eq!(
            told("- hosts: all\n  tasks:\n  - block:\n    - debug:\n        ms¦\n"),
            "-/tasks/-/block/-/debug `ms`"
        );
        assert_eq!(told("- hosts: all\n  tasks:\n  - debug: {}\n  ¦"), "- ``");
        assert_eq!(told("all:\n  hosts:\n    osd1:\n      ansible_¦"), "all/hosts/osd1 `ansible_`");
        assert_eq!(told("¦"), " ``");
    }

    #[test]
    fn values_know_their_key() {
        assert_eq!(told("- hosts: all\n  order: so¦"), "- = order `so`");
        assert_eq!(told("- hosts: all\n  order: ¦"), "- = order ``");
        assert_eq!(told("- hosts: all\n  tasks:\n    - sysctl: {name: x, st¦}"), "-/tasks/-/sysctl `st`");
        assert_eq!(
            told("- hosts: all\n  tasks:\n    - sysctl: {name: x, state: pre¦"),
            "-/tasks/-/sysctl = state `pre`"
        );
        assert_eq!(told("- hosts: all\n  roles: [a, b¦"), "- = roles `b`");
        assert_eq!(told("- hosts: all\n  roles: [{role: a, ta¦"), "-/roles/- `ta`");
        assert_eq!(
            told("- hosts: all\n  gate:\n    metrics:\n      - {direction: lo¦"),
            "-/gate/metrics/- = direction `lo`"
        );
    }

    #[test]
    fn expressions_are_told_apart() {
        assert_eq!(told("- debug: {msg: \"😀 {{ swap¦\"}"), "-/debug = msg `swap` in [ swap]");
        assert_eq!(told("- debug:\n  when: a and b¦"), "- = when `b` in [a and b]");
        assert_eq!(told("- debug:\n  when:\n    - a¦"), "-/when/- `a` in [a]");
        assert_eq!(told("- debug: {msg: \"{{ a }} b¦\"}"), "-/debug = msg `b`");
        assert_eq!(told("- shell: |\n    echo {{ x¦ }}\n"), "- = shell `x` in [ x]");
    }
}
