//! Tests of the whole inventory: what Ansible reads, what is refused, what patterns choose.
mod against_ansible;
mod broken;
mod patterns;
mod running;
mod variables;

use super::{Inventory, InventorySource, Kind, Output, World};
use crate::diagnostic::Problems;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A world in memory: files by path; programs answer by what is written after `ARGUMENTS: ` on their lines.
#[derive(Default)]
struct Paper(BTreeMap<PathBuf, Vec<u8>>);

impl Paper {
    fn with(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| (PathBuf::from(path), text.as_bytes().to_vec())).collect())
    }
}

impl World for Paper {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let bytes = self.0.get(path).cloned().ok_or(io::ErrorKind::NotFound)?;
        if bytes == b"DENIED" { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(bytes) }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let below = |file: &PathBuf| {
            let rest = file.strip_prefix(path).ok()?;
            Some(rest.components().next()?.as_os_str().to_string_lossy().into_owned())
        };
        let mut names: Vec<String> = self.0.keys().filter_map(below).collect();
        names.dedup();
        names.reverse();
        if names.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(names) }
    }

    fn kind(&self, path: &Path) -> Option<Kind> {
        if let Some(bytes) = self.0.get(path) {
            let program = bytes.starts_with(b"#!run");
            return Some(if program { Kind::Executable } else { Kind::File });
        }
        self.0.keys().any(|file| file.starts_with(path)).then_some(Kind::Folder)
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> io::Result<Output> {
        let text = String::from_utf8(self.read(program)?).unwrap();
        let asked = format!("{}: ", arguments.join(" "));
        let answer = text.lines().find_map(|line| line.strip_prefix(&asked));
        Ok(match answer {
            Some(answer) => Output { success: true, stdout: answer.into(), ..Output::default() },
            None => Output {
                status: "exit status: 2".into(),
                stderr: b"no such thing".into(),
                ..Output::default()
            },
        })
    }

    fn decrypt(&self, armoured: &str, _: &str) -> Result<String, String> {
        match armoured.split_once('\n') {
            Some((_, "wrong\n")) => Err("the password is not right".into()),
            Some((_, plain)) => Ok(plain.into()),
            None => Err("no text".into()),
        }
    }
}

fn paths(paths: &[&str]) -> Vec<InventorySource> {
    paths.iter().map(|path| InventorySource::Path(PathBuf::from(path))).collect()
}

/// An inventory of one INI file without problems.
fn ini(text: &str) -> Inventory {
    let (inventory, warnings) =
        one("hosts.ini", text).unwrap_or_else(|problems| panic!("{}", shown(&problems)));
    assert_eq!(warnings, [], "{}", shown(&warnings));
    inventory
}

fn one(name: &str, text: &str) -> Result<(Inventory, Problems), Problems> {
    Inventory::load(&paths(&[name]), &Paper::with(&[(name, text)]), None)
}

fn shown(problems: &Problems) -> String {
    crate::report::diagnostic::render(problems, false)
}
