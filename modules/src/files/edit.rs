//! The change that brings a file to a content, with mode, owners, backup and validation: one for all modules.
use super::attributes::{Attributes, differences};
use super::place::{self, Place};
use crate::vocabulary::{
    Bytes, Change, Claim, Content, Diff, Facts, HostPath, Image, Node, Seen, Step, Stop,
};
use serde_json::{Map, Value as Json};

/// What an edit asks for besides the content.
pub(crate) struct Edit<'a> {
    /// What it owns.
    pub(crate) claim: Claim,
    pub(crate) attributes: Attributes<'a>,
    /// Whether the old content is kept beside the file.
    pub(crate) backup: bool,
    pub(crate) validate: Option<&'a String>,
    /// Whether missing folders above the file are made; else they are a refusal.
    pub(crate) folders: bool,
    /// The argument that names the file.
    pub(crate) argument: &'static str,
}

/// A change and what a result may say of it.
pub(crate) struct Edited {
    pub(crate) change: Change,
    /// Where the old content is kept, where that was asked for and something changes.
    pub(crate) backup: Option<HostPath>,
    /// Whether mode or owners of a file that was there change.
    pub(crate) attributes: bool,
}

impl Edit<'_> {
    /// The change that leaves `after` in the file; none leaves the content as it is.
    pub(crate) fn to(self, facts: &Facts, place: &Place, after: Option<Bytes>) -> Result<Edited, Stop> {
        if self.validate.is_some_and(|command| !command.contains("%s")) {
            return Err(Stop::refused(
                "validate",
                "the command does not say `%s`, where the file's name goes",
            ));
        }
        let node = place.node.as_ref();
        let before = node.and_then(Node::digest);
        let after = after.filter(|bytes| node.is_none() || Some(bytes.digest()) != before);
        let meta = self.attributes.file(node);
        let differs = node.is_some_and(|node| !meta.holds(node));
        let mut edited = Edited { change: Change::default(), backup: None, attributes: differs };
        if after.is_none() && !differs {
            return Ok(edited);
        }
        if node.is_none() {
            edited.attributes = self.attributes.differ_from_new(facts.who());
            edited.change.steps = self.above(facts, &place.path)?;
        }
        if self.backup
            && let (Some(old), true) = (node, after.is_some())
        {
            edited.backup = self.keep(facts, &place.path, old, &mut edited.change)?;
        }
        let content_diff = after.as_ref().map(|after| text_diff(&place.path, node, after, meta.mode));
        edited.change.diff.extend(content_diff);
        edited.change.diff.extend(differences(&place.path, node, &meta));
        if after.is_some() {
            place::writing_notes(&mut edited.change, &place.path, node, facts.who())
                .map_err(|stop| stop.blame(self.argument))?;
        }
        let content = after.map_or(Content::Same, Content::Bytes);
        let seen = node.map_or(Seen::Absent, |node| Seen::Node(node.clone()));
        let image = Image::File { content, meta };
        let step = Step::put(self.claim, place.path.clone(), seen, image).validated(self.validate.cloned());
        edited.change.steps.push(step);
        Ok(edited)
    }

    fn above(&self, facts: &Facts, path: &HostPath) -> Result<Vec<Step>, Stop> {
        if self.folders {
            return place::folders(facts, path, &Default::default());
        }
        match path.parent() {
            Some(parent) if !place::is_folder(facts, &parent)? => {
                Err(Stop::refused(self.argument, format!("the folder {parent} is not there"))
                    .way_out("make it first, by `file` with `state: directory`"))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Keeps the old content beside the file. The name follows from the content, so that a second run finds it.
    fn keep(
        &self,
        facts: &Facts,
        path: &HostPath,
        old: &Node,
        change: &mut Change,
    ) -> Result<Option<HostPath>, Stop> {
        let (Some(bytes), Some(digest)) = (old.bytes(), old.digest()) else {
            return Err(Stop::refused("backup", format!("{path} is larger than what is read as text"))
                .way_out("leave `backup` out: the run keeps what was there anyway, for `undo`"));
        };
        let name = format!("{path}.{}~", &digest.to_string()[..8]);
        let kept = HostPath::new(&name).map_err(Stop::failed)?;
        let there = facts.node(&kept)?;
        if there.as_ref().and_then(Node::digest) == Some(digest) {
            return Ok(Some(kept));
        }
        if there.is_some() {
            return Err(Stop::refused("backup", format!("{kept} is there and holds something else")));
        }
        let meta = crate::vocabulary::Meta::of(old);
        let image = Image::File { content: Content::Bytes(bytes.clone()), meta };
        change.steps.push(Step::put(Claim::file(&kept), kept.clone(), Seen::Absent, image));
        Ok(Some(kept))
    }
}

/// The difference of two contents as a person reads it.
pub(crate) fn text_diff(path: &HostPath, node: Option<&Node>, after: &Bytes, mode: Option<u32>) -> Diff {
    let before = node.and_then(Node::bytes);
    let is_text = |bytes: &Bytes| bytes.text().is_some_and(|text| !text.contains('\0'));
    if node.is_some() && before.is_none() || !is_text(after) || !before.is_none_or(is_text) {
        let size = node.map_or(0, |node| node.size);
        let now = after.as_slice().len();
        let digest = after.digest();
        return Diff::Note(format!(
            "{path}: {size} bytes that are not shown become {now} bytes of SHA-256 {digest}"
        ));
    }
    let closed = |mode: u32| mode & 0o044 == 0;
    let private = node.is_some_and(|node| closed(node.mode)) || mode.is_some_and(closed);
    let text = |bytes: Option<&Bytes>| bytes.and_then(Bytes::text).unwrap_or_default().to_owned();
    Diff::Text { title: path.to_string(), before: text(before), after: text(Some(after)), private }
}

impl Edited {
    /// What Ansible says of a content changed, mode or owners changed, or both.
    pub(crate) fn message(&self, content: &str) -> String {
        let attributes = "ownership, perms or SE linux context changed";
        match (content.is_empty(), self.attributes) {
            (_, false) => content.to_owned(),
            (true, true) => attributes.to_owned(),
            (false, true) => format!("{content} and {attributes}"),
        }
    }

    /// The change with its result: `path`, `msg`, `backup_file` where one is kept, and what the module adds.
    pub(crate) fn with(mut self, path: &HostPath, message: &str, more: &[(&str, Json)]) -> Change {
        let mut result = Map::new();
        result.insert("path".to_owned(), path.as_str().into());
        result.insert("msg".to_owned(), self.message(message).into());
        if let Some(kept) = &self.backup {
            result.insert("backup_file".to_owned(), kept.as_str().into());
        }
        result.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        self.change.result = Json::Object(result);
        self.change
    }
}
