//! Loading what a run is made from: inventory, vault, variables, playbook. All problems at once.
use super::exit::Exit;
use super::noted::NOTED;
use super::options::{HostOptions, home};
use super::term;
use serde_json::Value as Json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tunerun::diagnostic::{Diagnostic, Problems};
use tunerun::inventory::{self, HostId, Inventory, World};
use tunerun::plan::{Origin, OriginKind};
use tunerun::source::Source;
use tunerun::template::{TemplateWorld, Templates, Var};
use tunerun::vault::Password;

/// The disk of the controller, with the vault's passwords.
pub struct Controller {
    passwords: Arc<Vec<Password>>,
    /// What was read, with the digests of the bytes.
    read: Arc<Mutex<Vec<Origin>>>,
}

impl Controller {
    fn note_vars(&self, path: &str, bytes: &[u8]) {
        let digest = modules::vocabulary::Digest::of(bytes).to_string();
        let origin = Origin { kind: OriginKind::Vars, name: path.to_owned(), digest };
        self.read.lock().unwrap_or_else(PoisonError::into_inner).push(origin);
    }

    fn note(&self, path: &Path, bytes: &[u8]) {
        let name = path.display().to_string();
        let is_vars = ["group_vars", "host_vars"]
            .iter()
            .any(|part| path.components().any(|component| component.as_os_str().to_str() == Some(*part)));
        let kind = if is_vars { OriginKind::Vars } else { OriginKind::Inventory };
        let digest = modules::vocabulary::Digest::of(bytes).to_string();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if !read.iter().any(|origin| origin.name == name) {
            read.push(Origin { kind, name, digest });
        }
    }

