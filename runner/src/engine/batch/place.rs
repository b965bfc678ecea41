//! Where new contents wait before they are put in place.
use super::prepared::Batch;
use crate::engine::probe::path_word;
use crate::transport::shell::word::LARGE;
use modules::vocabulary::{Act, Bytes, Content, Digest, HostPath, Identity, Image, Seen, Writing};

/// The waiting place of one step's content.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Beside the target; none where its folder is made in the same batch or a rename cannot reach the target, so that
    /// it waits in the run's folder.
    pub path: Option<HostPath>,
    /// The step, for the name in the run's folder.
    index: usize,
    /// Whether a file is there whose attributes are kept.
    pub existing: bool,
    /// For a file that comes back to where nothing is: its content, to find what was kept of it with all attributes.
    pub kept: Option<Digest>,
    /// Whether it waits nowhere: a new file of a folder that is made in the same batch is written beside its name and
    /// renamed in one act.
    pub direct: bool,
    /// Whether the target must be written in place: a mount point, other hard links to it, or an owner that would be
    /// lost. Not atomic.
    pub in_place: bool,
}

impl Place {
    /// As a shell word.
    pub fn word(&self) -> Result<String, String> {
        match &self.path {
            Some(path) => path_word(path),
            None => Ok(format!("\"$B/stage.{}\"", self.index)),
        }
    }
}

/// The waiting places of a batch.
#[derive(Clone, Debug)]
pub(super) struct Placing {
    places: Vec<Option<Place>>,
    tag: String,
}

/// The temporary names that a batch may leave beside its targets where it is cut off.
pub fn leftovers(batch: &Batch, run: &str) -> Vec<HostPath> {
    let tag = tag(batch, run);
    let puts = batch.steps.iter().enumerate().filter_map(|(index, folded)| match &folded.step.act {
        Act::Put { path, image: Image::File { .. } | Image::Link { .. }, .. } => temp(path, &tag, index),
        _ => None,
    });
    puts.collect()
}

/// What tells the temporary names of one batch of one run on one host from others: hosts may share a file system.
fn tag(batch: &Batch, run: &str) -> String {
    let tail: String = run.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
    let host = Bytes::from(&batch.host).digest().to_string();
    format!("{tail}-{}-{}", &host[..6], batch.number)
}

impl Placing {
    /// Finds a place for every step that puts a content.
    pub fn new(batch: &Batch, run: &str, who: &Identity) -> Self {
        let tag = tag(batch, run);
        let made: Vec<&HostPath> = batch
            .steps
            .iter()
            .filter(|folded| {
                matches!(folded.step.act, Act::Put { image: Image::Dir { .. } | Image::Aside, .. })
            })
            .filter_map(|folded| folded.step.path())
            .collect();
        let places = batch
            .steps
            .iter()
            .enumerate()
            .map(|(index, folded)| {
                let Act::Put { path, image: Image::File { content, meta }, validate } = &folded.step.act
                else {
                    return None;
                };
                if *content == Content::Same {
                    return None;
                }
                let node = match &folded.step.before {
                    Seen::Node(node) => Some(node),
                    _ => None,
                };
                let is_file = node.is_some_and(|node| node.kind == modules::vocabulary::Kind::File);
                let in_place = is_file && node.is_some_and(|node| Writing::of(node, who).is_in_place());
                let late_folder = made.iter().any(|folder| path.is_within(folder));
                let beside = (!in_place && !late_folder).then(|| temp(path, &tag, index)).flatten();
                let kept = match content {
                    Content::Bytes(bytes) if batch.undo && !is_file => Some(bytes.digest()),
                    Content::Kept(digest) if batch.undo && !is_file => Some(*digest),
                    _ => None,
                };
                let small = matches!(content, Content::Bytes(bytes) if bytes.as_slice().len() < LARGE);
                let plain = meta.owner.is_none()
                    && meta.group.is_none()
                    && meta.mode.is_none_or(|mode| mode & !0o666 == 0);
                let direct =
                    late_folder && !is_file && kept.is_none() && small && plain && validate.is_none();
                Some(Place { path: beside, index, existing: is_file && !in_place, kept, direct, in_place })
            })
            .collect();
        Self { places, tag }
    }

    /// The place of a step, if it puts a content.
    pub fn of(&self, index: usize) -> Option<&Place> {
        self.places.get(index)?.as_ref()
    }

    /// The places of contents that wait.
    pub fn staged(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().flatten().filter(|place| !place.direct)
    }

    /// A temporary name beside a path, as a shell word.
    pub fn beside(&self, path: &HostPath, index: usize) -> Result<String, String> {
        temp(path, &self.tag, index)
            .ok_or_else(|| format!("{path} has no folder"))
            .and_then(|path| path_word(&path))
    }
}

fn temp(path: &HostPath, tag: &str, index: usize) -> Option<HostPath> {
    path.parent()?.join(&format!(".tunerun-{tag}-{index}")).ok()
}
