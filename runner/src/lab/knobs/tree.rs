//! The settings as they were when the lab started, shared by all of its hosts.
use super::rule::{Rule, of};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The longest value that is copied, in bytes.
const LONGEST: u64 = 65_536;

/// One name: a folder or a setting.
#[derive(Debug)]
pub(super) struct Node {
    /// The path from the top, without a leading slash.
    pub path: String,
    /// The permission bits.
    pub mode: u32,
    /// The node of its folder.
    pub parent: u64,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Kind {
    /// A folder: names and nodes.
    Folder(BTreeMap<String, u64>),
    /// A setting: its first value, and what it takes.
    Setting(String, Rule),
}

/// All nodes, numbered from 1, which is the top.
#[derive(Debug)]
pub(in crate::lab) struct Tree {
    nodes: Vec<Node>,
}

impl Tree {
    /// A tree of nothing but its top.
    pub(super) fn new() -> Self {
        let top = Node { path: String::new(), mode: 0o755, parent: 1, kind: Kind::Folder(BTreeMap::new()) };
        Self { nodes: vec![top] }
    }

    /// The node of this number.
    pub(super) fn node(&self, number: u64) -> Option<&Node> {
        self.nodes.get(usize::try_from(number.checked_sub(1)?).ok()?)
    }

    /// The node at a path.
    pub(super) fn find(&self, path: &str) -> Option<u64> {
        path.split('/').filter(|part| !part.is_empty()).try_fold(1, |at, part| self.child(at, part))
    }

    /// The node of a name in a folder.
    pub(super) fn child(&self, folder: u64, name: &str) -> Option<u64> {
        match &self.node(folder)?.kind {
            Kind::Folder(names) => names.get(name).copied(),
            Kind::Setting(..) => None,
        }
    }

    /// Each setting's number, whose path ends so.
    pub(super) fn ending(&self, end: &str) -> Vec<u64> {
        (1..)
            .zip(&self.nodes)
            .filter(|(_, node)| super::rule::ends(&node.path, end))
            .map(|(number, _)| number)
            .collect()
    }

    /// Adds a setting that cannot be written by hosts.
    pub(super) fn fixed(&mut self, path: &str, value: &str) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let folder = self.folder(folder);
        self.add(folder, name, 0o444, Kind::Setting(value.to_owned(), Rule::Fixed));
    }

    /// Copies a folder of the machine's with everything below it, links excepted.
    pub(super) fn copy(&mut self, folder: &Path) {
        let path = folder.display().to_string();
        let number = self.folder(path.trim_start_matches('/'));
        self.fill(folder, number);
    }

    fn fill(&mut self, folder: &Path, number: u64) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            let mode = fs::symlink_metadata(entry.path()).map_or(0o444, |about| about.mode() & 0o777);
            if kind.is_dir() {
                let below = self.add(number, &name, mode, Kind::Folder(BTreeMap::new()));
                // A mount point of its own, which to look into would mount.
                if name != "binfmt_misc" {
                    self.fill(&entry.path(), below);
                }
            } else if kind.is_file() {
                let value = if mode & 0o444 == 0 { String::new() } else { value(&entry.path()) };
                let path = entry.path().display().to_string();
                let rule = of(path.trim_start_matches('/'), mode, &value);
                self.add(number, &name, mode, Kind::Setting(value, rule));
            }
        }
    }

    /// The folder at a path, made where it is not there.
    fn folder(&mut self, path: &str) -> u64 {
        path.split('/').filter(|part| !part.is_empty()).fold(1, |at, part| {
            self.child(at, part).unwrap_or_else(|| self.add(at, part, 0o755, Kind::Folder(BTreeMap::new())))
        })
    }

    fn add(&mut self, folder: u64, name: &str, mode: u32, kind: Kind) -> u64 {
        let number = self.nodes.len() as u64 + 1;
        let above = self.node(folder).map_or("", |node| node.path.as_str());
        let path = if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
        self.nodes.push(Node { path, mode, parent: folder, kind });
        let at = usize::try_from(folder - 1).unwrap_or(0);
        if let Kind::Folder(names) = &mut self.nodes[at].kind {
            names.insert(name.to_owned(), number);
        }
        number
    }
}

/// The value of a setting; what cannot be read is empty. Some files would block, so none may.
fn value(path: &Path) -> String {
    let mut bytes = Vec::new();
    let opened = OpenOptions::new().read(true).custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits()).open(path);
    if let Ok(file) = opened {
        let _ = file.take(LONGEST).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machines_settings_are_copied() {
        let mut tree = Tree::new();
        tree.copy(Path::new("/proc/sys/vm"));
        tree.fixed("proc/cmdline", "quiet\n");
        let number = tree.find("proc/sys/vm/swappiness").unwrap();
        let real = fs::read_to_string("/proc/sys/vm/swappiness").unwrap();
        assert!(
            matches!(&tree.node(number).unwrap().kind, Kind::Setting(value, Rule::Numbers(1, 0, 200)) if *value == real)
        );
        assert_eq!(tree.ending("vm/swappiness"), [number]);
        assert_eq!(tree.find("proc/sys/vm/no_such"), None);
        assert!(tree.find("proc/cmdline").is_some());
    }
}
