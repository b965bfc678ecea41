//! The lines of a file of sections, and what is done to one section of it.
use super::IniFile;
use std::collections::BTreeSet;

/// A file of sections, split at one of them. Lines are without their newlines.
pub(super) struct Sections<'a> {
    wants: &'a IniFile,
    section: Option<&'a str>,
    before: Vec<String>,
    /// The section with its head; empty where it is not there. Without a section's name: the lines before the first
    /// one, and no head.
    lines: Vec<String>,
    after: Vec<String>,
    found: bool,
    newline: &'static str,
    message: Option<&'static str>,
}

impl<'a> Sections<'a> {
    pub(super) fn new(text: &str, section: Option<&'a str>, wants: &'a IniFile) -> Self {
        let newline = match text.find('\n') {
            Some(end) if text[..end].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let mut all: Vec<String> = text
            .strip_suffix('\n')
            .unwrap_or(text)
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line).to_owned())
            .collect();
        // A last line without its newline gets one, as in Ansible.
        let open = !text.is_empty() && !text.ends_with('\n');
        let is_head = |line: &String| line.starts_with('[');
        let start = match section {
            None => Some(0),
            Some(name) => all.iter().position(|line| line.starts_with(&format!("[{name}]"))),
        };
        let found = start.is_some();
        let start = start.unwrap_or(all.len());
        let skip = usize::from(section.is_some());
        let end = all.iter().skip(start + skip).position(is_head).map_or(all.len(), |end| start + skip + end);
        let after = all.split_off(end.min(all.len()));
        let lines = all.split_off(start.min(all.len()));
        let message = open.then_some("OK");
        Self { wants, section, before: all, lines, after, found, newline, message }
    }

    /// What was done; nothing where nothing was.
    pub(super) fn message(&self) -> Option<&'static str> {
        self.message
    }

    pub(super) fn text(self) -> String {
        let lines = self.before.into_iter().chain(self.lines).chain(self.after);
        lines.flat_map(|line| [line, self.newline.to_owned()]).collect()
    }

    /// The first line that an option may stand on.
    fn first(&self) -> usize {
        usize::from(self.section.is_some())
    }

    fn assignment(&self, option: &str, value: &str) -> String {
        let equals = if self.wants.no_extra_spaces { "=" } else { " = " };
        format!("{option}{equals}{value}")
    }

    /// Sets a line of the option, unless only blanks would differ and those are to be ignored.
    fn update(&mut self, index: usize, option: &str, new: String) {
        let old = &self.lines[index];
        let differs = match (self.wants.ignore_spaces, matched(option, old, true)) {
            (true, Some((false, value))) => {
                Some(value) != matched(option, &new, true).map(|(_, value)| value)
            }
            _ => *old != new,
        };
        if differs {
            self.lines[index] = new;
            self.message = Some("option changed");
        }
    }

    pub(super) fn set(&mut self, option: &str, mut values: Vec<String>) {
        if !self.found {
            return self.ensure_section(Some(option), &values);
        }
        let mut done = BTreeSet::new();
        let mut stands_alone = false;
        let wanted = !values.is_empty();
        for index in 0..self.lines.len() {
            let Some((_, value)) = matched(option, &self.lines[index], true) else { continue };
            let value = value.to_owned();
            if let Some(place) = values.iter().position(|wanted| *wanted == value) {
                let alone = value.is_empty() && self.wants.allow_no_value;
                stands_alone |= alone;
                let new = if alone { option.to_owned() } else { self.assignment(option, &value) };
                self.update(index, option, new);
                done.insert(index);
                values.remove(place);
            } else if values.is_empty() && self.wants.allow_no_value {
                self.update(index, option, option.to_owned());
                done.insert(index);
                stands_alone = true;
                break;
            }
        }
        let stands_alone = stands_alone || (wanted && values.is_empty());
        if self.wants.exclusive && !self.wants.allow_no_value {
            self.exclude(option, &mut values, &mut done);
        }
        self.add(option, &values, stands_alone);
    }

    /// Gives values to the lines of the option that are left, and takes the rest of these lines away.
    fn exclude(&mut self, option: &str, values: &mut Vec<String>, done: &mut BTreeSet<usize>) {
        for index in 0..self.lines.len() {
            if values.is_empty() {
                break;
            }
            if !done.contains(&index) && matched(option, &self.lines[index], true).is_some() {
                let new = self.assignment(option, &values.remove(0));
                self.update(index, option, new);
                done.insert(index);
            }
        }
        for index in (self.first()..self.lines.len()).rev() {
            if !done.contains(&index) && matched(option, &self.lines[index], true).is_some() {
                self.lines.remove(index);
                self.message = Some("option changed");
            }
        }
    }

    /// Adds what is not there yet, behind the last line that is neither blank nor a comment.
    fn add(&mut self, option: &str, values: &[String], stands_alone: bool) {
        let last = self.lines.iter().rposition(|line| {
            let line = line.trim_start_matches([' ', '\t']);
            !line.is_empty() && !line.starts_with(['#', ';'])
        });
        let at = last.map_or(0, |last| last + 1);
        let new: Vec<String> = if !values.is_empty() {
            values.iter().map(|value| self.assignment(option, value)).collect()
        } else if self.wants.allow_no_value && !stands_alone {
            vec![option.to_owned()]
        } else {
            return;
        };
        self.lines.splice(at..at, new);
        self.message = Some("option added");
    }

    /// Adds the section at the end of the file, with an option where one is given.
    pub(super) fn ensure_section(&mut self, option: Option<&str>, values: &[String]) {
        let Some(section) = self.section.filter(|_| !self.found) else { return };
        self.lines.push(format!("[{section}]"));
        self.message = Some("only section added");
        let Some(option) = option else { return };
        for value in values {
            let line = self.assignment(option, value);
            self.lines.push(line);
            self.message = Some("section and option added");
        }
        if values.is_empty() && self.wants.allow_no_value {
            self.lines.push(option.to_owned());
            self.message = Some("section and option added");
        }
    }

    pub(super) fn unset(&mut self, option: &str, values: &[String]) {
        let many = self.lines.len();
        let exclusive = self.wants.exclusive;
        self.lines.retain(|line| match matched(option, line, false) {
            Some((_, value)) => !(exclusive || values.iter().any(|gone| gone == value)),
            None => true,
        });
        if self.lines.len() != many {
            self.message = Some("option changed");
        }
    }

    pub(super) fn drop_section(&mut self) {
        // Without a section's name this would be every line before the first one.
        if self.section.is_some() && !self.lines.is_empty() {
            self.lines.clear();
            self.message = Some("section removed");
        }
    }
}

/// Whether a line is about an option: whether it is commented out, and its value.
fn matched<'l>(option: &str, line: &'l str, commented: bool) -> Option<(bool, &'l str)> {
    const BLANKS: [char; 2] = [' ', '\t'];
    let bare = if commented { line.strip_prefix(['#', ';']).unwrap_or(line) } else { line };
    let is_comment = bare.len() != line.len();
    let rest = bare.trim_start_matches(BLANKS).strip_prefix(option)?.trim_start_matches(BLANKS);
    match rest.strip_prefix('=') {
        Some(value) => Some((is_comment, value.trim_start_matches(BLANKS))),
        None if rest.is_empty() => Some((is_comment, "")),
        None => None,
    }
}
