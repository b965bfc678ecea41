//! What was seen of a target, and what the steps planned so far will make of it.
use super::image::Image;
use super::path::HostPath;
use super::prediction::{Touch, brings_programs, coupled, glob_matches, lacks_program, touch};
use super::read::{Read, Want};
use super::row::Row;
use super::seen::{Kind, Node, Output, Seen};
use super::step::{Act, Step};
use super::stop::{Stop, TaskId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Who acts on the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Login name.
    pub user: String,
    /// Number.
    pub uid: u32,
    /// Name of the first group.
    pub group: String,
    /// Number of the first group.
    pub gid: u32,
}

impl Default for Identity {
    fn default() -> Self {
        Self { user: "root".to_owned(), uid: 0, group: "root".to_owned(), gid: 0 }
    }
}

/// What a look-up gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Look {
    /// Known: seen on the host, or exactly what a planned step leaves.
    Seen(Seen),
    /// Nobody has looked yet.
    Unread,
    /// Known only after this task.
    Late(TaskId),
}

/// The reads of a target, and the planned steps in order. Cloning is cheap in the reads.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    base: Arc<BTreeMap<Read, Seen>>,
    will: Arc<Planned>,
    /// Steps that were added while others share `will`: modules copy facts to plan a few steps further.
    further: Vec<(TaskId, Step)>,
    who: Identity,
}

/// The planned steps, found by the path that they act on: a look must not cost a walk over all of them.
#[derive(Clone, Debug, Default)]
struct Planned {
    steps: Vec<(TaskId, Step)>,
    /// Steps that touch reads of one path only, by that path.
    at: HashMap<HostPath, Vec<usize>>,
    /// Steps that may touch reads of other paths too.
    wide: Vec<usize>,
}

impl Planned {
    fn push(&mut self, task: TaskId, step: Step) {
        let number = self.steps.len();
        match &step.act {
            Act::Put { path, image, .. } if !matches!(image, Image::Absent | Image::Aside) => {
                self.at.entry(path.clone()).or_default().push(number);
            }
            Act::Write { path, .. } if coupled(path).is_none() => {
                self.at.entry(path.clone()).or_default().push(number);
            }
            _ => self.wide.push(number),
        }
        self.steps.push((task, step));
    }

    /// The numbers of the steps below `end` that may touch a read, the newest first.
    fn newest<'a>(&'a self, read: &Read, end: usize) -> impl Iterator<Item = usize> + 'a {
        let path = match read {
            Read::File { path, .. } | Read::Stat(path) => Some(path),
            Read::Glob(_) | Read::Ask(_) | Read::Rpc { .. } => None,
        };
        let (narrow, wide): (&[usize], &[usize]) = match path {
            Some(path) => (self.at.get(path).map_or(&[], Vec::as_slice), &self.wide),
            None => (&[], &[]),
        };
        let all = if path.is_none() { 0..end } else { 0..0 };
        let mut narrow = narrow[..narrow.partition_point(|number| *number < end)].iter().rev().peekable();
        let mut wide = wide[..wide.partition_point(|number| *number < end)].iter().rev().peekable();
        let merged = std::iter::from_fn(move || match (narrow.peek(), wide.peek()) {
            (Some(one), Some(two)) if one > two => narrow.next().copied(),
            (_, Some(_)) => wide.next().copied(),
            (_, None) => narrow.next().copied(),
        });
        merged.chain(all.rev())
    }
}

impl Facts {
    /// Facts from what was read, before any step is planned.
    pub fn new(base: Arc<BTreeMap<Read, Seen>>, who: Identity) -> Self {
        Self { base, will: Arc::default(), further: Vec::new(), who }
    }

    /// Who acts.
    pub fn who(&self) -> &Identity {
        &self.who
    }

    /// Adds planned steps: what comes after is planned on what they leave.
    pub fn plan(&mut self, task: TaskId, steps: impl IntoIterator<Item = Step>) {
        match Arc::get_mut(&mut self.will) {
            Some(will) if self.further.is_empty() => steps.into_iter().for_each(|step| will.push(task, step)),
            _ => self.further.extend(steps.into_iter().map(|step| (task, step))),
        }
    }

