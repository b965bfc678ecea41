//! Python's regular expressions, since that is what people write in playbooks: look-around, backreferences,
//! `(?P<n>…)`, `\Z`, a `$` that stands before a last newline too, and Python's templates of replacement.
mod class;
mod replacement;
mod translate;

pub use replacement::Template;

use fancy_regex::{Captures, RegexBuilder, RuntimeError};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

/// How many steps back a match may take before it is given up.
const BACKTRACK_LIMIT: usize = 1_000_000;

/// What `re.compile` takes as flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// `re.IGNORECASE`.
    pub ignore_case: bool,
    /// `re.MULTILINE`: `^` and `$` at every line.
    pub multiline: bool,
    /// `re.DOTALL`: `.` is a newline too.
    pub dot_all: bool,
    /// `re.VERBOSE`: blanks and comments in the pattern do not count.
    pub verbose: bool,
    /// `re.ASCII`; always so in patterns of bytes.
    pub ascii: bool,
}

/// Why a pattern or a replacement cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong, in words.
    pub why: String,
    /// Where in the text, counted in characters from 1; none where no single place is to blame.
    pub column: Option<usize>,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(out, "{} (column {column})", self.why),
            None => out.write_str(&self.why),
        }
    }
}

impl std::error::Error for Fault {}

impl Fault {
    pub(crate) fn at(index: usize, why: impl Into<String>) -> Self {
        Self { why: why.into(), column: Some(index + 1) }
    }

    pub(crate) fn whole(why: impl Into<String>) -> Self {
        Self { why: why.into(), column: None }
    }
}

/// A compiled pattern; cheap to clone.
#[derive(Clone, Debug)]
pub struct Pattern(Arc<Compiled>);

/// Patterns that were compiled lately: a task asks for the same one on every host.
static LATELY: LazyLock<Mutex<HashMap<(String, Flags), Pattern>>> = LazyLock::new(Mutex::default);
/// How many of them are kept.
const KEPT: usize = 512;

#[derive(Debug)]
struct Compiled {
    regex: fancy_regex::Regex,
    /// The pattern as the engine reads it.
    said: String,
    names: Vec<(String, usize)>,
    groups: usize,
    flags: Flags,
    /// The same, matching the whole text alone.
    full: OnceLock<Result<fancy_regex::Regex, Fault>>,
    /// The same, not ending where it began.
    advancing: OnceLock<Result<fancy_regex::Regex, Fault>>,
}

impl Compiled {
    /// A variant of the pattern, compiled when it is first needed.
    fn variant<'a>(
        place: &'a OnceLock<Result<fancy_regex::Regex, Fault>>,
        said: &str,
    ) -> Result<&'a fancy_regex::Regex, Fault> {
        place.get_or_init(|| build(said)).as_ref().map_err(Clone::clone)
    }

    fn full(&self) -> Result<&fancy_regex::Regex, Fault> {
        Self::variant(&self.full, &format!("\\A(?:{})\\z", self.said))
    }

    /// Behind an empty match the next one may begin at the same place but must not end there.
    fn advancing(&self) -> Result<&fancy_regex::Regex, Fault> {
        Self::variant(&self.advancing, &format!("(?:{})(?!\\G)", self.said))
    }
}

/// How much of a text a pattern must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Any part, as `re.search`.
    Any,
    /// A part at the start, as `re.match`.
    Start,
    /// The whole, as `re.fullmatch`.
    Whole,
}

/// A match: where the whole and its groups are, as offsets of bytes in the text that was searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    spans: Vec<Option<(usize, usize)>>,
}

impl Found {
    /// Where the match begins.
    pub fn start(&self) -> usize {
        self.span(0).map_or(0, |span| span.0)
    }

    /// Where the match ends.
    pub fn end(&self) -> usize {
        self.span(0).map_or(0, |span| span.1)
    }

    /// Where a group is; none where it took no part. Group 0 is the whole match.
    pub fn span(&self, group: usize) -> Option<(usize, usize)> {
        self.spans.get(group).copied().flatten()
    }

    /// The text of a group, empty where it took no part.
    pub fn group<'t>(&self, text: &'t str, group: usize) -> &'t str {
        self.span(group).map_or("", |(start, end)| &text[start..end])
    }

    fn of(captures: &Captures<'_>) -> Self {
        Self { spans: captures.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect() }
    }
}

impl Pattern {
    /// Compiles a pattern of text: letters and digits are Unicode's.
    ///
    /// # Errors
    /// What is wrong with the pattern, and where.
    pub fn new(pattern: &str, flags: Flags) -> Result<Self, Fault> {
        let key = (pattern.to_owned(), flags);
        // Where another thread broke off with the lock, patterns are compiled each time: only slower.
        if let Some(known) = LATELY.lock().ok().and_then(|lately| lately.get(&key).cloned()) {
            return Ok(known);
        }
        let translated = translate::translate(pattern, flags)?;
        let compiled = Self(Arc::new(Compiled {
            regex: build(&translated.text)?,
            said: translated.text,
            names: translated.names,
            groups: translated.groups,
            flags: translated.flags,
            full: OnceLock::new(),
            advancing: OnceLock::new(),
        }));
        if let Ok(mut lately) = LATELY.lock() {
            if lately.len() >= KEPT {
                lately.clear();
            }
            lately.insert(key, compiled.clone());
        }
        Ok(compiled)
    }

