//! `lineinfile`: one line of a text file, present or absent.
use super::attributes::Attributes;
use super::edit::Edit;
use super::{Mode, is_false, place};
use crate::host::Host;
use crate::regex::{Flags, Found, Pattern, Template, narrow, widen};
use crate::vocabulary::{Bytes, Change, Claim, Facts, Owner, Stop};
use crate::{Module, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Ensures that one line is in a text file, or that lines are not. Lines are matched one by one as bytes, by a
/// regular expression of Python or by a text; of several matches the last is replaced.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lineinfile {
    /// The file; links are followed and edited at their target.
    pub path: String,
    /// `present` puts `line` there, `absent` takes all lines away that match.
    #[serde(default)]
    pub state: State,
    /// The pattern of the line to replace or take away, searched in each line. `$` stands before the line's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regexp: Option<String>,
    /// A text within the line to replace or take away, letter by letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search_string: Option<String>,
    /// The line, without a newline at its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// Where a new line goes: behind the last line that this pattern matches, or `EOF` (the default), or `BOF`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insertafter: Option<String>,
    /// Where a new line goes: before the last line that this pattern matches, or `BOF`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insertbefore: Option<String>,
    /// Whether `line` may hold `\1` or `\g<name>` of `regexp`; where nothing matches, nothing is done then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub backrefs: bool,
    /// Whether the first match counts instead of the last.
    #[serde(default, skip_serializing_if = "is_false")]
    pub firstmatch: bool,
    /// Whether a missing file is made, with its folders; else it is a refusal.
    #[serde(default, skip_serializing_if = "is_false")]
    pub create: bool,
    /// Whether the old content is kept beside the file, under a name made from it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub backup: bool,
    /// A command that must accept the new file before it is put in place; `%s` stands for its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validate: Option<String>,
    /// The mode of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The owner of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The group of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Owner>,
    /// Accepted and not needed: a file that cannot be renamed over is written in place by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsafe_writes: bool,
}

/// Whether something is in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It is there.
    #[default]
    Present,
    /// It is not there.
    Absent,
}

impl Module for Lineinfile {
    const NAME: &'static str = "lineinfile";
    const EXAMPLE: &'static str = "\
- name: The irq balancer leaves the busy CPUs alone
  lineinfile:
    path: /etc/default/irqbalance
    regexp: '^#?IRQBALANCE_BANNED_CPULIST='
    line: IRQBALANCE_BANNED_CPULIST=0-3
    create: true
";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("dest", "path"), ("destfile", "path"), ("name", "path"), ("regex", "regexp"), ("value", "line")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        let place = place::open(facts, "path", &self.path)?;
        let text = place::bytes("path", &place)?;
        let edit = self.edit(&place);
        if self.state == State::Absent {
            let Some(text) = text else {
                return Ok(Change::nothing(
                    json!({ "path": self.path, "msg": "file not present", "found": 0 }),
                ));
            };
            let (after, found) = self.without(text.as_slice())?;
            let edited = edit.to(facts, &place, Some(after))?;
            let message = if found > 0 { format!("{found} line(s) removed") } else { String::new() };
            return Ok(edited.with(&place.path, &message, &[("found", found.into())]));
        }
        if text.is_none() && !self.create {
            return Err(Stop::refused("path", format!("{} is not there", place.path))
                .way_out("say `create: true` if the file shall be made"));
        }
        let old = text.clone().unwrap_or_default();
        let (after, message) = self.with(old.as_slice())?;
        if self.with(after.as_slice())?.0 != after {
            return Err(self.never_settles());
        }
        // Without a line to add, Ansible makes no file either.
        let after = (text.is_some() || message.is_some()).then_some(after);
        if after.is_none() {
            return Ok(Change::nothing(json!({ "path": self.path, "msg": "" })));
        }
        let edited = edit.to(facts, &place, after)?;
        Ok(edited.with(&place.path, message.unwrap_or_default(), &[]))
    }

    fn samples() -> Vec<Sample> {
        samples()
    }
}

/// The lines of a text, each with its newline.
pub(super) fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// A line without the newline and carriage returns at its end.
fn bare(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !matches!(byte, b'\r' | b'\n')).map_or(0, |last| last + 1);
    &line[..end]
}

/// A pattern of bytes given by an argument.
pub(super) fn pattern(argument: &'static str, text: &str, flags: Flags) -> Result<Pattern, Stop> {
    Pattern::of_bytes(text, flags).map_err(|fault| Stop::refused(argument, format!("`{text}`: {fault}")))
}

/// What finds the line that is meant.
struct Matcher<'a> {
    regexp: Option<Pattern>,
    search: Option<&'a str>,
}

impl Matcher<'_> {
    /// Whether a line is the one; then where the pattern matched, if a pattern found it.
    fn find(&self, line: &[u8]) -> Result<Option<Option<Found>>, Stop> {
        match (&self.regexp, self.search) {
            (Some(regexp), _) => {
                let found = regexp.search(&widen(line));
                Ok(found.map_err(|fault| Stop::refused("regexp", fault.to_string()))?.map(Some))
            }
            (None, Some(text)) => Ok(contains(line, text.as_bytes()).then_some(None)),
            (None, None) => Ok(None),
        }
    }
}

