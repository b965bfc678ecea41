//! `file`: whether a file, folder or link is there, its mode and its owners.
use super::attributes::{Attributes, describe, differences};
use super::{Mode, is_false, is_true, place, stat, yes};
use crate::vocabulary::{
    Change, Claim, Content, Diff, Facts, HostPath, Image, Kind, Meta, Node, Owner, Read, Risk, RiskName,
    Seen, Step, Stop, TaskId,
};
use crate::{Module, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

mod below;
mod samples;

/// Ensures that a file, a folder or a link is there or is not, with mode and owners. What is taken away is moved aside
/// and comes back by `undo`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The path.
    pub path: String,
    /// What shall be there. Without a word: what is there, or a folder with `recurse`, else a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<FileState>,
    /// Where a link leads, as written into the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<String>,
    /// Whether mode and owners are given to all that is in the folder too; links in it are left alone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub recurse: bool,
    /// Whether a link at `path` is followed.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub follow: bool,
    /// Whether a link may take the place of a file, and may lead nowhere.
    #[serde(default, skip_serializing_if = "is_false")]
    pub force: bool,
    /// The mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Owner>,
    /// Only `preserve`: times are no state that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modification_time: Option<String>,
    /// Only `preserve`: times are no state that is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_time: Option<String>,
    /// Accepted and not needed: a file that cannot be renamed over is written in place by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsafe_writes: bool,
}

/// What a path shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// A regular file that is there already.
    File,
    /// A folder; missing ones above it are made too.
    Directory,
    /// A symbolic link.
    Link,
    /// A second name of a file: refused, since a run cannot give it back.
    Hard,
    /// An empty file where nothing is there; what is there keeps its times.
    Touch,
    /// Nothing.
    Absent,
}

impl Module for File {
    const NAME: &'static str = "file";
    const EXAMPLE: &'static str = "\
- name: A place for crash dumps
  file:
    path: /var/crash
    state: directory
    owner: root
    mode: '0750'
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("dest", "path"), ("name", "path")];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        self.check()?;
        let path = place::path("path", &self.path)?;
        let parent = path.parent().map(Read::Stat);
        // What may go must be read in full: it is the way back.
        let look = if self.keeps_content() { Read::Stat(path.clone()) } else { Read::text(&path) };
        facts.need([&look].into_iter().chain(&parent))?;
        let node = if self.keeps_content() { facts.stat(&path)? } else { facts.node(&path)? };
        let mut change = match self.state.unwrap_or_else(|| self.guess(node.as_ref())) {
            FileState::Absent => self.absent(&path, node),
            FileState::Directory => self.directory(facts, &path, node),
            FileState::Link => self.link(facts, &path, node),
            FileState::Touch => self.touch(facts, &path, node),
            FileState::File => self.file(facts, &path, node),
            FileState::Hard => Err(Stop::refused("state", "a hard link cannot be given back by `undo`")
                .way_out("use `state: link`, or a `command` that declares `creates:` and `undo:`")),
        }?;
        if !change.steps.is_empty() || self.state != Some(FileState::Absent) {
            let mut result = match std::mem::take(&mut change.result) {
                Json::Object(result) => result,
                _ => Map::new(),
            };
            result.entry("path").or_insert_with(|| path.as_str().into());
            result.entry("dest").or_insert_with(|| path.as_str().into());
            change.result = Json::Object(result);
        }
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::samples()
    }
}

