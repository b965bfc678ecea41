//! From a walk to the parts of a saved plan: contents by digest, secrets left out.
use super::{Asks, Part};
use crate::engine::walk::{Planned, Walked, What};
use modules::vocabulary::{Act, Bytes, Change, Diff, HostPath, Image, Match, Seen, Step};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

/// The parts of a host's plan. Contents go into `contents` where they may be seen.
pub(super) fn parts(
    host: &str,
    walked: &Walked,
    mut contents: Option<&mut BTreeMap<String, Bytes>>,
) -> Vec<Part> {
    let hidden = hidden(walked);
    walked
        .planned
        .iter()
        .filter_map(|task| {
            let what = asks(task, &hidden, contents.as_deref_mut())?;
            Some(Part {
                key: task.key.clone(),
                title: if task.secret { task.module.clone() } else { task.title.clone() },
                label: task.label.clone().filter(|_| !task.secret),
                module: task.module.clone(),
                host: Some(task.target.host.clone()).filter(|name| name != host),
                cluster: match &task.what {
                    What::Change(change) => change.cluster.clone(),
                    _ => None,
                },
                what,
            })
        })
        .collect()
}

/// One task's part; none where it asks for nothing.
pub(super) fn part_of(task: &Planned) -> Option<Asks> {
    asks(task, &BTreeSet::new(), None)
}

fn asks(
    task: &Planned,
    hidden: &BTreeSet<HostPath>,
    contents: Option<&mut BTreeMap<String, Bytes>>,
) -> Option<Asks> {
    Some(match &task.what {
        What::Change(_) if task.secret => Asks::Open,
        What::Change(change) => change_of(change, hidden, contents),
        What::Late { on } => Asks::Late { on: on.clone() },
        What::Pause { .. } => Asks::Pause,
        What::Failed(problem) => Asks::Fails { why: problem.message.clone() },
        _ => return None,
    })
}

fn change_of(
    change: &Change,
    hidden: &BTreeSet<HostPath>,
    mut contents: Option<&mut BTreeMap<String, Bytes>>,
) -> Asks {
    let steps = change.steps.iter().map(|step| {
        let kept = match contents.as_deref_mut() {
            Some(contents) if !is_private(step, hidden) => Some(contents),
            _ => None,
        };
        step_of(step, kept)
    });
    let steps = steps.collect();
    let is_private = change.steps.iter().any(|step| is_private(step, hidden));
    if let (Some(contents), false) = (contents, is_private) {
        // The texts that people are shown are what a difference is shown by, where only digests are compared.
        for diff in &change.diff {
            if let Diff::Text { before, after, private: false, .. } = diff {
                for text in [before, after] {
                    let bytes = Bytes::from(text);
                    contents.insert(bytes.digest().to_string(), bytes);
                }
            }
        }
    }
    let risks = change.risks.iter().map(|risk| risk.name.as_str().to_owned()).collect();
    Asks::Change { steps, then: change.then.iter().cloned().collect(), risks }
}

/// Files that a task with a secret writes: what others see of them is not saved either.
fn hidden(walked: &Walked) -> BTreeSet<HostPath> {
    let secret = walked.planned.iter().filter(|task| task.secret);
    let steps = secret.filter_map(|task| match &task.what {
        What::Change(change) => Some(&change.steps),
        _ => None,
    });
    steps
        .flatten()
        .filter_map(|step| match &step.act {
            Act::Put { path, .. } | Act::Write { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect()
}

/// Whether others than the owner may not read what the step is about, before or after.
pub(crate) fn is_private(step: &Step, hidden: &BTreeSet<HostPath>) -> bool {
    let closed = |mode: u32| mode & 0o004 == 0;
    let before = matches!(&step.before, Seen::Node(node) if closed(node.mode));
    let Act::Put { path, image, .. } = &step.act else { return before };
    let after = match image {
        Image::File { meta, .. } => meta.mode.is_some_and(closed),
        _ => false,
    };
    before || after || hidden.contains(path)
}

/// A step as it is compared: contents by digest, without what moves by itself.
fn step_of(step: &Step, mut contents: Option<&mut BTreeMap<String, Bytes>>) -> Json {
    let mut sealed = Map::new();
    // A definition that is sent whole may hold passwords: its digest tells whether it is the same.
    let is_whole = matches!(step.after, Match::Xml { .. });
    let mut put = |name: &str, value: Json| {
        let mut value = match is_whole && matches!(name, "before" | "after" | "act") {
            true => json!({ "sha256": Bytes::from(value.to_string()).digest().to_string() }),
            false => value,
        };
        seal(&mut value, contents.as_deref_mut());
        sealed.insert(name.to_owned(), value);
    };
    put("claim", plain(&step.claim));
    put("look", plain(&step.look));
    // Evidence such as a start time moves on its own; it is compared right before the act, not with the plan.
    if step.look.is_some() && !matches!(step.after, Match::Changed | Match::Any) {
        put("before", plain(&step.before));
    }
    put("after", plain(&step.after));
    put("act", plain(&step.act));
    let back = match &step.back {
        modules::vocabulary::Back::Exactly(_) => "exact",
        modules::vocabulary::Back::Approximately { .. } => "approximate",
        modules::vocabulary::Back::None { .. } => "none",
        modules::vocabulary::Back::Nothing => "nothing",
    };
    put("back", json!(back));
    Json::Object(sealed)
}

/// Takes contents out, and what a file system counts by itself.
fn seal(json: &mut Json, mut contents: Option<&mut BTreeMap<String, Bytes>>) {
    match json {
        Json::Object(map) => {
            if map.contains_key("kind") && map.contains_key("mode") {
                for moving in ["modified", "links", "size"] {
                    map.remove(moving);
                }
            }
            for (name, value) in map.iter_mut() {
                let bytes = (name == "content" || name == "body")
                    .then(|| value.get("bytes"))
                    .flatten()
                    .and_then(|bytes| serde_json::from_value::<Bytes>(bytes.clone()).ok());
                match bytes {
                    Some(bytes) => {
                        let digest = bytes.digest().to_string();
                        *value = json!({ "sha256": digest });
                        if let Some(contents) = contents.as_deref_mut() {
                            contents.insert(digest, bytes);
                        }
                    }
                    None => match value.get("digest").cloned() {
                        Some(digest) if name == "body" => *value = json!({ "sha256": digest }),
                        _ => seal(value, contents.as_deref_mut()),
                    },
                }
            }
        }
        Json::Array(list) => list.iter_mut().for_each(|value| seal(value, contents.as_deref_mut())),
        _ => {}
    }
}

fn plain(value: &impl serde::Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

/// The contents that a task's steps name, by digest, for showing what differs.
pub(super) fn contents_of(task: &Planned) -> BTreeMap<String, Bytes> {
    let mut contents = BTreeMap::new();
    if let (false, What::Change(change)) = (task.secret, &task.what) {
        change_of(change, &BTreeSet::new(), Some(&mut contents));
    }
    contents
}
