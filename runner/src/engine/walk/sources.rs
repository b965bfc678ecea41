//! Files of the controller that tasks name: sources of copies, templates, scripts, variables.
use super::scene::Scene;
use super::scope::Scope;
use super::setting::{Unknown, text_of};
use crate::diagnostic::Diagnostic;
use crate::playbook::{Files, Place, Task};
use crate::template::{FileOptions, Json};
use modules::vocabulary::Bytes;
use modules::vocabulary::share::Blobs;
use serde_json::{Map, json};
use std::collections::HashMap;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The largest file that is taken to a host, in bytes: it is held in memory once.
const LARGEST: u64 = 256 << 20;

/// The files that were read, for all hosts and walks: read again only where they are others by then.
#[derive(Default)]
pub(super) struct Sources(Mutex<HashMap<String, (Stamp, Bytes)>>);

/// What is another one where a file was written again: device, inode, size, time of content, time of node.
type Stamp = [i64; 7];

impl Sources {
    fn read(&self, files: &dyn Files, path: &str) -> Result<Bytes, String> {
        let is = std::fs::metadata(path).map_err(|why| why.to_string())?;
        if is.len() > LARGEST {
            return Err("it is larger than 256 MiB: let the host fetch it by a command".to_owned());
        }
        let (device, inode, size) = (is.dev().cast_signed(), is.ino().cast_signed(), is.len().cast_signed());
        let stamp = [device, inode, size, is.mtime(), is.mtime_nsec(), is.ctime(), is.ctime_nsec()];
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned();
        if let Some((_, bytes)) = known.filter(|(known, _)| *known == stamp) {
            return Ok(bytes);
        }
        let bytes = Bytes::from(files.bytes(path).map_err(|why| why.to_string())?);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(path.to_owned(), (stamp, bytes.clone()));
        Ok(bytes)
    }
}

/// What a task names of the controller: arguments, and the contents that they name by digest.
#[derive(Default)]
pub(super) struct Brought {
    /// The arguments.
    pub args: Map<String, Json>,
    /// The contents.
    pub contents: Blobs,
}

impl Brought {
    /// The JSON that stands for a content.
    fn content(&mut self, bytes: Bytes) -> Json {
        let digest = bytes.digest();
        self.contents.insert(digest, bytes);
        json!({ "blob": digest })
    }
}

impl Scene {
    /// Where a file is found, the role's folders first. Absolute names are taken as they are.
    pub(super) fn found(&self, place: &Place, kinds: &[&str], name: &str) -> Option<String> {
        if name.starts_with('/') {
            return Path::new(name).exists().then(|| name.to_owned());
        }
        kinds
            .iter()
            .flat_map(|kind| place.search(kind))
            .map(|folder| format!("{folder}/{name}"))
            .find(|path| Path::new(path).exists())
    }

    /// The files that match patterns, sorted.
    pub(super) fn globbed(&self, place: &Place, patterns: &[String]) -> Vec<Json> {
        let mut names = Vec::new();
        for pattern in patterns {
            let folders: Vec<String> =
                if pattern.starts_with('/') { vec![String::new()] } else { place.search("files") };
            for folder in folders {
                let whole = if folder.is_empty() { pattern.clone() } else { format!("{folder}/{pattern}") };
                let found = matching(&whole);
                if !found.is_empty() {
                    names.extend(found);
                    break;
                }
            }
        }
        names.into_iter().map(|name| json!(name)).collect()
    }
}

/// Files whose last part matches a pattern; the folders are taken as they are.
fn matching(pattern: &str) -> Vec<String> {
    let path = Path::new(pattern);
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .filter_map(|path| path.to_str().map(str::to_owned))
        .filter(|name| {
            let absolute =
                |text: &str| if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
            modules::vocabulary::HostPath::new(&absolute(name))
                .is_ok_and(|path| modules::vocabulary::glob_matches(&absolute(pattern), &path))
        })
        .collect();
    names.sort();
    names
}

