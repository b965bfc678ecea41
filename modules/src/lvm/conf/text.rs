//! The text of lvm.conf: where its settings and sections stand, and edits that leave every other byte alone.
use std::ops::Range;

/// A setting that counts: not commented out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Section and key, with `/` between.
    pub(super) path: String,
    /// Where its key begins.
    pub(super) start: usize,
    /// Where its value stands.
    pub(super) value: Range<usize>,
}

/// What a text holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    /// Settings in order.
    pub(super) settings: Vec<Setting>,
    /// Sections by path, with what stands between their braces.
    pub(super) sections: Vec<(String, Range<usize>)>,
}

/// Finds settings and sections.
///
/// # Errors
/// Says in which line the text is not understood.
pub(super) fn parse(text: &str) -> Result<Parsed, String> {
    let mut scan = Scan { text, at: 0, open: Vec::new(), found: Parsed::default() };
    while scan.next()? {}
    match scan.open.last() {
        Some((path, _)) => Err(format!("the section `{path}` is not closed")),
        None => Ok(scan.found),
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// Open sections: path, and where they begin.
    open: Vec<(String, usize)>,
    found: Parsed,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault<T>(&self, why: &str) -> Result<T, String> {
        let line = self.text[..self.at].matches('\n').count() + 1;
        Err(format!("line {line}: {why}"))
    }

    /// Blanks and comments.
    fn skip(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'#' => self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at),
                byte if byte.is_ascii_whitespace() => self.at += 1,
                _ => break,
            }
        }
    }

    fn word(&mut self) -> Range<usize> {
        let start = self.at;
        while self.peek().is_some_and(|byte| !byte.is_ascii_whitespace() && !b"{}=#[],".contains(&byte)) {
            self.at += 1;
        }
        start..self.at
    }

    fn path(&self, name: &str) -> String {
        let name = name.trim_matches(['"', '\'']);
        match self.open.last() {
            Some((path, _)) => format!("{path}/{name}"),
            None => name.to_owned(),
        }
    }

    fn next(&mut self) -> Result<bool, String> {
        self.skip();
        match self.peek() {
            None => Ok(false),
            Some(b'}') => match self.open.pop() {
                Some((path, start)) => {
                    self.found.sections.push((path, start..self.at));
                    self.at += 1;
                    Ok(true)
                }
                None => self.fault("a brace closes nothing"),
            },
            Some(_) => {
                let word = self.word();
                if word.is_empty() {
                    return self.fault("a name is expected here");
                }
                let path = self.path(&self.text[word.clone()]);
                self.skip();
                match self.peek() {
                    Some(b'{') => {
                        self.at += 1;
                        self.open.push((path, self.at));
                    }
                    Some(b'=') => {
                        self.at += 1;
                        self.skip();
                        let value = self.value()?;
                        self.found.settings.push(Setting { path, start: word.start, value });
                    }
                    _ => return self.fault("neither `=` nor `{` follows the name"),
                }
                Ok(true)
            }
        }
    }

    fn value(&mut self) -> Result<Range<usize>, String> {
        let start = self.at;
        match self.peek() {
            Some(quote @ (b'"' | b'\'')) => self.quoted(quote)?,
            Some(b'[') => {
                self.at += 1;
                loop {
                    self.skip();
                    match self.peek() {
                        Some(b']') => break,
                        Some(b',') => self.at += 1,
                        Some(quote @ (b'"' | b'\'')) => self.quoted(quote)?,
                        Some(_) if !self.word().is_empty() => {}
                        _ => return self.fault("a list is not closed"),
                    }
                }
                self.at += 1;
            }
            _ if self.word().is_empty() => return self.fault("a value is expected here"),
            _ => {}
        }
        Ok(start..self.at)
    }

    fn quoted(&mut self, quote: u8) -> Result<(), String> {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' if self.peek().is_some() => self.at += 1,
                byte if byte == quote => return Ok(()),
                _ => {}
            }
        }
        self.fault("a text is not closed")
    }
}

/// Whether two values mean the same: blanks outside texts do not count, and `y` is `1`.
pub(super) fn alike(one: &str, two: &str) -> bool {
    let truth = |text: &str| match text.trim_matches(['"', '\'']) {
        "1" | "y" | "yes" | "on" | "true" => Some(true),
        "0" | "n" | "no" | "off" | "false" => Some(false),
        _ => None,
    };
    let (one, two) = (plain(one), plain(two));
    one == two || (truth(&one).is_some() && truth(&one) == truth(&two))
}

