//! The data that the page was made from, to be saved: in the page itself, so that it needs no other file.
use super::element::{Element, el};
use super::{Section, counted};
use crate::gate::{Live, Record};
use crate::report::history::History;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

/// Links that save the records and the gates.
pub fn section(history: &History) -> Option<Section> {
    if history.records.is_empty() && history.gates.iter().all(|gate| gate.record.is_none()) {
        return None;
    }
    let mut files = Vec::new();
    if !history.records.is_empty() {
        let name = format!("{}-records.json", history.run);
        files.push(file(
            &name,
            &Json::from(history.records.clone()),
            &counted(history.records.len(), "record"),
        ));
        let hosts: Vec<Json> = history
            .hosts
            .iter()
            .map(|host| json!({"host": host.name, "settings": host.settings, "owed": host.owed}))
            .collect();
        let name = format!("{}-settings.json", history.run);
        files.push(file(&name, &Json::from(hosts), "what was changed on each host"));
    }
    for record in history.gates.iter().flat_map(|gate| [&gate.record, &gate.spot_check]).flatten() {
        let name = format!("{}-{}.json", history.run, record.experiment.id);
        let words = format!("gate {}, {}", record.experiment.change, counted(record.runs.len(), "run"));
        files.push(file(&name, &stored(record, history), &words));
    }
    let text = "Contents of files, answers of programs and what is secret are left out.";
    let inner = el("div").with(el("p").class("quiet").text(text)).with(el("ul").class("files").all(files));
    Some(Section { id: "data", title: "Data", inner })
}

fn file(name: &str, json: &Json, words: &str) -> Element {
    let text = serde_json::to_string_pretty(json).unwrap_or_default();
    let link = el("a")
        .at("href", format!("data:application/json;base64,{}", STANDARD.encode(text.as_bytes())))
        .at("download", name)
        .text(name);
    el("li").with(link).text(format!(" {words}"))
}

/// A gate as it is stored. What was read back of its arms may be a secret's value: where the run has any, it is left out.
fn stored(record: &Record, history: &History) -> Json {
    let mut record = record.clone();
    if !history.veil.is_empty() || !history.tells_secrets {
        for run in &mut record.runs {
            run.live = match &run.live {
                Live::Proven { .. } => Live::Proven { seen: "(hidden)".to_owned() },
                Live::Differs { .. } => {
                    Live::Differs { expected: "(hidden)".to_owned(), seen: "(hidden)".to_owned() }
                }
                Live::Unknown => Live::Unknown,
            };
        }
    }
    let mut json = serde_json::to_value(&record).unwrap_or_default();
    history.veil.json(&mut json);
    json
}
