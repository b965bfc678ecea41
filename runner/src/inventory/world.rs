//! What an inventory needs of the machine it is read on: files, folders, programs, and the key of vaulted files.
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file to be read.
    File,
    /// A file that may be run.
    Executable,
    /// A folder.
    Folder,
}

/// What a program said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Whether it ended with status 0.
    pub success: bool,
    /// Its status as words, such as `exit status: 1`.
    pub status: String,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// Where inventories are read from.
pub trait World {
    /// The bytes of a file.
    ///
    /// # Errors
    /// What the system says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The names in a folder, in any order.
    ///
    /// # Errors
    /// What the system says.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// What stands at a path, links followed; nothing where there is nothing.
    fn kind(&self, path: &Path) -> Option<Kind>;

    /// Runs a program to its end.
    ///
    /// # Errors
    /// What the system says where it cannot be started.
    fn run(&self, program: &Path, arguments: &[&str]) -> io::Result<Output>;

    /// The plain text of a whole vaulted file.
    ///
    /// # Errors
    /// Why it cannot be had, and what to do.
    fn decrypt(&self, armoured: &str, name: &str) -> Result<String, String> {
        let _ = (armoured, name);
        Err("no vault password was given".to_owned())
    }
}

/// The machine itself. It has no vault password, and programs inherit the environment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Disk;

impl World for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        std::fs::read_dir(path)?
            .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn kind(&self, path: &Path) -> Option<Kind> {
        use std::os::unix::fs::PermissionsExt;
        let found = std::fs::metadata(path).ok()?;
        Some(match found.is_dir() {
            true => Kind::Folder,
            false if found.permissions().mode() & 0o111 != 0 => Kind::Executable,
            false => Kind::File,
        })
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> io::Result<Output> {
        // A bare name would be looked up in PATH, where the user means the file here.
        let here = Path::new(".").join(program);
        let program = if program.components().count() == 1 { &here } else { program };
        let output = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
        Ok(Output {
            success: output.status.success(),
            status: output.status.to_string(),
            stdout: output.stdout,
            stderr: output.stderr,
        })
    }
}