/// A value without blanks and comments outside texts.
fn plain(value: &str) -> String {
    let (mut out, mut quote, mut letters) = (String::new(), None, value.trim().chars());
    while let Some(letter) = letters.next() {
        match quote {
            Some(open) => {
                out.push(letter);
                if letter == '\\' {
                    out.extend(letters.next());
                } else if letter == open {
                    quote = None;
                }
            }
            None if letter == '#' => drop(letters.by_ref().find(|letter| *letter == '\n')),
            None if letter.is_whitespace() => {}
            None => {
                out.push(letter);
                quote = Some(letter).filter(|letter| "\"'".contains(*letter));
            }
        }
    }
    out
}

/// The value of a setting that counts; of several the last one does.
pub(super) fn value<'a>(text: &'a str, parsed: &Parsed, path: &str) -> Option<&'a str> {
    parsed
        .settings
        .iter()
        .rev()
        .find(|setting| setting.path == path)
        .map(|setting| &text[setting.value.clone()])
}

/// The text with a setting set.
///
/// # Errors
/// As [`parse`].
pub(super) fn set(text: &str, path: &str, literal: &str) -> Result<String, String> {
    let parsed = parse(text)?;
    if let Some(setting) = parsed.settings.iter().rev().find(|setting| setting.path == path) {
        let range = setting.value.clone();
        if alike(&text[range.clone()], literal) {
            return Ok(text.to_owned());
        }
        return Ok(format!("{}{literal}{}", &text[..range.start], &text[range.end..]));
    }
    let (section, key) = path.rsplit_once('/').unwrap_or(("", path));
    let Some((_, body)) = parsed.sections.iter().rev().find(|(name, _)| name == section) else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return Ok(format!("{text}{gap}{section} {{\n\t{key} = {literal}\n}}\n"));
    };
    let (at, indent) = place(text, body, key);
    let before = &text[..at];
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let end = if text[at..].starts_with('}') { "\n" } else { "" };
    let end = if end.is_empty() && !text[at..].is_empty() { "\n" } else { end };
    Ok(format!("{before}{gap}{indent}{key} = {literal}{end}{}", &text[at..]))
}

/// Where a new setting of a section goes: behind its commented default, else at the section's end; and its indent.
fn place(text: &str, body: &Range<usize>, key: &str) -> (usize, String) {
    let indent =
        |line: &str| line.chars().take_while(|letter| *letter == ' ' || *letter == '\t').collect::<String>();
    let mut at = body.start;
    let mut found = None;
    for line in text[body.clone()].split_inclusive('\n') {
        at += line.len();
        let words =
            line.trim_start().strip_prefix('#').map(str::trim_start).and_then(|rest| rest.strip_prefix(key));
        if words.is_some_and(|rest| rest.trim_start().starts_with('=')) && line.ends_with('\n') {
            found = Some((at, indent(line)));
        }
    }
    if let Some(found) = found {
        return found;
    }
    let inside = &text[body.clone()];
    let last =
        inside.lines().rev().find(|line| !line.trim().is_empty()).map_or_else(|| "\t".to_owned(), indent);
    let last = if last.is_empty() { "\t".to_owned() } else { last };
    let trailing = inside.len() - inside.trim_end_matches([' ', '\t']).len();
    (body.end - trailing, last)
}

