//! What is wrong with a YAML text, said to a person who writes playbooks.
use std::ops::Range;
use std::sync::Arc;

use serde_yaml::granit_parser::{ErrorKind, ScanError};

use super::Node;
use crate::diagnostic::Diagnostic;
use crate::source::{Source, Span};

const QUOTE: &str =
    "quote it: a value that starts with `{{` must stand in quotes, as in `key: \"{{ name }}\"`";

/// A fault that ended the reading.
pub fn syntax(source: &Arc<Source>, error: &ScanError) -> Diagnostic {
    let at = error.marker().byte_offset().unwrap_or(source.text.len()).min(source.text.len());
    let start = back_to_text(source, at);
    let line = line_at(source, start);
    let mut problem = Diagnostic::error(message(error.kind()), Span::new(source, start, start));
    if let Some((range, help)) = likely(line.text(), error.kind()) {
        problem.span = Some(Span::new(source, line.start + range.start, line.start + range.end));
        problem = problem.help(help);
    } else if let Some(help) = help(error.kind()) {
        problem = problem.help(help);
    }
    problem
}

/// A parser stops past the fault, often at the start of the next line or at the end of the file.
fn back_to_text(source: &Arc<Source>, at: usize) -> usize {
    let span = Span::new(source, at, at);
    if source.text[span.start..].trim().is_empty() {
        source.text[..span.start].trim_end().len()
    } else {
        span.start
    }
}

fn line_at(source: &Arc<Source>, at: usize) -> Span {
    let start = source.text[..at].rfind('\n').map_or(0, |found| found + 1);
    let end = source.text[at..].find('\n').map_or(source.text.len(), |found| at + found);
    Span::new(source, start, end)
}

/// What most likely happened on the line, with the place of the culprit.
fn likely(line: &str, kind: &ErrorKind) -> Option<(Range<usize>, String)> {
    let indent = line.len() - line.trim_start().len();
    if line[..indent].contains('\t') {
        return Some((0..indent, "indent with spaces: YAML takes no tabs there".to_owned()));
    }
    let value = value_start(line)?;
    let text = line[value..].trim_end();
    let value = value..value + text.len();
    if text.starts_with("{{") || text.starts_with("{%") {
        return Some((value, QUOTE.to_owned()));
    }
    if let Some(quote) = text.chars().next().filter(|first| "\"'".contains(*first)) {
        let closed = text[1..].find(quote).map(|found| found + 2);
        if closed.is_some_and(|closed| closed < text.len()) {
            let outer = if quote == '"' { '\'' } else { '"' };
            return Some((
                value,
                format!("the text goes on after its closing quote: put the whole value in {outer} quotes"),
            ));
        }
    } else if text.contains(": ")
        && matches!(kind, ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidSimpleKey)
    {
        return Some((
            value,
            format!("a `: ` inside a value needs quotes: \"{}\"", text.replace('"', "\\\"")),
        ));
    } else if text.starts_with(['@', '`', '%']) {
        return Some((value, format!("a value cannot start with `{}`: quote it", &text[..1])));
    }
    None
}

/// Where the value of a `key: value` or `- value` line starts.
fn value_start(line: &str) -> Option<usize> {
    let mut at = line.len() - line.trim_start().len();
    while line[at..].starts_with("- ") {
        at += 2;
        at += line[at..].len() - line[at..].trim_start().len();
    }
    if let Some(colon) = line[at..].find(": ").filter(|_| !line[at..].starts_with(['"', '\'', '{'])) {
        at += colon + 2;
        at += line[at..].len() - line[at..].trim_start().len();
    }
    (at < line.len()).then_some(at)
}

fn message(kind: &ErrorKind) -> String {
    use ErrorKind::{
        ExpectedBlockMappingKey, ExpectedBlockSequenceEntry, InvalidIndentation,
        InvalidTrailingDoubleQuotedScalar, InvalidTrailingSingleQuotedScalar, MappingValueNotAllowed,
        RecursionLimitExceeded, SimpleKeyExpected, TabInBlockIndentation, TabInIndentation, TabNotAllowed,
        UnclosedFlowCollection, UnclosedQuotedScalar,
    };
    match kind {
        InvalidTrailingDoubleQuotedScalar | InvalidTrailingSingleQuotedScalar => {
            "text after a closing quote".to_owned()
        }
        UnclosedQuotedScalar => "a quote is never closed".to_owned(),
        UnclosedFlowCollection { open } => format!("a `{open}` is never closed"),
        TabNotAllowed | TabInBlockIndentation | TabInIndentation => {
            "a tab where YAML wants spaces".to_owned()
        }
        MappingValueNotAllowed => "a `:` where no key can be".to_owned(),
        SimpleKeyExpected => "a key without its `:`".to_owned(),
        ExpectedBlockMappingKey => {
            "this line is neither a `key:` of the mapping above nor its value".to_owned()
        }
        ExpectedBlockSequenceEntry => "this line is not a `- member` of the list above".to_owned(),
        InvalidIndentation => "this indentation fits no line above".to_owned(),
        RecursionLimitExceeded => "too many lists and mappings inside each other".to_owned(),
        other => format!("not valid YAML: {other}"),
    }
}

fn help(kind: &ErrorKind) -> Option<&'static str> {
    use ErrorKind::{
        ExpectedBlockMappingKey, ExpectedBlockSequenceEntry, InvalidIndentation, InvalidSimpleKey,
        MappingValueNotAllowed, RecursionLimitExceeded, SimpleKeyExpected, UnclosedFlowCollection,
        UnclosedQuotedScalar, UnknownQuotedScalarEscape,
    };
    Some(match kind {
        UnclosedQuotedScalar => "close it; inside single quotes a quote is written twice ('it''s')",
        UnclosedFlowCollection { .. } => "close it, or quote the value if the bracket belongs to the text",
        ExpectedBlockMappingKey | ExpectedBlockSequenceEntry | InvalidIndentation => {
            "compare its indentation with the lines above: members of one mapping or list start in one column"
        }
        MappingValueNotAllowed => "quote the value if the `:` belongs to it, or check the indentation",
        SimpleKeyExpected | InvalidSimpleKey => "write `key: value`, with a blank after the colon",
        RecursionLimitExceeded => "flatten the data",
        UnknownQuotedScalarEscape => {
            "write the backslash twice, or use single quotes, which take it as it is"
        }
        _ => return None,
    })
}

/// A key that is a list or mapping: nearly always `v: {{ x }}` without quotes.
pub fn bad_key(node: &Node, flow: bool) -> Diagnostic {
    let source = &node.span.source;
    let start = node.span.start;
    if flow && source.text[..start].ends_with('{') {
        let line = line_at(source, start);
        let end = line.start + line.text().trim_end().len();
        return Diagnostic::error("a template without quotes", Span::new(source, start - 1, end))
            .label("YAML reads `{` as the start of a mapping")
            .help(QUOTE);
    }
    Diagnostic::error(format!("a key must be text; this is {}", node.kind()), node.span.clone())
        .help("quote it, or turn it into a value")
}

/// A key that a mapping has twice.
pub fn duplicate(first: &Node, again: &Node) -> Diagnostic {
    let key = again.key_text();
    Diagnostic::error(format!("the key `{key}` is there twice"), again.span.clone())
        .label("again here")
        .note(format!("first at {}", first.span))
        .help("keep one: only one of the values would count")
}
