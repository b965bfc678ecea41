//! What was hidden stays hidden: values of secrets are taken out of every free text of a report, too.
use modules::fold::Folded;
use modules::vocabulary::{Act, Back, Content, Image, Match, Seen};
use serde_json::Value as Json;
use std::collections::{BTreeSet, HashMap};

/// Values of fewer letters are no secrets that a text could be searched for.
const SHORTEST: usize = 6;
/// What stands in their place.
const HIDDEN: &str = "(hidden)";

/// The values that no text may hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Veil {
    /// By the bytes that they begin with, so that a long text is read once however many there are; the longest first.
    words: HashMap<[u8; SHORTEST], Vec<String>>,
}

impl Veil {
    /// Over all that these steps read or wrote.
    pub fn over<'a>(steps: impl IntoIterator<Item = &'a Folded>) -> Self {
        let mut found = BTreeSet::new();
        for folded in steps {
            let step = &folded.step;
            of_seen(&step.before, &mut found);
            of_act(&step.act, &mut found);
            match &step.back {
                Back::Exactly(act) | Back::Approximately { act, .. } => of_act(act, &mut found),
                Back::None { .. } | Back::Nothing => {}
            }
            match &step.after {
                Match::Exactly(seen) => of_seen(seen, &mut found),
                Match::Alike { value, .. } => add(value, &mut found),
                Match::Has(lines) | Match::HasOne(lines) => {
                    lines.iter().for_each(|line| add(line, &mut found));
                }
                _ => {}
            }
        }
        let mut words: HashMap<[u8; SHORTEST], Vec<String>> = HashMap::new();
        for word in found {
            if let Some(first) = first(&word) {
                words.entry(first).or_default().push(word);
            }
        }
        words.values_mut().for_each(|alike| alike.sort_by_key(|word| std::cmp::Reverse(word.len())));
        Self { words }
    }

    /// Whether nothing is hidden.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// A text without them.
    pub fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(sign) = rest.chars().next() {
            let hidden = first(rest)
                .and_then(|first| self.words.get(&first))
                .and_then(|alike| alike.iter().find(|word| rest.starts_with(word.as_str())));
            match hidden {
                Some(word) => {
                    out.push_str(HIDDEN);
                    rest = &rest[word.len()..];
                }
                None => {
                    out.push(sign);
                    rest = &rest[sign.len_utf8()..];
                }
            }
        }
        out
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

/// The bytes that a text begins with; none of a shorter one.
fn first(text: &str) -> Option<[u8; SHORTEST]> {
    text.as_bytes().get(..SHORTEST)?.try_into().ok()
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
        assert_eq!(veil.text("é new-wor new-wordnew-word ü"), "é new-wor (hidden)(hidden) ü");
    }
}
