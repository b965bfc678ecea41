//! The controller's disk, and what was read from it: what a plan was made from.
use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tunerun::plan::{Origin, OriginKind};
use tunerun::playbook::{Disk, Files};

/// The disk, with the names and digests of the files that were read.
#[derive(Default)]
pub struct Noted {
    read: Mutex<Read>,
}

#[derive(Default)]
struct Read {
    known: HashSet<String>,
    origins: Vec<Origin>,
}

/// What this program has read.
pub static NOTED: std::sync::LazyLock<Noted> = std::sync::LazyLock::new(Noted::default);

impl Noted {
    fn lock(&self) -> MutexGuard<'_, Read> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what was read, at its first reading: hosts read the same files again and again.
    pub fn note(&self, kind: OriginKind, path: &str, bytes: &[u8]) {
        if self.lock().known.contains(path) {
            return;
        }
        let digest = modules::vocabulary::Digest::of(bytes).to_string();
        let mut read = self.lock();
        if read.known.insert(path.to_owned()) {
            read.origins.push(Origin { kind, name: path.to_owned(), digest });
        }
    }

    /// The files in the order of their first reading.
    pub fn origins(&self) -> Vec<Origin> {
        self.lock().origins.clone()
    }
}

impl Files for Noted {
    fn read(&self, path: &str) -> io::Result<String> {
        let text = Disk.read(path)?;
        self.note(kind(path), path, text.as_bytes());
        Ok(text)
    }

    fn bytes(&self, path: &str) -> io::Result<Vec<u8>> {
        let bytes = Disk.bytes(path)?;
        self.note(OriginKind::Source, path, &bytes);
        Ok(bytes)
    }

    fn is_file(&self, path: &str) -> bool {
        Disk.is_file(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        Disk.is_folder(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        Disk.list(path)
    }
}

/// What a file that the language reads is for.
fn kind(path: &str) -> OriginKind {
    let folders = Path::new(path).parent().into_iter().flat_map(Path::components);
    match folders.last().and_then(|folder| folder.as_os_str().to_str()) {
        Some("vars" | "defaults" | "group_vars" | "host_vars") => OriginKind::Vars,
        _ => OriginKind::Playbook,
    }
}