/// The text without a setting: each of its lines, or what stands of it on a line that it shares.
///
/// # Errors
/// As [`parse`].
pub(super) fn unset(text: &str, path: &str) -> Result<String, String> {
    let parsed = parse(text)?;
    let mut out = text.to_owned();
    for setting in parsed.settings.iter().rev().filter(|setting| setting.path == path) {
        let line = out[..setting.start].rfind('\n').map_or(0, |at| at + 1);
        let end = out[setting.value.end..].find('\n').map_or(out.len(), |at| setting.value.end + at + 1);
        let alone = out[line..setting.start].trim().is_empty()
            && matches!(out[setting.value.end..end].trim().chars().next(), None | Some('#'));
        let range = if alone { line..end } else { setting.start..setting.value.end };
        out.replace_range(range, "");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::{alike, parse, set, unset, value};
    use proptest::prelude::*;

    const DUPLICATE: &str = include_str!("../../../../tests/data/corpus/lvm/lvm.conf-emc-duplicate-filter");
    const DUMP: &str = include_str!("../../../../tests/data/corpus/lvm/lvm.conf-dump-one-line-lists");

    #[test]
    fn the_last_of_a_duplicate_counts_and_others_stay() {
        let text = DUPLICATE;
        let parsed = parse(text).unwrap();
        assert_eq!(value(text, &parsed, "filter"), Some(r#"[ "a/sda[0-9]*$/",  "r/sd.*/" ]"#));
        assert_eq!(value(text, &parsed, "shell/history_size"), Some("100"));
        let after = set(text, "allocation/thin_pool_zero", "0").unwrap();
        assert!(
            after.starts_with(text) && after.ends_with("allocation {\n\tthin_pool_zero = 0\n}\n"),
            "{after}"
        );
    }

    #[test]
    fn one_character_changes() {
        let text = DUMP;
        let after = set(text, "devices/issue_discards", "1").unwrap();
        let differs = text.bytes().zip(after.bytes()).filter(|(one, two)| one != two).count();
        assert_eq!((text.len(), differs), (after.len(), 1));
        assert_eq!(set(text, "devices/global_filter", "[ \"a|.*/|\" ]").unwrap(), text);
    }

    #[test]
    fn a_new_setting_stands_behind_its_commented_default() {
        let text = "# top\nallocation {\n\n\t# How large.\n\t# thin_pool_chunk_size = 64\n\n\tmaximise_cling = 1\n}\nglobal { umask = 63 }\n";
        let after = set(text, "allocation/thin_pool_chunk_size", "4096").unwrap();
        assert_eq!(after, text.replace("= 64\n", "= 64\n\tthin_pool_chunk_size = 4096\n"));
        assert_eq!(unset(&after, "allocation/thin_pool_chunk_size").unwrap(), text);
        let after = set(text, "allocation/thin_pool_zero", "0").unwrap();
        assert_eq!(after, text.replace("cling = 1\n}", "cling = 1\n\tthin_pool_zero = 0\n}"));
        let after = set(text, "global/suffix", "0").unwrap();
        assert_eq!(value(&after, &parse(&after).unwrap(), "global/suffix"), Some("0"), "{after}");
        assert_eq!(value(&after, &parse(&after).unwrap(), "global/umask"), Some("63"), "{after}");
        assert_eq!(unset("global { umask = 63 }\n", "global/umask").unwrap(), "global {  }\n");
    }

    #[test]
    fn what_is_not_understood_is_told_with_its_line() {
        for (text, words) in [
            ("a {\n b = 1\n", "`a` is not closed"),
            ("a = 1\n}\n", "line 2: a brace"),
            ("a = [ 1,\n", "line 2: a list"),
            ("a = \"x\n", "not closed"),
            ("a b = 1\n", "line 1: neither"),
            ("a =\n}", "line 2: a value"),
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
    }

    #[test]
    fn values_compare_by_meaning() {
        for (one, two, wanted) in [
            ("[ \"a|x|\",\"r|.*|\" ]", "[\"a|x|\", \"r|.*|\"]", true),
            ("n", "0", true),
            ("\"y\"", "1", true),
            ("4096", "64", false),
            ("\"a b\"", "\"ab\"", false),
            ("[ 1, # one\n 2 ]", "[1,2]", true),
        ] {
            assert_eq!(alike(one, two), wanted, "{one} {two}");
        }
    }

    proptest! {
        #[test]
        fn an_edit_leaves_every_other_setting_alone(
            lines in proptest::collection::vec("(# )?[ab]{1,2} = ([0-9]{1,2}|\"[ -!#-Z]{0,3}\"|\\[ 1,2 \\])( # x)?", 0..6),
            wanted in 0_u8..20,
        ) {
            let text = format!("s {{\n\t{}\n}}\nt {{ c = 1 }}", lines.join("\n\t"));
            let path = "s/a";
            let after = set(&text, path, &wanted.to_string()).unwrap();
            let settings = |text: &str| {
                let parsed = parse(text).unwrap();
                let others = parsed.settings.iter().filter(|setting| setting.path != path);
                others.map(|setting| (setting.path.clone(), text[setting.value.clone()].to_owned())).collect::<Vec<_>>()
            };
            prop_assert_eq!(settings(&after), settings(&text));
            let parsed = parse(&after).unwrap();
            prop_assert!(alike(value(&after, &parsed, path).unwrap(), &wanted.to_string()));
            prop_assert_eq!(set(&after, path, &wanted.to_string()).unwrap(), after.clone());
            let gone = unset(&after, path).unwrap();
            prop_assert_eq!(value(&gone, &parse(&gone).unwrap(), path), None);
            prop_assert_eq!(settings(&gone), settings(&text));
        }
    }
}
