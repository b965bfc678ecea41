//! Reading a journal back: whole records only, a torn last line is what a crash leaves.
use super::JournalError;
use super::record::{Entry, FORMAT, Record};
use super::seal;
use modules::vocabulary::Digest;
use modules::vocabulary::share::{self, Blobs};
use serde_json::Value as Json;
use std::path::Path;

/// A journal that was read.
#[derive(Clone, Debug, Default)]
pub struct Journaled {
    /// The records, contents put back, blobs left out.
    pub entries: Vec<Entry>,
    /// Bytes at the end that are no whole record: the record was never acted on.
    pub torn: usize,
}

/// Reads a journal.
///
/// # Errors
/// A file that cannot be read; a record that is damaged though others follow it; a newer format.
pub fn read(path: &Path) -> Result<Journaled, JournalError> {
    let text = std::fs::read(path).map_err(|why| JournalError::new(path, why.to_string()))?;
    parse(&text).map_err(|why| JournalError::new(path, why))
}

/// Reads a journal's bytes.
///
/// # Errors
/// As [`read`], in words.
pub fn parse(text: &[u8]) -> Result<Journaled, String> {
    let (whole, torn) = whole(text)?;
    let mut journaled = Journaled { entries: Vec::new(), torn };
    let mut blobs = Blobs::new();
    for (index, line) in whole.split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let at = |why: String| format!("line {}: {why}", index + 1);
        let json: Json = serde_json::from_slice(line).map_err(|why| at(format!("damaged: {why}")))?;
        refuse_newer(&json).map_err(at)?;
        let entry: Entry = share::read(&mut blobs, || serde_json::from_value(json))
            .map_err(|why| at(format!("not understood: {why}")))?;
        match entry.record {
            Record::Blob { digest, bytes } => {
                if Digest::parse(&digest) != Ok(bytes.digest()) {
                    return Err(at(format!("the content {digest} is damaged")));
                }
                blobs.insert(bytes.digest(), bytes);
            }
            _ => journaled.entries.push(entry),
        }
    }
    Ok(journaled)
}

/// The sealed lines at the begin, and how many bytes behind them are none. A power cut leaves a torn line or, where
/// later blocks reached the disk and earlier ones did not, several: no whole line follows those. Where one follows,
/// the disk has lost something that was synced.
fn whole(text: &[u8]) -> Result<(&[u8], usize), String> {
    let mut end = 0;
    let mut damaged = None;
    let mut at = 0;
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        at += line.len();
        // A newer format may seal otherwise: its first line is read before it is judged.
        if index == 0
            && let Ok(json) = serde_json::from_slice(line)
        {
            refuse_newer(&json)?;
        }
        match (line.strip_suffix(b"\n").is_some_and(seal::is_whole), damaged) {
            (true, None) => end = at,
            (true, Some(line)) => {
                return Err(format!(
                    "line {line} is damaged though whole ones follow it: the disk has lost a part of this journal. Use \
                     `undo.sh` in the run's folder on each host (/var/lib/tunerun/RUN/undo.sh): it needs no journal"
                ));
            }
            (false, None) => damaged = Some(index + 1),
            (false, Some(_)) => {}
        }
    }
    Ok((&text[..end], text.len() - end))
}

fn refuse_newer(json: &Json) -> Result<(), String> {
    match (json.get("record").and_then(Json::as_str), json.get("format").and_then(Json::as_u64)) {
        (Some("began"), Some(format)) if format > u64::from(FORMAT) => Err(format!(
            "this journal has format {format}, and this program knows {FORMAT}: use the tunerun that wrote it, or \
             `undo.sh` in the run's folder on each host (/var/lib/tunerun/RUN/undo.sh)"
        )),
        _ => Ok(()),
    }
}
