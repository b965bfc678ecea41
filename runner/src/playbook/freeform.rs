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
        let pair = key_value(&value[word.clone()]);
        match pair {
            Some(equals) if !raw || OPTIONS.contains(&&value[word.start..word.start + equals]) => {
                args.given.push(pair_of(
                    text,
                    value,
                    word.start..word.start + equals,
                    word.start + equals + 1..word.end,
                ));
            }
            _ => free.push(word),
        }
    }
    if let (Some(first), Some(last)) = (free.first(), free.last()) {
        let range = first.start..last.end;
        // Options stand at the ends in practice; where one stands between, the words are joined without it.
        let inside = free.windows(2).all(|pair| value[pair[0].end..pair[1].start].trim().is_empty());
        let data = if inside {
            value[range.clone()].to_owned()
        } else {
            free.iter().map(|word| &value[word.clone()]).collect::<Vec<_>>().join(" ")
        };
        args.free = Some(Node { data: Data::Str(data), span: text.part(range), tag: text.tag.clone() });
    }
    args
}

fn pair_of(text: &Node, value: &str, key: Range<usize>, rest: Range<usize>) -> (Node, Node) {
    let written = &value[rest.clone()];
    let data = Data::Str(unquoted(written));
    let name = Data::Str(value[key.clone()].trim().to_owned());
    (Node { data: name, span: text.part(key), tag: None }, Node { data, span: text.part(rest), tag: None })
}

/// Where the `=` of a `key=value` word stands; a key is a plain name.
fn key_value(word: &str) -> Option<usize> {
    let equals = word.find('=')?;
    let named = !word[..equals].is_empty()
        && word[..equals].chars().all(|letter| letter.is_alphanumeric() || "_-.".contains(letter));
    named.then_some(equals)
}

/// The text without the quotes that enclose it, escapes resolved.
fn unquoted(text: &str) -> String {
    let inner = ['"', '\''].iter().find_map(|quote| {
        let inner = text.strip_prefix(*quote)?.strip_suffix(*quote)?;
        (!inner.ends_with('\\')).then_some(inner)
    });
    let text = inner.unwrap_or(text);
    if !text.contains('\\') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(quote @ ('"' | '\'' | '\\')) => out.push(quote),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

/// Splits at blanks outside of quotes and of `{{ }}`, `{% %}`, `{# #}`; nothing where one of them stays open.
pub fn split(text: &str) -> Option<Vec<Range<usize>>> {
    let mut words = Vec::new();
    let mut start = None;
    let mut quote = None;
    let mut closing: Option<&str> = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        if let Some(end) = closing {
            if text[..at + letter.len_utf8()].ends_with(end) {
                closing = None;
            }
            continue;
        }
        if letter.is_whitespace() && quote.is_none() {
            words.extend(start.take().map(|start| start..at));
            escaped = false;
            continue;
        }
        start.get_or_insert(at);
        let opened = ["{{", "{%", "{#"].iter().position(|brace| text[at..].starts_with(brace));
        if let Some(found) = opened {
            closing = Some(["}}", "%}", "#}"][found]);
        } else if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
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

    #[test]
    fn open_quotes_are_told() {
        assert_eq!(read("line='a", false).2.len(), 1);
        assert_eq!(read("x={{ a", false).2.len(), 1);
    }
}
