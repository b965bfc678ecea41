//! Mode and owners, as arguments of many modules ask for them.
use super::mode::{Mode, octal};
use crate::vocabulary::{Diff, Facts, HostPath, Identity, Kind, Meta, Node, Owner, Stop, TaskId};
use serde_json::{Map, Value as Json, json};

/// The mode and owners that a task asks for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Attributes<'a> {
    pub(crate) mode: Option<&'a Mode>,
    pub(crate) owner: Option<&'a Owner>,
    pub(crate) group: Option<&'a Owner>,
    /// The mode of what is copied, for `preserve`.
    pub(crate) source: Option<u32>,
}

/// The bits of a new file that nobody said a mode for.
const NEW_FILE: u32 = 0o644;
/// The same for a folder.
const NEW_DIR: u32 = 0o755;

impl Attributes<'_> {
    /// Whether nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.mode.is_none() && self.owner.is_none() && self.group.is_none()
    }

    /// Whether a new file would not have this mode and these owners by itself.
    pub(crate) fn differ_from_new(&self, who: &Identity) -> bool {
        let meta = self.file(None);
        meta.mode.is_some_and(|mode| mode != NEW_FILE)
            || meta.owner.is_some_and(|owner| !owner.is(who.uid, &who.user))
            || meta.group.is_some_and(|group| !group.is(who.gid, &who.group))
    }

    /// What a file must get, given the node that is there, if one is.
    pub(crate) fn file(&self, node: Option<&Node>) -> Meta {
        self.meta(node.filter(|node| node.kind == Kind::File), NEW_FILE, false)
    }

    /// What a folder must get, given the node that is there, if one is.
    pub(crate) fn folder(&self, node: Option<&Node>) -> Meta {
        self.meta(node.filter(|node| node.kind == Kind::Dir), NEW_DIR, true)
    }

    fn meta(&self, node: Option<&Node>, new: u32, is_folder: bool) -> Meta {
        let bits = node.map_or(new, |node| node.mode);
        Meta {
            mode: self.mode.map(|mode| mode.of(bits, is_folder, self.source)),
            owner: self.owner.map(numbered),
            group: self.group.map(numbered),
        }
    }
}

/// An owner given by digits is meant by number.
fn numbered(owner: &Owner) -> Owner {
    match owner {
        Owner::Name(name) => name.parse().map_or_else(|_| owner.clone(), Owner::Id),
        Owner::Id(_) => owner.clone(),
    }
}

/// What differs between a node and the mode and owners that it shall have.
pub(crate) fn differences(path: &HostPath, node: Option<&Node>, meta: &Meta) -> Vec<Diff> {
    let mut diffs = Vec::new();
    let mut differs = |what: &str, before: Option<String>, after: Option<String>| {
        if after.is_some() && before != after {
            diffs.push(Diff::Value { name: format!("{path} {what}"), before, after });
        }
    };
    differs("mode", node.map(|node| octal(node.mode)), meta.mode.map(octal));
    let owned = |owner: &Option<Owner>, id: u32, name: &str| match owner {
        Some(owner) if !owner.is(id, name) => Some(shown(owner)),
        _ => None,
    };
    match node {
        Some(node) => {
            differs("owner", Some(node.user.clone()), owned(&meta.owner, node.uid, &node.user));
            differs("group", Some(node.group.clone()), owned(&meta.group, node.gid, &node.group));
        }
        None => {
            differs("owner", None, meta.owner.as_ref().map(shown));
            differs("group", None, meta.group.as_ref().map(shown));
        }
    }
    diffs
}

fn shown(owner: &Owner) -> String {
    match owner {
        Owner::Id(id) => id.to_string(),
        Owner::Name(name) => name.clone(),
    }
}

/// What a result says of the node that a path will be: `mode`, `owner`, `group`, `uid`, `gid`, `size`, `state`.
/// A number that is known only on the host is left out.
///
/// # Errors
/// As [`Facts::stat`].
pub(crate) fn describe(
    facts: &Facts,
    path: &HostPath,
    steps: &[crate::vocabulary::Step],
    result: &mut Map<String, Json>,
) -> Result<(), Stop> {
    let mut later = facts.clone();
    later.plan(TaskId(u32::MAX), steps.iter().cloned());
    let Some(node) = later.stat(path)? else { return Ok(()) };
    result.insert("mode".to_owned(), octal(node.mode).into());
    result.insert("owner".to_owned(), node.user.clone().into());
    result.insert("group".to_owned(), node.group.clone().into());
    for (name, number) in [("uid", node.uid), ("gid", node.gid)] {
        if number != u32::MAX {
            result.insert(name.to_owned(), number.into());
        }
    }
    result.insert("size".to_owned(), node.size.into());
    let state = match node.kind {
        Kind::Dir => "directory",
        Kind::Link { .. } => "link",
        Kind::File if node.links > 1 => "hard",
        _ => "file",
    };
    result.insert("state".to_owned(), json!(state));
    Ok(())
}
