//! `replace`: every match of a pattern in a text file, replaced.
use super::attributes::Attributes;
use super::edit::Edit;
use super::{Mode, is_false, place};
use crate::host::Host;
use crate::regex::{Fault, Flags, Pattern, Template, narrow, widen};
use crate::vocabulary::{Bytes, Change, Claim, Facts, Owner, Stop};
use crate::{Module, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Replaces every match of a regular expression of Python in a text file, or in one section of it. `^` and `$`
/// stand at every line.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Replace {
    /// The file; links are followed and edited at their target.
    pub path: String,
    /// The pattern.
    pub regexp: String,
    /// What each match becomes; `\1` and `\g<name>` stand for groups. Without it matches are taken away.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub replace: String,
    /// Only what stands behind the first match of this pattern is searched; its `.` is a newline too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Only what stands before the first match of this pattern is searched; its `.` is a newline too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Whether the old content is kept beside the file, under a name made from it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub backup: bool,
    /// A command that must accept the new file before it is put in place; `%s` stands for its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validate: Option<String>,
    /// The encoding of the file: only `utf-8`; a file that is not UTF-8 is edited as bytes.
    #[serde(default = "utf8")]
    pub encoding: String,
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

fn utf8() -> String {
    "utf-8".to_owned()
}

impl Module for Replace {
    const NAME: &'static str = "replace";
    const EXAMPLE: &'static str = "\
- name: Root logs in by key only
  replace:
    path: /etc/ssh/sshd_config
    regexp: '^(\\s*)#?\\s*PermitRootLogin\\s+(?!prohibit-password$).*$'
    replace: '\\1PermitRootLogin prohibit-password'
    validate: sshd -t -f %s
";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("dest", "path"), ("destfile", "path"), ("name", "path")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        if !["utf-8", "utf8"].contains(&self.encoding.to_lowercase().as_str()) {
            return Err(Stop::refused("encoding", format!("`{}` is not supported", self.encoding))
                .way_out("leave it out: a file that is not UTF-8 is edited as bytes"));
        }
        if matches!(self.mode, Some(Mode::Preserve)) {
            return Err(Stop::refused("mode", "there is no source whose mode could be preserved"));
        }
        // The pattern is judged before any host is looked at.
        Subject::Text.pattern("regexp", &self.regexp, MULTILINE)?;
        let place = place::open(facts, "path", &self.path)?;
        let Some(text) = place::bytes("path", &place)? else {
            return Err(Stop::refused("path", format!("{} is not there", place.path)));
        };
        let Some((after, count)) = self.with(&text)? else {
            let message = "Pattern for before/after params did not match the given file";
            return Ok(Change::nothing(json!({ "path": self.path, "msg": message, "rc": 0 })));
        };
        let changed = after != text;
        if changed && self.with(&after)?.is_some_and(|(again, _)| again != after) {
            let why = "every further run would replace again: `regexp` matches what `replace` makes of it";
            return Err(Stop::refused("replace", why).way_out(
                "let `regexp` leave out what is there already, by a look-ahead such as `(?!.* new=1)`",
            ));
        }
        let edit = Edit {
            claim: Claim::part(&place.path, &self.regexp),
            attributes: Attributes {
                mode: self.mode.as_ref(),
                owner: self.owner.as_ref(),
                group: self.group.as_ref(),
                source: None,
            },
            backup: self.backup,
            validate: self.validate.as_ref(),
            folders: false,
            argument: "path",
        };
        let edited = edit.to(facts, &place, Some(after))?;
        let message = if changed { format!("{count} replacements made") } else { String::new() };
        Ok(edited.with(&place.path, &message, &[("rc", 0.into())]))
    }

    fn samples() -> Vec<Sample> {
        samples()
    }
}

const MULTILINE: Flags =
    Flags { multiline: true, ignore_case: false, dot_all: false, verbose: false, ascii: false };
const DOT_ALL: Flags = Flags { multiline: false, dot_all: true, ..MULTILINE };

