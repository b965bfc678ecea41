//! Where playbooks, roles and variables come from: the disk, or memory in tests.
use std::io;
use std::path::{Component, Path, PathBuf};

/// Reading of text files by path.
pub trait Files: Sync {
    /// The whole text of a file.
    ///
    /// # Errors
    /// As the file system says; a file that is not UTF-8 is [`io::ErrorKind::InvalidData`].
    fn read(&self, path: &str) -> io::Result<String>;
    /// The bytes of a file that tasks bring to hosts.
    ///
    /// # Errors
    /// As the file system says.
    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        self.read(path).map(String::into_bytes)
    }
    /// Whether a file (not a folder) is there.
    fn is_file(&self, path: &str) -> bool;
    /// Whether a folder is there.
    fn is_folder(&self, path: &str) -> bool;
    /// The names in a folder, sorted.
    ///
    /// # Errors
    /// As the file system says.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;
}

/// The disk of the controller.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &str) -> io::Result<String> {
        std::fs::read_to_string(path)
    }

    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn is_file(&self, path: &str) -> bool {
        Path::new(path).is_file()
    }

    fn is_folder(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let names: io::Result<Vec<String>> = std::fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect();
        let mut names = names?;
        names.sort_unstable();
        Ok(names)
    }
}

/// Files in memory, by path.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    files: std::collections::BTreeMap<String, String>,
}

impl Memory {
    /// Files from pairs of path and text.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self { files: files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect() }
    }
}

impl Files for Memory {
    fn read(&self, path: &str) -> io::Result<String> {
        self.files.get(&tidy(path)).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    fn is_file(&self, path: &str) -> bool {
        self.files.contains_key(&tidy(path))
    }

    fn is_folder(&self, path: &str) -> bool {
        let folder = format!("{}/", tidy(path));
        self.files.keys().any(|file| file.starts_with(&folder))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let folder = format!("{}/", tidy(path));
        let mut names: Vec<String> = self
            .files
            .keys()
            .filter_map(|file| file.strip_prefix(&folder)?.split('/').next().map(str::to_owned))
            .collect();
        names.dedup();
        Ok(names)
    }
}

/// Files of another place with some texts above it: what is open in an editor and not saved.
pub struct Overlay<'a> {
    under: &'a dyn Files,
    texts: &'a std::collections::BTreeMap<String, String>,
}

impl<'a> Overlay<'a> {
    /// Texts by path above the files of another place.
    pub fn new(under: &'a dyn Files, texts: &'a std::collections::BTreeMap<String, String>) -> Self {
        Self { under, texts }
    }
}

impl Files for Overlay<'_> {
    fn read(&self, path: &str) -> io::Result<String> {
        match self.texts.get(&tidy(path)) {
            Some(text) => Ok(text.clone()),
            None => self.under.read(path),
        }
    }

    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        match self.texts.get(&tidy(path)) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => self.under.bytes(path),
        }
    }

    fn is_file(&self, path: &str) -> bool {
        self.texts.contains_key(&tidy(path)) || self.under.is_file(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        self.under.is_folder(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.under.list(path)
    }
}

/// A name seen from a folder; an absolute one stays. `a/./b` and `a/../b` are shortened as text.
pub fn join(folder: &str, name: &str) -> String {
    tidy(&Path::new(folder).join(name).to_string_lossy())
}

/// The folder that a path lies in; `.` for a bare name.
pub fn folder(path: &str) -> String {
    match Path::new(path).parent().map(Path::to_string_lossy) {
        Some(parent) if !parent.is_empty() => parent.into_owned(),
        _ => ".".to_owned(),
    }
}

fn tidy(path: &str) -> String {
    let mut tidied = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if tidied.file_name().is_some_and(|name| name != "..") => {
                tidied.pop();
            }
            other => tidied.push(other),
        }
    }
    if tidied.as_os_str().is_empty() { ".".to_owned() } else { tidied.to_string_lossy().into_owned() }
}