    /// Compiles a pattern of bytes, to be matched against texts made by [`widen`]: letters and digits are
    /// ASCII's and a character is one byte.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn of_bytes(pattern: &str, flags: Flags) -> Result<Self, Fault> {
        Self::new(&widen(pattern.as_bytes()), Flags { ascii: true, ..flags })
    }

    /// The flags of the whole pattern, those at its start too.
    pub fn flags(&self) -> Flags {
        self.0.flags
    }

    /// How many groups it has, without the whole.
    pub fn groups(&self) -> usize {
        self.0.groups
    }

    /// The number of a named group.
    pub fn named(&self, name: &str) -> Option<usize> {
        self.0.names.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
    }

    /// The names of groups with their numbers, in order.
    pub fn names(&self) -> &[(String, usize)] {
        &self.0.names
    }

    /// The first match, as `re.search`.
    ///
    /// # Errors
    /// The match took too many steps.
    pub fn search(&self, text: &str) -> Result<Option<Found>, Fault> {
        self.search_from(text, 0)
    }

    /// The first match that begins at or behind an offset of bytes.
    ///
    /// # Errors
    /// The match took too many steps.
    pub fn search_from(&self, text: &str, from: usize) -> Result<Option<Found>, Fault> {
        search(&self.0.regex, text, from)
    }

    /// Whether it matches anywhere.
    ///
    /// # Errors
    /// The match took too many steps.
    pub fn is_match(&self, text: &str) -> Result<bool, Fault> {
        self.0.regex.is_match(text).map_err(|fault| Fault::whole(in_words(&fault)))
    }

    /// Whether it matches a part of a text.
    ///
    /// # Errors
    /// The match took too many steps.
    pub fn holds(&self, text: &str, part: Part) -> Result<bool, Fault> {
        match part {
            Part::Any => self.is_match(text),
            // The leftmost match begins at the first letter if any match does.
            Part::Start => Ok(self.search(text)?.is_some_and(|found| found.start() == 0)),
            Part::Whole => self.0.full()?.is_match(text).map_err(|fault| Fault::whole(in_words(&fault))),
        }
    }

    /// All matches that do not overlap, as `re.finditer`: an empty one may follow right behind another.
    ///
    /// # Errors
    /// A match took too many steps.
    pub fn matches(&self, text: &str) -> Result<Vec<Found>, Fault> {
        let mut all: Vec<Found> = Vec::new();
        let mut from = 0;
        let mut must_advance = false;
        while from <= text.len() {
            let found = if must_advance {
                search(self.0.advancing()?, text, from)?
            } else {
                self.search_from(text, from)?
            };
            let Some(found) = found else { break };
            must_advance = found.end() == found.start();
            from = found.end();
            all.push(found);
        }
        Ok(all)
    }

    /// Replaces matches, all of them or the first `limit`; gives the text and how many there were, as
    /// `re.subn`.
    ///
    /// # Errors
    /// A match took too many steps.
    pub fn replace(
        &self,
        text: &str,
        template: &Template,
        limit: Option<usize>,
    ) -> Result<(String, usize), Fault> {
        let matches = self.matches(text)?;
        let count = limit.map_or(matches.len(), |limit| limit.min(matches.len()));
        let mut replaced = String::with_capacity(text.len());
        let mut from = 0;
        for found in &matches[..count] {
            replaced.push_str(&text[from..found.start()]);
            replaced.push_str(&template.expand(text, found));
            from = found.end();
        }
        replaced.push_str(&text[from..]);
        Ok((replaced, count))
    }
}

fn build(said: &str) -> Result<fancy_regex::Regex, Fault> {
    RegexBuilder::new(said)
        .backtrack_limit(BACKTRACK_LIMIT)
        .build()
        .map_err(|fault| Fault::whole(in_words(&fault)))
}

fn search(regex: &fancy_regex::Regex, text: &str, from: usize) -> Result<Option<Found>, Fault> {
    let found = regex.captures_from_pos(text, from).map_err(|fault| Fault::whole(in_words(&fault)))?;
    Ok(found.map(|captures| Found::of(&captures)))
}

/// Bytes as text of the same number of characters, each the byte's number: what patterns of bytes match.
pub fn widen(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The bytes of a text made by [`widen`]. A character beyond one byte, which only a wrong caller can bring, is
/// written as UTF-8.
pub fn narrow(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for letter in text.chars() {
        match u8::try_from(u32::from(letter)) {
            Ok(byte) => bytes.push(byte),
            Err(_) => bytes.extend(letter.to_string().as_bytes()),
        }
    }
    bytes
}

/// A pattern that matches a text letter by letter, as `re.escape`.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if "()[]{}?*+-|^$\\.&~# \t\n\r\u{b}\u{c}".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

fn in_words(fault: &fancy_regex::Error) -> String {
    use fancy_regex::{CompileError, Error, ParseError};
    match fault {
        Error::RuntimeError(RuntimeError::BacktrackLimitExceeded | RuntimeError::StackOverflow) => {
            "the match was given up after a million steps back: make the pattern simpler".to_owned()
        }
        Error::CompileError(CompileError::LookBehindNotConst) => {
            "a look-behind needs a fixed width".to_owned()
        }
        Error::ParseError(_, ParseError::RecursionExceeded) => "the pattern is nested too deeply".to_owned(),
        Error::ParseError(_, ParseError::TargetNotRepeatable) => "a look-around is repeated".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