impl Lineinfile {
    fn check(&self) -> Result<(), Stop> {
        let both = |one: &'static str, two: &str| {
            Err(Stop::refused(one, format!("`{one}` and `{two}` exclude each other")))
        };
        if self.insertbefore.is_some() && self.insertafter.is_some() {
            return both("insertbefore", "insertafter");
        }
        if self.search_string.is_some() && self.regexp.is_some() {
            return both("search_string", "regexp");
        }
        if self.search_string.is_some() && self.backrefs {
            return both("search_string", "backrefs");
        }
        if self.state == State::Present {
            if self.line.is_none() {
                return Err(Stop::refused("line", "a line is needed with `state: present`"));
            }
            if self.backrefs && self.regexp.is_none() {
                return Err(Stop::refused("backrefs", "`backrefs` needs a `regexp`"));
            }
        } else if self.regexp.is_none() && self.search_string.is_none() && self.line.is_none() {
            return Err(Stop::refused("line", "one of `line`, `search_string` and `regexp` is needed"));
        }
        if matches!(self.mode, Some(Mode::Preserve)) {
            return Err(Stop::refused("mode", "there is no source whose mode could be preserved"));
        }
        Ok(())
    }

    fn never_settles(&self) -> Stop {
        if self.wanted().contains('\n') {
            return Stop::refused(
                "line",
                "several lines at once would be put there again by every further run",
            )
            .way_out("use `blockinfile`");
        }
        let why = "the line is changed again by every further run: `regexp` matches what `line` makes of it";
        Stop::refused("line", why)
            .way_out("let `regexp` leave out what is there already, by a look-ahead such as `(?!.* new=1)`")
    }

    /// The line without the newline that YAML's `|` leaves at its end.
    fn wanted(&self) -> &str {
        let line = self.line.as_deref().unwrap_or_default();
        line.strip_suffix('\n').unwrap_or(line)
    }

    fn edit<'a>(&'a self, place: &place::Place) -> Edit<'a> {
        let part = self.regexp.as_ref().or(self.search_string.as_ref()).or(self.line.as_ref());
        Edit {
            claim: Claim::part(&place.path, part.map_or("", String::as_str)),
            attributes: Attributes {
                mode: self.mode.as_ref(),
                owner: self.owner.as_ref(),
                group: self.group.as_ref(),
                source: None,
            },
            backup: self.backup,
            validate: self.validate.as_ref(),
            folders: true,
            argument: "path",
        }
    }

    fn matcher(&self) -> Result<Matcher<'_>, Stop> {
        let regexp =
            self.regexp.as_ref().map(|text| pattern("regexp", text, Flags::default())).transpose()?;
        Ok(Matcher { regexp, search: self.search_string.as_deref() })
    }

    fn without(&self, text: &[u8]) -> Result<(Bytes, usize), Stop> {
        let matcher = self.matcher()?;
        let mut kept = Vec::with_capacity(text.len());
        let mut found = 0;
        for line in lines(text) {
            let goes = match (&self.regexp, &self.search_string, &self.line) {
                (None, None, Some(_)) => bare(&line) == self.wanted().as_bytes(),
                _ => matcher.find(&line)?.is_some(),
            };
            if goes {
                found += 1;
            } else {
                kept.extend(line);
            }
        }
        Ok((Bytes::from(kept), found))
    }

    /// The text with the line, and what was done; nothing where nothing is to be done.
    fn with(&self, text: &[u8]) -> Result<(Bytes, Option<&'static str>), Stop> {
        let mut lines = lines(text);
        let wanted = self.wanted().as_bytes();
        let matcher = self.matcher()?;
        let mut found = None;
        for (index, line) in lines.iter().enumerate() {
            if let Some(groups) = matcher.find(line)? {
                found = Some((index, groups));
                if self.firstmatch {
                    break;
                }
            }
        }
        let message = match found {
            Some((index, groups)) => {
                let new = self.replacement(wanted, &lines[index], groups.as_ref())?;
                replace(&mut lines[index], new)
            }
            None => {
                let (exact, anchor) = self.anchors(&lines, wanted)?;
                match exact {
                    Some(index) => replace(&mut lines[index], ended(wanted)),
                    None if self.backrefs => None,
                    None => self.insert(&mut lines, wanted, anchor),
                }
            }
        };
        Ok((Bytes::from(lines.concat()), message))
    }

    fn replacement(&self, wanted: &[u8], line: &[u8], groups: Option<&Found>) -> Result<Vec<u8>, Stop> {
        let (true, Some(found), Some(regexp)) = (self.backrefs, groups, &self.regexp) else {
            return Ok(ended(wanted));
        };
        let regexp = pattern("regexp", regexp, Flags::default())?;
        let template = Template::new(&widen(wanted), &regexp)
            .map_err(|fault| Stop::refused("line", fault.to_string()))?;
        let mut new = narrow(&template.expand(&widen(line), found));
        if !new.ends_with(b"\n") {
            new.push(b'\n');
        }
        Ok(new)
    }

    /// Where the very line stands, and where a new one goes.
    fn anchors(&self, lines: &[Vec<u8>], wanted: &[u8]) -> Result<(Option<usize>, Option<usize>), Stop> {
        let (argument, text) = match (&self.insertafter, &self.insertbefore) {
            (Some(text), _) if text != "BOF" && text != "EOF" => ("insertafter", Some(text)),
            (_, Some(text)) if text != "BOF" => ("insertbefore", Some(text)),
            _ => ("insertafter", None),
        };
        let anchor = text.map(|text| pattern(argument, text, Flags::default())).transpose()?;
        let (mut exact, mut place) = (None, None);
        for (index, line) in lines.iter().enumerate() {
            if bare(line) == wanted {
                exact = Some(index);
            } else if let Some(anchor) = &anchor
                && anchor.is_match(&widen(line)).map_err(|why| Stop::refused(argument, why.to_string()))?
            {
                place = Some(if self.insertafter.is_some() { index + 1 } else { index });
                if self.firstmatch {
                    break;
                }
            }
        }
        Ok((exact, place))
    }

    fn insert(&self, lines: &mut Vec<Vec<u8>>, wanted: &[u8], anchor: Option<usize>) -> Option<&'static str> {
        let at_start = [&self.insertbefore, &self.insertafter].iter().any(|at| at.as_deref() == Some("BOF"));
        let at_end = self.insertafter.as_deref() == Some("EOF");
        match anchor {
            _ if at_start => lines.insert(0, ended(wanted)),
            Some(index) if !at_end => {
                if self.insertafter.is_some() {
                    let beside = if index == lines.len() { index - 1 } else { index };
                    if bare(&lines[beside]) == wanted {
                        return None;
                    }
                    if index == lines.len() {
                        close_last(lines);
                    }
                }
                lines.insert(index, ended(wanted));
            }
            _ => {
                close_last(lines);
                lines.push(ended(wanted));
            }
        }
        Some("line added")
    }
}

