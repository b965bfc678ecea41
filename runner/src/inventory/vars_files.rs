//! The folders `group_vars` and `host_vars`, beside the inventory and beside the playbook.
use super::model::{GroupId, HostId, InventoryVar, Layer, Name};
use super::world::{Kind, World};
use super::{Inventory, text, yaml};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::yaml::{Data, Node};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Endings of files with variables; of one name only the first that exists is read, as Ansible does.
const ENDINGS: [&str; 4] = ["", ".yml", ".yaml", ".json"];

/// Most pairs of a file's and a host's name that are compared to find slips: some ten milliseconds.
const COMPARED: usize = 20_000;

/// Beside what a folder stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Inventory,
    Playbook,
}

/// Whose variables a folder holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Groups,
    Hosts,
}

/// One folder of variables.
#[derive(Clone, Debug)]
pub(super) struct VarsDir {
    path: PathBuf,
    of: Of,
    side: Side,
    names: HashSet<String>,
}

/// The folders of variables that stand in one folder.
pub(super) fn beside(folder: &Path, side: Side, world: &dyn World, problems: &mut Problems) -> Vec<VarsDir> {
    let mut found = Vec::new();
    for (name, of) in [("group_vars", Of::Groups), ("host_vars", Of::Hosts)] {
        let path = folder.join(name);
        match world.kind(&path) {
            None => {}
            Some(Kind::Folder) => match world.list(&path) {
                Ok(names) => found.push(VarsDir { path, of, side, names: names.into_iter().collect() }),
                Err(error) => problems.push(text::unreadable(&path, &error)),
            },
            Some(_) => problems.push(
                Diagnostic::warning(format!("{} is not a folder and is not read", path.display()), None)
                    .help(format!("make it a folder with one file a {}", name.trim_end_matches("_vars"))),
            ),
        }
    }
    found
}

impl VarsDir {
    /// The files that hold the variables of one group or host.
    fn files(&self, name: &str, world: &dyn World, problems: &mut Problems) -> Vec<PathBuf> {
        let candidates = ENDINGS.iter().map(|ending| format!("{name}{ending}"));
        let mut exist = candidates.filter(|file| self.names.contains(file));
        let Some(first) = exist.next() else { return Vec::new() };
        let path = self.path.join(&first);
        for passed_over in exist {
            let passed_over = self.path.join(passed_over);
            problems.push(
                Diagnostic::warning(
                    format!("{} is not read, since {} exists", passed_over.display(), path.display()),
                    None,
                )
                .help("join the two, or move both into a folder of that name"),
            );
        }
        let mut files = Vec::new();
        match world.kind(&path) {
            Some(Kind::Folder) => folder_files(&path, world, problems, &mut files),
            _ => files.push(path),
        }
        files
    }

    fn layer(&self, name: &str, into: &mut Inventory, world: &dyn World, problems: &mut Problems) -> Layer {
        let mut layer = Layer::default();
        for file in self.files(name, world, problems) {
            match read_vars(&file, world, into) {
                Ok((vars, mut warnings)) => {
                    problems.append(&mut warnings);
                    vars.into_iter().for_each(|(name, var)| layer.set(name, var));
                }
                Err(mut found) => problems.append(&mut found),
            }
        }
        layer
    }
}

/// All files with variables below a folder, in the order of their names.
fn folder_files(path: &Path, world: &dyn World, problems: &mut Problems, files: &mut Vec<PathBuf>) {
    let mut names = match world.list(path) {
        Ok(names) => names,
        Err(error) => return problems.push(text::unreadable(path, &error)),
    };
    names.sort_unstable();
    for name in names.iter().filter(|name| !name.starts_with('.') && !name.ends_with('~')) {
        let file = path.join(name);
        let ending = file.extension().and_then(|ending| ending.to_str());
        match world.kind(&file) {
            Some(Kind::Folder) if ending.is_none() => folder_files(&file, world, problems, files),
            Some(Kind::File | Kind::Executable) if matches!(ending, None | Some("yml" | "yaml" | "json")) => {
                files.push(file);
            }
            _ => {}
        }
    }
}

type Vars = Vec<(Name, InventoryVar)>;

