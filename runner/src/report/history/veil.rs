//! What was hidden stays hidden: values of secrets are taken out of every free text of a report, too.
use modules::fold::Folded;
use modules::vocabulary::{Act, Back, Content, Image, Match, Seen};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Shorter values are no secrets that a text could be searched for.
const SHORTEST: usize = 6;
/// What stands in their place.
const HIDDEN: &str = "(hidden)";

/// The values that no text may hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Veil {
    /// The longest first: one may hold another.
    words: Vec<String>,
}

impl Veil {
    /// Over all that these steps read or wrote.
    pub fn over<'a>(steps: impl IntoIterator<Item = &'a Folded>) -> Self {
        let mut words = BTreeSet::new();
        for folded in steps {
            let step = &folded.step;
            of_seen(&step.before, &mut words);
            of_act(&step.act, &mut words);
            match &step.back {
                Back::Exactly(act) | Back::Approximately { act, .. } => of_act(act, &mut words),
                Back::None { .. } | Back::Nothing => {}
            }
            match &step.after {
                Match::Exactly(seen) => of_seen(seen, &mut words),
                Match::Alike { value, .. } => add(value, &mut words),
                Match::Has(lines) | Match::HasOne(lines) => {
                    lines.iter().for_each(|line| add(line, &mut words));
                }
                _ => {}
            }
        }
        let mut words: Vec<String> = words.into_iter().collect();
        words.sort_by_key(|word| std::cmp::Reverse(word.len()));
        Self { words }
    }

    /// Whether nothing is hidden.
    pub const fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// A text without them.
    pub fn text(&self, text: &str) -> String {
        self.words.iter().fold(text.to_owned(), |text, word| {
            if text.contains(word.as_str()) { text.replace(word.as_str(), HIDDEN) } else { text }
        })
    }

    /// A JSON document without them, in keys and values.
    pub fn json(&self, json: &mut Json) {
        match json {
            Json::String(text) => *text = self.text(text),
            Json::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Json::Object(fields) => {
                let taken = std::mem::take(fields);
                for (name, mut value) in taken {
                    self.json(&mut value);
                    fields.insert(self.text(&name), value);
                }
            }
            _ => {}
        }
    }
}

fn add(text: &str, words: &mut BTreeSet<String>) {
    for line in text.lines().map(str::trim).chain(std::iter::once(text.trim())) {
        if line.chars().count() >= SHORTEST {
            words.insert(line.to_owned());
        }
        // `password = WORD`, `key: WORD`: the value is said without its name elsewhere.
        for value in line.split(['=', ':']).skip(1).map(str::trim) {
            if value.chars().count() >= SHORTEST {
                words.insert(value.to_owned());
            }
        }
    }
}

fn of_seen(seen: &Seen, words: &mut BTreeSet<String>) {
    match seen {
        Seen::Value(value) => add(value, words),
        Seen::Output(output) => add(&output.text(), words),
        Seen::Node(node) => {
            if let Some(text) = node.bytes().and_then(|bytes| bytes.text()) {
                add(text, words);
            }
        }
        _ => {}
    }
}

fn of_act(act: &Act, words: &mut BTreeSet<String>) {
    match act {
        Act::Put { image: Image::File { content: Content::Bytes(bytes), .. }, .. } => {
            if let Some(text) = bytes.text() {
                add(text, words);
            }
        }
        Act::Put { .. } => {}
        Act::Write { value, .. } => add(value, words),
        Act::Call { row, .. } => {
            // Options and paths say nothing that hosts and plans do not say too.
            let plain = |word: &&String| word.starts_with('-') || word.starts_with('/');
            row.args.iter().filter(|word| !plain(word)).for_each(|word| add(word, words));
            row.stdin.iter().for_each(|text| add(text, words));
            row.env.iter().for_each(|(_, value)| add(value, words));
        }
        Act::Rpc { params, .. } => of_json(params, words),
    }
}

fn of_json(json: &Json, words: &mut BTreeSet<String>) {
    match json {
        Json::String(text) => add(text, words),
        Json::Array(items) => items.iter().for_each(|item| of_json(item, words)),
        Json::Object(fields) => fields.values().for_each(|value| of_json(value, words)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::Veil;
    use modules::fold::fold;
    use modules::shape::Shape;
    use modules::vocabulary::{Claim, HostPath, Seen, Step, TaskId};
    use serde_json::json;

    #[test]
    fn values_are_taken_out_of_texts_and_documents() {
        let path = HostPath::new("/proc/sys/kernel/x").unwrap();
        let before = Seen::Value("old-word".to_owned());
        let step = Step::write(Claim::new("sysctl", "kernel.x"), path, before, "new-word", Shape::Text);
        let steps = fold([(TaskId(1), step)]);
        let veil = Veil::over(&steps);
        assert_eq!(
            veil.text("`old-word` was read where `new-word` should be"),
            "`(hidden)` was read where `(hidden)` should be"
        );
        let mut json = json!({"seen": ["kernel.x is `new-word`"], "number": 1});
        veil.json(&mut json);
        assert_eq!(json, json!({"seen": ["kernel.x is `(hidden)`"], "number": 1}));
        assert!(Veil::over([]).is_empty());
    }
}
