//! Where a path leads, what is there, and whether its folder is.
use crate::vocabulary::{
    Body, Bytes, Change, Claim, Facts, HostPath, Identity, Image, Kind, Meta, Node, Read, Seen, Step, Stop,
    TEXT_LIMIT, Writing,
};

/// A path that was followed to where the node really is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Where it is: links were followed.
    pub(crate) path: HostPath,
    /// What is there.
    pub(crate) node: Option<Node>,
}

/// An argument that is a path.
pub(crate) fn path(argument: &'static str, text: &str) -> Result<HostPath, Stop> {
    HostPath::new(text).map_err(|why| Stop::refused(argument, why))
}

/// Looks at a file whose text shall be changed, links followed. The folder that holds it is looked at in the same
/// round.
pub(crate) fn open(facts: &Facts, argument: &'static str, text: &str) -> Result<Place, Stop> {
    let asked = path(argument, text)?;
    if asked.is_virtual() {
        return Err(Stop::refused(
            argument,
            format!("{asked} is made up by the kernel: it has no text to edit"),
        )
        .way_out("use the module `sysctl` or `sysfs`"));
    }
    facts.need(&first_reads(&asked))?;
    at(facts, &asked).map_err(|stop| stop.blame(argument))
}

/// Looks at a file, links followed. What is there and is no file is refused.
pub(crate) fn at(facts: &Facts, path: &HostPath) -> Result<Place, Stop> {
    let path = facts.resolve(path)?;
    let node = facts.node(&path)?;
    match node.as_ref().map(|node| &node.kind) {
        None | Some(Kind::File) => Ok(Place { path, node }),
        Some(other) => Err(Stop::failed(format!("{path} is {}, not a file", kind_name(other)))),
    }
}

/// The reads that an edit of a file needs in the first round.
pub(crate) fn first_reads(path: &HostPath) -> Vec<Read> {
    let parent = path.parent().map(Read::Stat);
    [Read::text(path)].into_iter().chain(parent).collect()
}

/// The same with every folder above it: of a file whose folders may have to be made.
pub(crate) fn whole_reads(path: &HostPath) -> Vec<Read> {
    let above = std::iter::successors(path.parent(), HostPath::parent).map(Read::Stat);
    [Read::text(path)].into_iter().chain(above).collect()
}

/// A path that the program itself wrote down.
pub(crate) fn known(path: &str) -> Result<HostPath, Stop> {
    HostPath::new(path).map_err(Stop::failed)
}

/// A kind of node in words.
pub(crate) fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::File => "a file",
        Kind::Dir => "a folder",
        Kind::Link { .. } => "a link",
        Kind::Block => "a block device",
        Kind::Char => "a character device",
        Kind::Fifo => "a named pipe",
        Kind::Socket => "a socket",
    }
}

/// The bytes of a file that was opened; none where there is no file.
pub(crate) fn bytes(argument: &'static str, place: &Place) -> Result<Option<Bytes>, Stop> {
    place.bytes().map_err(|stop| stop.blame(argument))
}

impl Place {
    /// The bytes of the file; none where there is no file.
    pub(crate) fn bytes(&self) -> Result<Option<Bytes>, Stop> {
        let Some(node) = &self.node else { return Ok(None) };
        match &node.body {
            Some(Body::Bytes(bytes)) => Ok(Some(bytes.clone())),
            _ => Err(Stop::failed(format!(
                "{} holds {} bytes: text is edited up to {TEXT_LIMIT}",
                self.path, node.size
            ))
            .way_out("edit it by a `command` task that declares its `undo:`")),
        }
    }
}

/// Steps that make the missing folders above a path, outermost first. Each is made with `meta`.
pub(crate) fn folders(facts: &Facts, path: &HostPath, meta: &Meta) -> Result<Vec<Step>, Stop> {
    let above: Vec<HostPath> = std::iter::successors(path.parent(), HostPath::parent).collect();
    let Some(parent) = above.first() else { return Ok(Vec::new()) };
    if is_folder(facts, parent)? {
        return Ok(Vec::new());
    }
    let stats: Vec<Read> = above.iter().cloned().map(Read::Stat).collect();
    facts.need(&stats)?;
    let mut missing = Vec::new();
    for folder in above {
        if is_folder(facts, &folder)? {
            break;
        }
        missing.push(folder);
    }
    let made = missing.into_iter().rev().map(|folder| {
        let image = Image::Dir { meta: meta.clone() };
        Step::put(Claim::file(&folder), folder, Seen::Absent, image)
    });
    Ok(made.collect())
}

/// Whether a folder is there, links followed. Something else there is refused.
pub(crate) fn is_folder(facts: &Facts, path: &HostPath) -> Result<bool, Stop> {
    let mut here = path.clone();
    for _ in 0..16 {
        match facts.stat(&here)?.map(|node| node.kind) {
            None => return Ok(false),
            Some(Kind::Dir) => return Ok(true),
            Some(Kind::Link { target }) => {
                here = crate::vocabulary::link_target(&here, &target).map_err(Stop::failed)?;
            }
            Some(other) => {
                return Err(Stop::failed(format!("{here} is {}, not a folder", kind_name(&other))));
            }
        }
    }
    Err(Stop::failed(format!("{path} is a circle of links")))
}

/// How a file that is there can be written: noted where that is not atomic, refused where this user cannot.
pub(crate) fn writing_notes(
    change: &mut Change,
    path: &HostPath,
    node: Option<&Node>,
    who: &Identity,
) -> Result<(), Stop> {
    match node.map(|node| Writing::of(node, who)) {
        None | Some(Writing::Rename) => {}
        Some(Writing::InPlace { why }) => {
            change.notes.push(format!("written in place: {path} {why}; not atomic"));
        }
        Some(Writing::Denied { why }) => {
            return Err(
                Stop::failed(format!("{path} {why}")).way_out("let the task `become` its owner, or root")
            );
        }
    }
    Ok(())
}
