//! Where new contents wait before they are put in place.
use super::prepared::Batch;
use crate::engine::probe::path_word;
use modules::vocabulary::{Act, Content, HostPath, Image, Seen};

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
    /// Whether the target must be written in place: a mount point, or other hard links to it. Not atomic.
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

impl Placing {
    /// Finds a place for every step that puts a content.
    pub fn new(batch: &Batch, run: &str) -> Self {
        let tail: String = run.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
        let tag = format!("{tail}-{}", batch.number);
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
                let Act::Put { path, image: Image::File { content, .. }, .. } = &folded.step.act else {
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
                let in_place = is_file && node.is_some_and(|node| node.mount_point || node.links > 1);
                let late_folder = made.iter().any(|folder| path.is_within(folder));
                let beside = (!in_place && !late_folder).then(|| temp(path, &tag, index)).flatten();
                Some(Place { path: beside, index, existing: is_file && !in_place, in_place })
            })
            .collect();
        Self { places, tag }
    }

    /// The place of a step, if it puts a content.
    pub fn of(&self, index: usize) -> Option<&Place> {
        self.places.get(index)?.as_ref()
    }

    /// All places.
    pub fn staged(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().flatten()
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
