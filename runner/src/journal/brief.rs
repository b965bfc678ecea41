//! The begin and the end of a run's journal, without reading what is between: long runs have large journals.
use super::record::{Entry, Record};
use super::store::Store;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::time::{Duration, SystemTime};

/// The last so many bytes of a journal hold its last record, which is short.
const TAIL: u64 = 4096;

/// A run from afar.
#[derive(Clone, Debug)]
pub struct Brief {
    /// The playbook that was played; none where it was something else.
    pub playbook: Option<String>,
    /// The folder that it was started in.
    pub dir: String,
    /// When it began.
    pub began: SystemTime,
    /// When it ended, and with which exit code.
    pub ended: Option<(SystemTime, u8)>,
}

impl Brief {
    /// How long it took.
    pub fn took(&self) -> Option<Duration> {
        self.ended.and_then(|(ended, _)| ended.duration_since(self.began).ok())
    }
}

impl Store {
    /// A run from afar; none where its journal cannot be read so.
    pub fn brief(&self, run: &str) -> Option<Brief> {
        let mut file = File::open(self.root().join(run).join("journal.jsonl")).ok()?;
        let mut first = String::new();
        BufReader::new(&file).read_line(&mut first).ok()?;
        let Entry { at, record: Record::Began { asked, dir, .. } } = serde_json::from_str(&first).ok()?
        else {
            return None;
        };
        let size = file.metadata().ok()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(TAIL))).ok()?;
        let mut tail = Vec::new();
        file.read_to_end(&mut tail).ok()?;
        let tail = String::from_utf8_lossy(&tail);
        // What stands behind the end, such as an undo, does not count.
        let ended = tail.lines().rev().find_map(|line| {
            let Entry { at, record: Record::Ended { exit } } = serde_json::from_str(line).ok()? else {
                return None;
            };
            Some((humantime::parse_rfc3339(&at).ok()?, exit))
        });
        let began = humantime::parse_rfc3339(&at).ok()?;
        Some(Brief { playbook: asked.map(|asked| asked.playbook), dir, began, ended })
    }

    /// How long the last runs of a playbook took that were played from this folder to their end, newest first.
    pub fn took(&self, playbook: &str, dir: &str, most: usize) -> Vec<Duration> {
        let same = |brief: &Brief| brief.dir == dir && brief.playbook.as_deref() == Some(playbook);
        let runs = self.runs();
        // Older ones say little of today's hosts.
        let recent = runs.iter().rev().take(10 * most);
        let ended = recent.filter_map(|run| self.brief(run)).filter(same);
        ended
            .filter(|brief| matches!(brief.ended, Some((_, 0))))
            .filter_map(|brief| brief.took())
            .take(most)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{FORMAT, Invocation};

    #[tokio::test]
    async fn the_last_runs_of_a_playbook_tell_how_long_they_took() {
        let root = std::env::temp_dir().join(format!("tunerun-brief-{}", std::process::id()));
        let store = Store::new(&root);
        for (playbook, exit) in
            [("a.yaml", Some(0)), ("a.yaml", Some(7)), ("b.yaml", Some(0)), ("a.yaml", None)]
        {
            let journal = store.begin().unwrap();
            let asked = Invocation { playbook: playbook.to_owned(), ..Invocation::default() };
            let began = Record::Began {
                format: FORMAT,
                run: journal.run().to_owned(),
                version: String::new(),
                command: String::new(),
                made_from: Vec::new(),
                inventories: Vec::new(),
                dir: "/here".to_owned(),
                by: String::new(),
                asked: Some(Box::new(asked)),
                continues: None,
            };
            journal.decide(began).await.unwrap();
            if let Some(exit) = exit {
                journal.decide(Record::Ended { exit }).await.unwrap();
                // What comes later does not make it longer.
                let undo = Record::Undo { undone: Vec::new(), conflicts: Vec::new(), ended: true };
                journal.decide(undo).await.unwrap();
            }
        }
        assert_eq!(
            store.took("a.yaml", "/here", 5).len(),
            1,
            "what was rolled back or is not over tells nothing"
        );
        assert_eq!(store.took("a.yaml", "/there", 5).len(), 0);
        let briefs: Vec<Brief> = store.runs().iter().filter_map(|run| store.brief(run)).collect();
        assert_eq!(briefs.iter().filter(|brief| brief.took().is_some()).count(), 3);
        std::fs::remove_dir_all(root).unwrap();
    }
}
