//! What can go wrong with an expression, with the place in its text; values of variables are never named.
use std::ops::Range;

use super::missing::Missing;
use crate::diagnostic::Diagnostic;
use crate::source::Span;
use crate::yaml::Node;

/// The kinds of faults.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// It reads a value that is decided after a task.
    Late {
        /// The task, as shown to people.
        on: String,
    },
    /// It reads a fact that has not been read yet.
    NeedFact {
        /// The fact's name.
        name: String,
    },
    /// It reads a name or attribute that does not exist.
    Undefined {
        /// What was read, as written: `ceph.osd.memory`.
        name: String,
        /// A known name that is near to it.
        near: Option<String>,
    },
    /// It cannot be read at all.
    Syntax {
        /// What is wrong, with the likely fix.
        why: String,
        /// The likely fix.
        hint: Option<String>,
    },
    /// It was evaluated and failed.
    Failed {
        /// What is wrong.
        why: String,
        /// The likely fix.
        hint: Option<String>,
    },
    /// It uses something of Jinja or Ansible that is not offered here.
    Unsupported {
        /// The name of the filter, test, lookup, function or statement.
        name: String,
        /// Why, and what to use instead.
        why: String,
    },
}

/// A place inside a variable that was rendered on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Via {
    /// The variable's name, with the path inside it.
    pub name: String,
    /// Where its value stands, if known.
    pub span: Option<Span>,
    /// The bytes of its text that are meant.
    pub range: Range<usize>,
}

/// One fault of one expression or template.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What is wrong.
    pub kind: Kind,
    /// The bytes of the template's text that are meant.
    pub range: Range<usize>,
    /// The variables that were rendered on the way, the outermost first.
    pub via: Vec<Via>,
}

impl Fault {
    /// A fault of this kind at these bytes.
    pub fn new(kind: Kind, range: Range<usize>) -> Self {
        Self { kind, range, via: Vec::new() }
    }

    /// A failed evaluation.
    pub(super) fn failed(why: impl Into<String>, range: Range<usize>) -> Self {
        Self::new(Kind::Failed { why: why.into(), hint: None }, range)
    }

    /// Something that is not offered.
    pub(super) fn unsupported(name: impl Into<String>, why: impl Into<String>, range: Range<usize>) -> Self {
        Self::new(Kind::Unsupported { name: name.into(), why: why.into() }, range)
    }

    /// A value that is not known yet.
    pub(super) fn missing(missing: Missing, range: Range<usize>) -> Self {
        let kind = match missing {
            Missing::Late(on) => Kind::Late { on },
            Missing::Fact(name) => Kind::NeedFact { name },
        };
        Self::new(kind, range)
    }

    /// Adds the likely fix to a failed evaluation.
    pub(super) fn hint(mut self, text: impl Into<String>) -> Self {
        if let Kind::Failed { hint, .. } | Kind::Syntax { hint, .. } = &mut self.kind {
            *hint = Some(text.into());
        }
        self
    }

    /// Blots out quoted words that do not stand in the template itself: after a secret was read they may be of it.
    pub(super) fn hush(mut self, text: &str) -> Self {
        let blot = |words: &mut String| {
            let parts = words.split('`').enumerate();
            let parts = parts.map(|(at, part)| if at % 2 == 0 || text.contains(part) { part } else { "…" });
            *words = parts.collect::<Vec<_>>().join("`");
        };
        match &mut self.kind {
            Kind::Failed { why, .. } => blot(why),
            Kind::Unsupported { name, why } => {
                blot(name);
                blot(why);
            }
            _ => {}
        }
        self
    }

    /// Whether asking again later may succeed.
    pub fn is_missing(&self) -> bool {
        matches!(self.kind, Kind::Late { .. } | Kind::NeedFact { .. })
    }

    /// What is wrong, one sentence without a final stop.
    pub fn message(&self) -> String {
        match &self.kind {
            Kind::Late { on } => format!("this is not known before {on}"),
            Kind::NeedFact { name } => format!("the fact `{name}` has not been read yet"),
            Kind::Undefined { name, .. } => format!("`{name}` is undefined"),
            Kind::Syntax { why, .. } => format!("this template cannot be read: {why}"),
            Kind::Failed { why, .. } => why.clone(),
            Kind::Unsupported { name, .. } => format!("not supported: {name}"),
        }
    }

