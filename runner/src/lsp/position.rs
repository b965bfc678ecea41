//! Places as editors count them: lines from 0, and columns in units of UTF-16.
use serde_json::{Value as Json, json};
use std::ops::Range;

/// The lines of a text, for turning places over.
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// The lines of a text.
    pub fn new(text: &'a str) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// The byte at a place; a place behind the end of its line is that end.
    pub fn offset(&self, line: usize, column: usize) -> usize {
        let Some(start) = self.starts.get(line).copied() else { return self.text.len() };
        let end = self.starts.get(line + 1).map_or(self.text.len(), |next| next - 1);
        let text = self.text[start..end].trim_end_matches('\r');
        start + from_utf16(text, column)
    }

    /// The place of a byte.
    pub fn position(&self, offset: usize) -> Json {
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts[line];
        let column = utf16(&self.text[start..offset.min(self.text.len())]);
        json!({"line": line, "character": column})
    }

    /// The places of a range of bytes.
    pub fn range(&self, range: Range<usize>) -> Json {
        json!({"start": self.position(range.start), "end": self.position(range.end)})
    }
}

/// How many units of UTF-16 a text is long.
pub fn utf16(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// The byte behind so many units of UTF-16; inside of a character it is its start.
pub fn from_utf16(text: &str, units: usize) -> usize {
    let mut seen = 0;
    for (at, sign) in text.char_indices() {
        if seen + sign.len_utf16() > units {
            return at;
        }
        seen += sign.len_utf16();
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_units_of_utf_16() {
        let text = "a: 😀b\r\nö: x\n";
        let lines = Lines::new(text);
        let b = text.find('b').unwrap();
        assert_eq!(lines.position(b), json!({"line": 0, "character": 5}));
        assert_eq!(lines.offset(0, 5), b);
        assert_eq!(lines.offset(0, 4), text.find('😀').unwrap(), "inside of a pair");
        assert_eq!(lines.offset(0, 99), b + 1, "before the end of the line");
        let x = text.find('x').unwrap();
        assert_eq!((lines.offset(1, 3), lines.position(x)), (x, json!({"line": 1, "character": 3})));
        assert_eq!(
            (lines.offset(9, 0), lines.position(text.len())),
            (text.len(), json!({"line": 2, "character": 0}))
        );
    }
}