    /// The planned steps in order.
    pub fn planned(&self) -> impl DoubleEndedIterator<Item = &(TaskId, Step)> {
        self.will.steps.iter().chain(&self.further)
    }

    /// Looks a read up: the newest planned step that touches it decides, else what was read.
    pub fn look(&self, read: &Read) -> Look {
        self.look_before(read, self.will.steps.len() + self.further.len())
    }

    fn look_before(&self, read: &Read, steps: usize) -> Look {
        let known = self.will.steps.len();
        let further = (known..steps).rev();
        for index in further.chain(self.will.newest(read, steps.min(known))) {
            let (task, step) = self.will.steps.get(index).unwrap_or_else(|| &self.further[index - known]);
            match touch(step, read, &self.who) {
                Touch::No => {}
                Touch::Exactly(seen) => return Look::Seen(seen),
                Touch::Late => return Look::Late(*task),
                Touch::Changes(change) => {
                    return match self.look_before(read, index) {
                        Look::Seen(before) => match change(before) {
                            Some(after) => Look::Seen(after),
                            None => Look::Late(*task),
                        },
                        other => other,
                    };
                }
            }
        }
        let Some(seen) = self.seen(read) else { return Look::Unread };
        match self.brings_program(read, seen, steps) {
            Some(task) => Look::Late(task),
            None => Look::Seen(seen.clone()),
        }
    }

    /// The newest of the first planned steps that may bring the program that was asked in vain.
    fn brings_program(&self, read: &Read, seen: &Seen, steps: usize) -> Option<TaskId> {
        if !lacks_program(read, seen) {
            return None;
        }
        let planned: Vec<&(TaskId, Step)> = self.planned().take(steps).collect();
        planned.into_iter().rev().find(|(_, step)| brings_programs(&step.act)).map(|(task, _)| *task)
    }

    /// What was read on the host itself, whatever is planned. A fuller read answers a lesser one.
    pub fn seen(&self, read: &Read) -> Option<&Seen> {
        if let Some(seen) = self.base.get(read) {
            return Some(seen);
        }
        match read {
            Read::Stat(path) if !path.is_virtual() => {
                self.base.get(&Read::digest(path)).or_else(|| self.base.get(&Read::text(path)))
            }
            Read::File { path, want: Want::Digest } => self.base.get(&Read::text(path)),
            _ => None,
        }
    }

    /// The answer to a read.
    ///
    /// # Errors
    /// [`Stop::Unread`] and [`Stop::Late`].
    pub fn get(&self, read: &Read) -> Result<Seen, Stop> {
        match self.look(read) {
            Look::Seen(seen) => Ok(seen),
            Look::Unread => Err(Stop::Unread(vec![read.clone()])),
            Look::Late(task) => Err(Stop::Late(task)),
        }
    }