/// Ends the last line, which a new one follows.
fn close_last(lines: &mut [Vec<u8>]) {
    if let Some(last) = lines.last_mut()
        && !last.ends_with(b"\n")
        && !last.ends_with(b"\r")
    {
        last.push(b'\n');
    }
}

fn ended(line: &[u8]) -> Vec<u8> {
    let mut line = line.to_vec();
    if !line.ends_with(b"\n") {
        line.push(b'\n');
    }
    line
}

fn replace(line: &mut Vec<u8>, new: Vec<u8>) -> Option<&'static str> {
    if *line == new {
        return None;
    }
    *line = new;
    Some("line replaced")
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

fn samples() -> Vec<Sample> {
    let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
    let grub = "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX=\"quiet\"\n";
    vec![
        sample(
            "a line is replaced, by a group of the pattern",
            json!({ "path": "/etc/default/grub", "regexp": "^(GRUB_CMDLINE_LINUX=\")(.*)\"$",
                    "line": "\\1hugepages=4\"", "backrefs": true }),
            Host::new().file("/etc/default/grub", grub),
        ),
        sample(
            "a line is added at the end of a file without a last newline, with a backup and a mode",
            json!({ "path": "/etc/a b'c\"d", "line": "$(x) `y` 'z' \"w\" ünï", "backup": true, "mode": "0600" }),
            Host::new().file("/etc/a b'c\"d", "one\r\ntwo"),
        ),
        sample(
            "a file and its folders are made",
            json!({ "path": "/etc/new/deep/file", "line": "x=1", "create": true, "owner": "ceph" }),
            Host::new().dir("/etc"),
        ),
        sample(
            "a missing file is a refusal",
            json!({ "path": "/etc/none", "line": "x=1" }),
            Host::new().dir("/etc"),
        ),
        sample(
            "a link is edited at its target",
            json!({ "path": "/etc/sysconfig/grub", "line": "A=1", "insertbefore": "BOF" }),
            Host::new().file("/etc/default/grub", grub).link("/etc/sysconfig/grub", "../default/grub"),
        ),
        sample(
            "a dangling link is made whole at its target",
            json!({ "path": "/etc/dangling", "line": "A=1", "create": true }),
            Host::new().link("/etc/dangling", "/etc/target"),
        ),
        sample(
            "lines go from a file that is not UTF-8",
            json!({ "path": "/etc/latin", "regexp": "^gone", "state": "absent" }),
            Host::new().file("/etc/latin", b"gone\n\xe9t\xe9\ngone too\n"),
        ),
        sample("a folder is not a file", json!({ "path": "/etc", "line": "x" }), Host::new().dir("/etc")),
        sample(
            "an unreadable file is not a missing one",
            json!({ "path": "/etc/shadow", "line": "x", "create": true }),
            Host::new().file("/etc/shadow", "root:x").deny("/etc/shadow"),
        ),
    ]
}
