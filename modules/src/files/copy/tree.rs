//! A folder of the controller with all that is in it, put on the host.
use super::super::attributes::differences;
use super::super::edit::text_diff;
use super::super::place;
use super::{Copy, Mode};
use crate::vocabulary::{
    Bytes, Change, Claim, Content, Facts, HostPath, Image, Kind, Node, Read, Seen, Step, Stop,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// One entry of a folder of the controller.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TreeEntry {
    /// Its path below `dest`.
    pub path: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: TreeKind,
    /// Its mode on the controller, for `mode: preserve`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// What an entry of a folder of the controller is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TreeKind {
    /// A file with this content.
    Content(#[schemars(with = "String")] Bytes),
    /// A folder.
    Folder(bool),
    /// A link with this text.
    Link(String),
}

impl Copy {
    pub(super) fn plan_tree(&self, facts: &Facts, tree: &[TreeEntry]) -> Result<Change, Stop> {
        let dest = place::path("dest", &self.dest)?;
        if self.validate.is_some() || self.backup {
            let argument = if self.backup { "backup" } else { "validate" };
            return Err(Stop::refused(argument, "is for one file, not for a folder with all that is in it"));
        }
        let mut paths = Vec::with_capacity(tree.len());
        for entry in tree {
            paths.push(dest.join(&entry.path).map_err(|why| Stop::refused("src", why))?);
        }
        let reads: Vec<Read> = paths.iter().chain([&dest]).map(Read::text).collect();
        facts.need(&reads)?;
        let mut change = Change::default();
        let mut later = facts.clone();
        let below = dest.join("-").map_err(|why| Stop::refused("dest", why))?;
        let made = place::folders(facts, &below, &self.folder_attributes().folder(None))?;
        let add = |change: &mut Change, later: &mut Facts, steps: Vec<Step>| {
            later.plan(crate::vocabulary::TaskId(u32::MAX), steps.iter().cloned());
            change.steps.extend(steps);
        };
        add(&mut change, &mut later, made);
        for (entry, path) in tree.iter().zip(&paths) {
            let above = place::folders(&later, path, &self.folder_attributes().folder(None))?;
            add(&mut change, &mut later, above);
            let step = self.entry(&later, entry, path, &mut change)?;
            add(&mut change, &mut later, step.into_iter().collect());
        }
        change.result = json!({ "dest": dest.as_str(), "src": self.src });
        Ok(change)
    }

    fn entry(
        &self,
        facts: &Facts,
        entry: &TreeEntry,
        path: &HostPath,
        change: &mut Change,
    ) -> Result<Option<Step>, Stop> {
        let node = facts.node(path)?;
        let seen = node.clone().map_or(Seen::Absent, Seen::Node);
        let image = match &entry.kind {
            TreeKind::Folder(_) => {
                if node.as_ref().is_some_and(|node| node.kind != Kind::Dir) {
                    return self.in_the_way(path, node.as_ref());
                }
                Image::Dir { meta: self.folder_attributes().folder(node.as_ref()) }
            }
            TreeKind::Link(target) => Image::Link { target: target.clone() },
            TreeKind::Content(bytes) => {
                if node.is_some() && !self.force {
                    return Ok(None);
                }
                let mode = self.mode.as_ref().filter(|mode| **mode != Mode::Preserve || entry.mode.is_some());
                let mut attributes = self.attributes(entry.mode);
                attributes.mode = mode;
                Image::File { content: Content::Bytes(bytes.clone()), meta: attributes.file(node.as_ref()) }
            }
        };
        if image.holds(&seen) {
            return Ok(None);
        }
        if node.as_ref().is_some_and(|node| node.kind == Kind::Dir) && !matches!(image, Image::Dir { .. }) {
            return self.in_the_way(path, node.as_ref());
        }
        if let Image::File { content: Content::Bytes(bytes), meta } = &image {
            change.diff.push(text_diff(path, node.as_ref(), bytes, meta.mode));
            change.diff.extend(differences(path, node.as_ref(), meta));
            place::writing_notes(change, path, node.as_ref(), facts.who())?;
        }
        Ok(Some(Step::put(Claim::file(path), path.clone(), seen, image)))
    }

    fn in_the_way(&self, path: &HostPath, node: Option<&Node>) -> Result<Option<Step>, Stop> {
        let kind = node.map_or("something else", |node| place::kind_name(&node.kind));
        Err(Stop::refused("dest", format!("{path} is {kind} and in the way"))
            .way_out("take it away first, by `file` with `state: absent`"))
    }
}
