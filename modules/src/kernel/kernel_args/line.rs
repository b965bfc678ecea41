//! A kernel command line as an ordered multiset of arguments, split by the kernel's own rules.
use std::fmt;
use std::ops::Range;

use super::table::same_value;
use super::token::{Key, Token};

/// A command line: the kernel's arguments in order, and what follows ` -- ` for init.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The kernel's arguments in order, repeats included.
    pub args: Vec<Token>,
    /// The words after a whole-word `--`; they belong to init. `None` where there is no `--`.
    pub init: Option<Vec<String>>,
}

impl Line {
    /// Reads a line such as `/proc/cmdline`. Never fails: the kernel takes whatever stands there.
    pub fn read(text: &str) -> Self {
        let mut line = Self::default();
        for range in words(text.as_bytes()) {
            let token = Token::read(&text[range.clone()]);
            match &mut line.init {
                Some(rest) => rest.push(text[range].to_owned()),
                None if token.name() == "--" && token.value().is_none() => line.init = Some(Vec::new()),
                None => line.args.push(token),
            }
        }
        line
    }

    /// All arguments of a key, in order.
    pub fn all(&self, key: &Key) -> impl Iterator<Item = &Token> {
        let key = key.clone();
        self.args.iter().filter(move |token| token.key() == key)
    }

    /// The argument that counts where only one can: the last of its key.
    pub fn last(&self, key: &Key) -> Option<&Token> {
        self.args.iter().rev().find(|token| token.key() == *key)
    }

    /// Whether the last argument of the wanted key says the same.
    pub fn has_last(&self, wanted: &Token) -> bool {
        self.last(&wanted.key()).is_some_and(|token| same(token, wanted))
    }

    /// Whether any argument says the same.
    pub fn has(&self, wanted: &Token) -> bool {
        self.args.iter().any(|token| same(token, wanted))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words: Vec<&str> = self.args.iter().map(Token::raw).collect();
        if let Some(rest) = &self.init {
            words.push("--");
            words.extend(rest.iter().map(String::as_str));
        }
        out.write_str(&words.join(" "))
    }
}

impl FromIterator<Token> for Line {
    fn from_iter<I: IntoIterator<Item = Token>>(tokens: I) -> Self {
        Self { args: tokens.into_iter().collect(), init: None }
    }
}

/// Whether two arguments say the same: equal keys, and values equal by the shape that the key has.
pub fn same(one: &Token, other: &Token) -> bool {
    let key = one.key();
    key == other.key()
        && match (one.value(), other.value()) {
            (None, None) => true,
            (Some(one), Some(other)) => same_value(&key, one, other),
            _ => false,
        }
}

/// The byte ranges of the words of a line: blanks part them except inside double quotes (kernel: `next_arg`).
pub fn words(text: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = None;
    let mut quoted = false;
    for (at, sign) in text.iter().enumerate() {
        let blank = is_blank(*sign) && !quoted;
        match start {
            None if blank => continue,
            None => start = Some(at),
            Some(first) if blank => {
                found.push(first..at);
                start = None;
            }
            Some(_) => {}
        }
        if *sign == b'"' {
            quoted = !quoted;
        }
    }
    found.extend(start.map(|first| first..text.len()));
    found
}

/// The blanks that part arguments (the kernel's `isspace` within ASCII).
pub fn is_blank(sign: u8) -> bool {
    matches!(sign, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}
