//! `copy`: a file or a tree of the controller, or a file of the host, put somewhere on the host.
use super::attributes::{Attributes, describe, differences};
use super::edit::{Edit, text_diff};
use super::place::{self, Place};
use super::{Mode, is_false, is_true, yes};
use crate::vocabulary::{
    Bytes, Change, Claim, Content, Digest, Facts, HostPath, Image, Kind, Node, Owner, Read, Seen, Step, Stop,
};
use crate::{Module, Sample};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

mod samples;
mod tree;

pub use tree::{TreeEntry, TreeKind};

/// Puts a file there: a text given in the task, a file or a folder of the controller, or, with `remote_src`, a file
/// of the host itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Copy {
    /// Where. A folder, or a path with a slash at its end, gets a file of the source's name.
    pub dest: String,
    /// The file or folder of the controller, found beside the playbook or in `files/` of the role; with `remote_src`
    /// a file of the host. Of a folder with a slash at its end only what is in it is copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub src: Option<String>,
    /// The content itself (given by the runner where `src` is of the controller).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub content: Option<Bytes>,
    /// The name of the source without its folders (given by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The mode of the source (given by the runner, for `mode: preserve`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_mode: Option<u32>,
    /// What is in a folder of the controller, each entry with its path below `dest` (given by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Vec<TreeEntry>>,
    /// Whether `src` is a file of the host.
    #[serde(default, skip_serializing_if = "is_false")]
    pub remote_src: bool,
    /// The mode of the file, or of the files of a tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The mode of folders that are made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_mode: Option<Mode>,
    /// The owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<Owner>,
    /// Whether the old content is kept beside the file, under a name made from it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub backup: bool,
    /// Whether a file that is there already is replaced.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub force: bool,
    /// Whether a link at `dest` is followed; else it is replaced by the file.
    #[serde(default, skip_serializing_if = "is_false")]
    pub follow: bool,
    /// Whether links of the controller are followed (used by the runner).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_follow: Option<bool>,
    /// Whether a source in a vault is decrypted (used by the runner).
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub decrypt: bool,
    /// The SHA-256 that the content must have. Ansible wants a SHA-1 here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// A command that must accept the new file before it is put in place; `%s` stands for its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validate: Option<String>,
    /// Accepted and not needed: a file that cannot be renamed over is written in place by itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsafe_writes: bool,
}

impl Default for Copy {
    fn default() -> Self {
        Self {
            dest: String::new(),
            src: None,
            content: None,
            source: None,
            source_mode: None,
            tree: None,
            remote_src: false,
            mode: None,
            directory_mode: None,
            owner: None,
            group: None,
            backup: false,
            force: true,
            follow: false,
            local_follow: None,
            decrypt: true,
            checksum: None,
            validate: None,
            unsafe_writes: false,
        }
    }
}

impl Module for Copy {
    const NAME: &'static str = "copy";
    const EXAMPLE: &'static str = "\
- name: The scheduler of rotational disks
  copy:
    dest: /etc/udev/rules.d/60-scheduler.rules
    content: |
      ACTION==\"add|change\", KERNEL==\"sd*\", ATTR{queue/rotational}==\"1\", ATTR{queue/scheduler}=\"mq-deadline\"
    mode: '0644'
";
    const ALIASES: &'static [(&'static str, &'static str)] = &[];

    fn plan(&self, facts: &Facts) -> Result<Change, Stop> {
        if let Some(tree) = &self.tree {
            return self.plan_tree(facts, tree);
        }
        let dest = place::path("dest", &self.dest)?;
        if dest.is_virtual() {
            let why = format!("{dest} is made up by the kernel: no file can be put there");
            return Err(Stop::refused("dest", why).way_out("use the module `sysctl` or `sysfs`"));
        }
        // The look at a host's own source shares the round with that at the destination.
        let (source, mut place) = match (self.source_bytes(facts), self.place(facts, &dest)) {
            (Err(Stop::Unread(mut one)), Err(Stop::Unread(two))) => {
                one.extend(two);
                return Err(Stop::Unread(one));
            }
            (source, place) => (source?, place?),
        };
        let (bytes, source_mode) = source;
        self.check_digest(bytes.digest())?;
        if place.node.is_some() && !self.force {
            let mut result = self.result(&place.path, &bytes);
            result.insert("msg".to_owned(), "file already exists".into());
            return Ok(Change::nothing(Json::Object(result)));
        }
        let attributes = self.attributes(source_mode);
        if let Some(Node { kind: Kind::Link { .. }, .. }) = &place.node {
            return self.over_link(facts, place, bytes, attributes);
        }
        let mut made = Vec::new();
        if self.dest.ends_with('/') {
            made = place::folders(facts, &place.path, &self.folder_attributes().folder(None))?;
        }
        let edit = Edit {
            claim: Claim::file(&place.path),
            attributes,
            backup: self.backup,
            validate: self.validate.as_ref(),
            folders: !made.is_empty(),
            argument: "dest",
        };
        let mut later = facts.clone();
        later.plan(crate::vocabulary::TaskId(u32::MAX), made.clone());
        let edited = edit.to(&later, &place, Some(bytes.clone()))?;
        let mut result = self.result(&place.path, &bytes);
        if let Some(kept) = &edited.backup {
            result.insert("backup_file".to_owned(), kept.as_str().into());
        }
        let mut change = edited.change;
        change.steps.splice(0..0, made);
        describe(facts, &place.path, &change.steps, &mut result)?;
        change.result = Json::Object(result);
        place.node = None;
        Ok(change)
    }

    fn samples() -> Vec<Sample> {
        samples::samples()
    }
}