impl Scope<'_> {
    /// Takes what a task names of the controller into its arguments: the content of `copy`, the text of `template`,
    /// the body of `script`. Gives whether a secret was read.
    pub(super) fn bring(
        &self,
        task: &Task,
        args: &mut Map<String, Json>,
        brought: &mut Brought,
    ) -> Result<bool, Unknown> {
        match task.action.module.as_str() {
            "copy" if args.contains_key("content") => {
                if let Some(content) = args.get_mut("content")
                    && !content.is_string()
                {
                    // As Ansible does: a value that is no text is written as JSON.
                    *content = json!(text_of(content).unwrap_or_default());
                }
                Ok(false)
            }
            "copy" if !is_true(args.get("remote_src")) => self.bring_copy(task, args, brought),
            "template" => self.bring_template(task, args, brought),
            "script" => self.bring_script(task, args, brought),
            _ => Ok(false),
        }
    }

    fn bring_copy(
        &self,
        task: &Task,
        args: &Map<String, Json>,
        brought: &mut Brought,
    ) -> Result<bool, Unknown> {
        let Some(src) = args.get("src").and_then(text_of) else { return Ok(false) };
        let path = self.source(task, "src", &["files"], &src)?;
        let found = Path::new(&path);
        brought.args.insert("source".into(), json!(name_of(found)));
        brought.args.insert("source_mode".into(), json!(mode_of(found)));
        if found.is_dir() {
            let mut entries = Vec::new();
            let (sources, files) = (&self.scene.sources, self.scene.loader.files());
            tree((sources, files), found, "", brought, &mut entries)
                .map_err(|why| self.cannot(task, "src", &path, &why))?;
            brought.args.insert("tree".into(), Json::Array(entries));
        } else {
            let content = brought.content(self.read(task, &path)?);
            brought.args.insert("content".into(), content);
        }
        Ok(false)
    }

    fn bring_template(
        &self,
        task: &Task,
        args: &Map<String, Json>,
        brought: &mut Brought,
    ) -> Result<bool, Unknown> {
        let Some(src) = args.get("src").and_then(text_of) else { return Ok(false) };
        let path = self.source(task, "src", &["templates"], &src)?;
        let bytes = self.read(task, &path)?;
        let text = bytes.text().ok_or_else(|| self.cannot(task, "src", &path, "it is not UTF-8"))?;
        let options = file_options(args);
        let source = crate::source::Source::new(path.clone(), text.to_owned());
        let rendered =
            self.templates().file(&source.text, self, &options).map_err(|fault| match &fault.kind {
                crate::template::Kind::Late { on } => Unknown::Late(on.clone()),
                crate::template::Kind::NeedFact { name } => Unknown::Fact(name.clone()),
                _ => {
                    let span = crate::source::Span::new(&source, 0, source.text.len());
                    let mut problem = fault.diagnostic(&span);
                    problem.notes.push(format!("in the template that {} uses", task.action.span));
                    match fault.kind {
                        crate::template::Kind::Undefined { .. } => Unknown::Undefined(Box::new(problem)),
                        _ => Unknown::Wrong(Box::new(problem)),
                    }
                }
            })?;
        brought.args.insert("content".into(), rendered.value);
        brought.args.insert("source".into(), json!(name_of(Path::new(&path))));
        brought.args.insert("source_mode".into(), json!(mode_of(Path::new(&path))));
        Ok(rendered.secret)
    }

    fn bring_script(
        &self,
        task: &Task,
        args: &Map<String, Json>,
        brought: &mut Brought,
    ) -> Result<bool, Unknown> {
        let Some(line) = args.get("cmd").and_then(text_of) else { return Ok(false) };
        let name = line.split_whitespace().next().unwrap_or_default().to_owned();
        let path = self.source(task, "cmd", &["files"], &name)?;
        let bytes = self.read(task, &path)?;
        let text = bytes.text().ok_or_else(|| self.cannot(task, "cmd", &path, "it is not UTF-8"))?;
        brought.args.insert("body".into(), json!(text));
        Ok(false)
    }

    fn source(&self, task: &Task, argument: &str, kinds: &[&str], name: &str) -> Result<String, Unknown> {
        self.scene.found(&task.place, kinds, name).ok_or_else(|| {
            let searched: Vec<String> = kinds.iter().flat_map(|kind| task.place.search(kind)).collect();
            let span = task.action.args.get(argument).map_or(&task.action.span, |node| &node.span);
            Unknown::Wrong(Box::new(
                Diagnostic::error(format!("`{name}` is not found on this machine"), span.clone())
                    .help(format!("put it into one of: {}", searched.join(", "))),
            ))
        })
    }

    fn read(&self, task: &Task, path: &str) -> Result<Bytes, Unknown> {
        self.scene
            .sources
            .read(self.scene.loader.files(), path)
            .map_err(|why| self.cannot(task, "src", path, &why))
    }

    fn cannot(&self, task: &Task, argument: &str, path: &str, why: &str) -> Unknown {
        let span = task.action.args.get(argument).map_or(&task.action.span, |node| &node.span);
        Unknown::Wrong(Box::new(Diagnostic::error(format!("{path} cannot be read: {why}"), span.clone())))
    }
}