    /// The likely fix, if there is one.
    pub fn help(&self) -> Option<String> {
        match &self.kind {
            Kind::Undefined { near: Some(near), .. } => Some(format!("did you mean `{near}`?")),
            Kind::Undefined { near: None, .. } => {
                Some("define it, or give a fallback with `| default(…)`".to_owned())
            }
            Kind::Syntax { hint, .. } | Kind::Failed { hint, .. } => hint.clone(),
            Kind::Unsupported { why, .. } => Some(why.clone()),
            Kind::Late { .. } | Kind::NeedFact { .. } => None,
        }
    }

    /// The fault as a diagnostic; `at` is the span of the YAML value that holds the text. Exact for plain and
    /// quoted scalars, best effort for block scalars.
    pub fn diagnostic(&self, at: &Span) -> Diagnostic {
        self.shown(narrowed(at, &self.range))
    }

    /// The same for a text that stands in this YAML node: exact wherever text and file can be aligned.
    pub fn in_node(&self, node: &Node) -> Diagnostic {
        self.shown(node.part(self.range.clone()))
    }

    fn shown(&self, here: Span) -> Diagnostic {
        let inner = self.via.iter().rev().find_map(|via| via.span.as_ref().map(|span| (via, span)));
        let mut out = match inner {
            Some((via, span)) => Diagnostic::error(self.message(), narrowed(span, &via.range)),
            None => Diagnostic::error(self.message(), here.clone()),
        };
        out.help = self.help();
        for via in &self.via {
            out = out.note(format!("in the variable `{}`", via.name));
        }
        if inner.is_some() {
            out = out.note(format!("used at {here}"));
        }
        out
    }
}

/// The part of a YAML scalar that holds these bytes of its decoded text.
fn narrowed(at: &Span, range: &Range<usize>) -> Span {
    let raw = &at.source.text[at.start..];
    let start = raw_offset(raw, range.start);
    let end = raw_offset(raw, range.end.max(range.start));
    Span::new(&at.source, at.start + start, at.start + end.max(start))
}

/// Where the decoded byte `wanted` stands in the raw scalar: quotes and escapes are stepped over, folded lines and
/// the indentation of block scalars are skipped.
fn raw_offset(raw: &str, wanted: usize) -> usize {
    let quote = raw.chars().next().filter(|c| matches!(c, '"' | '\''));
    let indent = raw.find('\n').map_or(0, |line| {
        let rest = &raw[line + 1..];
        rest.len() - rest.trim_start_matches(' ').len()
    });
    let mut at = usize::from(quote.is_some());
    let mut decoded = 0;
    while decoded < wanted && at < raw.len() {
        let rest = &raw[at..];
        let (taken, made) = match (quote, rest.as_bytes()) {
            (Some('\''), [b'\'', b'\'', ..]) => (2, 1),
            (Some('"'), [b'\\', escape, ..]) => double_quoted_escape(rest, *escape),
            (_, [b'\n', ..]) if quote.is_none() => {
                let spaces = rest[1..].len() - rest[1..].trim_start_matches(' ').len();
                (1 + spaces.min(indent), 1)
            }
            (_, [b'\n', ..]) => (1 + rest[1..].len() - rest[1..].trim_start().len(), 1),
            _ => rest.chars().next().map_or((1, 1), |c| (c.len_utf8(), c.len_utf8())),
        };
        at += taken;
        decoded += made;
    }
    at.min(raw.len())
}

/// Bytes taken from the raw text and bytes made in the decoded one.
fn double_quoted_escape(rest: &str, escape: u8) -> (usize, usize) {
    let digits = match escape {
        b'x' => 2,
        b'u' => 4,
        b'U' => 8,
        b'\n' => return (2 + rest[2..].len() - rest[2..].trim_start_matches(' ').len(), 0),
        _ => return (2, 1),
    };
    let made = rest
        .get(2..2 + digits)
        .and_then(|hex| u32::from_str_radix(hex, 16).ok())
        .and_then(char::from_u32)
        .map_or(1, char::len_utf8);
    (2 + digits, made)
}
