//! `blockinfile`: a block of lines between two marker lines of a text file.
use super::attributes::Attributes;
use super::edit::Edit;
use super::lineinfile::{State, pattern};
use super::{Mode, is_false, place};
use crate::host::Host;
use crate::regex::{Flags, Pattern, widen};
use crate::vocabulary::{Bytes, Change, Claim, Facts, Owner, Read, Stop};
use crate::{Module, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Ensures that a block of lines stands in a text file between two marker lines, or that it does not.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Blockinfile {
    /// The file; links are followed and edited at their target.
    pub path: String,
    /// `present` puts the block there, `absent` takes it and its markers away.
    #[serde(default)]
    pub state: State,
    /// The lines between the markers. Empty means that the block and its markers go.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub block: String,
    /// The marker line; `{mark}` becomes `marker_begin` or `marker_end`.
    #[serde(default = "marker")]
    pub marker: String,
    /// What `{mark}` becomes in the line before the block.
    #[serde(default = "begin")]
    pub marker_begin: String,
    /// What `{mark}` becomes in the line behind the block.
    #[serde(default = "end")]
    pub marker_end: String,
    /// Where a new block goes: behind the last line that this pattern matches, or `EOF` (the default).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insertafter: Option<String>,
    /// Where a new block goes: before the last line that this pattern matches, or `BOF`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub insertbefore: Option<String>,
    /// Whether an empty line is put behind the block, where there is none and the file goes on.
    #[serde(default, skip_serializing_if = "is_false")]
    pub append_newline: bool,
    /// Whether an empty line is put before the block, where there is none and it does not begin the file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub prepend_newline: bool,
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

fn marker() -> String {
    "# {mark} ANSIBLE MANAGED BLOCK".to_owned()
}

fn begin() -> String {
    "BEGIN".to_owned()
}

fn end() -> String {
    "END".to_owned()
}

impl Module for Blockinfile {
    const NAME: &'static str = "blockinfile";
    const EXAMPLE: &'static str = "\
- name: The storage nodes know each other
  blockinfile:
    path: /etc/hosts
    marker: '# {mark} storage nodes'
    create: true
    block: |
      192.0.2.11 osd1
      192.0.2.12 osd2
";
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("dest", "path"), ("destfile", "path"), ("name", "path"), ("content", "block")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        let place = place::open(facts, "path", &self.path)?;
        let text = place::bytes("path", &place)?;
        let Some(old) = text.clone().or_else(|| self.create.then(Bytes::default)) else {
            return Err(Stop::refused("path", format!("{} is not there", place.path))
                .way_out("say `create: true` if the file shall be made"));
        };
        if self.state == State::Absent && text.is_none() {
            let message = format!("File {} not present", self.path);
            return Ok(Change::nothing(json!({ "path": self.path, "msg": message })));
        }
        let after = self.with(old.as_slice())?;
        if self.with(&after)? != after {
            let why = "the block would move at every further run: what it holds looks like its own marker";
            return Err(Stop::refused("block", why));
        }
        let message = match &text {
            Some(old) if old.as_slice() == after => "",
            None => "File created",
            _ if self.is_present() => "Block inserted",
            _ => "Block removed",
        };
        let edit = Edit {
            claim: Claim::part(&place.path, &self.markers().0),
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
        };
        let edited = edit.to(facts, &place, Some(Bytes::from(after)))?;
        Ok(edited.with(&place.path, message, &[]))
    }

    fn samples() -> Vec<Sample> {
        samples()
    }
}

/// Lines as Python splits bytes: after `\n`, `\r\n` and a lone `\r`.
fn lines(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    let mut from = 0;
    for (index, byte) in text.iter().enumerate() {
        if *byte == b'\n' || (*byte == b'\r' && text.get(index + 1) != Some(&b'\n')) {
            lines.push(text[from..=index].to_vec());
            from = index + 1;
        }
    }
    if from < text.len() {
        lines.push(text[from..].to_vec());
    }
    lines
}

impl Blockinfile {
    fn check(&self) -> Result<(), Stop> {
        if self.insertbefore.is_some() && self.insertafter.is_some() {
            return Err(Stop::refused("insertbefore", "`insertbefore` and `insertafter` exclude each other"));
        }
        if matches!(self.mode, Some(Mode::Preserve)) {
            return Err(Stop::refused("mode", "there is no source whose mode could be preserved"));
        }
        let (begin, end) = self.markers();
        if begin == end {
            return Err(Stop::refused(
                "marker",
                "both markers are the same line: the block could not be found again",
            )
            .way_out("let `marker` hold `{mark}`, and `marker_begin` and `marker_end` differ"));
        }
        if begin.contains(['\n', '\r']) || end.contains(['\n', '\r']) {
            return Err(Stop::refused("marker", "a marker of several lines could not be found again"));
        }
        Ok(())
    }

    fn markers(&self) -> (String, String) {
        let mark = |word: &str| self.marker.replace("{mark}", word);
        (mark(&self.marker_begin), mark(&self.marker_end))
    }

    fn is_present(&self) -> bool {
        self.state == State::Present && !self.block.is_empty()
    }

    fn with(&self, text: &[u8]) -> Result<Vec<u8>, Stop> {
        let mut lines = lines(text);
        let (begin, end) = self.markers();
        let (begin, end) = (format!("{begin}\n").into_bytes(), format!("{end}\n").into_bytes());
        let first = lines.iter().rposition(|line| *line == begin);
        let last = lines.iter().rposition(|line| *line == end);
        let mut at = match (first, last) {
            (Some(first), Some(last)) => {
                let (from, to) = (first.min(last), first.max(last));
                lines.drain(from..=to);
                from
            }
            _ => self.new_place(&lines, text)?,
        };
        if at > 0 && !lines[at - 1].ends_with(b"\n") {
            lines[at - 1].push(b'\n');
        }
        let present = self.state == State::Present;
        if self.prepend_newline && present && at != 0 && lines[at - 1] != b"\n" {
            lines.insert(at, b"\n".to_vec());
            at += 1;
        }
        let mut block = Vec::new();
        if self.is_present() {
            block.push(begin);
            let closed = if self.block.ends_with('\n') { "" } else { "\n" };
            block.push(format!("{}{closed}", self.block).into_bytes());
            block.push(end);
        }
        let behind = at + block.len();
        lines.splice(at..at, block);
        if self.append_newline && present && lines.get(behind).is_some_and(|line| line != b"\n") {
            lines.insert(behind, b"\n".to_vec());
        }
        Ok(lines.concat())
    }

    fn new_place(&self, lines: &[Vec<u8>], text: &[u8]) -> Result<usize, Stop> {
        let (argument, anchor) = match (&self.insertafter, &self.insertbefore) {
            (Some(text), _) if text != "EOF" => ("insertafter", text),
            (_, Some(text)) if text != "BOF" => ("insertbefore", text),
            (_, Some(_)) => return Ok(0),
            _ => return Ok(lines.len()),
        };
        let regex = pattern(argument, anchor, Flags::default())?;
        let found = self.anchored(&regex, lines, text);
        let found = found.map_err(|fault| Stop::refused(argument, fault.to_string()))?;
        Ok(match found {
            None => lines.len(),
            Some(index) if self.insertafter.is_some() => (index + 1).min(lines.len()),
            Some(index) => index,
        })
    }

    /// The line that the pattern finds: the last one that matches, or, where it begins with `(?m)`, that where its
    /// first match in the whole text ends or begins.
    fn anchored(
        &self,
        regex: &Pattern,
        lines: &[Vec<u8>],
        text: &[u8],
    ) -> Result<Option<usize>, crate::regex::Fault> {
        if regex.flags().multiline {
            let text = widen(text);
            let found = regex.search(&text)?;
            return Ok(found.map(|found| {
                let place = if self.insertafter.is_some() { found.end() } else { found.start() };
                text[..place].matches('\n').count()
            }));
        }
        let mut last = None;
        for (index, line) in lines.iter().enumerate() {
            if regex.is_match(&widen(line))? {
                last = Some(index);
            }
        }
        Ok(last)
    }
}

fn samples() -> Vec<Sample> {
    let sample = |about, args, host| Sample { about, args, host, calls: Vec::new() };
    let hosts =
        "127.0.0.1 localhost\n# BEGIN ANSIBLE MANAGED BLOCK\nold\n# END ANSIBLE MANAGED BLOCK\n::1 ip6\n";
    vec![
        sample(
            "a block is replaced where it stands",
            json!({ "path": "/etc/hosts", "block": "192.0.2.1 a 'b' \"c\" $(d)\nünï\n", "backup": true }),
            Host::new().file("/etc/hosts", hosts),
        ),
        sample(
            "a block goes",
            json!({ "path": "/etc/hosts", "state": "absent" }),
            Host::new().file("/etc/hosts", hosts),
        ),
        sample(
            "a file of bytes that are no text gets a block",
            json!({ "path": "/etc/bin ary", "block": "x", "insertbefore": "BOF", "marker": "// {mark}" }),
            Host::new().file("/etc/bin ary", b"\xff\xfe\r\n\x80"),
        ),
        sample(
            "a file is made with its folder",
            json!({ "path": "/etc/a/b", "block": "x", "create": true, "mode": "0600" }),
            Host::new().dir("/etc"),
        ),
        sample(
            "a marker without `{mark}` is refused",
            json!({ "path": "/etc/hosts", "block": "x", "marker": "# mine" }),
            Host::new().file("/etc/hosts", hosts),
        ),
        sample(
            "a mount point is written in place",
            json!({ "path": "/etc/hosts", "block": "x" }),
            mounted(Host::new().file("/etc/hosts", hosts), "/etc/hosts"),
        ),
    ]
}

/// The host with something mounted on a path.
pub(super) fn mounted(host: Host, path: &str) -> Host {
    let at = crate::vocabulary::HostPath::new(path);
    match at.map(|at| host.see(&Read::text(&at))) {
        Ok(crate::vocabulary::Seen::Node(mut node)) => {
            node.mount_point = true;
            host.node(path, node)
        }
        _ => host,
    }
}
