//! Readies a text for the parser without moving a byte: escapes in strings and dotted filter names are masked.
//!
//! The parser knows neither Python's escapes nor `ansible.builtin.NAME` as a filter. Ansible keeps backslashes in
//! `{{ }}` of values as they stand, so that `'\1'` needs no doubling; in `{% %}`, in conditions and in template
//! files they are escapes as in Python.

/// A backslash that stands for itself.
const PLAIN: u8 = 0x1a;
/// A backslash that escapes what follows.
const ESCAPE: u8 = 0x19;
/// An escaped single and an escaped double quote.
const SINGLE: u8 = 0x1b;
const DOUBLE: u8 = 0x1c;

/// The marks around code in a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Delimiters {
    pub block: (String, String),
    pub variable: (String, String),
    pub comment: (String, String),
}

impl Default for Delimiters {
    fn default() -> Self {
        let pair = |start: &str, end: &str| (start.to_owned(), end.to_owned());
        Self { block: pair("{%", "%}"), variable: pair("{{", "}}"), comment: pair("{#", "#}") }
    }
}

impl Delimiters {
    /// Whether the text may hold a template at all.
    pub fn found_in(&self, text: &str) -> bool {
        [&self.variable.0, &self.block.0, &self.comment.0]
            .into_iter()
            .any(|start| text.contains(start.as_str()))
    }
}

/// Longest expression; the parser's tree of a longer one could be too deep for the stack.
const LONGEST: usize = 16 * 1024;

/// Masks a whole template, if none of its expressions is too long; `plain` keeps backslashes in `{{ }}` as they stand.
pub(super) fn mask_template(text: &str, marks: &Delimiters, plain: bool) -> Option<String> {
    let mut mask = Mask { bytes: text.as_bytes().to_vec(), plain: false, longest: 0 };
    let mut at = 0;
    while at < text.len() {
        if let Some(next) = skip(text, at, &marks.comment.0) {
            at = find(text, next, &marks.comment.1);
        } else if let Some(next) = skip(text, at, &marks.variable.0) {
            mask.plain = plain;
            at = mask.code(next, Some(&marks.variable.1));
        } else if let Some(next) = skip(text, at, &marks.block.0) {
            mask.plain = false;
            let word = text[next..].trim_start_matches(['-', '+']).trim_start();
            at = mask.code(next, Some(&marks.block.1));
            if word.starts_with("raw") && !word[3..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                at = end_of_raw(text, at, &marks.block.0);
            }
        } else {
            at += 1;
        }
    }
    mask.done(text)
}

/// Masks a bare expression.
pub(super) fn mask_expression(text: &str) -> Option<String> {
    let mut mask = Mask { bytes: text.as_bytes().to_vec(), plain: false, longest: 0 };
    mask.code(0, None);
    mask.done(text)
}

/// What a masked string stands for.
pub(super) fn unmask(masked: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(masked.len());
    let mut rest = masked.chars();
    while let Some(c) = rest.next() {
        match c as u32 {
            0x1a => out.push('\\'),
            0x1b => out.push('\''),
            0x1c => out.push('"'),
            0x19 => unescape(&mut rest, &mut out)?,
            _ => out.push(c),
        }
    }
    Ok(out)
}