    /// Nothing, if all these reads are known or late; else all that nobody has looked at yet, so that they share
    /// one round.
    ///
    /// # Errors
    /// [`Stop::Unread`].
    pub fn need<'a>(&self, reads: impl IntoIterator<Item = &'a Read>) -> Result<(), Stop> {
        let unread: Vec<Read> =
            reads.into_iter().filter(|read| self.look(read) == Look::Unread).cloned().collect();
        if unread.is_empty() { Ok(()) } else { Err(Stop::Unread(unread)) }
    }

    /// A node with its text, or none where nothing is there. Denied and failed looks are refusals.
    ///
    /// # Errors
    /// [`Stop`], as said.
    pub fn node(&self, path: &HostPath) -> Result<Option<Node>, Stop> {
        self.known_node(&Read::text(path), path)
    }

    /// A node without its content, or none where nothing is there.
    ///
    /// # Errors
    /// As [`Facts::node`].
    pub fn stat(&self, path: &HostPath) -> Result<Option<Node>, Stop> {
        self.known_node(&Read::Stat(path.clone()), path)
    }

    fn known_node(&self, read: &Read, path: &HostPath) -> Result<Option<Node>, Stop> {
        match self.get(read)? {
            Seen::Node(node) => Ok(Some(node)),
            Seen::Absent => Ok(None),
            other => Err(unusable(path.as_str(), &other, &self.who)),
        }
    }

    /// Follows links to the path where the node really is. A dangling link gives its target.
    ///
    /// # Errors
    /// As [`Facts::node`]; a circle of links is refused.
    pub fn resolve(&self, path: &HostPath) -> Result<HostPath, Stop> {
        let mut here = path.clone();
        for _ in 0..16 {
            let Some(Node { kind: Kind::Link { target }, .. }) = self.node(&here)? else { return Ok(here) };
            here = link_target(&here, &target).map_err(Stop::failed)?;
        }
        Err(Stop::failed(format!("{path} is a circle of links")))
    }

    /// A value of the kernel, or none where it does not exist.
    ///
    /// # Errors
    /// As [`Facts::node`].
    pub fn value(&self, path: &HostPath) -> Result<Option<String>, Stop> {
        match self.get(&Read::text(path))? {
            Seen::Value(value) => Ok(Some(value)),
            Seen::Absent => Ok(None),
            other => Err(unusable(path.as_str(), &other, &self.who)),
        }
    }

    /// The answer of a program.
    ///
    /// # Errors
    /// [`Stop::Unread`], [`Stop::Late`], or a refusal where it could not be asked.
    pub fn output(&self, row: &Row) -> Result<Output, Stop> {
        match self.get(&Read::Ask(row.clone()))? {
            Seen::Output(output) => Ok(output),
            other => Err(unusable(&row.name, &other, &self.who)),
        }
    }

    /// What a row takes from an answer over a socket, or none where nobody serves it or the thing is not there.
    ///
    /// # Errors
    /// As [`Facts::output`].
    pub fn rpc(&self, socket: &HostPath, row: Row) -> Result<Option<String>, Stop> {
        match self.get(&Read::rpc(socket, row))? {
            Seen::Value(value) => Ok(Some(value)),
            Seen::Absent => Ok(None),
            Seen::Denied => {
                Err(Stop::failed(format!("{socket} may not be connected to by {}", self.who.user)).way_out(
                    "set `become: true` on the task, or give the user the right to write to the socket",
                ))
            }
            other => Err(unusable(socket.as_str(), &other, &self.who)),
        }
    }

    /// The names that a pattern matches.
    ///
    /// # Errors
    /// As [`Facts::output`].
    pub fn names(&self, pattern: &str) -> Result<Vec<HostPath>, Stop> {
        match self.get(&Read::Glob(pattern.to_owned()))? {
            Seen::Names(names) => Ok(names.into_iter().filter(|name| glob_matches(pattern, name)).collect()),
            Seen::Absent => Ok(Vec::new()),
            other => Err(unusable(pattern, &other, &self.who)),
        }
    }

    /// The newest planned act on a path, if one is planned.
    pub fn planned_act(&self, path: &HostPath) -> Option<&Act> {
        self.planned()
            .rev()
            .map(|(_, step)| step)
            .find(|step| step.path() == Some(path))
            .map(|step| &step.act)
    }
}

/// Where a link leads, its text taken against the folder that holds it.
///
/// # Errors
/// A path that climbs above what its text allows.
pub(crate) fn link_target(link: &HostPath, target: &str) -> Result<HostPath, String> {
    let mut parts: Vec<&str> = if target.starts_with('/') {
        Vec::new()
    } else {
        link.as_str().split('/').filter(|part| !part.is_empty()).collect()
    };
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    HostPath::new(&format!("/{}", parts.join("/")))
}

