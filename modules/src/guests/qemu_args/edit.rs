//! Edits of a command line, option by option, by splices of its text.
use super::line::{Choice, Line, Properties};
use super::render::{Wish, alike, order};
use super::words::{Dialect, Word, quoted};
use crate::vocabulary::{Mark, Token};
use crate::xml::Splice;
use std::collections::BTreeMap;

/// What an edit comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    splices: Vec<Splice>,
    /// Options whose words are replaced, by their place among the options.
    changed: BTreeMap<usize, String>,
    /// Options that go.
    gone: Vec<usize>,
    /// Options that come: behind which place, as text. None puts it behind the program.
    come: Vec<(Option<usize>, String)>,
    /// What stands before the program: what it was and what it is.
    before: Vec<(Option<String>, String)>,
}

/// What a line shall be besides its options.
pub(super) struct Surroundings<'a> {
    /// Variables, in their order; none takes one away.
    pub(super) environment: Vec<(&'a str, Option<String>)>,
    /// The CPUs that it is bound to.
    pub(super) cpus: Option<String>,
}

/// The first option that a wish means.
pub(super) fn find<'l>(line: &'l Line, wish: &Wish) -> Option<(usize, &'l Choice)> {
    let named = |option: &str| {
        let option = option.to_owned();
        line.options.iter().enumerate().filter(move |(_, choice)| choice.name == option)
    };
    match wish {
        Wish::Flag(name) => named(name).next(),
        Wish::Only { option, .. } => named(option).next(),
        Wish::One { option, by, .. } => by.iter().find_map(|(name, value)| {
            named(option).find(|(_, choice)| {
                choice.properties().is_some_and(|properties| properties.get(name) == Some(value))
            })
        }),
        Wish::Text { option, value } => named(option)
            .find(|(_, choice)| choice.value.as_ref().and_then(|word| word.value.clone()) == *value),
        Wish::Gone { option, id } => named(option).find(|(_, choice)| match id {
            None => true,
            Some(id) => choice.properties().is_some_and(|properties| {
                ["id", "node-name"].iter().any(|name| properties.get(name) == Some(id))
                    || properties.head() == Some(id)
            }),
        }),
    }
}

/// The properties as they shall be; none where they are so already.
fn wanted(option: &str, now: &Properties, wanted: &Properties) -> Option<Properties> {
    let mut after = now.clone();
    for (place, (name, value)) in wanted.0.iter().enumerate() {
        match value {
            // `-cpu host,+x2apic`: a property without a value, on or off by its sign.
            None if place > 0 => {
                let bare = |text: &str| text.trim_start_matches(['+', '-']).to_owned();
                let mut others = after.0.iter_mut().skip(1).filter(|(_, value)| value.is_none());
                match others.find(|(other, _)| bare(other) == bare(name)) {
                    Some(part) => part.0.clone_from(name),
                    None => after.0.push((name.clone(), None)),
                }
            }
            None => {
                let head = after.head().map(ToOwned::to_owned);
                match head {
                    Some(head) if alike(option, "", &head, name) => {}
                    Some(_) => after.0[0].0.clone_from(name),
                    None => after.0.insert(0, (name.clone(), None)),
                }
            }
            Some(value) if after.get(name).is_some_and(|now| alike(option, name, now, value)) => {}
            Some(value) => after.set(name, value, order(option)),
        }
    }
    (after != *now).then_some(after)
}

impl Edit {
    /// What makes a line as it is wished.
    ///
    /// # Errors
    /// Names the option that a shell makes up.
    pub(super) fn of(line: &Line, wishes: &[Wish]) -> Result<Self, String> {
        let mut edit = Self::default();
        for wish in wishes {
            match (wish, find(line, wish)) {
                (Wish::Gone { .. }, None) | (Wish::Flag(_) | Wish::Text { .. }, Some(_)) => {}
                (Wish::Gone { .. }, Some((at, _))) => edit.gone.push(at),
                (Wish::Flag(name), None) => edit.add(line, name, None),
                (Wish::Text { option, value }, None) => edit.add(line, option, value.as_deref()),
                (Wish::Only { option, wanted } | Wish::One { option, wanted, .. }, None) => {
                    edit.add(line, option, Some(&wanted.text()));
                }
                (
                    Wish::Only { option, wanted: wish } | Wish::One { option, wanted: wish, .. },
                    Some((at, choice)),
                ) => {
                    let Some(now) = choice.properties() else {
                        return Err(format!(
                            "-{option} is made up by the script, so that it cannot be edited"
                        ));
                    };
                    if let Some(after) = wanted(option, &now, wish) {
                        edit.changed.insert(at, after.text());
                    }
                }
            }
        }
        Ok(edit)
    }

    /// A new option: behind the last one of its kind, else where its kind stands.
    fn add(&mut self, line: &Line, option: &str, value: Option<&str>) {
        let kinds: &[&str] = match option {
            "device" => &["device", "drive", "blockdev", "object", "chardev"],
            "drive" | "blockdev" => &["drive", "blockdev", "object", "numa", "m"],
            "object" | "chardev" => &["object", "drive", "blockdev", "numa", "m"],
            "numa" => &["numa", "object", "m"],
            "machine" | "cpu" | "smp" | "m" | "enable-kvm" => &["machine", "cpu", "smp", "m", "enable-kvm"],
            _ => &[],
        };
        let last = |kind: &&str| line.options.iter().rposition(|choice| choice.name == **kind);
        let at = match kinds {
            [] => line.options.len().checked_sub(1),
            // An object is named by devices: it stands before them, for the reader.
            kinds if matches!(option, "object" | "chardev" | "drive" | "blockdev") => {
                match line.options.iter().position(|choice| choice.name == "device") {
                    Some(device) => device.checked_sub(1),
                    None => kinds.iter().find_map(last).or(line.options.len().checked_sub(1)),
                }
            }
            ["machine", ..] => kinds.iter().filter_map(last).max(),
            kinds => kinds.iter().find_map(last).or(line.options.len().checked_sub(1)),
        };
        let value = value.map(|value| format!(" {value}")).unwrap_or_default();
        self.come.push((at, format!("-{option}{value}")));
    }

