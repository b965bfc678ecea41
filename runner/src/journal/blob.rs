//! Contents that many records share are written once, by digest.
use modules::vocabulary::{Bytes, Digest};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// Contents below this size stay where they are, in bytes.
const SMALL: usize = 128;

/// Takes large contents out of a record. Gives those that were not written yet.
pub(super) fn take(record: &mut Json, written: &mut BTreeSet<String>) -> Vec<(String, Bytes)> {
    let mut taken = Vec::new();
    walk(record, &mut |content| {
        let Some(bytes) =
            content.get("bytes").and_then(|bytes| serde_json::from_value::<Bytes>(bytes.clone()).ok())
        else {
            return;
        };
        if bytes.as_slice().len() < SMALL {
            return;
        }
        let digest = bytes.digest().to_string();
        *content = serde_json::json!({ "blob": digest });
        if written.insert(digest.clone()) {
            taken.push((digest, bytes));
        }
    });
    taken
}

/// Puts contents back into a record.
///
/// # Errors
/// Names a digest that no earlier record holds.
pub(super) fn put(record: &mut Json, blobs: &BTreeMap<String, Bytes>) -> Result<(), String> {
    let mut missing = None;
    walk(record, &mut |content| {
        let Some(digest) = content.get("blob").and_then(Json::as_str).map(str::to_owned) else { return };
        match blobs.get(&digest).map(serde_json::to_value) {
            Some(Ok(bytes)) => *content = serde_json::json!({ "bytes": bytes }),
            _ => missing = Some(digest),
        }
    });
    missing.map_or(Ok(()), |digest| Err(format!("the content {digest} is not in the journal")))
}

/// Whether bytes are what their digest says.
pub(super) fn is_whole(digest: &str, bytes: &Bytes) -> bool {
    Digest::parse(digest) == Ok(bytes.digest())
}

/// Every object that stands as `content` or `body`.
fn walk(json: &mut Json, visit: &mut impl FnMut(&mut Json)) {
    match json {
        Json::Object(map) => {
            for (name, value) in map.iter_mut() {
                if (name == "content" || name == "body") && value.is_object() {
                    visit(value);
                } else {
                    walk(value, visit);
                }
            }
        }
        Json::Array(list) => list.iter_mut().for_each(|value| walk(value, visit)),
        _ => {}
    }
}
