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
    if let Some(culprit) = elsewhere(source, start, error.kind()) {
        return culprit;
    }
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

/// A culprit that stands before the place where the parser gave up.
fn elsewhere(source: &Arc<Source>, at: usize, kind: &ErrorKind) -> Option<Diagnostic> {
    let first = source.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if matches!(kind, ErrorKind::ExpectedDocumentStart)
        && first.starts_with('[')
        && first.trim_end().ends_with(']')
    {
        let start = source.text.find('[').unwrap_or_default();
        let span = Span::new(source, start, start + first.trim_end().len());
        return Some(Diagnostic::error("this is INI where YAML is read", span).help(
            "an inventory in the INI form has a name that ends in .ini, or in nothing: rename the file",
        ));
    }
    match kind {
        ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::BlockEntryInFlowCollection
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::InvalidFlowScalarIndent => unclosed(source, at),
        ErrorKind::MappingValueNotAllowed | ErrorKind::SimpleKeyExpected => {
            let line = line_at(source, at);
            let above = line_at(source, line.start.saturating_sub(1));
            glued(&line).or_else(|| glued(&above))
        }
        _ => None,
    }
}

/// The bracket that is open where a list or mapping in one line goes wrong.
fn unclosed(source: &Arc<Source>, at: usize) -> Option<Diagnostic> {
    let mut open = Vec::new();
    let mut quote = None;
    let line = line_at(source, at).start;
    // Brackets are looked for from the line on that began it: at most so far back.
    let from = source.text[..line].char_indices().rev().filter(|(_, sign)| *sign == '\n').nth(40);
    let from = from.map_or(0, |(found, _)| found + 1);
    for (offset, sign) in source.text[from..at].char_indices() {
        match (sign, quote) {
            ('"' | '\'', None) => quote = Some(sign),
            (sign, Some(inside)) if sign == inside => quote = None,
            ('{' | '[', None) => open.push((from + offset, sign)),
            ('}' | ']', None) => drop(open.pop()),
            _ => {}
        }
    }
    let (start, sign) = open.pop()?;
    let span = Span::new(source, start, start + 1);
    if start < line {
        let problem = Diagnostic::error(format!("a `{sign}` is never closed"), span);
        return Some(problem.help(help(&ErrorKind::UnclosedFlowCollection { open: sign })?));
    }
    let problem = Diagnostic::error(
        format!("inside this `{sign}` stands neither a `,` nor its end"),
        Span::new(source, at, at),
    );
    Some(problem.help("put keys and values that hold brackets, commas or quotes in quotes of their own"))
}

/// `key:value`, where a blank is missing.
fn glued(line: &Span) -> Option<Diagnostic> {
    let text = line.text();
    let key = text.trim_start().trim_start_matches("- ");
    let start = text.len() - key.len();
    let (name, value) = key.split_once(':')?;
    let is_name = !name.is_empty() && name.chars().all(|sign| sign.is_alphanumeric() || "_.".contains(sign));
    let is_glued = value.starts_with(|sign: char| sign.is_alphanumeric() || "\"'".contains(sign));
    if !is_name || !is_glued {
        return None;
    }
    let span = Span::new(&line.source, line.start + start, line.start + start + name.len() + 1);
    let problem = Diagnostic::error("a key without a blank behind its `:`", span);
    Some(problem.help(format!("write `{name}: {}`", value.trim())))
}

/// Blanks that look like one and are none to YAML.
fn odd_blank(sign: char) -> bool {
    matches!(sign, '\u{a0}' | '\u{2000}'..='\u{200b}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// What most likely happened on the line, with the place of the culprit.
fn likely(line: &str, kind: &ErrorKind) -> Option<(Range<usize>, String)> {
    if let Some((at, sign)) = line.char_indices().find(|(_, sign)| odd_blank(*sign)) {
        let help =
            format!("this blank is a no-break or special one (U+{:04X}): write a plain one", sign as u32);
        return Some((at..at + sign.len_utf8(), help));
    }
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
        ExpectedBlockMappingKey, ExpectedBlockSequenceEntry, ExpectedDocumentStart, InvalidIndentation,
        InvalidTrailingDoubleQuotedScalar, InvalidTrailingSingleQuotedScalar, MappingValueNotAllowed,
        RecursionLimitExceeded, SimpleKeyExpected, TabInBlockIndentation, TabInIndentation, TabNotAllowed,
        UnclosedFlowCollection, UnclosedQuotedScalar, UnexpectedCharacter,
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
        UnexpectedCharacter { character } if character.is_control() => {
            format!("a control character (U+{:04X}) that no YAML file may hold", *character as u32)
        }
        ExpectedDocumentStart => "text that belongs to nothing above it".to_owned(),
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
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => {
            "take it out, or write it as `\"\\x00\"` with its own number, in double quotes"
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