    /// What was read so far: inventories and their variables.
    pub fn origins(&self) -> Vec<Origin> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl World for Controller {
    fn read(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        let bytes = inventory::Disk.read(path)?;
        self.note(path, &bytes);
        Ok(bytes)
    }

    fn list(&self, path: &Path) -> std::io::Result<Vec<String>> {
        inventory::Disk.list(path)
    }

    fn kind(&self, path: &Path) -> Option<inventory::Kind> {
        inventory::Disk.kind(path)
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> std::io::Result<inventory::Output> {
        let output = inventory::Disk.run(program, arguments)?;
        let asked = format!("{} {}", program.display(), arguments.join(" "));
        self.note(Path::new(&asked), &output.stdout);
        Ok(output)
    }

    fn decrypt(&self, armoured: &str, name: &str) -> Result<String, String> {
        let plain =
            tunerun::vault::decrypt(armoured, &self.passwords).map_err(|why| format!("{name}: {why}"))?;
        String::from_utf8(plain.to_vec()).map_err(|_| format!("{name} holds what is not UTF-8"))
    }
}

/// The inventory with what was read for it.
pub struct Hosts {
    /// The inventory.
    pub inventory: Inventory,
    /// As it was asked for.
    pub asked: Vec<String>,
    /// Passwords of the vault.
    pub passwords: Arc<Vec<Password>>,
    /// `-e`.
    pub extra: HashMap<String, Var>,
    /// The controller's disk.
    pub world: Controller,
}

/// Loads the inventory and the variables of the command line.
pub fn hosts(options: &HostOptions, playbook_dir: Option<&Path>) -> Result<Hosts, Exit> {
    let passwords = Arc::new(vault_passwords(options)?);
    let world = Controller { passwords: Arc::clone(&passwords), read: Arc::default() };
    let mut problems = Problems::new();
    let mut sources = Vec::new();
    // Without an inventory there is the one host that needs none: localhost, reached without a connection.
    let asked = options.inventory.clone();
    for text in &asked {
        match inventory::resolve(text, &inventories(playbook_dir), &world) {
            Ok(source) => sources.push(source),
            Err(mut wrong) => problems.append(&mut wrong),
        }
    }
    let extra = match extra_vars(&options.extra, &world) {
        Ok(extra) => extra,
        Err(mut wrong) => {
            problems.append(&mut wrong);
            HashMap::new()
        }
    };
    if !problems.is_empty() {
        term::problems(&problems);
        return Err(Exit::Wrong);
    }
    match Inventory::load(&sources, &world, playbook_dir) {
        Ok((inventory, warnings)) => {
            term::problems(&warnings);
            Ok(Hosts { inventory, asked, passwords, extra, world })
        }
        Err(problems) => {
            term::problems(&problems);
            Err(Exit::Wrong)
        }
    }
}

/// `inventories/` beside where the person is, or beside the playbook's folder.
fn inventories(playbook_dir: Option<&Path>) -> PathBuf {
    let here = PathBuf::from("inventories");
    let beside = playbook_dir.and_then(Path::parent).map(|above| above.join("inventories"));
    match beside {
        Some(beside) if !here.is_dir() && beside.is_dir() => beside,
        _ => here,
    }
}

pub fn vault_passwords(options: &HostOptions) -> Result<Vec<Password>, Exit> {
    let mut passwords = Vec::new();
    for spec in &options.vault_password_file {
        let (id, path) = spec.split_once('@').unwrap_or(("default", spec));
        let path = path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |rest| home().join(rest));
        let text = match inventory::Disk.kind(&path) {
            Some(inventory::Kind::Executable) => inventory::Disk
                .run(&path, &[])
                .map(|output| String::from_utf8_lossy(&output.stdout).into_owned()),
            _ => std::fs::read(&path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        };
        match text {
            Ok(text) => passwords.push(Password::new(id, text.trim_end_matches(['\n', '\r']).as_bytes())),
            Err(why) => {
                term::wrong(
                    format!(
                        "the vault's password file {} cannot be read: {}",
                        path.display(),
                        term::io_words(&why)
                    ),
                    None,
                );
                return Err(Exit::Wrong);
            }
        }
    }
    if options.ask_vault_pass {
        let mut options = options.clone();
        options.ask();
        let Some(secret) = options.vault_pass else {
            term::wrong(
                "nobody can be asked for the vault's password",
                Some("use --vault-password-file FILE"),
            );
            return Err(Exit::Wrong);
        };
        passwords.push(Password::new("default", secret.reveal().as_bytes()));
    }
    Ok(passwords)
}

/// `k=v k2=v2`, JSON, YAML, or `@FILE`; later ones outrank earlier ones.
fn extra_vars(words: &[String], world: &Controller) -> Result<HashMap<String, Var>, Problems> {
    let mut vars = HashMap::new();
    let mut problems = Problems::new();
    for word in words {
        if let Err(mut wrong) = extra(word, world, &mut vars) {
            problems.append(&mut wrong);
        }
    }
    if problems.is_empty() { Ok(vars) } else { Err(problems) }
}

/// What one `-e` sets.
fn extra(word: &str, world: &Controller, vars: &mut HashMap<String, Var>) -> Result<(), Problems> {
    let wrong = |message: String, help: &str| vec![Diagnostic::error(message, None).help(help)];
    let mut layers = |node: &tunerun::yaml::Node| {
        for (key, value) in node.entries() {
            vars.insert(key.key_text().into_owned(), Var::written(value.to_json()).at(value.span.clone()));
        }
    };
    if let Some(path) = word.strip_prefix('@') {
        let text = std::fs::read_to_string(path).map_err(|why| {
            wrong(
                format!("-e @{path}: {}", term::io_words(&why)),
                "write `-e @FILE` with a file of variables",
            )
        })?;
        world.note_vars(path, text.as_bytes());
        let node = tunerun::yaml::parse_one(&Source::new(path, text))?;
        if node.as_map().is_none() {
            return Err(vec![
                Diagnostic::error(format!("{path} must hold a mapping of variables"), node.span)
                    .help("write `name: value` lines"),
            ]);
        }
        layers(&node);
        return Ok(());
    }
    if word.trim_start().starts_with(['{', '[']) {
        let node = tunerun::yaml::parse_one(&Source::new("<-e>", word.to_owned()))?;
        layers(&node);
        return Ok(());
    }
    let parts = shlex::split(word).ok_or_else(|| {
        wrong(format!("-e {word}: a quote is not closed"), "close it, or use `-e @vars.yaml`")
    })?;
    for part in parts {
        let Some((key, value)) = part.split_once('=') else {
            return Err(wrong(
                format!("-e {part}: this is neither `k=v`, JSON nor `@FILE`"),
                "write for example `-e pool=rbd`, or `-e @vars.yaml`",
            ));
        };
        // As in Ansible: k=v is text; types come by JSON or a file.
        vars.insert(key.to_owned(), Var::written(Json::String(value.to_owned())));
    }
    Ok(())
}

/// The names that one `-e` with values sets.
pub fn extra_names(word: &str) -> Vec<String> {
    if word.trim_start().starts_with(['{', '[']) {
        let node = tunerun::yaml::parse_one(&Source::new("<-e>", word.to_owned()));
        let names = node.iter().flat_map(|node| node.entries().map(|(key, _)| key.key_text().into_owned()));
        return names.collect();
    }
    let parts = shlex::split(word).unwrap_or_default();
    parts.iter().filter_map(|part| Some(part.split_once('=')?.0.to_owned())).collect()
}

/// The hosts of a limit, or none where there is no limit.
pub fn limited(hosts: &Hosts, limit: Option<&str>) -> Result<Option<Vec<HostId>>, Exit> {
    let Some(limit) = limit else { return Ok(None) };
    let patterns = Inventory::limit_patterns(limit, &hosts.world).map_err(|problems| {
        term::problems(&problems);
        Exit::Wrong
    })?;
    let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    match hosts.inventory.select_all_of(&patterns, None) {
        Ok(ids) => Ok(Some(ids)),
        Err(none) => {
            term::problems(&none.problems);
            Err(Exit::NoHosts)
        }
    }
}

/// Files, environment and time as lookups see them.
struct Lookups {
    folders: Vec<PathBuf>,
}

impl Lookups {
    fn path(&self, kinds: &[&str], name: &str) -> Option<PathBuf> {
        let name = Path::new(name);
        if name.is_absolute() {
            return name.exists().then(|| name.to_owned());
        }
        let folders = self.folders.iter().flat_map(|folder| kinds.iter().map(move |kind| folder.join(kind)));
        folders.map(|folder| folder.join(name)).find(|path| path.exists())
    }
}

/// A file's text, and a note that it was read.
fn noted(path: &Path) -> Result<String, String> {
    let wrong = |why: std::io::Error| format!("{}: {why}", path.display());
    let text = std::fs::read_to_string(path).map_err(wrong)?;
    NOTED.note(OriginKind::Source, &path.display().to_string(), text.as_bytes());
    Ok(text)
}

impl tunerun::template::Files for Lookups {
    fn file(&self, path: &str) -> Result<String, String> {
        let found = self
            .path(&["files", "", "vars"], path)
            .ok_or_else(|| format!("the file `{path}` is not found"))?;
        noted(&found)
    }

    fn template(&self, path: &str) -> Result<String, String> {
        let found = self
            .path(&["templates", ""], path)
            .ok_or_else(|| format!("the template `{path}` is not found"))?;
        noted(&found)
    }

    fn find(&self, path: &str) -> Option<String> {
        self.path(&["files", "templates", "tasks", "vars", ""], path).map(|path| path.display().to_string())
    }

    fn glob(&self, pattern: &str) -> Result<Vec<String>, String> {
        let folder = Path::new(pattern).parent().unwrap_or(Path::new("."));
        let base = if folder.is_absolute() {
            folder.to_owned()
        } else {
            self.path(&["files", ""], &folder.display().to_string())
                .ok_or_else(|| format!("no folder for `{pattern}`"))?
        };
        let wanted = Path::new(pattern)
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let mut names: Vec<String> = std::fs::read_dir(&base)
            .map_err(|why| format!("{}: {why}", base.display()))?
            .flatten()
            .filter(|entry| {
                let name = format!("/{}", entry.file_name().to_string_lossy());
                modules::vocabulary::HostPath::new(&name)
                    .is_ok_and(|path| modules::vocabulary::glob_matches(&format!("/{wanted}"), &path))
            })
            .map(|entry| entry.path().display().to_string())
            .collect();
        names.sort();
        Ok(names)
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

/// Templates that see the folders of a playbook.
pub fn templates(folders: Vec<PathBuf>) -> Templates {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = now.ok().and_then(|since| i64::try_from(since.as_secs()).ok());
    Templates::new(TemplateWorld { files: Arc::new(Lookups { folders }), now })
}
