//! A ceph.conf, line by line: one option of one section is changed, and every other byte stays.

/// A ceph.conf.
pub(super) struct Conf {
    /// Lines with their newlines. A line that ends with `\` holds the next one too.
    lines: Vec<String>,
}

/// Where an option stands, and what it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    line: usize,
    /// Its value, without comment and quotes.
    pub value: String,
}

/// What an edit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// Nothing: it is so already.
    Same,
    /// One setting was changed, added or removed.
    Changed,
    /// Other spellings of the same option, which would have fought with it, are gone too.
    MadeOne,
}

impl Conf {
    pub fn parse(text: &str) -> Self {
        let mut lines: Vec<String> = Vec::new();
        for line in text.split_inclusive('\n') {
            match lines.last_mut().filter(|last| last.ends_with("\\\n") || last.ends_with("\\\r\n")) {
                Some(last) => last.push_str(line),
                None => lines.push(line.to_owned()),
            }
        }
        Self { lines }
    }

    pub fn text(&self) -> String {
        self.lines.concat()
    }

    /// The settings of an option in a section, in order. A section may stand more than once.
    pub fn settings(&self, section: &str, name: &str) -> Vec<Setting> {
        let mut found = Vec::new();
        let mut inside = false;
        for (line, text) in self.lines.iter().enumerate() {
            if let Some(header) = header(text) {
                inside = header == section;
            } else if let (true, Some((key, value))) = (inside, setting(text))
                && key == name
            {
                found.push(Setting { line, value });
            }
        }
        found
    }

    /// The value that counts: the last one.
    pub fn value(&self, section: &str, name: &str) -> Option<String> {
        self.settings(section, name).pop().map(|setting| setting.value)
    }

    /// Gives an option a value; `alike` tells whether a value that is there means the same.
    pub fn set(&mut self, section: &str, name: &str, value: &str, alike: impl Fn(&str) -> bool) -> Edited {
        let settings = self.settings(section, name);
        let Some(last) = settings.last() else {
            self.add(section, name, value);
            return Edited::Changed;
        };
        let same = alike(&last.value);
        // Which of two spellings counts is not for a reader to guess: one stays.
        let others: Vec<usize> = settings[..settings.len() - 1].iter().map(|setting| setting.line).collect();
        let line = last.line;
        if !same {
            self.lines[line] = replaced(&self.lines[line], value);
        }
        for other in others.iter().rev() {
            self.lines.remove(*other);
        }
        match (others.is_empty(), same) {
            (true, true) => Edited::Same,
            (true, false) => Edited::Changed,
            (false, _) => Edited::MadeOne,
        }
    }

    /// Takes an option away in every spelling.
    pub fn remove(&mut self, section: &str, name: &str) -> Edited {
        let settings = self.settings(section, name);
        for setting in settings.iter().rev() {
            self.lines.remove(setting.line);
        }
        match settings.len() {
            0 => Edited::Same,
            1 => Edited::Changed,
            _ => Edited::MadeOne,
        }
    }

    fn add(&mut self, section: &str, name: &str, value: &str) {
        let newline =
            if self.lines.first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
        if let Some(last) = self.lines.last_mut().filter(|last| !last.ends_with('\n')) {
            last.push_str(newline);
        }
        let Some(start) = self.lines.iter().rposition(|line| header(line).as_deref() == Some(section)) else {
            if self.lines.last().is_some_and(|line| !line.trim().is_empty()) {
                self.lines.push(newline.to_owned());
            }
            self.lines.push(format!("[{section}]{newline}"));
            self.lines.push(format!("{name} = {value}{newline}"));
            return;
        };
        let end = self.lines[start + 1..].iter().position(|line| header(line).is_some());
        let end = end.map_or(self.lines.len(), |end| start + 1 + end);
        let body = &self.lines[start + 1..end];
        let last =
            body.iter().rposition(|line| !line.trim().is_empty()).map_or(start, |last| start + 1 + last);
        let indent: String = body
            .iter()
            .rev()
            .find(|line| setting(line).is_some())
            .map(|line| line.chars().take_while(|letter| matches!(letter, ' ' | '\t')).collect())
            .unwrap_or_default();
        self.lines.insert(last + 1, format!("{indent}{name} = {value}{newline}"));
    }
}

/// The name of a section, where a line begins one.
fn header(line: &str) -> Option<String> {
    let inner = line.trim_start().strip_prefix('[')?;
    let (name, _) = inner.split_once(']')?;
    Some(name.trim().to_owned())
}

/// The option of a line, spelled with `_`, and its value.
fn setting(line: &str) -> Option<(String, String)> {
    let start = line.trim_start();
    if start.starts_with(['#', ';', '[']) {
        return None;
    }
    let (key, rest) = line.split_once('=')?;
    if key.contains(['#', ';']) {
        return None;
    }
    let (start, end) = span(rest);
    let value = rest[start..end].trim();
    let quoted = |mark: char| value.len() > 1 && value.starts_with(mark) && value.ends_with(mark);
    let value = if quoted('"') || quoted('\'') { &value[1..value.len() - 1] } else { value };
    Some((super::spelled(key), value.replace("\\\r\n", "").replace("\\\n", "")))
}

/// Where the value lies in what stands behind `=`: up to a comment, blanks left out.
fn span(rest: &str) -> (usize, usize) {
    let (mut quote, mut escaped, mut end) = (None, false, rest.len());
    for (at, letter) in rest.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' | '\'' if quote == Some(letter) => quote = None,
            '"' | '\'' if quote.is_none() && rest[..at].trim().is_empty() => quote = Some(letter),
            '#' | ';' if quote.is_none() => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    let start = rest.len() - rest.trim_start_matches([' ', '\t']).len();
    let value = rest[..end].trim_end();
    (start.min(value.len()), value.len())
}

/// A line with another value: name, blanks, comment and newline stay.
fn replaced(line: &str, value: &str) -> String {
    let Some((key, rest)) = line.split_once('=') else { return line.to_owned() };
    let (start, end) = span(rest);
    let gap = if start == end && rest[..start].is_empty() { " " } else { "" };
    format!("{key}={}{gap}{value}{}", &rest[..start], &rest[end..])
}