/// How a file is matched: as text, or as bytes where it is not UTF-8.
#[derive(Clone, Copy)]
enum Subject {
    Text,
    Bytes,
}

impl Subject {
    fn pattern(self, argument: &'static str, text: &str, flags: Flags) -> Result<Pattern, Stop> {
        let pattern = match self {
            Self::Text => Pattern::new(text, flags),
            Self::Bytes => Pattern::of_bytes(text, flags),
        };
        pattern.map_err(|fault| Stop::refused(argument, format!("`{text}`: {fault}")))
    }
}

impl Replace {
    /// The text after and the number of matches; none where the section is not there.
    fn with(&self, bytes: &Bytes) -> Result<Option<(Bytes, usize)>, Stop> {
        let (subject, text) = match bytes.text() {
            Some(text) => (Subject::Text, text.to_owned()),
            None => (Subject::Bytes, widen(bytes.as_slice())),
        };
        let refused = |fault: Fault| Stop::refused("regexp", fault.to_string());
        let Some((from, to)) = self.section(subject, &text)? else { return Ok(None) };
        let regexp = subject.pattern("regexp", &self.regexp, MULTILINE)?;
        let replacement = match subject {
            Subject::Text => self.replace.clone(),
            Subject::Bytes => widen(self.replace.as_bytes()),
        };
        let template = Template::new(&replacement, &regexp)
            .map_err(|fault| Stop::refused("replace", format!("`{}`: {fault}", self.replace)))?;
        let (section, count) = regexp.replace(&text[from..to], &template, None).map_err(refused)?;
        let after = format!("{}{section}{}", &text[..from], &text[to..]);
        Ok(Some(match subject {
            Subject::Text => (Bytes::from(after), count),
            Subject::Bytes => (Bytes::from(narrow(&after)), count),
        }))
    }

    fn section(&self, subject: Subject, text: &str) -> Result<Option<(usize, usize)>, Stop> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let (argument, pattern) = match (given(&self.after), given(&self.before)) {
            (Some(after), Some(before)) => ("after", format!("{after}(?P<subsection>.*?){before}")),
            (Some(after), None) => ("after", format!("{after}(?P<subsection>.*)")),
            (None, Some(before)) => ("before", format!("(?P<subsection>.*){before}")),
            (None, None) => return Ok(Some((0, text.len()))),
        };
        let pattern = subject.pattern(argument, &pattern, DOT_ALL)?;
        let found = pattern.search(text).map_err(|fault| Stop::refused(argument, fault.to_string()))?;
        let group = pattern.named("subsection").unwrap_or_default();
        Ok(found.and_then(|found| found.span(group)))
    }
}

fn samples() -> Vec<Sample> {
    let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
    let text = "[global]\nx = 1\n[osd]\nx = 1\n";
    vec![
        sample(
            "matches behind a section's head are replaced",
            json!({ "path": "/etc/ceph/ceph.conf", "regexp": "^x = \\d+$", "replace": "x = 2 'q' \"$(w)\" é",
                    "after": "\\[osd\\]\\n" }),
            Host::new().file("/etc/ceph/ceph.conf", text),
        ),
        sample(
            "a replacement that never settles is refused",
            json!({ "path": "/etc/a", "regexp": "^(x = .*)$", "replace": "\\1 y" }),
            Host::new().file("/etc/a", text),
        ),
        sample(
            "bytes that are no text stay as they are",
            json!({ "path": "/etc/a", "regexp": "b+", "replace": "ß", "backup": true, "mode": "u=rw,go=" }),
            Host::new().file("/etc/a", b"\xff bb \xfe\r\n"),
        ),
        sample(
            "a link is edited at its target",
            json!({ "path": "/etc/link", "regexp": "x", "replace": "y", "owner": 167 }),
            Host::new().file("/srv/a", text).link("/etc/link", "/srv/a"),
        ),
        sample(
            "a missing file is a refusal",
            json!({ "path": "/etc/none", "regexp": "x" }),
            Host::new().dir("/etc"),
        ),
    ]
}
