//! From an offset in a text's value to its place in the file, so that a fault in a template is shown under its caret.
use std::ops::Range;

use super::Node;
use crate::source::Span;

impl Node {
    /// The place of a part of this text, given as byte offsets into its value. Quotes, escapes, folded lines and the
    /// indentation of block scalars are followed; where they cannot be, the place of the whole text is given.
    pub fn part(&self, range: Range<usize>) -> Span {
        let Some(value) = self.as_str() else { return self.span.clone() };
        let raw = self.raw();
        let source = &self.span.source;
        let line = source.text[..self.span.start].rfind('\n').map_or(0, |found| found + 1);
        let before = &source.text[line..self.span.start];
        let indent = if before.bytes().all(|letter| letter == b' ') { before.len() } else { 0 };
        let written = Written { raw, quote: quote(raw, value), indent };
        match written.offsets(value, [range.start, range.end]) {
            Some([start, end]) => {
                Span::new(source, self.span.start + start, self.span.start + end.max(start))
            }
            None => self.span.clone(),
        }
    }
}

/// The quote that encloses the raw text; the content of a block scalar may begin with one too.
fn quote(raw: &str, value: &str) -> Option<char> {
    let first = raw.chars().next().filter(|first| "\"'".contains(*first))?;
    let escaped = raw[1..].starts_with(['\\', first]);
    (!value.starts_with(first) || escaped).then_some(first)
}

/// A text as it stands in the file.
struct Written<'a> {
    raw: &'a str,
    quote: Option<char>,
    /// Blanks before each further line of a block scalar.
    indent: usize,
}

impl Written<'_> {
    /// Offsets into the raw text for two ascending offsets into the value, or nothing where the two do not align.
    fn offsets(&self, value: &str, wanted: [usize; 2]) -> Option<[usize; 2]> {
        let mut at = usize::from(self.quote.is_some());
        let mut found = [None, None];
        for (offset, letter) in value.char_indices() {
            if at >= self.raw.len() {
                break;
            }
            let start = self.next(at, letter)?;
            for (place, wanted) in found.iter_mut().zip(wanted) {
                if place.is_none() && wanted <= offset {
                    *place = Some(start);
                }
            }
            at = start + self.raw[start..].chars().next()?.len_utf8();
            if self.quote == Some('\'') && letter == '\'' {
                at += 1;
            }
        }
        let end = at.min(self.raw.len());
        Some(found.map(|place| place.unwrap_or(end)))
    }

    /// Where the next letter of the value was written, from `at` on.
    fn next(&self, mut at: usize, letter: char) -> Option<usize> {
        // A value and its text that do not align, such as a quote that stands for two, may lead into a letter.
        if self.raw.get(..at)?.ends_with('\n') {
            let blanks = self.raw[at..].bytes().take(self.indent).take_while(|byte| *byte == b' ').count();
            at += blanks;
        }
        let rest = self.raw.get(at..)?;
        let first = rest.chars().next()?;
        if self.quote == Some('"') && first == '\\' {
            return escape(rest, letter).map(|skipped| at + skipped);
        }
        if first == letter || (letter == ' ' && first == '\n') {
            return Some(at);
        }
        let skipped = rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        let after = rest[skipped..].chars().next()?;
        (skipped > 0 && after == letter).then_some(at + skipped)
    }
}

/// Bytes to skip in `\n`, `\"`, `\\` and their like, to stand on the last letter of the escape.
fn escape(rest: &str, letter: char) -> Option<usize> {
    let code = rest.chars().nth(1)?;
    let meant = match code {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        'e' => '\u{1b}',
        other => other,
    };
    (meant == letter).then_some(1)
}