    /// What stands before the program.
    pub(super) fn surround(&mut self, line: &Line, around: &Surroundings<'_>, dialect: Dialect) {
        for (name, value) in &around.environment {
            let mark = format!("{name}=");
            let now = line.assignments.iter().find(|word| word.text().starts_with(&mark));
            match (now, value) {
                (Some(word), Some(value)) if word.text() == format!("{mark}{value}") => {}
                (Some(word), Some(value)) => {
                    let text = format!("{mark}{}", quoted(value, dialect));
                    self.splices.push(Splice { range: word.range.clone(), text: text.clone() });
                    self.before.push((Some(word.text().to_owned()), text));
                }
                (Some(word), None) => {
                    let end = line.assignments.iter().chain(&line.prefix).chain([&line.program]);
                    let next = end.map(|word| word.range.start).find(|start| *start >= word.range.end);
                    let range = word.range.start..next.unwrap_or(word.range.end);
                    self.splices.push(Splice { range, text: String::new() });
                    self.before.push((Some(word.text().to_owned()), String::new()));
                }
                (None, Some(value)) => {
                    let text = format!("{mark}{}", quoted(value, dialect));
                    self.splices.push(Splice::insert(line.head(), format!("{text} ")));
                    self.before.push((None, text));
                }
                (None, None) => {}
            }
        }
        let Some(cpus) = &around.cpus else { return };
        match line.bound() {
            Some(word) if same_cpus(word, cpus) => {}
            Some(word) => {
                self.splices.push(Splice { range: word.range.clone(), text: cpus.clone() });
                self.before.push((Some(format!("taskset -c {}", word.text())), format!("taskset -c {cpus}")));
            }
            None => {
                let text = format!("taskset -c {cpus}");
                self.splices.push(Splice::insert(line.program.range.start, format!("{text} ")));
                self.before.push((None, text));
            }
        }
    }

    /// Whether nothing is to be done.
    pub(super) fn is_empty(&self) -> bool {
        self.splices.is_empty() && self.changed.is_empty() && self.gone.is_empty() && self.come.is_empty()
    }

    /// What of a line is not as wished, as its options would be.
    pub(super) fn unlike(&self, line: &Line) -> Vec<String> {
        let changed = self.changed.iter().map(|(at, value)| format!("-{} {value}", line.options[*at].name));
        let gone = self.gone.iter().map(|at| format!("no -{}", line.options[*at].name));
        changed.chain(self.come.iter().map(|(_, option)| option.clone())).chain(gone).collect()
    }

    /// The text with the edit made.
    pub(super) fn apply(&self, text: &str, line: &Line, dialect: Dialect) -> String {
        let mut splices = self.splices.clone();
        let end_before = |at: usize| match at.checked_sub(1) {
            Some(before) => line.options[before].end(),
            None => line.program.range.end,
        };
        for (at, value) in self.changed.iter().filter(|(at, _)| !self.gone.contains(at)) {
            if let Some(word) = &line.options[*at].value {
                splices.push(Splice { range: word.range.clone(), text: quoted(value, dialect) });
            }
        }
        for at in &self.gone {
            splices.push(Splice { range: end_before(*at)..line.options[*at].end(), text: String::new() });
        }
        for (at, option) in &self.come {
            let (place, gap) = match at {
                Some(at) => (line.options[*at].end(), end_before(*at)..line.options[*at].word.range.start),
                None => (line.program.range.end, line.program.range.end..line.program.range.end),
            };
            let gap = text.get(gap).filter(|gap| !gap.is_empty()).unwrap_or(" ");
            let words = match option.split_once(' ') {
                Some((option, value)) => format!("{option} {}", quoted(value, dialect)),
                None => option.clone(),
            };
            splices.push(Splice::insert(place, format!("{gap}{words}")));
        }
        Splice::all(text, splices)
    }

    /// The line word by word, with what becomes of each.
    pub(super) fn tokens(&self, line: &Line) -> Vec<Token> {
        let token = |text: String, mark| Token { text, mark, origin: None };
        let mut tokens = Vec::new();
        for (old, new) in &self.before {
            tokens.extend(old.clone().map(|old| token(old, Mark::Removed)));
            tokens.extend((!new.is_empty()).then(|| token(new.clone(), Mark::Added)));
        }
        tokens.push(token(line.program().to_owned(), Mark::Same));
        let come = |tokens: &mut Vec<Token>, place: Option<usize>| {
            for (_, option) in self.come.iter().filter(|(at, _)| *at == place) {
                tokens.push(token(option.clone(), Mark::Added));
            }
        };
        come(&mut tokens, None);
        for (at, choice) in line.options.iter().enumerate() {
            let shown = |value: &str| format!("{} {value}", choice.word.text()).trim_end().to_owned();
            let now = shown(choice.value.as_ref().map(Word::text).unwrap_or_default());
            if self.gone.contains(&at) {
                tokens.push(token(now, Mark::Removed));
            } else if let Some(value) = self.changed.get(&at) {
                tokens.push(token(now, Mark::Removed));
                tokens.push(token(shown(value), Mark::Added));
            } else {
                tokens.push(token(now, Mark::Same));
            }
            come(&mut tokens, Some(at));
        }
        tokens
    }
}

fn same_cpus(word: &Word, cpus: &str) -> bool {
    crate::shape::Shape::CpuList.alike(word.text(), cpus)
}
