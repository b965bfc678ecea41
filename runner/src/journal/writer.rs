//! The one writer of a run's journal: takes all waiting records, appends once, syncs once, then answers all.
use super::record::Record;
use super::seal;
use super::{JournalError, Synced};
use crate::engine::batch::{Batch, Prepared};
use modules::vocabulary::{Digest, share};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::oneshot;

/// How long the last sync of a journal that was given up may take.
const GIVEN_UP: Duration = Duration::from_secs(1);

/// The journal of a run that goes on. Cheap to clone; all clones write through one thread.
#[derive(Clone)]
pub struct Journal {
    run: String,
    holder: String,
    path: PathBuf,
    sender: mpsc::Sender<Job>,
    broken: Arc<OnceLock<String>>,
}

struct Job {
    record: Record,
    /// Who waits for the disk; nobody for records that need not be waited for.
    answer: Option<oneshot::Sender<Result<(), String>>>,
}

impl Journal {
    /// Opens a journal for appending. The thread ends, after a last sync, when all clones are gone.
    ///
    /// # Errors
    /// [`JournalError`]; another process that writes it.
    pub(super) fn on(run: &str, path: &Path, file: File) -> Result<Self, JournalError> {
        if !is_free(&file) {
            let why = "another tunerun is writing it: wait until that has ended";
            return Err(JournalError::new(path, why.to_owned()));
        }
        let (sender, receiver) = mpsc::channel();
        let broken = Arc::default();
        let holder = format!("{:08x}", rand::random::<u32>());
        std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn({
                let broken = Arc::clone(&broken);
                move || write_all(file, &receiver, &broken)
            })
            .map_err(|why| JournalError::new(path, why.to_string()))?;
        Ok(Self { run: run.to_owned(), holder, path: path.to_owned(), sender, broken })
    }

    /// The run's name.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Who holds the hosts' locks: a word that is this process' alone, since another process may take the same run back.
    pub fn holder(&self) -> &str {
        &self.holder
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Records a batch with its ways back, and waits for the disk. With [`Journal::prepare_marked`] the only maker of [`Prepared`].
    ///
    /// # Errors
    /// [`JournalError`]: the run must stop then.
    pub async fn prepare(&self, batch: Batch, tasks: Vec<(u32, String)>) -> Result<Prepared, JournalError> {
        self.prepare_marked(batch, tasks, Vec::new()).await
    }

    /// The same for a batch in which the tasks with the numbers in `secret` hold a secret: no report shows what they wrote.
    ///
    /// # Errors
    /// As [`Journal::prepare`].
    pub async fn prepare_marked(
        &self,
        batch: Batch,
        tasks: Vec<(u32, String)>,
        secret: Vec<u32>,
    ) -> Result<Prepared, JournalError> {
        self.decide(Record::Prepared { batch: batch.clone(), tasks, secret: Some(secret) }).await?;
        Ok(Prepared::after_sync(batch, &self.run, &self.holder, Synced(())))
    }

    /// Records a decision, and waits for the disk.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn decide(&self, record: Record) -> Result<(), JournalError> {
        let (answer, wait) = oneshot::channel();
        self.send(record, Some(answer))?;
        match wait.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(why)) => Err(JournalError::new(&self.path, why)),
            Err(_) => Err(self.ended()),
        }
    }

    /// Records what was seen; the disk is not waited for, since recovery looks at the host anyway.
    ///
    /// # Errors
    /// [`JournalError`]: an earlier record could not be written.
    pub fn note(&self, record: Record) -> Result<(), JournalError> {
        self.send(record, None)
    }

    fn send(
        &self,
        record: Record,
        answer: Option<oneshot::Sender<Result<(), String>>>,
    ) -> Result<(), JournalError> {
        self.sender.send(Job { record, answer }).map_err(|_| self.ended())
    }

    fn ended(&self) -> JournalError {
        let why = self.broken.get().cloned().unwrap_or_else(|| "the writer has ended".to_owned());
        JournalError::new(&self.path, why)
    }
}

/// Whether nobody else writes it. Whoever has just given it up, such as this program, syncs it first: that is waited for.
fn is_free(file: &File) -> bool {
    let until = Instant::now() + GIVEN_UP;
    loop {
        match file.try_lock() {
            Ok(()) | Err(std::fs::TryLockError::Error(_)) => return true,
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(std::fs::TryLockError::WouldBlock) => return false,
        }
    }
}

fn write_all(mut file: File, jobs: &mpsc::Receiver<Job>, reason: &OnceLock<String>) {
    let mut written = BTreeSet::new();
    let mut broken: Option<String> = None;
    while let Ok(first) = jobs.recv() {
        let mut waiting = vec![first];
        waiting.extend(jobs.try_iter());
        if broken.is_none() {
            broken = append(&mut file, &waiting, &mut written).err();
            if let Some(why) = &broken {
                let _ = reason.set(why.clone());
            }
        }
        for job in waiting {
            if let Some(answer) = job.answer {
                // Nobody waits any more where the caller was dropped; the record stays.
                let _ = answer.send(broken.clone().map_or(Ok(()), Err));
            }
        }
        if broken.is_some() {
            // Dropping the receiver lets every later record fail: the run must stop.
            return;
        }
    }
    let _ = file.sync_data();
}

fn append(file: &mut File, jobs: &[Job], written: &mut BTreeSet<Digest>) -> Result<(), String> {
    let mut text = String::new();
    for job in jobs {
        lines(&job.record, written, &mut text)?;
    }
    file.write_all(text.as_bytes()).map_err(|why| why.to_string())?;
    if jobs.iter().any(|job| job.answer.is_some()) {
        file.sync_data().map_err(|why| why.to_string())?;
    }
    Ok(())
}

/// An entry as it is written: see [`super::record::Entry`].
#[derive(Serialize)]
struct Line<'a> {
    at: &'a str,
    #[serde(flatten)]
    record: &'a Record,
}

/// The lines of one record, after those of the contents that it shares with others: each once, for all hosts.
fn lines(record: &Record, written: &mut BTreeSet<Digest>, out: &mut String) -> Result<(), String> {
    let at = &humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let json = || serde_json::to_string(&Line { at, record });
    let (json, contents) = share::written(json).map_err(|why| why.to_string())?;
    for bytes in contents {
        if written.insert(bytes.digest()) {
            let blob = &Record::Blob { digest: bytes.digest().to_string(), bytes };
            seal::line(
                &serde_json::to_string(&Line { at, record: blob }).map_err(|why| why.to_string())?,
                out,
            );
        }
    }
    seal::line(&json, out);
    Ok(())
}
