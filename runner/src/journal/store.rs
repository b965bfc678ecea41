//! The folder of runs on the controller.
use super::JournalError;
use super::reader::{Journaled, read};
use super::writer::Journal;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::Seek as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The folder of runs: `RUN/journal.jsonl` each, readable by the owner alone.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// A store in a folder, made when it is first written to.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where the runs lie.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Begins a run with a fresh name.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn begin(&self) -> Result<Journal, JournalError> {
        for _ in 0..100 {
            let run = fresh_name();
            let folder = self.root.join(&run);
            folders(&self.root).map_err(|why| JournalError::new(&self.root, why.to_string()))?;
            match DirBuilder::new().mode(0o700).create(&folder) {
                Err(why) if why.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(why) => return Err(JournalError::new(&folder, why.to_string())),
                Ok(()) => {
                    let path = folder.join("journal.jsonl");
                    let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
                    let file = file.map_err(|why| JournalError::new(&path, why.to_string()))?;
                    // The name must outlive a power cut as well as the bytes do.
                    for made in [&folder, &self.root] {
                        File::open(made)
                            .and_then(|folder| folder.sync_all())
                            .map_err(|why| JournalError::new(made, why.to_string()))?;
                    }
                    return Journal::on(&run, &path, file);
                }
            }
        }
        Err(JournalError::new(&self.root, "no fresh name for a run was found".to_owned()))
    }

    /// Opens the journal of an earlier run to go on with it. A torn last line is cut off: it was never acted on.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn reopen(&self, run: &str) -> Result<(Journal, Journaled), JournalError> {
        let path = self.path(run)?;
        let file = OpenOptions::new().append(true).open(&path);
        let mut file = file.map_err(|why| JournalError::new(&path, why.to_string()))?;
        let journal = Journal::on(
            run,
            &path,
            file.try_clone().map_err(|why| JournalError::new(&path, why.to_string()))?,
        )?;
        let journaled = read(&path)?;
        if journaled.torn > 0 {
            let length = file.metadata().map_err(|why| JournalError::new(&path, why.to_string()))?.len();
            file.set_len(length - journaled.torn as u64)
                .and_then(|()| file.seek(std::io::SeekFrom::End(0)).map(drop))
                .map_err(|why| JournalError::new(&path, why.to_string()))?;
        }
        Ok((journal, journaled))
    }

    /// Reads the journal of a run.
    ///
    /// # Errors
    /// [`JournalError`].
    pub fn read(&self, run: &str) -> Result<Journaled, JournalError> {
        read(&self.path(run)?)
    }

    /// The names of all runs, oldest first.
    pub fn runs(&self) -> Vec<String> {
        let mut runs: Vec<String> = std::fs::read_dir(&self.root)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.path().join("journal.jsonl").exists())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        runs.sort();
        runs
    }

    /// The journal of a run: by its whole name, by an unambiguous end of it, or `last`.
    ///
    /// # Errors
    /// Names the runs that are there.
    pub fn path(&self, run: &str) -> Result<PathBuf, JournalError> {
        Ok(self.root.join(self.name(run)?).join("journal.jsonl"))
    }

    /// The whole name of a run.
    ///
    /// # Errors
    /// As [`Store::path`].
    pub fn name(&self, run: &str) -> Result<String, JournalError> {
        let runs = self.runs();
        let found: Vec<&String> = match run {
            "last" => runs.last().into_iter().collect(),
            _ => runs.iter().filter(|name| *name == run || name.ends_with(&format!("-{run}"))).collect(),
        };
        match found.as_slice() {
            [name] => Ok((*name).clone()),
            [] => {
                let known = runs.iter().rev().take(3).cloned().collect::<Vec<_>>().join(", ");
                let known = match known.is_empty() {
                    true => "there are none yet".to_owned(),
                    false => format!("the last are {known}; `tunerun runs` lists them"),
                };
                Err(JournalError::new(&self.root, format!("there is no run `{run}`: {known}")))
            }
            many => {
                let many: Vec<&str> = many.iter().map(|name| name.as_str()).collect();
                Err(JournalError::new(&self.root, format!("`{run}` may be {}: say which", many.join(" or "))))
            }
        }
    }
}

fn folders(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A name that sorts by time and can be said aloud: `20261130-142233-k7fq`. The first two letters after the seconds are
/// the milliseconds in base 30, so that runs within one second sort too.
fn fresh_name() -> String {
    const LETTERS: &[u8] = b"23456789abcdefghjkmnpqrstvwxyz";
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let date: String = humantime::format_rfc3339_seconds(UNIX_EPOCH + since)
        .to_string()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    let letter = |index: usize| char::from(LETTERS[index % LETTERS.len()]);
    let fine = since.subsec_millis() as usize * 9 / 10;
    let random = || letter(rand::random_range(0..LETTERS.len()));
    format!("{}-{}-{}{}{}{}", &date[..8], &date[8..14], letter(fine / 30), letter(fine), random(), random())
}