fn is_true(value: Option<&Json>) -> bool {
    match value {
        Some(Json::Bool(value)) => *value,
        Some(Json::String(text)) => crate::playbook::boolean(text) == Some(true),
        _ => false,
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

fn mode_of(path: &Path) -> u32 {
    std::fs::metadata(path).map_or(0o644, |metadata| metadata.permissions().mode() & 0o7777)
}

fn tree(
    (sources, files): (&Sources, &dyn Files),
    folder: &Path,
    below: &str,
    brought: &mut Brought,
    entries: &mut Vec<Json>,
) -> Result<(), String> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(|why| why.to_string())?
        .map(|entry| entry.map(|entry| entry.path()).map_err(|why| why.to_string()))
        .collect::<Result<_, _>>()?;
    names.sort();
    for path in names {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("a name in it is not UTF-8")?;
        let below = if below.is_empty() { name.to_owned() } else { format!("{below}/{name}") };
        let metadata = path.symlink_metadata().map_err(|why| why.to_string())?;
        let mode = metadata.permissions().mode() & 0o7777;
        if metadata.is_symlink() {
            let target = std::fs::read_link(&path).map_err(|why| why.to_string())?;
            entries.push(json!({"path": below, "link": target.to_string_lossy()}));
        } else if metadata.is_dir() {
            entries.push(json!({"path": below, "folder": true, "mode": mode}));
            tree((sources, files), &path, &below, brought, entries)?;
        } else {
            let content = brought.content(sources.read(files, path.to_str().unwrap_or_default())?);
            entries.push(json!({"path": below, "content": content, "mode": mode}));
        }
    }
    Ok(())
}

fn file_options(args: &Map<String, Json>) -> FileOptions {
    let mut options = FileOptions::default();
    let text = |name: &str, into: &mut String| {
        if let Some(value) = args.get(name).and_then(text_of) {
            *into = value;
        }
    };
    text("newline_sequence", &mut options.newline_sequence);
    text("variable_start_string", &mut options.variable_start_string);
    text("variable_end_string", &mut options.variable_end_string);
    text("block_start_string", &mut options.block_start_string);
    text("block_end_string", &mut options.block_end_string);
    text("comment_start_string", &mut options.comment_start_string);
    text("comment_end_string", &mut options.comment_end_string);
    if args.contains_key("trim_blocks") {
        options.trim_blocks = is_true(args.get("trim_blocks"));
    }
    if args.contains_key("lstrip_blocks") {
        options.lstrip_blocks = is_true(args.get("lstrip_blocks"));
    }
    options
}
