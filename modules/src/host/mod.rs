//! A host in memory: nodes, values, answers and targets behind sockets. The contract suite and the engine's tests act
//! on it.
mod target;

pub use target::Target;

use crate::programs::rpc::{self, Reply};
use crate::vocabulary::{
    Act, Body, Bytes, Content, Facts, HostPath, Identity, Image, Kind, Look, Node, Output, Read, Row, Seen,
    Step, TaskId, Want, coupled, glob_matches, listed_folder,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A host in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    nodes: BTreeMap<HostPath, Node>,
    values: BTreeMap<HostPath, String>,
    answers: BTreeMap<Row, Seen>,
    /// Who serves sockets.
    targets: BTreeMap<HostPath, Target>,
    /// What is answered over sockets that no target in memory serves.
    replies: BTreeMap<(HostPath, Row), Seen>,
    denied: Vec<HostPath>,
    who: Identity,
}

impl Host {
    /// An empty host with a root folder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file of mode 0644 that belongs to root, and its folders.
    ///
    /// # Panics
    /// Where the path is not absolute: hosts are written by tests.
    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.file_mode(path, text, 0o644)
    }

    /// Adds a file with a mode.
    ///
    /// # Panics
    /// As [`Host::file`].
    pub fn file_mode(mut self, path: &str, text: impl AsRef<[u8]>, mode: u32) -> Self {
        let mut node = self.blank(Kind::File, mode);
        node.size = text.as_ref().len() as u64;
        node.body = Some(Body::Bytes(Bytes::from(text)));
        self.insert(&at(path), node);
        self
    }

    /// Adds a folder.
    ///
    /// # Panics
    /// As [`Host::file`].
    pub fn dir(mut self, path: &str) -> Self {
        let node = self.blank(Kind::Dir, 0o755);
        self.insert(&at(path), node);
        self
    }

    /// Adds a symbolic link.
    ///
    /// # Panics
    /// As [`Host::file`].
    pub fn link(mut self, path: &str, target: &str) -> Self {
        let node = self.blank(Kind::Link { target: target.to_owned() }, 0o777);
        self.insert(&at(path), node);
        self
    }

    /// Adds a node made by hand.
    ///
    /// # Panics
    /// As [`Host::file`].
    pub fn node(mut self, path: &str, node: Node) -> Self {
        self.insert(&at(path), node);
        self
    }

    /// Adds a value below /proc or /sys.
    ///
    /// # Panics
    /// As [`Host::file`].
    pub fn value(mut self, path: &str, value: &str) -> Self {
        self.values.insert(at(path), value.to_owned());
        self
    }

    /// Makes a path unreadable.
    ///
    /// # Panics
    /// As [`Host::file`].
    pub fn deny(mut self, path: &str) -> Self {
        self.denied.push(at(path));
        self
    }

    /// Adds the answer of a row.
    pub fn answer(mut self, row: Row, seen: Seen) -> Self {
        self.answers.insert(row, seen);
        self
    }

    /// Lets a target serve a socket.
    ///
    /// # Panics
    /// As [`Host::file`].
    pub fn serve(mut self, socket: &str, target: Target) -> Self {
        let node = self.blank(Kind::Socket, 0o755);
        self.insert(&at(socket), node);
        self.targets.insert(at(socket), target);
        self
    }

    fn blank(&self, kind: Kind, mode: u32) -> Node {
        Node {
            kind,
            mode,
            uid: 0,
            gid: 0,
            user: "root".to_owned(),
            group: "root".to_owned(),
            links: 1,
            size: 0,
            modified: Some(0),
            mount_point: false,
            body: None,
        }
    }

    fn insert(&mut self, path: &HostPath, node: Node) {
        let mut above = path.parent();
        while let Some(folder) = above {
            above = folder.parent();
            let blank = self.blank(Kind::Dir, 0o755);
            self.nodes.entry(folder).or_insert(blank);
        }
        self.nodes.insert(path.clone(), node);
    }

    /// Answers a read.
    pub fn see(&self, read: &Read) -> Seen {
        match read {
            Read::File { path, .. } | Read::Stat(path) if self.denied.contains(path) => Seen::Denied,
            Read::File { path, .. } if path.is_virtual() => {
                self.values.get(path).map_or(Seen::Absent, |value| Seen::Value(value.clone()))
            }
            Read::File { path, want } => self.nodes.get(path).map_or(Seen::Absent, |node| {
                let mut node = node.clone();
                if *want == Want::Digest {
                    node.body = node.body.map(|body| Body::Digest(body.digest()));
                }
                Seen::Node(node)
            }),
            Read::Stat(path) if path.is_virtual() => self.see_virtual(path),
            Read::Rpc { socket, .. } if self.denied.contains(socket) => Seen::Denied,
            Read::Rpc { socket, row } => self.see_rpc(socket, row),
            Read::Stat(path) => self
                .nodes
                .get(path)
                .map_or(Seen::Absent, |node| Seen::Node(Node { body: None, ..node.clone() })),
            Read::Glob(pattern) => {
                let mut names: Vec<HostPath> = self
                    .nodes
                    .keys()
                    .chain(self.values.keys())
                    .filter(|path| glob_matches(pattern, path))
                    .cloned()
                    .collect();
                names.extend(self.virtual_folders().filter(|path| glob_matches(pattern, path)));
                names.sort();
                names.dedup();
                Seen::Names(names)
            }
            Read::Ask(row) => {
                self.answers.get(row).cloned().or_else(|| self.list(row)).unwrap_or_else(|| {
                    Seen::Output(Output {
                        status: 127,
                        stdout: Bytes::default(),
                        stderr: Bytes::from(format!("{}: not found", row.name)),
                    })
                })
            }
        }
    }

    fn see_rpc(&self, socket: &HostPath, row: &Row) -> Seen {
        if let Some(seen) = self.replies.get(&(socket.clone(), row.clone())) {
            return seen.clone();
        }
        let Some(mut target) = self.targets.get(socket).cloned() else { return Seen::Absent };
        match rpc::asks(row) {
            Err(why) => Seen::Failed(why),
            Ok(method) => rpc::taken(row, &replied(target.call(method, &serde_json::Value::Null))),
        }
    }

    /// What `find FOLDER -print0` says.
    fn list(&self, row: &Row) -> Option<Seen> {
        let folder = listed_folder(row)?;
        let names: Vec<&HostPath> = self.nodes.keys().filter(|path| path.is_within(&folder)).collect();
        let stdout: String = names.iter().flat_map(|name| [name.as_str(), "\0"]).collect();
        let (status, stderr) = match names.is_empty() {
            true => (1, format!("find: '{folder}': No such file or directory\n")),
            false => (0, String::new()),
        };
        Some(Seen::Output(Output { status, stdout: stdout.into(), stderr: stderr.into() }))
    }

    /// Where two hosts are not in the same state, in words: nodes (see [`Node::same_state`]), values and
    /// answers. What was moved aside does not count.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let aside = |path: &HostPath| path.as_str().starts_with("/var/lib/tunerun");
        let mut found = Vec::new();
        for path in self.nodes.keys().chain(other.nodes.keys()).filter(|path| !aside(path)) {
            let (one, two) = (self.nodes.get(path), other.nodes.get(path));
            let same = match (one, two) {
                (Some(one), Some(two)) => one.same_state(two),
                _ => false,
            };
            if !same {
                found.push(format!("{path}: {one:?} is not {two:?}"));
            }
        }
        for path in self.values.keys().chain(other.values.keys()) {
            let (one, two) = (self.values.get(path), other.values.get(path));
            if one != two {
                found.push(format!("{path}: {one:?} is not {two:?}"));
            }
        }
        for socket in self.targets.keys().chain(other.targets.keys()) {
            let (one, two) = (self.targets.get(socket), other.targets.get(socket));
            if one != two {
                found.push(format!("{socket}: {one:?} is not {two:?}"));
            }
        }
        if self.replies != other.replies {
            found.push(format!("{:?} is not {:?}", self.replies, other.replies));
        }
        found.sort();
        found.dedup();
        found
    }

    fn virtual_folders(&self) -> impl Iterator<Item = HostPath> + '_ {
        self.values.keys().flat_map(|path| std::iter::successors(path.parent(), HostPath::parent))
    }

    fn see_virtual(&self, path: &HostPath) -> Seen {
        if let Some(node) = self.nodes.get(path).filter(|node| node.kind != Kind::Dir) {
            return Seen::Node(node.clone());
        }
        if self.values.contains_key(path) {
            Seen::Node(self.blank(Kind::File, 0o644))
        } else if self.virtual_folders().any(|folder| folder == *path) {
            Seen::Node(self.blank(Kind::Dir, 0o755))
        } else {
            Seen::Absent
        }
    }

    /// Carries an act out, as the engine would on a real host. Calls change nothing here: see [`Host::set`].
    /// An RPC changes the target that serves its socket, if one does.
    ///
    /// # Errors
    /// What a real host would say: no such folder, not a folder, and the like.
    pub fn act(&mut self, act: &Act) -> Result<(), String> {
        match act {
            Act::Write { path, value } => match self.values.get_mut(path) {
                Some(old) => {
                    value.clone_into(old);
                    let other = coupled(path).map(at).and_then(|other| self.values.get_mut(&other));
                    if let Some(other) = other {
                        "0".clone_into(other);
                    }
                    Ok(())
                }
                None => Err(format!("{path}: No such file or directory")),
            },
            Act::Put { path, image, .. } => self.put(path, image),
            Act::Call { .. } => Ok(()),
            Act::Rpc { socket, method, params } => self.send(socket, method, params),
        }
    }

    fn send(&mut self, socket: &HostPath, method: &str, params: &serde_json::Value) -> Result<(), String> {
        if rpc::method(method).is_none() {
            return Err(format!("the table of RPC methods that change something has no row `{method}`"));
        }
        let guards: Vec<(Row, Seen)> = rpc::guards(method, params)
            .into_iter()
            .map(|row| (row.clone(), self.see_rpc(socket, &row)))
            .collect();
        if let Some(why) = rpc::forbids(method, params, &guards) {
            return Err(why);
        }
        let target = self.targets.get_mut(socket).ok_or_else(|| format!("nobody serves {socket}"))?;
        match target.call(method, params) {
            Ok(_) => Ok(()),
            Err((code, message)) => Err(rpc::explained(method, params, code, message)),
        }
    }

    fn put(&mut self, path: &HostPath, image: &Image) -> Result<(), String> {
        let parent = path.parent().and_then(|folder| self.nodes.get(&folder));
        if !matches!(parent, Some(Node { kind: Kind::Dir, .. })) {
            return Err(format!("{path}: the folder that should hold it is not there"));
        }
        if *image == Image::Absent {
            let gone: Vec<HostPath> =
                self.nodes.keys().filter(|name| name.is_within(path)).cloned().collect();
            for name in gone {
                let node = self.nodes.remove(&name);
                let aside = aside(&name)?;
                self.nodes.extend(node.map(|node| (aside, node)));
            }
            return Ok(());
        }
        if *image == Image::Aside {
            let kept = aside(path)?;
            let back: Vec<HostPath> =
                self.nodes.keys().filter(|name| name.is_within(&kept)).cloned().collect();
            for name in back {
                let original = HostPath::new(name.as_str().strip_prefix(ASIDE).unwrap_or_default())?;
                let node = self.nodes.remove(&name);
                self.nodes.extend(node.map(|node| (original, node)));
            }
            return Ok(());
        }
        // What a put leaves is what is predicted of it: the prediction is tested against real hosts elsewhere.
        let step = Step::put(crate::vocabulary::Claim::file(path), path.clone(), Seen::Absent, image.clone());
        let base = BTreeMap::from([(Read::text(path), self.see(&Read::text(path)))]);
        let mut facts = Facts::new(Arc::new(base), self.who.clone());
        facts.plan(TaskId(0), [step]);
        match facts.look(&Read::text(path)) {
            Look::Seen(Seen::Node(mut node)) => {
                if let Image::File { content: Content::Kept(digest), .. } = image {
                    node.body = Some(Body::Digest(*digest));
                }
                node.modified = Some(1);
                self.nodes.insert(path.clone(), node);
                Ok(())
            }
            other => Err(format!("{path}: {other:?}")),
        }
    }

    /// Makes a read answer so from now on: what a call of a program left.
    pub fn set(&mut self, read: &Read, seen: Seen) {
        match (read, seen) {
            (Read::File { path, .. } | Read::Stat(path), Seen::Value(value)) => {
                self.values.insert(path.clone(), value);
            }
            (Read::File { path, .. } | Read::Stat(path), Seen::Node(node)) => self.insert(path, node),
            (Read::File { path, .. } | Read::Stat(path), _) => {
                self.nodes.remove(path);
                self.values.remove(path);
            }
            (Read::Ask(row), seen) => {
                self.answers.insert(row.clone(), seen);
            }
            (Read::Rpc { socket, row }, Seen::Absent) => {
                self.replies.remove(&(socket.clone(), row.clone()));
            }
            (Read::Rpc { socket, row }, seen) => {
                self.replies.insert((socket.clone(), row.clone()), seen);
            }
            (Read::Glob(_), _) => {}
        }
    }

    /// Facts that answer every read asked for, and remember the answers.
    pub fn facts(&self, reads: impl IntoIterator<Item = Read>) -> Facts {
        let base = reads.into_iter().map(|read| (read.clone(), self.see(&read))).collect();
        Facts::new(Arc::new(base), self.who.clone())
    }
}

fn replied(answer: Result<serde_json::Value, (i64, &'static str)>) -> Reply {
    match answer {
        Ok(result) => Reply::Result(result),
        Err((code, message)) => Reply::Error { code, message: message.to_owned() },
    }
}

/// Where trees that were taken away are kept.
const ASIDE: &str = "/var/lib/tunerun/aside";

fn aside(path: &HostPath) -> Result<HostPath, String> {
    HostPath::new(&format!("{ASIDE}{path}"))
}

fn at(path: &str) -> HostPath {
    HostPath::new(path).unwrap_or_else(|why| panic!("{why}"))
}
