//! One thing that a run changed on a host: before, after, and what became of it. Secrets and hidden bytes are not in it.
use crate::engine::batch::shown_call;
use modules::fold::Folded;
use modules::vocabulary::{Act, Back, Content, Digest, Image, Match, Meta, Owner, Seen, Step};
use serde::Serialize;
use similar::{ChangeTag, TextDiff};

/// Lines of one difference that are kept; of more the number is told.
const MOST_LINES: usize = 400;
/// Characters of one value that are kept.
const MOST_LETTERS: usize = 2_000;

/// What a run changed: one claim on one host, over all batches of the run that were about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// What it is: `sysctl/vm.swappiness`.
    pub claim: String,
    /// The title of the task that asked for it last.
    pub task: String,
    /// From what to what.
    pub difference: Difference,
    /// What became of it.
    pub fate: Fate,
    /// Why it failed, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// What the way back leaves, or why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub way_back: Option<String>,
    /// Tells equal settings of two runs without showing them.
    #[serde(skip)]
    pub same: Digest,
}

/// What became of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was reached, and seen.
    Stays,
    /// It was reached, or begun, and taken back.
    TakenBack,
    /// It failed, and was not taken back.
    Failed,
    /// Nothing was written.
    NotWritten,
    /// The answer never came: nobody knows.
    Unknown,
    /// A program ran that leaves no state.
    Ran,
}

impl Fate {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Stays => "stays",
            Self::TakenBack => "taken back",
            Self::Failed => "failed",
            Self::NotWritten => "not written",
            Self::Unknown => "not known",
            Self::Ran => "ran",
        }
    }
}

/// From what to what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Difference {
    /// One value.
    Value {
        /// Before; none where there was none.
        before: Option<String>,
        /// After; none where there is none.
        after: Option<String>,
    },
    /// A text, as the lines that differ with those around them.
    Text {
        /// The lines.
        lines: Vec<Line>,
        /// Mode and owners, where they differ.
        #[serde(skip_serializing_if = "Option::is_none")]
        meta: Option<(String, String)>,
    },
    /// A program that is called.
    Ran {
        /// As a person would type it.
        call: String,
    },
    /// It may not be shown.
    Hidden {
        /// Why.
        why: &'static str,
    },
}

/// One line of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    /// What becomes of it.
    pub mark: Mark,
    /// Its text, without the end of the line.
    pub text: String,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It stays.
    Same,
    /// It comes.
    Added,
    /// It goes.
    Removed,
    /// Lines are left out here.
    Gap,
}

impl Difference {
    /// Before and after in a few words each.
    pub fn words(&self) -> (String, String) {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "(none)".to_owned());
        match self {
            Self::Value { before, after } => (value(before), value(after)),
            Self::Text { lines, meta } => {
                let of = |mark: Mark| -> Vec<&str> {
                    lines.iter().filter(|line| line.mark == mark).map(|line| line.text.as_str()).collect()
                };
                let side = |mark: Mark, meta: Option<&String>| {
                    let lines = of(mark);
                    let text = match lines[..] {
                        [] => String::new(),
                        [one] => format!("`{one}`"),
                        [first, _] => format!("`{first}` and 1 line more"),
                        [first, ..] => format!("`{first}` and {} lines more", lines.len() - 1),
                    };
                    let parts: Vec<String> = [text, meta.cloned().unwrap_or_default()]
                        .into_iter()
                        .filter(|part| !part.is_empty())
                        .collect();
                    if parts.is_empty() { "(nothing)".to_owned() } else { parts.join(", ") }
                };
                let (from, to) = meta.as_ref().map_or((None, None), |(from, to)| (Some(from), Some(to)));
                (side(Mark::Removed, from), side(Mark::Added, to))
            }
            Self::Ran { call } => ("-".to_owned(), call.clone()),
            Self::Hidden { .. } => ("(hidden)".to_owned(), "(hidden)".to_owned()),
        }
    }
}