/// One escape as Python reads it; unknown ones keep their backslash.
fn unescape(rest: &mut std::str::Chars<'_>, out: &mut String) -> Result<(), &'static str> {
    let Some(c) = rest.next() else { return Ok(()) };
    let digits = match c {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    if digits > 0 {
        let hex: String = rest.by_ref().take(digits).collect();
        let code = u32::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == digits);
        out.push(code.and_then(char::from_u32).ok_or("an escape needs its hexadecimal digits")?);
        return Ok(());
    }
    match c {
        '\u{19}' => out.push('\\'),
        '\u{1b}' => out.push('\''),
        '\u{1c}' => out.push('"'),
        '\n' => {}
        'n' => out.push('\n'),
        't' => out.push('\t'),
        'r' => out.push('\r'),
        'a' => out.push('\u{7}'),
        'b' => out.push('\u{8}'),
        'f' => out.push('\u{c}'),
        'v' => out.push('\u{b}'),
        'N' => return Err("escapes by character name are not offered: write the character"),
        '0'..='7' => {
            let mut code = c.to_digit(8).unwrap_or(0);
            for _ in 0..2 {
                match rest.clone().next().and_then(|c| c.to_digit(8)) {
                    Some(digit) => {
                        code = code * 8 + digit;
                        rest.next();
                    }
                    None => break,
                }
            }
            out.push(char::from_u32(code).unwrap_or('\0'));
        }
        other => {
            out.push('\\');
            out.push(other);
        }
    }
    Ok(())
}

struct Mask {
    bytes: Vec<u8>,
    plain: bool,
    /// The longest code so far.
    longest: usize,
}

impl Mask {
    fn done(self, text: &str) -> Option<String> {
        if self.longest > LONGEST {
            return None;
        }
        // Only ASCII bytes were replaced by ASCII bytes, so this never fails.
        Some(String::from_utf8(self.bytes).unwrap_or_else(|_| text.to_owned()))
    }

    /// Masks code from `at` up to the end mark; gives the byte after it.
    fn code(&mut self, at: usize, end: Option<&str>) -> usize {
        let after = self.code_from(at, end);
        self.longest = self.longest.max(after - at);
        after
    }

    fn code_from(&mut self, mut at: usize, end: Option<&str>) -> usize {
        let (mut depth, mut names) = (0_usize, false);
        while at < self.bytes.len() {
            if depth == 0 && end.is_some_and(|end| self.bytes[at..].starts_with(end.as_bytes())) {
                return at + end.map_or(0, str::len);
            }
            let byte = self.bytes[at];
            if byte.is_ascii_alphabetic() || byte == b'_' {
                let start = at;
                at = self.word(at);
                let word = &self.bytes[start..at];
                let (is, not) = (word == b"is", word == b"not" && names);
                if names && !not {
                    at = self.dotted(at);
                }
                names = is || not;
                continue;
            }
            match byte {
                b'"' | b'\'' => at = self.string(at),
                b'{' | b'[' | b'(' => depth += 1,
                b'}' | b']' | b')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            names = byte == b'|' || (names && byte.is_ascii_whitespace());
            at += 1;
        }
        at
    }

    fn word(&self, mut at: usize) -> usize {
        while at < self.bytes.len() && (self.bytes[at].is_ascii_alphanumeric() || self.bytes[at] == b'_') {
            at += 1;
        }
        at
    }

    /// Joins `a.b.c` into one name, as Jinja reads names of filters and tests.
    fn dotted(&mut self, mut at: usize) -> usize {
        while self.bytes.get(at) == Some(&b'.')
            && self.bytes.get(at + 1).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
        {
            self.bytes[at] = b'_';
            at = self.word(at + 1);
        }
        at
    }

    /// Masks a string; gives its closing quote.
    fn string(&mut self, start: usize) -> usize {
        let quote = self.bytes[start];
        let mut at = start + 1;
        while at < self.bytes.len() && self.bytes[at] != quote {
            if self.bytes[at] == b'\\' {
                self.bytes[at] = if self.plain { PLAIN } else { ESCAPE };
                if !self.plain && at + 1 < self.bytes.len() {
                    at += 1;
                    self.bytes[at] = match self.bytes[at] {
                        b'\\' => ESCAPE,
                        b'\'' => SINGLE,
                        b'"' => DOUBLE,
                        other => other,
                    };
                }
            }
            at += 1;
        }
        at
    }
}

fn skip(text: &str, at: usize, mark: &str) -> Option<usize> {
    text.as_bytes()[at..].starts_with(mark.as_bytes()).then_some(at + mark.len())
}

fn find(text: &str, from: usize, mark: &str) -> usize {
    text.get(from..).and_then(|rest| rest.find(mark)).map_or(text.len(), |found| from + found + mark.len())
}

/// The start of the block that ends a raw section.
fn end_of_raw(text: &str, from: usize, block: &str) -> usize {
    let mut at = from;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find(block)) {
        at += found + block.len();
        if text[at..].trim_start_matches(['-', '+']).trim_start().starts_with("endraw") {
            return find(text, at, "endraw");
        }
    }
    text.len()
}
