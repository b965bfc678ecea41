//! From what `-i` says to an inventory: finding sources, telling their kinds apart, merging them in order.
use super::model::{GroupId, HostId, InventoryVar};
use super::vars_files::{self, Side};
use super::world::{Kind, Output, World};
use super::{Inventory, address, ini, machine, yaml};
use crate::diagnostic::{Diagnostic, Problems, Severity, did_you_mean};
use crate::source::{Source, Span};
use serde_json::{Map, Value as Json};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One `-i` option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InventorySource {
    /// A file, a folder or a program.
    Path(PathBuf),
    /// Hosts with commas between, such as `web1,web2` or `web1,`.
    Hosts(String),
}

/// Finds what `-i TEXT` means: a list of hosts if there is a comma, else a path, else a name in the folder
/// `inventories` (`prod` finds `inventories/prod`, `.yaml`, `.yml` or `.ini`).
///
/// # Errors
/// What was tried, and the nearest name that is there.
pub fn resolve(text: &str, inventories: &Path, world: &dyn World) -> Result<InventorySource, Diagnostic> {
    if text.trim().is_empty() {
        return Err(Diagnostic::error("an empty inventory name", None).help("name one: `-i prod`"));
    }
    let path = PathBuf::from(text);
    if world.kind(&path).is_some() {
        return Ok(InventorySource::Path(path));
    }
    if text.contains(',') {
        return Ok(InventorySource::Hosts(text.to_owned()));
    }
    let mut tried = vec![path];
    if !text.contains('/') {
        for ending in ["", ".yaml", ".yml", ".ini"] {
            let candidate = inventories.join(format!("{text}{ending}"));
            if world.kind(&candidate).is_some() {
                return Ok(InventorySource::Path(candidate));
            }
            tried.push(candidate);
        }
    }
    let tried: Vec<String> = tried.iter().map(|path| path.display().to_string()).collect();
    let mut problem = Diagnostic::error(format!("no inventory `{text}`"), None)
        .note(format!("tried: {}", tried.join(", ")));
    let mut names: Vec<String> = world.list(inventories).unwrap_or_default();
    names.retain(|name| !is_ignored(name));
    names.sort_unstable();
    let stem = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    let stems: Vec<String> = names.iter().map(|name| stem(name)).collect();
    let near = did_you_mean(text, stems.iter().chain(&names).map(String::as_str));
    problem = match near {
        Some(near) => problem.help(format!("did you mean `{near}`?")),
        None if names.is_empty() => {
            problem.help(format!("one host is written with a comma: `-i {text},`"))
        }
        None => problem.help(format!(
            "in {} there are: {}; one host is written with a comma: `-i {text},`",
            inventories.display(),
            names.join(", ")
        )),
    };
    Err(problem)
}

impl Inventory {
    /// Reads all sources in order into one inventory, then the variables beside them and beside the playbook.
    /// With it come the warnings.
    ///
    /// # Errors
    /// Everything that is wrong in any of the files, warnings too.
    pub fn load(
        sources: &[InventorySource],
        world: &dyn World,
        playbook_dir: Option<&Path>,
    ) -> Result<(Self, Problems), Problems> {
        let mut inventory = Self::bare();
        let mut problems = Problems::new();
        let mut folders: Vec<(PathBuf, Side)> = Vec::new();
        let mut reading = Reading { inventory: &mut inventory, world, problems: &mut problems };
        for source in sources {
            match source {
                InventorySource::Hosts(list) => reading.host_list(list),
                InventorySource::Path(path) => {
                    let folder = match world.kind(path) {
                        Some(Kind::Folder) => path.clone(),
                        _ => path.parent().map(Path::to_path_buf).unwrap_or_default(),
                    };
                    folders.retain(|(known, _)| *known != folder);
                    folders.push((folder, Side::Inventory));
                    reading.path(path);
                }
            }
        }
        folders.extend(playbook_dir.map(|dir| (dir.to_path_buf(), Side::Playbook)));
        problems.append(&mut inventory.settle());
        let mut dirs = Vec::new();
        for (folder, side) in &folders {
            dirs.append(&mut vars_files::beside(folder, *side, world, &mut problems));
        }
        inventory.read_vars_files(dirs, world, &mut problems);
        match problems.iter().any(|problem| problem.severity == Severity::Error) {
            true => Err(problems),
            false => Ok((inventory, problems)),
        }
    }