impl Copy {
    fn attributes(&self, source: Option<u32>) -> Attributes<'_> {
        Attributes {
            mode: self.mode.as_ref(),
            owner: self.owner.as_ref(),
            group: self.group.as_ref(),
            source,
        }
    }

    fn folder_attributes(&self) -> Attributes<'_> {
        Attributes { mode: self.directory_mode.as_ref(), ..self.attributes(None) }
    }

    fn source_bytes(&self, facts: &Facts) -> Result<(Bytes, Option<u32>), Stop> {
        if !self.remote_src {
            if self.mode == Some(Mode::Preserve) && self.source_mode.is_none() {
                return Err(Stop::refused("mode", "there is no source whose mode could be preserved"));
            }
            let bytes = self.content.clone().ok_or_else(|| {
                Stop::refused("content", "neither `content` nor a source that was read is given")
            })?;
            return Ok((bytes, self.source_mode));
        }
        let Some(src) = &self.src else { return Err(Stop::refused("src", "`remote_src` needs a `src`")) };
        let asked = place::path("src", src)?;
        if self.content.is_some() {
            return Err(Stop::refused("content", "`content` and `remote_src` exclude each other"));
        }
        let path = facts.resolve(&asked)?;
        let node = facts.node(&path)?;
        match &node {
            None => Err(Stop::refused("src", format!("{path} is not there"))),
            Some(Node { kind: Kind::Dir, .. }) => {
                Err(Stop::refused("src", format!("{path} is a folder: a tree is not copied on the host"))
                    .way_out("copy it by a `command` that declares `creates:` and `undo:`"))
            }
            Some(Node { kind: Kind::File, mode, size, .. }) => {
                let mode = *mode;
                let bytes = node.as_ref().and_then(Node::bytes).cloned().ok_or_else(|| {
                    Stop::refused(
                        "src",
                        format!("{path} holds {size} bytes: at most 1 MiB is copied on the host"),
                    )
                    .way_out("copy it by a `command` that declares `creates:` and `undo:`")
                })?;
                Ok((bytes, Some(mode)))
            }
            Some(other) => {
                let kind = place::kind_name(&other.kind);
                Err(Stop::refused("src", format!("{path} is {kind}, not a file")))
            }
        }
    }

    /// The name of the source without its folders.
    fn name(&self) -> Result<&str, Stop> {
        let name = self.source.as_deref().or(self.src.as_deref()).and_then(|path| path.rsplit('/').next());
        name.filter(|name| !name.is_empty()).ok_or_else(|| {
            Stop::refused("dest", format!("{} is a folder, and the content has no name", self.dest))
                .way_out("name the file itself")
        })
    }

    /// The file that is meant, and what is there.
    fn place(&self, facts: &Facts, dest: &HostPath) -> Result<Place, Stop> {
        let join = |folder: &HostPath| -> Result<HostPath, Stop> {
            folder.join(self.name()?).map_err(|why| Stop::refused("dest", why))
        };
        let path = if self.dest.ends_with('/') {
            join(dest)?
        } else {
            let parent = dest.parent().map(Read::Stat);
            facts.need([Read::text(dest)].iter().chain(&parent))?;
            // A folder behind a link is a folder too.
            let behind = facts.resolve(dest)?;
            match facts.node(&behind)? {
                Some(Node { kind: Kind::Dir, .. }) => join(dest)?,
                _ => dest.clone(),
            }
        };
        facts.need(&super::place::first_reads(&path))?;
        let path = if self.follow { facts.resolve(&path)? } else { path };
        let node = facts.node(&path)?;
        match node.as_ref().map(|node| &node.kind) {
            None | Some(Kind::File | Kind::Link { .. }) => Ok(Place { path, node }),
            Some(other) => {
                Err(Stop::refused("dest", format!("{path} is {}, not a file", place::kind_name(other))))
            }
        }
    }

    /// Without `follow` a link is replaced by the file, as Ansible does.
    fn over_link(
        &self,
        facts: &Facts,
        place: Place,
        bytes: Bytes,
        attributes: Attributes<'_>,
    ) -> Result<Change, Stop> {
        let meta = attributes.file(None);
        let seen = place.node.clone().map_or(Seen::Absent, Seen::Node);
        let mut change = Change::default();
        change.notes.push(format!(
            "{} is a link and becomes a file of its own; say `follow: true` to write its target",
            place.path
        ));
        change.diff.push(text_diff(&place.path, None, &bytes, meta.mode));
        change.diff.extend(differences(&place.path, None, &meta));
        let mut result = self.result(&place.path, &bytes);
        let image = Image::File { content: Content::Bytes(bytes), meta };
        let step = Step::put(Claim::file(&place.path), place.path.clone(), seen, image);
        change.steps.push(step.validated(self.validate.clone()));
        describe(facts, &place.path, &change.steps, &mut result)?;
        change.result = Json::Object(result);
        Ok(change)
    }

    fn result(&self, path: &HostPath, bytes: &Bytes) -> Map<String, Json> {
        let mut result = Map::new();
        result.insert("dest".to_owned(), path.as_str().into());
        result.insert("path".to_owned(), path.as_str().into());
        if let Some(source) = self.src.as_ref().or(self.source.as_ref()) {
            result.insert("src".to_owned(), json!(source));
        }
        result.insert("checksum".to_owned(), bytes.digest().to_string().into());
        result
    }

    fn check_digest(&self, digest: Digest) -> Result<(), Stop> {
        let Some(wanted) = &self.checksum else { return Ok(()) };
        let wanted = Digest::parse(&wanted.to_lowercase()).map_err(|why| Stop::refused("checksum", why))?;
        if wanted == digest {
            return Ok(());
        }
        Err(Stop::refused("checksum", format!("the content has the SHA-256 {digest}, not {wanted}")))
    }
}
