//! Reading a journal back: whole records only, a torn last line is what a crash leaves.
use super::JournalError;
use super::blob;
use super::record::{Entry, FORMAT, Record};
use modules::vocabulary::Bytes;
use serde_json::Value as Json;
use std::collections::BTreeMap;
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
    let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let mut journaled = Journaled { entries: Vec::new(), torn: text.len() - whole };
    let mut blobs: BTreeMap<String, Bytes> = BTreeMap::new();
    for (index, line) in text[..whole].split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let at = |why: String| format!("line {}: {why}", index + 1);
        let mut json: Json = serde_json::from_slice(line).map_err(|why| at(format!("damaged: {why}")))?;
        refuse_newer(&json).map_err(at)?;
        blob::put(&mut json, &blobs).map_err(at)?;
        let entry: Entry =
            serde_json::from_value(json).map_err(|why| at(format!("not understood: {why}")))?;
        match entry.record {
            Record::Blob { digest, bytes } => {
                if !blob::is_whole(&digest, &bytes) {
                    return Err(at(format!("the content {digest} is damaged")));
                }
                blobs.insert(digest, bytes);
            }
            _ => journaled.entries.push(entry),
        }
    }
    Ok(journaled)
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
