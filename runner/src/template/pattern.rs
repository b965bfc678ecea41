//! Python's regular expressions on `fancy-regex`: syntax where they differ, replacing and finding as `re` does.
use fancy_regex::{Captures, Regex, RegexBuilder};

/// Steps back that one match may take.
const BACKTRACKS: usize = 1_000_000;

/// How much of the text a pattern must cover.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// From the first character on.
    Start,
    /// Any part.
    Anywhere,
    /// All of it.
    Full,
}

/// A compiled pattern.
pub(super) struct Pattern {
    regex: Regex,
    ignore_case: bool,
    multi_line: bool,
}

fn build(source: &str, ignore_case: bool, multi_line: bool) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(source);
    builder.case_insensitive(ignore_case).multi_line(multi_line).backtrack_limit(BACKTRACKS);
    builder.build().map_err(|_| "the regular expression cannot be read".to_owned())
}

impl Pattern {
    /// Compiles a pattern written for Python.
    pub fn new(source: &str, ignore_case: bool, multi_line: bool) -> Result<Self, String> {
        let multi_line = multi_line || inline_flag(source, 'm');
        let regex = build(&translated(source, multi_line), ignore_case, multi_line)?;
        Ok(Self { regex, ignore_case, multi_line })
    }

    fn captures<'t>(&self, text: &'t str, from: usize) -> Result<Option<Captures<'t>>, String> {
        let found = self.regex.captures_from_pos(text, from);
        found.map_err(|_| "the regular expression takes too many steps on this text".to_owned())
    }

    /// Whether it matches.
    pub fn holds(&self, text: &str, whole: Whole) -> Result<bool, String> {
        if whole == Whole::Full {
            let full =
                build(&format!(r"\A(?:{})\z", self.regex.as_str()), self.ignore_case, self.multi_line)?;
            let held = full.is_match(text);
            return held.map_err(|_| "the regular expression takes too many steps on this text".to_owned());
        }
        // The leftmost match begins at the first character if any match does.
        let start = self.captures(text, 0)?.and_then(|found| found.get(0).map(|whole| whole.start()));
        Ok(start.is_some_and(|start| whole == Whole::Anywhere || start == 0))
    }

    /// The groups of the first match, the whole match first.
    pub fn first(&self, text: &str) -> Result<Option<Vec<Option<String>>>, String> {
        Ok(self.captures(text, 0)?.map(|found| groups(&found)))
    }

    /// The number of a named group.
    pub fn group(&self, name: &str) -> Option<usize> {
        self.regex.capture_names().position(|known| known == Some(name))
    }

    /// The groups of all matches.
    pub fn all(&self, text: &str) -> Result<Vec<Vec<Option<String>>>, String> {
        let mut out = Vec::new();
        self.each(text, usize::MAX, |found, _| {
            out.push(groups(found));
            Ok(())
        })?;
        Ok(out)
    }

    /// Calls for every match as Python finds them: an empty match may touch the one before.
    fn each(
        &self,
        text: &str,
        limit: usize,
        mut call: impl FnMut(&Captures<'_>, (usize, usize)) -> Result<(), String>,
    ) -> Result<(), String> {
        let (mut at, mut count) = (0, 0);
        while at <= text.len() && count < limit {
            let Some(found) = self.captures(text, at)? else { break };
            let Some(whole) = found.get(0) else { break };
            call(&found, (whole.start(), whole.end()))?;
            count += 1;
            at = whole.end();
            if whole.start() == whole.end() {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        Ok(())
    }

    /// `re.subn`: the new text and the number of replacements.
    pub fn replace(&self, text: &str, with: &str, count: usize) -> Result<(String, usize), String> {
        let (mut out, mut last, mut times) = (String::new(), 0, 0);
        let limit = if count == 0 { usize::MAX } else { count };
        self.each(text, limit, |found, (start, end)| {
            out.push_str(&text[last..start]);
            self.expand(with, found, &mut out)?;
            last = end;
            times += 1;
            Ok(())
        })?;
        out.push_str(&text[last..]);
        Ok((out, times))
    }

    /// Python's template of a replacement: `\1`, `\g<1>`, `\g<name>`, `\n`.
    fn expand(&self, with: &str, found: &Captures<'_>, out: &mut String) -> Result<(), String> {
        let mut rest = with;
        while let Some(at) = rest.find('\\') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let first = rest.chars().next().ok_or("the replacement ends with a backslash")?;
            let named = rest.strip_prefix("g<").and_then(|tail| tail.split_once('>'));
            if let Some((name, tail)) = named {
                let index = name.parse().ok().or_else(|| self.group(name));
                self.push_group(index, found, out)?;
                rest = tail;
                continue;
            }
            if first.is_ascii_digit() && first != '0' {
                let two = rest.get(..2).filter(|two| two.bytes().all(|byte| byte.is_ascii_digit()));
                let digits = two.unwrap_or(&rest[..1]);
                self.push_group(digits.parse().ok(), found, out)?;
                rest = &rest[digits.len()..];
                continue;
            }
            match first {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '0' => out.push('\0'),
                '\\' => out.push('\\'),
                c if c.is_ascii_alphabetic() => {
                    return Err(format!("`\\{c}` means nothing in a replacement"));
                }
                c => {
                    out.push('\\');
                    out.push(c);
                }
            }
            rest = &rest[first.len_utf8()..];
        }
        out.push_str(rest);
        Ok(())
    }

    fn push_group(&self, index: Option<usize>, found: &Captures<'_>, out: &mut String) -> Result<(), String> {
        match index.filter(|index| *index < self.regex.captures_len()) {
            Some(index) => {
                out.push_str(found.get(index).map_or("", |group| group.as_str()));
                Ok(())
            }
            None => Err("the replacement names a group that the pattern has not".to_owned()),
        }
    }
}

fn groups(found: &Captures<'_>) -> Vec<Option<String>> {
    (0..found.len()).map(|index| found.get(index).map(|group| group.as_str().to_owned())).collect()
}

/// Whether the pattern begins with that flag, as in `(?im)`.
fn inline_flag(source: &str, flag: char) -> bool {
    let flags = source.strip_prefix("(?").and_then(|rest| rest.split_once(')'));
    flags.is_some_and(|(flags, _)| flags.chars().all(|c| "aiLmsux".contains(c)) && flags.contains(flag))
}

/// The pattern as `fancy-regex` reads it.
fn translated(source: &str, multi_line: bool) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len() + 8);
    let (mut at, mut class) = (0, None);
    while at < chars.len() {
        let c = chars[at];
        match c {
            '\\' => {
                at += 1;
                escape(chars.get(at).copied(), class.is_some(), &mut out);
            }
            // The first `]` of a class stands for itself.
            ']' if class.is_some_and(|start| at > start) => {
                class = None;
                out.push(c);
            }
            '[' if class.is_none() => {
                out.push(c);
                let not = chars.get(at + 1) == Some(&'^');
                if not {
                    at += 1;
                    out.push('^');
                }
                class = Some(at + 1);
            }
            '[' | ']' => {
                out.push('\\');
                out.push(c);
            }
            '&' | '~' if class.is_some() => {
                out.push('\\');
                out.push(c);
            }
            '$' if class.is_none() && !multi_line => out.push_str(r"(?=\n?\z)"),
            '{' if class.is_none() && !quantifier(&chars[at..]) => out.push_str(r"\{"),
            '(' if class.is_none() && chars[at..].starts_with(&['(', '?', 'a']) => {
                out.push_str("(?");
                at += 2;
            }
            c => out.push(c),
        }
        at += 1;
    }
    out
}

fn escape(c: Option<char>, class: bool, out: &mut String) {
    match c {
        None => out.push('\\'),
        Some('Z') if !class => out.push_str(r"\z"),
        Some(c) if c.is_alphanumeric() => {
            out.push('\\');
            out.push(c);
        }
        // `\<` and `\>` are borders of words in Rust and plain characters in Python.
        Some(c) if r"\.+*?()|[]{}^$#&-~/".contains(c) && c != '/' => {
            out.push('\\');
            out.push(c);
        }
        Some(c) => out.push(c),
    }
}

/// Whether `{2}`, `{2,}`, `{,3}` or `{2,3}` stands here.
fn quantifier(rest: &[char]) -> bool {
    let end = rest.iter().position(|c| *c == '}').unwrap_or(0);
    end > 1
        && rest[1..end].iter().all(|c| c.is_ascii_digit() || *c == ',')
        && rest[1..end].iter().filter(|c| **c == ',').count() < 2
        && rest[1..end].iter().any(char::is_ascii_digit)
}
