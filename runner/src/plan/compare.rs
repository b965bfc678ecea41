//! What differs between a plan that was reviewed and one that was just made.
use super::seal::{contents_of, part_of};
use super::{Asks, Part, Saved};
use crate::engine::walk::{Planned, Walked, What};
use modules::vocabulary::Bytes;
use serde_json::Value as Json;
use similar::TextDiff;
use std::collections::{BTreeMap, HashMap};

/// Lines of a text shown for one difference.
const LINES: usize = 12;

/// What differs for one task, in words, and in lines of detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The task's title.
    pub title: String,
    /// What differs.
    pub words: String,
    /// Details, one line each.
    pub lines: Vec<String>,
}

/// What differs on a host: empty where exactly what was reviewed would be done. Parts that were open may become
/// anything: whether they may be decided now is asked elsewhere.
pub fn differences(saved: &Saved, host: &str, fresh: &Walked) -> Vec<Difference> {
    let reviewed = saved.parts(host).unwrap_or_default();
    let now: HashMap<&str, &Planned> = fresh.planned.iter().map(|task| (task.key.as_str(), task)).collect();
    let mut found: Vec<Difference> =
        reviewed.iter().filter_map(|part| one(part, now.get(part.key.as_str()).copied(), saved)).collect();
    let known = |key: &str| reviewed.iter().any(|part| part.key == key);
    let added = fresh.planned.iter().filter(|task| !known(&task.key));
    found.extend(added.filter(|task| acts(task)).map(|task| Difference {
        title: task.title.clone(),
        words: "was not in the plan: when it was made, nothing was to be done here".to_owned(),
        lines: Vec::new(),
    }));
    found
}

/// Why a task may not be carried out: it was not reviewed like this.
pub fn unreviewed(saved: &Saved, host: &str, task: &Planned) -> Option<Difference> {
    if !acts(task) {
        return None;
    }
    match saved.parts(host).unwrap_or_default().iter().find(|part| part.key == task.key) {
        Some(part) => one(part, Some(task), saved),
        None => Some(Difference {
            title: task.title.clone(),
            words: "was not in the plan".to_owned(),
            lines: Vec::new(),
        }),
    }
}

fn acts(task: &Planned) -> bool {
    matches!(task.what, What::Change(_) | What::Late { .. } | What::Pause { .. } | What::Failed(_))
}

fn one(part: &Part, now: Option<&Planned>, saved: &Saved) -> Option<Difference> {
    let differs =
        |words: &str, lines| Some(Difference { title: part.name(), words: words.to_owned(), lines });
    if matches!(part.what, Asks::Late { .. } | Asks::Open | Asks::Pause) {
        return None;
    }
    let asks = now.and_then(part_of);
    match (&part.what, asks) {
        (_, Some(Asks::Late { on })) => differs(&format!("would now be decided after {on}"), Vec::new()),
        (Asks::Fails { .. }, Some(Asks::Fails { .. })) => None,
        (_, Some(Asks::Fails { why })) => differs(&format!("would now fail: {why}"), Vec::new()),
        (then, Some(asks)) if *then == asks => None,
        (Asks::Change { steps, .. }, Some(Asks::Change { steps: fresh, .. })) => {
            let mut contents = now.map(contents_of).unwrap_or_default();
            contents.extend(saved.contents.clone());
            differs("is not what was planned", steps_differ(steps, &fresh, &contents))
        }
        (_, None) => differs("has nothing to do any more", Vec::new()),
        _ => differs("is not what was planned", Vec::new()),
    }
}

fn steps_differ(then: &[Json], now: &[Json], contents: &BTreeMap<String, Bytes>) -> Vec<String> {
    let mut lines = Vec::new();
    let claim = |step: &Json| step.get("claim").and_then(Json::as_str).unwrap_or_default().to_owned();
    for step in then {
        let name = claim(step);
        let Some(fresh) = now.iter().find(|fresh| claim(fresh) == name) else {
            lines.push(format!("{name}: planned, and not asked for any more"));
            continue;
        };
        for (key, word) in [("before", "on the host"), ("act", "to be done")] {
            let (old, new) = (step.get(key), fresh.get(key));
            if old != new {
                lines.extend(values_differ(&format!("{name}, {word}"), old, new, contents));
                break;
            }
        }
    }
    for fresh in now {
        let name = claim(fresh);
        if !then.iter().any(|step| claim(step) == name) {
            lines.push(format!("{name}: asked for now, and not planned"));
        }
    }
    if lines.is_empty() {
        lines.push("its steps or what follows them differ".to_owned());
    }
    lines
}

fn values_differ(
    name: &str,
    then: Option<&Json>,
    now: Option<&Json>,
    contents: &BTreeMap<String, Bytes>,
) -> Vec<String> {
    let text = |value: Option<&Json>| {
        let digest = value.and_then(digest_in)?;
        contents.get(&digest).and_then(|bytes| bytes.text().map(str::to_owned))
    };
    if let (Some(old), Some(new)) = (text(then), text(now))
        && old != new
    {
        let lines = TextDiff::from_lines(old.as_str(), new.as_str());
        let unified = lines.unified_diff().context_radius(0).to_string();
        let changed: Vec<&str> = unified.lines().filter(|line| !line.starts_with("@@")).collect();
        let mut shown = vec![format!("{name} (- planned, + now):")];
        shown.extend(changed.iter().take(LINES).map(|line| format!("  {line}")));
        if changed.len() > LINES {
            shown.push("…".to_owned());
        }
        return shown;
    }
    vec![format!("{name}: planned {}, now {}", short(then), short(now))]
}

fn digest_in(value: &Json) -> Option<String> {
    match value {
        Json::Object(map) => match map.get("sha256").and_then(Json::as_str) {
            Some(digest) => Some(digest.to_owned()),
            None => map.values().find_map(digest_in),
        },
        _ => None,
    }
}

/// A value of the host, as short as it can be said.
fn short(value: Option<&Json>) -> String {
    let Some(value) = value else { return "nothing".to_owned() };
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    if let Some(text) = value.get("value").and_then(Json::as_str) {
        return format!("`{text}`");
    }
    if let Some(node) = value.get("node") {
        let mode = node.get("mode").and_then(Json::as_u64).unwrap_or_default();
        let owner = |name: &str| node.get(name).and_then(Json::as_str).unwrap_or("?").to_owned();
        let content = digest_in(node).map_or(String::new(), |digest| format!("content {}…, ", &digest[..8]));
        return format!("({content}mode {mode:04o}, {}:{})", owner("user"), owner("group"));
    }
    value.to_string().chars().take(100).collect()
}
