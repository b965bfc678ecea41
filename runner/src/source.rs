//! Where text came from: source files and the spans that point into them.
use std::fmt;
use std::sync::Arc;

/// One text that a person wrote: a playbook, an inventory, a vars file, a command line argument.
#[derive(Debug, PartialEq, Eq)]
pub struct Source {
    /// The path as the user would type it, or a label such as `<command line>`.
    pub name: String,
    /// The whole text, decoded.
    pub text: String,
    /// Whether it was opened with the vault: no line of it is ever shown, and its values are secret.
    pub secret: bool,
}

impl Source {
    /// Wraps a text with its name.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), secret: false })
    }

    /// Wraps a text that was encrypted.
    pub fn secret(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), secret: true })
    }
}

/// A byte range of a [`Source`].
#[derive(Clone, PartialEq, Eq)]
pub struct Span {
    /// The text it points into.
    pub source: Arc<Source>,
    /// First byte.
    pub start: usize,
    /// One past the last byte; equal to `start` where only a point is known.
    pub end: usize,
}

impl Span {
    /// A range of `source`, clamped to its length and to character borders.
    pub fn new(source: &Arc<Source>, start: usize, end: usize) -> Self {
        let text = &source.text;
        let mut start = start.min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let mut end = end.clamp(start, text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        Self { source: Arc::clone(source), start, end }
    }

    /// Line and column of the first byte, both from 1; the column counts characters.
    pub fn line_column(&self) -> (usize, usize) {
        let before = &self.source.text[..self.start];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
        (line, column)
    }

    /// The text that it covers.
    pub fn text(&self) -> &str {
        &self.source.text[self.start..self.end]
    }
}

impl fmt::Display for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.line_column();
        write!(out, "{}:{line}:{column}", self.source.name)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}