fn unusable(what: &str, seen: &Seen, who: &Identity) -> Stop {
    match seen {
        Seen::Denied => Stop::failed(format!("{what} cannot be read by {}", who.user))
            .way_out("set `become: true` on the task, or give the user the right to read it"),
        Seen::Failed(words) => Stop::failed(format!("{what} cannot be read: {words}")),
        other => Stop::failed(format!("{what} was answered by {other:?}, which is not what was asked for")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::{Claim, Content, Meta};

    fn path(text: &str) -> HostPath {
        HostPath::new(text).unwrap()
    }

    fn put(at: &str, text: &str) -> Step {
        let image = Image::File { content: Content::Bytes(text.into()), meta: Meta::default() };
        Step::put(Claim::file(&path(at)), path(at), Seen::Absent, image)
    }

    #[test]
    fn a_planned_file_is_read_as_it_will_be() {
        let base = BTreeMap::from([(Read::text(&path("/etc/a")), Seen::Absent)]);
        let mut facts = Facts::new(Arc::new(base), Identity::default());
        assert_eq!(facts.node(&path("/etc/a")), Ok(None));
        facts.plan(TaskId(0), [put("/etc/a", "one\n")]);
        let node = facts.node(&path("/etc/a")).unwrap().unwrap();
        assert_eq!(node.bytes().unwrap().text(), Some("one\n"));
        assert_eq!((node.mode, node.modified), (0o644, None));
        facts.plan(TaskId(1), [put("/etc/a", "two\n")]);
        assert_eq!(facts.node(&path("/etc/a")).unwrap().unwrap().bytes().unwrap().text(), Some("two\n"));
        assert!(matches!(facts.look(&Read::text(&path("/etc/b"))), Look::Unread));
    }

    #[test]
    fn globs_know_planned_names() {
        let pattern = "/etc/sysctl.d/*.conf";
        let base =
            BTreeMap::from([(Read::Glob(pattern.into()), Seen::Names(vec![path("/etc/sysctl.d/a.conf")]))]);
        let mut facts = Facts::new(Arc::new(base), Identity::default());
        facts.plan(TaskId(0), [put("/etc/sysctl.d/z.conf", ""), put("/etc/sysctl.d/z.txt", "")]);
        assert_eq!(
            facts.names(pattern).unwrap(),
            [path("/etc/sysctl.d/a.conf"), path("/etc/sysctl.d/z.conf")]
        );
        let gone = Step::put(
            Claim::file(&path("/etc/sysctl.d/a.conf")),
            path("/etc/sysctl.d/a.conf"),
            Seen::Absent,
            Image::Absent,
        );
        facts.plan(TaskId(1), [gone]);
        assert_eq!(facts.names(pattern).unwrap(), [path("/etc/sysctl.d/z.conf")]);
    }

    #[test]
    fn denied_is_not_absent() {
        let base = BTreeMap::from([(Read::text(&path("/etc/a")), Seen::Denied)]);
        let facts = Facts::new(Arc::new(base), Identity::default());
        assert!(matches!(facts.node(&path("/etc/a")), Err(Stop::Refused(_))));
    }

    #[test]
    fn links_lead_where_the_kernel_would_go() {
        for (link, target, end) in [
            ("/etc/sysconfig/grub", "/etc/default/grub", "/etc/default/grub"),
            ("/etc/sysconfig/grub", "../default/grub", "/etc/default/grub"),
            ("/a", "../../b", "/b"),
            ("/etc/x", "y", "/etc/y"),
        ] {
            assert_eq!(link_target(&path(link), target).unwrap(), path(end));
        }
    }

    #[test]
    fn the_index_finds_what_a_walk_over_all_steps_finds() {
        let mut facts = Facts::default();
        let write = |at: &str, value: &str| {
            Step::write(Claim::new("knob", at), path(at), Seen::Absent, value, crate::shape::Shape::Text)
        };
        let gone = |at: &str| Step::put(Claim::file(&path(at)), path(at), Seen::Absent, Image::Absent);
        let ratio = "/proc/sys/vm/dirty_ratio";
        let steps = [
            put("/d/a", "1"),
            put("/e/a", "1"),
            write(ratio, "10"),
            gone("/d"),
            put("/d/b", "2"),
            write("/proc/sys/vm/dirty_bytes", "4096"),
            gone("/e/a"),
            put("/e/a", "3"),
        ];
        for (number, step) in steps.into_iter().enumerate() {
            facts.plan(TaskId(u32::try_from(number).unwrap()), [step]);
        }
        for at in ["/d", "/d/a", "/d/b", "/e", "/e/a", ratio, "/proc/sys/vm/dirty_bytes"] {
            let read = Read::text(&path(at));
            for end in 0..=facts.planned().count() {
                let touching = |number: &usize| {
                    super::super::prediction::touches(&facts.will.steps[*number].1.act, &read)
                };
                let found: Vec<usize> = facts.will.newest(&read, end).filter(touching).collect();
                let all: Vec<usize> = (0..end).rev().filter(touching).collect();
                assert_eq!(found, all, "{at} before {end}");
            }
        }
    }
}
