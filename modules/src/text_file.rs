//! Text files of the host as modules edit them: read through links, changed in one line, put back whole.
use crate::vocabulary::{
    Bytes, Claim, Content, Diff, Facts, HostPath, Image, Kind, Look, Meta, Read, Seen, Step, Stop,
};

/// A text file as it is now, or as it would be made.
#[derive(Clone, Debug)]
pub(crate) struct TextFile {
    /// Where it really is.
    pub path: HostPath,
    /// What was seen there.
    pub seen: Seen,
    /// Its text; empty where it is not there.
    pub text: String,
}

impl TextFile {
    /// Reads a file, following links.
    pub fn read(facts: &Facts, path: &HostPath) -> Result<Self, Stop> {
        let path = facts.resolve(path)?;
        let seen = facts.get(&Read::text(&path))?;
        let text = match facts.node(&path)? {
            None => String::new(),
            Some(node) if node.kind == Kind::File => match node.bytes().map(Bytes::text) {
                Some(Some(text)) => text.to_owned(),
                Some(None) => return Err(Stop::failed(format!("{path} is not text"))),
                None => return Err(Stop::failed(format!("{path} is larger than 1 MiB"))),
            },
            Some(_) => return Err(Stop::failed(format!("{path} is not a file"))),
        };
        Ok(Self { path, seen, text })
    }

    /// Whether it is there.
    pub fn exists(&self) -> bool {
        self.seen != Seen::Absent
    }

    /// The step and the diff that make its text `after`; nothing where it is that already.
    pub fn put(&self, claim: Claim, after: &str) -> Option<(Step, Diff)> {
        if self.text == after && self.exists() {
            return None;
        }
        let meta = Meta { mode: (!self.exists()).then_some(0o644), ..Meta::default() };
        let image = Image::File { content: Content::Bytes(Bytes::from(after)), meta };
        Some((Step::put(claim, self.path.clone(), self.seen.clone(), image), self.diff(after)))
    }

    /// The step and the diff that take it away; nothing where it is not there.
    pub fn remove(&self, claim: Claim) -> Option<(Step, Diff)> {
        self.exists()
            .then(|| (Step::put(claim, self.path.clone(), self.seen.clone(), Image::Absent), self.diff("")))
    }

    fn diff(&self, after: &str) -> Diff {
        let private = matches!(&self.seen, Seen::Node(node) if node.mode & 0o044 == 0);
        Diff::Text {
            title: self.path.to_string(),
            before: self.text.clone(),
            after: after.to_owned(),
            private,
        }
    }
}

/// The steps that make a folder and those above it, where they are not there.
pub(crate) fn make_folder(facts: &Facts, folder: &HostPath) -> Result<Vec<Step>, Stop> {
    let mut steps = Vec::new();
    let mut here = Some(folder.clone());
    while let Some(path) = here {
        let node = facts.stat(&path)?;
        if node.is_some() {
            break;
        }
        let image = Image::Dir { meta: Meta { mode: Some(0o755), ..Meta::default() } };
        steps.push(Step::put(Claim::file(&path), path.clone(), Seen::Absent, image));
        here = path.parent();
    }
    steps.reverse();
    Ok(steps)
}

/// The reads that [`make_folder`] needs, as far as they are known now.
pub(crate) fn folder_reads(facts: &Facts, folder: &HostPath) -> Vec<Read> {
    let mut reads = Vec::new();
    let mut here = Some(folder.clone());
    while let Some(path) = here {
        let read = Read::Stat(path.clone());
        let absent = facts.look(&read) == Look::Seen(Seen::Absent);
        reads.push(read);
        if !absent {
            break;
        }
        here = path.parent();
    }
    reads
}

/// The reads of a file's text and, where it is a link, of what it leads to.
pub(crate) fn text_reads(facts: &Facts, path: &HostPath) -> Vec<Read> {
    let mut reads = vec![Read::text(path)];
    match facts.resolve(path) {
        Ok(end) => reads.push(Read::text(&end)),
        Err(Stop::Unread(more)) => reads.extend(more),
        Err(_) => {}
    }
    reads.dedup();
    reads
}

/// A path that the program itself wrote down.
pub(crate) fn known(path: &str) -> Result<HostPath, Stop> {
    HostPath::new(path).map_err(Stop::failed)
}

/// A text with a newline at its end, where it holds anything.
pub(crate) fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
