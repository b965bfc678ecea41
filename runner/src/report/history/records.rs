//! The records of a run for machines: as they are, without contents, answers of programs, and what is secret.
use super::{History, Moment};
use crate::journal::{Entry, Record};
use serde_json::{Value as Json, json};

/// The records in their order. Steps are counted here and told with the hosts, where what is hidden is known.
pub fn records(entries: &[Entry], history: &History) -> Vec<Json> {
    let mut records: Vec<Json> = entries.iter().filter_map(record).collect();
    records.iter_mut().for_each(|record| history.veil.json(record));
    records
}

fn record(entry: &Entry) -> Option<Json> {
    let at = Moment::parse(&entry.at);
    Some(match &entry.record {
        Record::Blob { .. } => return None,
        Record::Host { host, address, user, .. } => {
            json!({"at": at, "record": "host", "host": host, "address": address, "user": user})
        }
        Record::Prepared { batch, tasks, .. } => json!({
            "at": at, "record": "prepared", "host": batch.host, "batch": batch.number, "undo": batch.undo,
            "cluster": batch.cluster, "steps": batch.steps.len(),
            "tasks": tasks.iter().map(|(_, title)| title).collect::<Vec<_>>(),
        }),
        Record::Done { host, batch, report } => json!({
            "at": at, "record": "done", "host": host, "batch": batch, "locked": report.locked,
            "stale": report.stale.is_some(), "unstaged": report.unstaged.is_some(),
            "status": report.acts.iter().map(|act| act.as_ref().map(|act| act.output.status)).collect::<Vec<_>>(),
        }),
        Record::Activated { host, activation, .. } => {
            let words = crate::engine::run::activation_words(activation);
            json!({"at": at, "record": "activated", "host": host, "activation": words})
        }
        Record::Owed { host, activation } => {
            let words = crate::engine::run::activation_words(activation);
            json!({"at": at, "record": "owed", "host": host, "activation": words})
        }
        Record::Began { .. }
        | Record::Lost { .. }
        | Record::DeadMan { .. }
        | Record::HostEnded { .. }
        | Record::GateBegan { .. }
        | Record::Gate { .. }
        | Record::Decided { .. }
        | Record::Ended { .. }
        | Record::Undo { .. }
        | Record::Closed { .. } => serde_json::to_value(entry).ok()?,
    })
}