    /// Adds a host while a play runs (`add_host`), or gives a known one more groups and variables. `name` may carry a
    /// port. Groups are made where they are new; variables from files of that name beside inventory and playbook are
    /// read.
    ///
    /// # Errors
    /// A malformed name, and what is wrong in files that are read for it.
    pub fn add_host(
        &mut self,
        name: &str,
        groups: &[&str],
        vars: impl IntoIterator<Item = (String, InventoryVar)>,
        origin: &Span,
        world: &dyn World,
    ) -> Result<(HostId, Problems), Problems> {
        let named = address::parse(name)
            .map_err(|bad| vec![Diagnostic::error(bad.message, origin.clone()).help(bad.help)])?;
        let [name] = &named.names[..] else {
            return Err(vec![
                Diagnostic::error(format!("`{name}` is not the name of one host"), origin.clone())
                    .help("add hosts one by one, with a loop"),
            ]);
        };
        let mut problems = Problems::new();
        let known = self.host_index.contains_key(&**name);
        let host = self.ensure_host(name, origin);
        if let Some(port) = named.port {
            let var = InventoryVar { value: port.into(), origin: origin.clone(), trusted: false };
            self.set_host_var(host, "ansible_port", var);
        }
        for (name, var) in vars {
            self.set_host_var(host, &name, var);
        }
        for group in groups {
            let group = self.run_time_group(group, origin, world, &mut problems);
            self.join(host, group);
        }
        if !known {
            self.read_host_files(host, world, &mut problems);
        }
        problems.append(&mut self.settle());
        finish(host, problems)
    }

    /// Puts hosts into a group while a play runs (`group_by`), making the group and its parents where they are new.
    ///
    /// # Errors
    /// A loop of groups, and what is wrong in files that are read for a new group.
    pub fn add_group(
        &mut self,
        name: &str,
        parents: &[&str],
        hosts: &[HostId],
        origin: &Span,
        world: &dyn World,
    ) -> Result<(GroupId, Problems), Problems> {
        let mut problems = Problems::new();
        let group = self.run_time_group(name, origin, world, &mut problems);
        for parent in parents.iter().filter(|parent| **parent != "all") {
            let parent = self.run_time_group(parent, origin, world, &mut problems);
            if let Err(problem) = self.link(parent, group, origin) {
                problems.push(problem);
            }
        }
        hosts.iter().for_each(|host| self.join(*host, group));
        problems.append(&mut self.settle());
        finish(group, problems)
    }

    fn run_time_group(
        &mut self,
        name: &str,
        origin: &Span,
        world: &dyn World,
        problems: &mut Problems,
    ) -> GroupId {
        if let Some(group) = self.group(name) {
            return group;
        }
        let group = self.ensure_group(name, Some(origin));
        self.read_group_files(group, world, problems);
        group
    }
}

fn finish<T>(value: T, problems: Problems) -> Result<(T, Problems), Problems> {
    match problems.iter().any(|problem| problem.severity == Severity::Error) {
        true => Err(problems),
        false => Ok((value, problems)),
    }
}

struct Reading<'a> {
    inventory: &'a mut Inventory,
    world: &'a dyn World,
    problems: &'a mut Problems,
}