/// A step as people may see it; `hidden` says why they may not.
pub fn setting(folded: &Folded, task: String, hidden: Option<&'static str>) -> Setting {
    let step = &folded.step;
    let whole = matches!(step.after, Match::Xml { .. })
        .then_some("a definition that is sent whole may hold passwords");
    let hidden = hidden.or(whole);
    let claim = step.claim.to_string();
    Setting {
        // What finds a part of a file may be the secret itself.
        claim: match hidden {
            Some(_) => claim.split('#').next().unwrap_or_default().to_owned(),
            None => claim,
        },
        task,
        difference: hidden.map_or_else(|| difference(step), |why| Difference::Hidden { why }),
        fate: Fate::Unknown,
        failed: None,
        way_back: match &step.back {
            Back::Approximately { stays, .. } => Some(format!("approximate: {stays}")),
            Back::None { why } => Some(format!("none: {why}")),
            Back::Exactly(_) | Back::Nothing => None,
        },
        same: Digest::of(format!("{:?}\n{:?}", step.act, step.after).as_bytes()),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_LETTERS) {
        Some((at, _)) => format!("{}… ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}

fn difference(step: &Step) -> Difference {
    match &step.act {
        Act::Put { image, .. } => put(step, image),
        Act::Write { value, .. } => {
            let before = match &step.before {
                Seen::Value(value) => Some(cut(value.trim())),
                _ => None,
            };
            Difference::Value { before, after: Some(cut(value)) }
        }
        Act::Call { row, .. } => {
            called(step).unwrap_or_else(|| Difference::Ran { call: cut(&shown_call(row)) })
        }
        Act::Rpc { method, .. } => called(step).unwrap_or_else(|| Difference::Ran { call: method.clone() }),
    }
}

/// What a program or a socket is asked for, where that is a value.
fn called(step: &Step) -> Option<Difference> {
    let text = |seen: &Seen| match seen {
        Seen::Value(value) => Some(cut(value.trim())),
        Seen::Output(output) if output.status == 0 => Some(cut(output.text().trim())),
        _ => None,
    };
    step.look.as_ref()?;
    let after = match &step.after {
        Match::Alike { value, .. } => Some(cut(value)),
        Match::Exactly(Seen::Absent) => None,
        Match::Exactly(seen) => Some(text(seen)?),
        Match::Has(lines) => Some(cut(&lines.join("\n"))),
        _ => return None,
    };
    Some(Difference::Value { before: text(&step.before), after })
}

fn put(step: &Step, image: &Image) -> Difference {
    let kept = match &step.back {
        Back::Exactly(Act::Put { image, .. }) => Some(image),
        _ => None,
    };
    let (from, to) = (kept.and_then(text_of), text_of(image));
    let meta = meta(&step.before, image);
    let is_text = |text: &Option<&str>| text.is_none_or(|text| !text.contains('\0'));
    match (from, to) {
        (from, to) if (from.is_some() || to.is_some()) && is_text(&from) && is_text(&to) => {
            let known = |text: Option<&str>, image: Option<&Image>| match image {
                Some(Image::Absent) => Some(String::new()),
                _ => text.map(str::to_owned),
            };
            match (known(from, kept), known(to, Some(image))) {
                (Some(from), Some(to)) => Difference::Text { lines: lines(&from, &to), meta },
                _ => Difference::Value { before: size(&step.before), after: Some(words(image)) },
            }
        }
        _ if matches!(image, Image::File { content: Content::Same, .. }) => {
            let (before, after) = meta.unwrap_or_default();
            Difference::Value { before: Some(before), after: Some(after) }
        }
        _ => Difference::Value { before: size(&step.before), after: Some(words(image)) },
    }
}

/// The content of an image that is a text.
fn text_of(image: &Image) -> Option<&str> {
    match image {
        Image::File { content: Content::Bytes(bytes), .. } => bytes.text(),
        _ => None,
    }
}

fn size(seen: &Seen) -> Option<String> {
    match seen {
        Seen::Node(node) => Some(format!("{}, {} bytes", kind(node), node.size)),
        Seen::Absent => None,
        _ => Some("not read".to_owned()),
    }
}

const fn kind(node: &modules::vocabulary::Node) -> &'static str {
    use modules::vocabulary::Kind;
    match &node.kind {
        Kind::File => "a file",
        Kind::Dir => "a folder",
        Kind::Link { .. } => "a link",
        Kind::Block | Kind::Char => "a device",
        Kind::Fifo => "a pipe",
        Kind::Socket => "a socket",
    }
}

fn words(image: &Image) -> String {
    match image {
        Image::Absent => "absent".to_owned(),
        Image::File { content: Content::Bytes(bytes), .. } => format!("{} bytes", bytes.as_slice().len()),
        Image::File { content: Content::Same, .. } => "the same content".to_owned(),
        Image::File { content: Content::Kept(_), .. } => "the content that was kept".to_owned(),
        Image::Dir { .. } => "a folder".to_owned(),
        Image::Link { target } => format!("a link to {target}"),
        Image::Aside => "what was moved aside".to_owned(),
    }
}

/// Mode and owners before and after, where they differ.
fn meta(before: &Seen, image: &Image) -> Option<(String, String)> {
    let (Image::File { meta, .. } | Image::Dir { meta }) = image else { return None };
    let owner = |owner: &Owner| match owner {
        Owner::Id(id) => id.to_string(),
        Owner::Name(name) => name.clone(),
    };
    let told = |meta: &Meta| {
        let mode = meta.mode.map(|mode| format!("mode {mode:04o}"));
        let owned = meta.owner.as_ref().map(|user| format!("owner {}", owner(user)));
        let group = meta.group.as_ref().map(|group| format!("group {}", owner(group)));
        [mode, owned, group].into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let Seen::Node(node) = before else {
        let after = told(meta);
        return (!after.is_empty()).then(|| ("(none)".to_owned(), after));
    };
    if meta.holds(node) {
        return None;
    }
    let was = Meta {
        mode: meta.mode.map(|_| node.mode),
        owner: meta.owner.as_ref().map(|_| Owner::Name(node.user.clone())),
        group: meta.group.as_ref().map(|_| Owner::Name(node.group.clone())),
    };
    Some((told(&was), told(meta)))
}

/// The lines that differ, with two around them.
fn lines(before: &str, after: &str) -> Vec<Line> {
    let diff = TextDiff::from_lines(before, after);
    let mut out = Vec::new();
    let mut reached = 0;
    for group in diff.grouped_ops(2) {
        let begin = group.first().map_or(0, |op| op.old_range().start);
        if begin > reached {
            out.push(Line { mark: Mark::Gap, text: format!("{} lines alike", begin - reached) });
        }
        reached = group.last().map_or(reached, |op| op.old_range().end);
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Equal => Mark::Same,
                ChangeTag::Insert => Mark::Added,
                ChangeTag::Delete => Mark::Removed,
            };
            let text = change.value().trim_end_matches(['\n', '\r']);
            out.push(Line { mark, text: cut(text) });
        }
    }
    if out.len() > MOST_LINES {
        let more = out.len() - MOST_LINES;
        out.truncate(MOST_LINES);
        out.push(Line { mark: Mark::Gap, text: format!("{more} lines more") });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use modules::fold::fold;
    use modules::vocabulary::{Claim, HostPath, TaskId};

    fn put_file(before: Seen, content: &str, mode: Option<u32>) -> Folded {
        let path = HostPath::new("/etc/x.conf").unwrap();
        let image =
            Image::File { content: Content::Bytes(content.into()), meta: Meta { mode, ..Meta::default() } };
        fold([(TaskId(3), Step::put(Claim::file(&path), path, before, image))]).remove(0)
    }

    #[test]
    fn a_new_file_is_its_lines() {
        let made = setting(&put_file(Seen::Absent, "a = 1\nb = 2\n", Some(0o644)), "t".into(), None);
        let Difference::Text { lines, meta } = &made.difference else { panic!("{made:?}") };
        assert_eq!(lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>(), ["a = 1", "b = 2"]);
        assert!(lines.iter().all(|line| line.mark == Mark::Added));
        assert_eq!(meta.as_ref().unwrap().1, "mode 0644");
        assert_eq!(made.difference.words().1, "`a = 1` and 1 line more, mode 0644");
    }

    #[test]
    fn what_is_hidden_is_neither_shown_nor_found_by_its_claim() {
        let mut folded = put_file(Seen::Absent, "word = s3cr3t\n", None);
        folded.step.claim = Claim::part(&HostPath::new("/etc/x.conf").unwrap(), "^s3cr3t");
        let hidden = setting(&folded, "t".into(), Some("a secret is in it"));
        let json = serde_json::to_string(&hidden).unwrap();
        assert!(!json.contains("s3cr3t") && json.contains("a secret is in it"), "{json}");
        assert_eq!(hidden.claim, "file/etc/x.conf");
    }

    #[test]
    fn long_differences_and_values_are_cut_and_it_is_said() {
        let long: String = (0..1000).map(|at| format!("line {at}\n")).collect();
        let made = setting(&put_file(Seen::Absent, &long, None), "t".into(), None);
        let Difference::Text { lines, .. } = &made.difference else { panic!("{made:?}") };
        assert_eq!(lines.len(), MOST_LINES + 1);
        assert_eq!(lines.last().unwrap().text, "600 lines more");
        assert!(cut(&"ä".repeat(5000)).ends_with("… (10000 bytes)"));
    }
}
