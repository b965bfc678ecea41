//! A text with its tree, and replacements of parts of the text.
use roxmltree::{Attribute, Node};
use std::ops::Range;

/// A text that is XML, with its tree. A document type is refused: nothing that libvirt writes has one.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    tree: roxmltree::Document<'t>,
}

/// One replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splice {
    /// The bytes that go.
    pub range: Range<usize>,
    /// What comes in their place.
    pub text: String,
}

impl Splice {
    /// Something new, nothing goes.
    pub fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    /// Carries replacements out that do not overlap, in any order.
    pub fn all(text: &str, mut splices: Vec<Self>) -> String {
        splices.sort_by_key(|splice| splice.range.start);
        let mut out = String::with_capacity(text.len() + 64);
        let mut at = 0;
        for splice in splices {
            out.push_str(text.get(at..splice.range.start).unwrap_or_default());
            out.push_str(&splice.text);
            at = splice.range.end.max(at);
        }
        out.push_str(text.get(at..).unwrap_or_default());
        out
    }
}

impl<'t> Document<'t> {
    /// Reads a text.
    ///
    /// # Errors
    /// Says what is no XML, and where.
    pub fn parse(text: &'t str) -> Result<Self, String> {
        let tree = roxmltree::Document::parse(text).map_err(|why| format!("this is no XML: {why}"))?;
        Ok(Self { text, tree })
    }

    /// The element that holds all others.
    pub fn root(&self) -> Node<'_, 't> {
        self.tree.root_element()
    }

    /// Where the start tag of an element ends, behind its `>`; and whether it has no end tag of its own.
    pub(super) fn start_tag_end(&self, node: Node<'_, '_>) -> (usize, bool) {
        let range = node.range();
        let mut quote = None;
        let mut before = 0;
        for (index, byte) in self.text.as_bytes()[range.clone()].iter().enumerate() {
            match (quote, byte) {
                (None, b'\'' | b'"') => quote = Some(*byte),
                (Some(open), byte) if open == *byte => quote = None,
                (None, b'>') => return (range.start + index + 1, before == b'/'),
                _ => {}
            }
            before = *byte;
        }
        (range.end, true)
    }

    /// The name of an element as it is written, with its prefix.
    pub(super) fn name(&self, node: Node<'_, '_>) -> &'t str {
        let rest = self.text.get(node.range().start + 1..).unwrap_or_default();
        rest.split(|letter: char| letter.is_whitespace() || letter == '/' || letter == '>')
            .next()
            .unwrap_or_default()
    }

    /// Where the `/>` of an element without an end tag begins, with the blanks before it.
    pub(super) fn open_end(&self, node: Node<'_, '_>) -> usize {
        let (end, _) = self.start_tag_end(node);
        let slash = self.text[..end].rfind('/').unwrap_or(end);
        self.text[..slash].trim_end().len()
    }

    /// Where an attribute can be added: behind the last one, or behind the name.
    pub(super) fn attributes_end(&self, node: Node<'_, '_>) -> usize {
        node.attributes()
            .map(|attribute| attribute.range().end)
            .max()
            .unwrap_or_else(|| node.range().start + 1 + self.name(node).len())
    }

    /// The quote that an element's attributes are written in; that of the root where it has none.
    pub(super) fn quote(&self, node: Node<'_, '_>) -> char {
        let of = |node: Node<'_, '_>| {
            let value = node.attributes().next()?.range_value();
            self.text.get(..value.start)?.chars().next_back()
        };
        of(node).or_else(|| of(self.root())).filter(|quote| matches!(quote, '\'' | '"')).unwrap_or('\'')
    }

    /// Replaces the value of an attribute, quotes kept.
    pub(super) fn set(&self, attribute: &Attribute<'_, '_>, value: &str) -> Splice {
        let range = attribute.range_value();
        let quote = self.text[..range.start].chars().next_back().unwrap_or('\'');
        Splice { range, text: escaped(value, Some(quote)) }
    }

    /// Takes an attribute away, with the blank before it.
    pub(super) fn unset(&self, attribute: &Attribute<'_, '_>) -> Splice {
        let range = attribute.range();
        let start = self.text[..range.start].trim_end().len();
        Splice { range: start..range.end, text: String::new() }
    }

    /// The blanks that a node stands behind on its own line, with the line's begin; none where something else is on it.
    pub(super) fn line_before(&self, node: Node<'_, '_>) -> Option<&'t str> {
        let before = self.text.get(..node.range().start)?;
        let line = before.rfind('\n')?;
        let blanks = &before[line..];
        blanks.trim().is_empty().then_some(blanks)
    }

    /// Takes an element away, with the line that it alone stands on.
    pub(super) fn remove(&self, node: Node<'_, '_>) -> Splice {
        let range = node.range();
        let rest = &self.text[range.end..];
        let alone = rest.starts_with('\n') || rest.starts_with("\r\n");
        let start = match self.line_before(node) {
            Some(blanks) if alone => {
                let start = range.start - blanks.len();
                if self.text[..start].ends_with('\r') { start - 1 } else { start }
            }
            _ => range.start,
        };
        Splice { range: start..range.end, text: String::new() }
    }

    /// The text between the tags of an element.
    pub(super) fn inner(&self, node: Node<'_, '_>) -> Range<usize> {
        let (start, empty) = self.start_tag_end(node);
        if empty {
            return start..start;
        }
        let end = self.text[..node.range().end].rfind("</").unwrap_or(start);
        start..end
    }

    /// Behind a node, and behind a comment that stands on the same line.
    pub(super) fn behind(&self, node: Node<'_, '_>) -> usize {
        let mut end = node.range().end;
        let mut next = node.next_sibling();
        while let Some(other) = next {
            if other.is_comment() {
                end = other.range().end;
            } else if !other.is_text() || self.text[other.range()].contains('\n') {
                break;
            }
            next = other.next_sibling();
        }
        end
    }

    /// The line end that the text uses.
    pub(super) fn line_end(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// The text.
    pub fn text(&self) -> &'t str {
        self.text
    }
}

/// A value as it stands between tags, or between quotes.
pub(super) fn escaped(value: &str, quote: Option<char>) -> String {
    let mut out = String::with_capacity(value.len());
    for letter in value.chars() {
        match (letter, quote) {
            ('&', _) => out.push_str("&amp;"),
            ('<', _) => out.push_str("&lt;"),
            ('>', None) => out.push_str("&gt;"),
            ('\'', Some('\'')) => out.push_str("&apos;"),
            ('"', Some('"')) => out.push_str("&quot;"),
            ('\n', Some(_)) => out.push_str("&#10;"),
            ('\t', Some(_)) => out.push_str("&#9;"),
            ('\r', _) => out.push_str("&#13;"),
            (letter, _) => out.push(letter),
        }
    }
    out
}
