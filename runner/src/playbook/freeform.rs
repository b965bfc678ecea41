//! Free-form arguments: `echo x creates=/y`, `path=/x line="a b"`, split as Ansible splits them.
use std::ops::Range;

use super::tree::Args;
use crate::diagnostic::{Diagnostic, Problems};
use crate::yaml::{Data, Node};

/// What `command`, `shell` and `script` take out of their free-form text.
const OPTIONS: [&str; 8] =
    ["creates", "removes", "chdir", "executable", "warn", "stdin", "stdin_add_newline", "strip_empty_ends"];

/// Splits `key=value` pairs; `raw` keeps everything that is no known option as one free-form text.
pub fn arguments(text: &Node, raw: bool, problems: &mut Problems) -> Args {
    let Some(value) = text.as_str() else { return Args::default() };
    let Some(words) = split(value) else {
        let problem = Diagnostic::error("a quote or a brace is never closed", text.span.clone());
        problems.push(problem.help("close it, or write the arguments as a mapping, one a line"));
        return Args::default();
    };
    let mut args = Args::default();
    let mut free: Vec<Range<usize>> = Vec::new();
    for word in words {
        let pair = key_value(&value[word.clone()]).filter(|equals| {
            let key = &value[word.start..word.start + equals];
            !raw || OPTIONS.contains(&key)
        });
        match pair {
            Some(equals) => {
                let key = word.start..word.start + equals;
                args.given.push(pair_of(text, value, key, word.start + equals + 1..word.end));
            }
            None => free.push(word),
        }
    }
    if let (Some(first), Some(last)) = (free.first(), free.last()) {
        let span = text.part(first.start..last.end);
        args.free = Some(Node { data: Data::Str(joined(value, &free)), span, tag: text.tag.clone() });
    }
    args
}

/// The words with the blanks that followed them; `\` at the end of a line joins it with the next one.
fn joined(value: &str, words: &[Range<usize>]) -> String {
    let mut out = String::new();
    for (at, word) in words.iter().enumerate() {
        let text = &value[word.clone()];
        if text == "\\" {
            continue;
        }
        out.push_str(text);
        if at + 1 < words.len() {
            let rest = &value[word.end..];
            let gap = &rest[..rest.len() - rest.trim_start_matches([' ', '\n']).len()];
            out.push_str(gap);
        }
    }
    out
}

fn pair_of(text: &Node, value: &str, key: Range<usize>, rest: Range<usize>) -> (Node, Node) {
    let written = &value[rest.clone()];
    let data = Data::Str(unquoted(written));
    let name = Data::Str(decoded(&value[key.clone()]).trim().to_owned());
    (Node { data: name, span: text.part(key), tag: None }, Node { data, span: text.part(rest), tag: None })
}

/// Where the `=` of a `key=value` word stands: the first that is neither the first letter nor escaped.
fn key_value(word: &str) -> Option<usize> {
    let mut equals = word.match_indices('=').map(|(at, _)| at);
    equals.find(|at| *at > 0 && !word[..*at].ends_with('\\'))
}

/// The text with its escapes resolved, then without the quotes that enclose it: in this order, as in Ansible.
fn unquoted(text: &str) -> String {
    let text = decoded(text);
    let text = text.trim();
    let inner = ['"', '\''].iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.ends_with('\\')).then_some(inner)
    });
    inner.unwrap_or(text).to_owned()
}

fn decoded(text: &str) -> String {
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let code = rest[at + 1..].chars().next();
        let (letter, length) = match code {
            Some('n') => (Some('\n'), 1),
            Some('t') => (Some('\t'), 1),
            Some('r') => (Some('\r'), 1),
            Some('a') => (Some('\u{7}'), 1),
            Some('b') => (Some('\u{8}'), 1),
            Some('f') => (Some('\u{c}'), 1),
            Some('v') => (Some('\u{b}'), 1),
            Some(same @ ('"' | '\'' | '\\')) => (Some(same), 1),
            Some('x') => (numbered(&rest[at + 2..], 2), 3),
            Some('u') => (numbered(&rest[at + 2..], 4), 5),
            Some('U') => (numbered(&rest[at + 2..], 8), 9),
            _ => (None, 0),
        };
        out.push(letter.unwrap_or('\\'));
        let length = if letter.is_some() { length } else { 0 };
        rest = &rest[at + 1 + length..];
    }
    out.push_str(rest);
    out
}