fn read_vars(path: &Path, world: &dyn World, into: &mut Inventory) -> Result<(Vars, Problems), Problems> {
    let source = text::source(path, world)?;
    let document = crate::yaml::parse_one(&source)?;
    match &document.data {
        Data::Null => Ok((Vars::new(), Problems::new())),
        Data::Map(entries) => {
            let check = |(key, _): &(Node, Node)| super::check_variable_name(&key.key_text(), &key.span);
            let warnings = entries.iter().filter_map(check).collect();
            let vars = entries
                .iter()
                .map(|(key, value)| (into.intern(&key.key_text()), yaml::variable(value)))
                .collect();
            Ok((vars, warnings))
        }
        _ => Err(vec![
            Diagnostic::error(
                format!("a file of variables is a mapping, this is {}", document.kind()),
                yaml::first_line(&document.span),
            )
            .help("write each variable as `name: value`"),
        ]),
    }
}

impl Inventory {
    /// Reads the variables of all groups and hosts from all folders.
    pub(super) fn read_vars_files(&mut self, dirs: Vec<VarsDir>, world: &dyn World, problems: &mut Problems) {
        self.dirs = Arc::new(dirs);
        for index in 0..self.groups.len() {
            self.read_group_files(GroupId(index as u32), world, problems);
        }
        if self.dirs.iter().any(|dir| dir.of == Of::Hosts) {
            for index in 0..self.hosts.len() {
                self.read_host_files(HostId(index as u32), world, problems);
            }
        }
        problems.extend(self.dirs.iter().flat_map(|dir| self.misspelt(dir)));
    }

    /// Warnings for files that nobody reads and that are named nearly like a group or host.
    fn misspelt(&self, dir: &VarsDir) -> Problems {
        let of: Vec<&str> = match dir.of {
            Of::Groups => self.groups.iter().map(|group| &*group.name).collect(),
            Of::Hosts => self.hosts.iter().map(|host| &*host.name).collect(),
        };
        if of.len().saturating_mul(dir.names.len()) > COMPARED {
            return Problems::new();
        }
        let known: HashSet<&str> = of.iter().copied().collect();
        let mut names: Vec<&String> = dir.names.iter().filter(|name| !name.starts_with('.')).collect();
        names.sort_unstable();
        let mut problems = Problems::new();
        for file in names {
            let name = ENDINGS[1..].iter().find_map(|ending| file.strip_suffix(ending)).unwrap_or(file);
            let unused = !known.contains(name) && !known.contains(file.as_str());
            // Names that differ in digits alone are siblings, not slips.
            let letters = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
            let near = did_you_mean(name, of.iter().copied()).filter(|near| letters(near) != letters(name));
            if let Some(near) = near.filter(|_| unused) {
                let path = dir.path.join(file);
                problems.push(
                    Diagnostic::warning(
                        format!("{} is not read: nothing is named `{name}`", path.display()),
                        None,
                    )
                    .help(format!("did you mean `{near}`?")),
                );
            }
        }
        problems
    }

    pub(super) fn read_group_files(&mut self, group: GroupId, world: &dyn World, problems: &mut Problems) {
        let name = Arc::clone(&self.groups[group.index()].name);
        let (beside_inventory, beside_playbook) = self.read_files(Of::Groups, &name, world, problems);
        if !beside_inventory.is_empty() || !beside_playbook.is_empty() {
            let vars = &mut self.group_mut(group).vars;
            (vars.beside_inventory, vars.beside_playbook) = (beside_inventory, beside_playbook);
        }
    }

    pub(super) fn read_host_files(&mut self, host: HostId, world: &dyn World, problems: &mut Problems) {
        let name = Arc::clone(&self.hosts[host.index()].name);
        let (beside_inventory, beside_playbook) = self.read_files(Of::Hosts, &name, world, problems);
        if !beside_inventory.is_empty() || !beside_playbook.is_empty() {
            let vars = &mut self.host_mut(host).vars;
            (vars.beside_inventory, vars.beside_playbook) = (beside_inventory, beside_playbook);
        }
    }

    fn read_files(
        &mut self,
        of: Of,
        name: &str,
        world: &dyn World,
        problems: &mut Problems,
    ) -> (Layer, Layer) {
        let (mut beside_inventory, mut beside_playbook) = (Layer::default(), Layer::default());
        // A name with a slash would lead out of the folder.
        if name.contains('/') {
            return (beside_inventory, beside_playbook);
        }
        let dirs = Arc::clone(&self.dirs);
        for dir in dirs.iter().filter(|dir| dir.of == of) {
            let found = dir.layer(name, self, world, problems);
            let into = match dir.side {
                Side::Inventory => &mut beside_inventory,
                Side::Playbook => &mut beside_playbook,
            };
            found.iter().for_each(|(name, var)| into.set(Arc::clone(name), var.clone()));
        }
        (beside_inventory, beside_playbook)
    }
}