impl Reading<'_> {
    fn host_list(&mut self, list: &str) {
        let source = Source::new("<host list>", list);
        let mut start = 0;
        for part in list.split(',') {
            let entry = part.trim();
            let at = start + (part.len() - part.trim_start().len());
            start += part.len() + 1;
            if entry.is_empty() {
                continue;
            }
            let span = Span::new(&source, at, at + entry.len());
            match address::parse(entry) {
                Ok(named) => {
                    for name in &named.names {
                        let host = self.inventory.ensure_host(name, &span);
                        self.inventory.join(host, GroupId::UNGROUPED);
                        if let Some(port) = named.port {
                            let var =
                                InventoryVar { value: port.into(), origin: span.clone(), trusted: true };
                            self.inventory.set_host_var(host, "ansible_port", var);
                        }
                    }
                }
                Err(bad) => self.problems.push(Diagnostic::error(bad.message, span).help(bad.help)),
            }
        }
    }

    fn path(&mut self, path: &Path) {
        match self.world.kind(path) {
            None => self.problems.push(
                Diagnostic::error(format!("no inventory at {}", path.display()), None)
                    .help("check the path given with `-i`"),
            ),
            Some(Kind::Folder) => self.folder(path),
            Some(kind) => {
                if let Err(mut problems) = self.file(path, kind) {
                    self.problems.append(&mut problems);
                }
            }
        }
    }

    fn folder(&mut self, path: &Path) {
        let mut names = match self.world.list(path) {
            Ok(names) => names,
            Err(error) => return self.problems.push(unreadable(path, &error)),
        };
        names.retain(|name| !is_ignored(name));
        names.sort_unstable();
        if names.is_empty() {
            self.problems.push(
                Diagnostic::error(format!("no inventory in the folder {}", path.display()), None).help(
                    "put one there, such as `hosts.yaml`; hidden files, backups and `group_vars` do not count",
                ),
            );
        }
        for name in names {
            self.path(&path.join(name));
        }
    }

    fn file(&mut self, path: &Path, kind: Kind) -> Result<(), Problems> {
        let bytes = self.world.read(path).map_err(|error| vec![unreadable(path, &error)])?;
        if bytes.starts_with(b"#!") || bytes.starts_with(b"\x7fELF") {
            if kind != Kind::Executable {
                return Err(vec![
                    Diagnostic::error(format!("{} is a program but may not be run", path.display()), None)
                        .help(format!("chmod +x {}", path.display())),
                ]);
            }
            return self.program(path);
        }
        let source = decode(path, bytes, self.world)?;
        match form(path, &source)? {
            Form::Ini => ini::read(&source, self.inventory, self.problems),
            Form::Machine(list) => {
                let origin = Span::new(&source, 0, 0);
                machine::read(&list, &origin, self.inventory, self.problems, None);
            }
            Form::Yaml => {
                let document = crate::yaml::parse_one(&source)?;
                yaml::read(&document, self.inventory, self.problems);
            }
        }
        Ok(())
    }

    fn program(&mut self, path: &Path) -> Result<(), Problems> {
        let world = self.world;
        let list = run(path, &["--list"], world).map_err(|problem| vec![problem])?;
        let source = Source::new(path.display().to_string(), "");
        let origin = Span::new(&source, 0, 0);
        let mut ask = |host: &str| match run(path, &["--host", host], world)? {
            Json::Object(vars) => Ok(vars),
            Json::Null => Ok(Map::new()),
            _ => Err(Diagnostic::error(
                format!("{} --host {host} did not print an object", path.display()),
                None,
            )
            .help("it should print the variables of that host, `{}` for none")),
        };
        machine::read(&list, &origin, self.inventory, self.problems, Some(&mut ask));
        Ok(())
    }
}

/// Runs an inventory program and reads its JSON; nothing printed is null.
fn run(path: &Path, arguments: &[&str], world: &dyn World) -> Result<Json, Diagnostic> {
    let command = format!("{} {}", path.display(), arguments.join(" "));
    let output = world.run(path, arguments).map_err(|error| {
        Diagnostic::error(format!("{command} cannot be run: {error}"), None)
            .help("check its first line (`#!…`) and that the interpreter is installed")
    })?;
    let Output { success, status, stdout, stderr } = output;
    let said = |mut problem: Diagnostic| {
        for line in String::from_utf8_lossy(&stderr).lines().rev().take(5).collect::<Vec<_>>().iter().rev() {
            problem = problem.note(format!("it said: {line}"));
        }
        problem
    };
    if !success {
        return Err(said(Diagnostic::error(format!("{command} failed ({status})"), None)
            .help("run it by hand to see why")));
    }
    if stdout.iter().all(u8::is_ascii_whitespace) {
        return Ok(Json::Null);
    }
    serde_json::from_slice(&stdout).map_err(|error| {
        said(Diagnostic::error(format!("{command} did not print JSON: {error}"), None)
            .help("only the JSON may go to its standard output; messages belong on standard error"))
    })
}