/// A letter by its number in so many hexadecimal digits.
fn numbered(text: &str, digits: usize) -> Option<char> {
    let code = text.get(..digits).filter(|code| code.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    char::from_u32(u32::from_str_radix(code, 16).ok()?)
}

/// Splits at blanks outside of quotes and of `{{ }}`, `{% %}`, `{# #}`; nothing where one of them stays open.
pub fn split(text: &str) -> Option<Vec<Range<usize>>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut quote = None;
    let mut closing: Option<&str> = None;
    for (at, letter) in text.char_indices() {
        if let Some(end) = closing {
            if text[..at + letter.len_utf8()].ends_with(end) {
                closing = None;
            }
            continue;
        }
        if matches!(letter, ' ' | '\n') && quote.is_none() {
            words.extend(start.take().map(|start| start..at));
            continue;
        }
        start.get_or_insert(at);
        let opened = ["{{", "{%", "{#"].iter().position(|brace| text[at..].starts_with(brace));
        if let Some(found) = opened {
            closing = Some(["}}", "%}", "#}"][found]);
        } else if text[..at].ends_with('\\') {
            // One backslash before a quote escapes it, whatever stands before the backslash.
        } else if quote == Some(letter) {
            quote = None;
        } else if quote.is_none() && matches!(letter, '"' | '\'') {
            quote = Some(letter);
        }
    }
    words.extend(start.map(|start| start..text.len()));
    (quote.is_none() && closing.is_none()).then_some(words)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value as Json};

    use super::*;
    use crate::source::Source;
    use crate::yaml::parse_one;

    fn read(text: &str, raw: bool) -> (Vec<(String, String)>, Option<String>, Problems) {
        let node = parse_one(&Source::new("t", text)).expect(text);
        let mut problems = Vec::new();
        let args = arguments(&node, raw, &mut problems);
        for (key, value) in &args.given {
            assert!(key.raw().contains(key.as_str().expect("key")), "{text}: {:?}", key.raw());
            assert!(node.raw().contains(value.raw()));
        }
        let given = args.given.iter().map(|(key, value)| {
            (key.as_str().expect("key").to_owned(), value.as_str().expect("value").to_owned())
        });
        (given.collect(), args.free.and_then(|free| free.as_str().map(str::to_owned)), problems)
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn pairs_are_split_as_in_ansible() {
        assert_eq!(
            read("path=/x line=\"a b\" mode=0644", false).0,
            [pair("path", "/x"), pair("line", "a b"), pair("mode", "0644")]
        );
        assert_eq!(
            read("x={{ a | default('b c') }} y='z'", false).0,
            [pair("x", "{{ a | default('b c') }}"), pair("y", "z")]
        );
        assert_eq!(read("line='a=b \"c\"'", false).0, [pair("line", "a=b \"c\"")]);
        assert_eq!(read("content=a\\nb", false).0, [pair("content", "a\nb")]);
    }

    #[test]
    fn commands_keep_their_text() {
        let (given, free, _) = read("echo a=b 'c  d'  creates=/y chdir=\"/a b\"", true);
        assert_eq!(given, [pair("creates", "/y"), pair("chdir", "/a b")]);
        assert_eq!(free.as_deref(), Some("echo a=b 'c  d'"));
        assert_eq!(read("chdir=/x ls -l", true).1.as_deref(), Some("ls -l"));
        assert_eq!(read("a creates=/x b", true).1.as_deref(), Some("a b"));
        assert_eq!(read("echo {{ 'a b' }} x", true).1.as_deref(), Some("echo {{ 'a b' }} x"));
    }

    /// tests/data/playbooks/freeform.json: random texts, and what ansible-core 2.19.14's `parse_kv` makes of them
    /// without and with `check_raw` (free text trimmed); null where it refuses them.
    #[test]
    fn texts_are_split_as_ansible_splits_them() {
        type Row = (String, Option<Map<String, Json>>, Option<Map<String, Json>>);
        let rows: Vec<Row> =
            serde_json::from_str(include_str!("../../../tests/data/playbooks/freeform.json")).expect("rows");
        let mut wrong = Vec::new();
        for (text, plain, raw) in &rows {
            for (expected, mode) in [(plain, false), (raw, true)] {
                let source = Source::new("t", text.as_str());
                let span = crate::source::Span::new(&source, 0, text.len());
                let node = Node { data: Data::Str(text.clone()), span, tag: None };
                let mut problems = Vec::new();
                let args = arguments(&node, mode, &mut problems);
                let mut found: Map<String, Json> = Map::new();
                for (key, value) in &args.given {
                    found.insert(key.as_str().expect("key").to_owned(), value.to_json());
                }
                if let Some(free) = args.free {
                    let text = free.as_str().expect("text").trim();
                    found.insert("_raw_params".to_owned(), Json::from(text));
                }
                let found = Some(found).filter(|_| problems.is_empty());
                if found != *expected {
                    wrong.push(format!("{text:?} {mode}: {found:?}\n   instead of {expected:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    }

    #[test]
    fn open_quotes_are_told() {
        assert_eq!(read("line='a", false).2.len(), 1);
        assert_eq!(read("x={{ a", false).2.len(), 1);
    }
}
