//! Text files of the host as modules of other rooms keep settings in them: read through links, edited as the modules
//! on files edit theirs.
use super::attributes::Attributes;
use super::edit::{Edit, text_diff};
use super::place::{self, Place};
use crate::vocabulary::{Bytes, Change, Claim, Facts, HostPath, Image, Seen, Step, Stop, all};

/// A text file as it is now, or as it would be made.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    place: Place,
    /// Its text; empty where it is not there.
    pub text: String,
}

impl TextFile {
    /// Reads a file, following links.
    pub fn read(facts: &Facts, path: &HostPath) -> Result<Self, Stop> {
        let place = place::at(facts, path)?;
        let text = match place.bytes()?.as_ref().map(Bytes::text) {
            None => String::new(),
            Some(Some(text)) => text.to_owned(),
            Some(None) => return Err(Stop::failed(format!("{} is not text", place.path))),
        };
        Ok(Self { place, text })
    }

    /// Reads many files, all that nobody has looked at yet in one round.
    pub fn read_all<'a>(
        facts: &Facts,
        paths: impl IntoIterator<Item = &'a HostPath>,
    ) -> Result<Vec<Self>, Stop> {
        all(paths.into_iter().map(|path| Self::read(facts, path)))
    }

    /// A file that is not there yet.
    pub fn planned(path: HostPath, text: &str) -> Self {
        Self { place: Place { path, node: None }, text: text.to_owned() }
    }

    /// Where it really is.
    pub fn path(&self) -> &HostPath {
        &self.place.path
    }

    /// Adds what makes its text `after`, with the folders above it; says whether that is anything.
    pub fn put(&self, facts: &Facts, claim: Claim, after: &str, change: &mut Change) -> Result<bool, Stop> {
        let edit = Edit {
            claim,
            attributes: Attributes::default(),
            backup: false,
            validate: None,
            folders: true,
            argument: "path",
        };
        let edited = edit.to(facts, &self.place, Some(Bytes::from(after)))?.change;
        let changed = !edited.steps.is_empty();
        change.steps.extend(edited.steps);
        change.diff.extend(edited.diff);
        change.notes.extend(edited.notes);
        Ok(changed)
    }

    /// Adds what takes it away; says whether it is there.
    pub fn remove(&self, claim: Claim, change: &mut Change) -> bool {
        let Some(node) = &self.place.node else { return false };
        let path = &self.place.path;
        change.steps.push(Step::put(claim, path.clone(), Seen::Node(node.clone()), Image::Absent));
        change.diff.push(text_diff(path, Some(node), &Bytes::default(), None));
        true
    }
}

/// A text with a newline at its end, where it holds anything.
pub(crate) fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
