//! From what `-i` says to an inventory: finding sources, telling their kinds apart, merging them in order.
use super::model::{GroupId, InventoryVar};
use super::text::{decode, unreadable};
use super::vars_files::{self, Side};
use super::world::{Kind, World};
use super::{Inventory, address, ini, machine, program, yaml};
use crate::diagnostic::{Diagnostic, Problems, Severity, did_you_mean};
use crate::source::{Source, Span};
use serde_json::Value as Json;
use std::path::{Component, Path, PathBuf};

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
pub fn resolve(text: &str, inventories: &Path, world: &dyn World) -> Result<InventorySource, Problems> {
    if text.trim().is_empty() {
        let problem = Diagnostic::error("an empty inventory name", None);
        return Err(vec![problem.help("name one: `-i prod`")]);
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
        None if names.is_empty() => problem.help(format!("one host is written with a comma: `-i {text},`")),
        None => problem.help(format!(
            "in {} there are: {}; one host is written with a comma: `-i {text},`",
            inventories.display(),
            names.join(", ")
        )),
    };
    Err(vec![problem])
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
        // Where the playbook stands beside the inventory, its folders are the inventory's.
        let plain =
            |path: &Path| path.components().filter(|part| *part != Component::CurDir).collect::<PathBuf>();
        if let Some(dir) =
            playbook_dir.filter(|dir| folders.iter().all(|(known, _)| plain(known) != plain(dir)))
        {
            folders.push((dir.to_path_buf(), Side::Playbook));
        }
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
            self.problems
                .push(Diagnostic::error(format!("no inventory in the folder {}", path.display()), None).help(
                "put one there, such as `hosts.yaml`; hidden files, backups and `group_vars` do not count",
            ));
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
            return program::read(path, self.world, self.inventory, self.problems);
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
                Diagnostic::error(format!("{} is TOML, which is not read", path.display()), None)
                    .help("save it as YAML: `ansible-inventory -i FILE --list -y --export > hosts.yaml`"),
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
    let line =
        text.lines().find(|line| !line.trim().is_empty() && !line.trim_start().starts_with(['#', ';']));
    let Some(line) = line else { return false };
    let before_comment = line.split(" #").next().unwrap_or(line).trim_end();
    line.starts_with("---")
        || line.starts_with("%YAML")
        || line.starts_with('{')
        || (before_comment.ends_with(':') && !before_comment.contains([' ', '\t', '=', '[']))
}

/// Whether a name in a folder of inventories is passed over.
fn is_ignored(name: &str) -> bool {
    const ENDINGS: [&str; 12] =
        [".pyc", ".pyo", ".swp", ".bak", "~", ".rpm", ".md", ".txt", ".rst", ".orig", ".cfg", ".retry"];
    name.starts_with('.')
        || matches!(name, "group_vars" | "host_vars" | "vars_plugins")
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}