impl File {
    fn attributes(&self) -> Attributes<'_> {
        Attributes {
            mode: self.mode.as_ref(),
            owner: self.owner.as_ref(),
            group: self.group.as_ref(),
            source: None,
        }
    }

    /// Whether the content of what is there stays in any case.
    fn keeps_content(&self) -> bool {
        match self.state {
            Some(FileState::Absent) => false,
            Some(FileState::Link) => !self.force,
            _ => true,
        }
    }

    fn check(&self) -> Result<(), Stop> {
        if self.recurse && !matches!(self.state, None | Some(FileState::Directory)) {
            return Err(Stop::refused("recurse", "`recurse` is for `state: directory`"));
        }
        if self.mode == Some(Mode::Preserve) {
            return Err(Stop::refused("mode", "there is no source whose mode could be preserved"));
        }
        if self.src.is_some() && !matches!(self.state, Some(FileState::Link | FileState::Hard)) {
            return Err(Stop::refused("src", "`src` is for `state: link`"));
        }
        for (argument, time) in
            [("modification_time", &self.modification_time), ("access_time", &self.access_time)]
        {
            if time.as_ref().is_some_and(|time| time != "preserve" && !time.is_empty()) {
                return Err(Stop::refused(argument, "times are no state that is kept or given back")
                    .way_out("say `preserve`, or set it by a `command` with `touch`"));
            }
        }
        if place::path("path", &self.path)?.is_virtual() && self.state != Some(FileState::File) {
            return Err(Stop::refused(
                "path",
                "the kernel makes this path up: nothing is made or taken away there",
            )
            .way_out("use the module `sysctl` or `sysfs`"));
        }
        Ok(())
    }

    fn guess(&self, node: Option<&Node>) -> FileState {
        match node.map(|node| &node.kind) {
            Some(Kind::Dir) => FileState::Directory,
            Some(Kind::Link { .. }) if !self.follow => FileState::Link,
            None if self.recurse => FileState::Directory,
            _ => FileState::File,
        }
    }

    fn absent(&self, path: &HostPath, node: Option<Node>) -> Result<Change, Stop> {
        let mut change = Change::nothing(serde_json::json!({ "path": path.as_str(), "state": "absent" }));
        let Some(node) = node else { return Ok(change) };
        if node.mount_point {
            return Err(
                Stop::refused("path", format!("something is mounted on {path}")).way_out("unmount it first")
            );
        }
        if path.as_str() == "/" {
            return Err(Stop::refused("path", "that is the whole host"));
        }
        let what = place::kind_name(&node.kind);
        change.diff.push(match (&node.kind, node.bytes().and_then(|bytes| bytes.text())) {
            (Kind::File, Some(text)) if !text.contains('\0') => Diff::Text {
                title: path.to_string(),
                before: text.to_owned(),
                after: String::new(),
                private: node.mode & 0o044 == 0,
            },
            (Kind::Dir, _) => Diff::Note(format!("{path} goes, with all that is in it")),
            _ => Diff::Note(format!("{path}, {what}, goes")),
        });
        let image = Image::Absent;
        let step = Step::put(Claim::file(path), path.clone(), Seen::Node(node), image);
        if let crate::vocabulary::Back::None { why } = &step.back {
            change.risks.push(Risk { name: RiskName::Irreversible, why: format!("{path}: {why}") });
        }
        change.steps.push(step);
        Ok(change)
    }

    fn file(&self, facts: &Facts, asked: &HostPath, node: Option<Node>) -> Result<Change, Stop> {
        let (path, node) = self.followed(facts, asked, node)?;
        match node.as_ref().map(|node| &node.kind) {
            Some(Kind::Dir | Kind::Link { .. }) | None => {
                let what = node.as_ref().map_or("not there", |node| place::kind_name(&node.kind));
                Err(Stop::refused("state", format!("{path} is {what}, and `state: file` makes no file"))
                    .way_out("use `state: touch` for an empty file, or `copy` with a content"))
            }
            _ => self.with_meta(facts, &path, node),
        }
    }

    /// The path and its node behind a link, where links are followed.
    fn followed(
        &self,
        facts: &Facts,
        path: &HostPath,
        node: Option<Node>,
    ) -> Result<(HostPath, Option<Node>), Stop> {
        if !self.follow || !matches!(node, Some(Node { kind: Kind::Link { .. }, .. })) {
            return Ok((path.clone(), node));
        }
        let path = stat::follow(facts, path)?;
        let node = facts.stat(&path)?;
        Ok((path, node))
    }

    /// The change that gives mode and owners to what is there.
    fn with_meta(&self, facts: &Facts, path: &HostPath, node: Option<Node>) -> Result<Change, Stop> {
        let mut change = Change::default();
        if let Some(node) = node {
            self.add_meta(&mut change, path, node)?;
        }
        let mut result = Map::new();
        result.insert("path".to_owned(), path.as_str().into());
        describe(facts, path, &change.steps, &mut result)?;
        change.result = Json::Object(result);
        Ok(change)
    }

    /// Adds the step that gives mode and owners to a node, if it lacks them.
    fn add_meta(&self, change: &mut Change, path: &HostPath, node: Node) -> Result<(), Stop> {
        let attributes = self.attributes();
        let is_folder = node.kind == Kind::Dir;
        let meta = if is_folder { attributes.folder(Some(&node)) } else { attributes.file(Some(&node)) };
        if meta.holds(&node) {
            return Ok(());
        }
        let image = match node.kind {
            Kind::Dir => Image::Dir { meta: meta.clone() },
            Kind::File => Image::File { content: Content::Same, meta: meta.clone() },
            _ => {
                let kind = place::kind_name(&node.kind);
                return Err(Stop::refused(
                    "path",
                    format!("{path} is {kind}: its mode is not kept over a boot"),
                )
                .way_out("write a udev rule"));
            }
        };
        change.diff.extend(differences(path, Some(&node), &meta));
        let claim = Claim::part(path, "mode and owners");
        change.steps.push(Step::put(claim, path.clone(), Seen::Node(node), image));
        Ok(())
    }

    fn touch(&self, facts: &Facts, asked: &HostPath, node: Option<Node>) -> Result<Change, Stop> {
        let (path, node) = self.followed(facts, asked, node)?;
        if node.is_some() {
            let mut change = self.with_meta(facts, &path, node)?;
            if self.modification_time.is_none() || self.access_time.is_none() {
                change.notes.push(format!("{path} is there: its times stay as they are"));
            }
            return Ok(change);
        }
        self.folder_above(facts, &path)?;
        let meta = self.attributes().file(None);
        let mut change = Change::default();
        change.diff.push(Diff::Note(format!("{path} is made, empty")));
        change.diff.extend(differences(&path, None, &meta));
        let image = Image::File { content: Content::Bytes(Default::default()), meta };
        change.steps.push(Step::put(Claim::file(&path), path.clone(), Seen::Absent, image));
        let mut result = Map::new();
        result.insert("dest".to_owned(), path.as_str().into());
        describe(facts, &path, &change.steps, &mut result)?;
        change.result = Json::Object(result);
        Ok(change)
    }

    fn folder_above(&self, facts: &Facts, path: &HostPath) -> Result<(), Stop> {
        match path.parent() {
            Some(parent) if !place::is_folder(facts, &parent)? => {
                Err(Stop::refused("path", format!("the folder {parent} is not there"))
                    .way_out("make it first, by `file` with `state: directory`"))
            }
            _ => Ok(()),
        }
    }

    fn directory(&self, facts: &Facts, asked: &HostPath, node: Option<Node>) -> Result<Change, Stop> {
        let (path, node) = self.followed(facts, asked, node)?;
        let Some(node) = node else { return self.new_directory(facts, &path) };
        if node.kind != Kind::Dir {
            let kind = place::kind_name(&node.kind);
            return Err(Stop::refused("path", format!("{path} is {kind}, not a folder"))
                .way_out("take it away first, by `state: absent`"));
        }
        let mut change = self.with_meta(facts, &path, Some(node))?;
        if self.recurse && !self.attributes().is_empty() {
            self.add_below(facts, &path, &mut change)?;
        }
        Ok(change)
    }

    fn new_directory(&self, facts: &Facts, path: &HostPath) -> Result<Change, Stop> {
        let meta = self.attributes().folder(None);
        let mut steps = place::folders(facts, path, &meta)?;
        let image = Image::Dir { meta: meta.clone() };
        steps.push(Step::put(Claim::file(path), path.clone(), Seen::Absent, image));
        let mut change = Change::default();
        for step in &steps {
            if let Some(made) = step.path() {
                change.diff.push(Diff::Note(format!("{made} is made, a folder")));
                change.diff.extend(differences(made, None, &meta));
            }
        }
        change.steps = steps;
        let mut result = Map::new();
        describe(facts, path, &change.steps, &mut result)?;
        change.result = Json::Object(result);
        Ok(change)
    }

    fn link(&self, facts: &Facts, path: &HostPath, node: Option<Node>) -> Result<Change, Stop> {
        let target = match (&self.src, &node) {
            (Some(src), _) if !src.is_empty() && !src.contains('\0') => src.clone(),
            (Some(_), _) => return Err(Stop::refused("src", "a link cannot lead to an empty path")),
            (None, Some(Node { kind: Kind::Link { target }, .. })) => target.clone(),
            (None, _) => return Err(Stop::refused("src", "a new link needs a `src`")),
        };
        let mut change = Change::default();
        self.may_be_link(facts, path, node.as_ref(), &target)?;
        let before = match &node {
            Some(Node { kind: Kind::Link { target }, .. }) => Some(target.clone()),
            _ => None,
        };
        if before.as_ref() != Some(&target) {
            let image = Image::Link { target: target.clone() };
            let seen = node.map_or(Seen::Absent, Seen::Node);
            change.diff.push(Diff::Value { name: format!("{path} ->"), before, after: Some(target.clone()) });
            change.steps.push(Step::put(Claim::file(path), path.clone(), seen, image));
        }
        if self.follow && !self.attributes().is_empty() {
            let mut later = facts.clone();
            later.plan(TaskId(u32::MAX), change.steps.iter().cloned());
            let end = stat::follow(&later, path)?;
            match later.stat(&end)? {
                Some(node) => self.add_meta(&mut change, &end, node)?,
                None => {
                    change.notes.push(format!("{end} is not there: mode and owners are given to nothing"))
                }
            }
        } else if !self.attributes().is_empty() {
            change.notes.push("a link's own mode and owners mean nothing and are left alone".to_owned());
        }
        let mut result = Map::new();
        result.insert("dest".to_owned(), path.as_str().into());
        result.insert("src".to_owned(), target.into());
        describe(facts, path, &change.steps, &mut result)?;
        change.result = Json::Object(result);
        Ok(change)
    }

    fn may_be_link(
        &self,
        facts: &Facts,
        path: &HostPath,
        node: Option<&Node>,
        target: &str,
    ) -> Result<(), Stop> {
        match node.map(|node| &node.kind) {
            Some(Kind::Dir) => {
                return Err(Stop::refused("path", format!("{path} is a folder and is not made a link"))
                    .way_out("take it away first, by `state: absent`"));
            }
            None | Some(Kind::Link { .. }) => {}
            Some(Kind::File) if self.force => {}
            Some(other) => {
                let kind = place::kind_name(other);
                return Err(Stop::refused("path", format!("{path} is {kind} and is not made a link"))
                    .way_out("say `force: true` if a file may go for it"));
            }
        }
        if node.is_none() {
            self.folder_above(facts, path)?;
        }
        if !self.force && self.src.is_some() {
            let end =
                crate::vocabulary::link_target(path, target).map_err(|why| Stop::refused("src", why))?;
            let end = stat::follow(facts, &end)?;
            if facts.stat(&end)?.is_none() {
                return Err(Stop::refused("src", format!("{end} is not there"))
                    .way_out("say `force: true` if the link may lead nowhere"));
            }
        }
        Ok(())
    }

    fn meta_for(&self, node: &Node) -> Meta {
        match node.kind {
            Kind::Dir => self.attributes().folder(Some(node)),
            _ => self.attributes().file(Some(node)),
        }
    }
}