enum Form {
    Ini,
    Yaml,
    Machine(Json),
}

/// Tells by the ending, and by the first line where the ending says nothing.
fn form(path: &Path, source: &Source) -> Result<Form, Problems> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let yaml = match ending.as_deref() {
        Some("toml") => {
            return Err(vec![
                Diagnostic::error(format!("{} is TOML, which is not read", path.display()), None).help(
                    "save it as YAML: `ansible-inventory -i FILE --list -y --export > hosts.yaml`",
                ),
            ]);
        }
        Some("yml" | "yaml" | "json") => true,
        Some("ini") => false,
        _ => looks_like_yaml(&source.text),
    };
    if !yaml {
        return Ok(Form::Ini);
    }
    if source.text.trim_start().starts_with('{')
        && let Ok(list) = serde_json::from_str::<Json>(&source.text)
        && is_machine_form(&list)
    {
        return Ok(Form::Machine(list));
    }
    Ok(Form::Yaml)
}

fn is_machine_form(list: &Json) -> bool {
    list.as_object().is_some_and(|groups| {
        groups.contains_key("_meta")
            || groups.values().any(|group| {
                group.is_array() || ["hosts", "children"].iter().any(|part| group[*part].is_array())
            })
    })
}

fn looks_like_yaml(text: &str) -> bool {
    let line = text.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['#', ';']));
    let Some(line) = line else { return false };
    let before_comment = line.split(" #").next().unwrap_or(line).trim_end();
    line.starts_with("---")
        || line.starts_with("%YAML")
        || line.starts_with('{')
        || (before_comment.ends_with(':') && !before_comment.contains([' ', '\t', '=', '[']))
}

/// Whether a name in a folder of inventories is passed over.
fn is_ignored(name: &str) -> bool {
    const ENDINGS: [&str; 12] = [
        ".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".cfg", ".retry",
    ];
    name.starts_with('.')
        || matches!(name, "group_vars" | "host_vars" | "vars_plugins")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// A problem with reading a path.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Diagnostic {
    Diagnostic::error(format!("{} cannot be read: {error}", path.display()), None)
        .help("check its owner and mode")
}

/// A text file, decrypted if all of it is vaulted.
pub(super) fn source(path: &Path, world: &dyn World) -> Result<Arc<Source>, Problems> {
    let bytes = world.read(path).map_err(|error| vec![unreadable(path, &error)])?;
    decode(path, bytes, world)
}

fn decode(path: &Path, bytes: Vec<u8>, world: &dyn World) -> Result<Arc<Source>, Problems> {
    let name = path.display().to_string();
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(bad) => lossy_comments(&name, bad.as_bytes())?,
    };
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    if text.starts_with("$ANSIBLE_VAULT;") {
        text = world.decrypt(&text, &name).map_err(|why| {
            vec![
                Diagnostic::error(format!("{name} is vaulted and cannot be decrypted: {why}"), None)
                    .help("give the password with `--vault-password-file` or `--ask-vault-pass`"),
            ]
        })?;
    }
    Ok(Source::new(name, text))
}

/// Bytes that are not UTF-8 are let pass in comments, as Ansible does.
fn lossy_comments(name: &str, bytes: &[u8]) -> Result<String, Problems> {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let source = Source::new(name, text);
    let mut problems = Problems::new();
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        if let Some(at) = line.find('\u{fffd}')
            && !line.trim_start().starts_with(['#', ';'])
        {
            let span = Span::new(&source, start + at, start + at + '\u{fffd}'.len_utf8());
            problems.push(
                Diagnostic::error("a byte that is not UTF-8", span).help("save the file as UTF-8"),
            );
        }
        start += line.len();
    }
    if problems.is_empty() { Ok(source.text.clone()) } else { Err(problems) }
}
