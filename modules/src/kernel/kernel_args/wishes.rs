//! What a task says, made into wishes; everything that is wrong with it is found before a host is looked at.
use serde_json::{Map, Value as Json};

use super::amend::Wish;
use super::line::words;
use super::pools;
use super::table::{self, repeats};
use super::token::{Key, Token};

/// One fault of what the task says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The argument of the module.
    pub argument: &'static str,
    /// What is wrong.
    pub why: String,
    /// What to write instead.
    pub way_out: Option<String>,
}

fn fault(argument: &'static str, why: impl Into<String>, way_out: impl Into<Option<String>>) -> Fault {
    Fault { argument, why: why.into(), way_out: way_out.into() }
}

/// Flags that people write with `false` when they mean that the flag shall not be there.
const FLAGS: [&str; 20] = [
    "quiet",
    "splash",
    "rhgb",
    "ro",
    "rw",
    "debug",
    "single",
    "nosmt",
    "nopti",
    "noibrs",
    "noibpb",
    "nokaslr",
    "nosmap",
    "nosmep",
    "nomodeset",
    "noapic",
    "nospectre_v1",
    "nospectre_v2",
    "nospec_store_bypass_disable",
    "threadirqs",
];

/// Arguments that take `on`, so that a YAML `on` (which is a boolean) is theirs.
const TAKE_ON: [&str; 12] = [
    "amd_iommu",
    "audit",
    "debug_pagealloc",
    "init_on_alloc",
    "init_on_free",
    "intel_iommu",
    "nohz",
    "page_poison",
    "pti",
    "spec_store_bypass_disable",
    "spectre_v2",
    "spectre_v2_user",
];

/// Reads an argument as people write it: `mitigations=off`, `quiet`, `dyndbg="file x +p"`.
pub fn token(argument: &'static str, text: &str) -> Result<Token, Fault> {
    let read = Token::read(text.trim());
    Token::new(read.name(), read.value()).map_err(|why| fault(argument, why.to_string(), None))
}

/// Reads a list whose members may hold several arguments each, parted as on a command line.
pub fn tokens(argument: &'static str, texts: &[String]) -> (Vec<Token>, Vec<Fault>) {
    let mut found = (Vec::new(), Vec::new());
    for text in texts {
        for range in words(text.as_bytes()) {
            match token(argument, &text[range]) {
                Ok(token) => found.0.push(token),
                Err(fault) => found.1.push(fault),
            }
        }
    }
    found
}

/// Reads a mapping of names and values. `null` and `true` make a flag, a list several arguments of one name.
pub fn mapped(map: &Map<String, Json>) -> (Vec<Token>, Vec<Fault>) {
    let mut found: (Vec<Token>, Vec<Fault>) = (Vec::new(), Vec::new());
    for (name, value) in map {
        let values: Vec<&Json> = match value {
            Json::Array(values) => values.iter().collect(),
            one => vec![one],
        };
        for value in values {
            match scalar(name, value) {
                Ok(token) => found.0.push(token),
                Err(fault) => found.1.push(fault),
            }
        }
    }
    (interleaved(found.0), found.1)
}

fn scalar(name: &str, value: &Json) -> Result<Token, Fault> {
    let key = Key::of(name);
    let text = match value {
        Json::Null => None,
        Json::Bool(true) if TAKE_ON.contains(&key.as_str()) => Some("on".to_owned()),
        Json::Bool(true) => None,
        Json::Bool(false) if FLAGS.contains(&key.as_str()) => {
            let why = format!("`{name}` is a flag, so `false` says nothing");
            return Err(fault("args", why, format!("to take it away write `absent: [{name}]`")));
        }
        // YAML reads `off` and `no` as false; on a kernel line they are the word.
        Json::Bool(false) => Some("off".to_owned()),
        Json::Number(number) => Some(number.to_string()),
        Json::String(text) if text == "absent" => {
            let why = format!("`{name}: absent` would write the word `absent`");
            return Err(fault("args", why, format!("to take it away write `absent: [{name}]`")));
        }
        Json::String(text) => Some(text.clone()),
        Json::Array(_) | Json::Object(_) => {
            return Err(fault("args", format!("`{name}` holds something that is no value"), None));
        }
    };
    Token::new(name, text.as_deref()).map_err(|why| fault("args", why.to_string(), None))
}

/// `{hugepagesz: [1G, 2M], hugepages: [4, 512]}` means pairs.
fn interleaved(tokens: Vec<Token>) -> Vec<Token> {
    let of =
        |name: &str| tokens.iter().filter(|token| token.key().as_str() == name).cloned().collect::<Vec<_>>();
    let (sizes, counts) = (of("hugepagesz"), of("hugepages"));
    if sizes.len() < 2 || sizes.len() != counts.len() {
        return tokens;
    }
    let mut found: Vec<Token> = tokens.into_iter().filter(|token| !pools::is_part(&token.key())).collect();
    found.extend(sizes.into_iter().zip(counts).flat_map(|(size, count)| [size, count]));
    found
}

/// The lists of a task.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// `args`.
    pub args: Vec<Token>,
    /// `add`.
    pub add: Vec<Token>,
    /// `replace`.
    pub replace: Vec<Token>,
    /// `absent`: names, or whole arguments.
    pub absent: Vec<Token>,
    /// `last`.
    pub last: Vec<Token>,
    /// `tidy`.
    pub tidy: bool,
}

impl Said {
    /// Every argument that shall be there.
    pub fn wanted(&self) -> Vec<Token> {
        self.args.iter().chain(&self.add).chain(&self.replace).chain(&self.last).cloned().collect()
    }

    /// The keys that the task speaks of, each once, in order.
    pub fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = Vec::new();
        for token in self.wanted().iter().chain(&self.absent) {
            if !keys.contains(&token.key()) {
                keys.push(token.key());
            }
        }
        keys
    }

    /// The wishes in the order in which they are met.
    ///
    /// # Errors
    /// Everything that contradicts itself.
    pub fn wishes(&self) -> Result<Vec<Wish>, Vec<Fault>> {
        let faults = self.contradictions();
        if !faults.is_empty() {
            return Err(faults);
        }
        let mut wishes: Vec<Wish> = Vec::new();
        for token in &self.absent {
            wishes.push(match token.value() {
                None => Wish::AbsentKey(token.key()),
                Some(_) => Wish::Absent(token.clone()),
            });
        }
        let parts: Vec<Token> =
            self.args.iter().chain(&self.add).filter(|token| pools::is_part(&token.key())).cloned().collect();
        let plain = self.args.iter().filter(|token| !pools::is_part(&token.key()));
        for token in plain {
            let key = token.key();
            match wishes.iter_mut().find(|wish| matches!(wish, Wish::Among(there, _) if *there == key)) {
                Some(Wish::Among(_, tokens)) => tokens.push(token.clone()),
                _ if repeats(&key) => wishes.push(Wish::Among(key, vec![token.clone()])),
                _ => wishes.push(Wish::Set(token.clone())),
            }
        }
        if !parts.is_empty() {
            wishes.push(Wish::Pools(pools::pair(&parts)));
        }
        for token in &self.replace {
            let key = token.key();
            match wishes.iter_mut().find(|wish| matches!(wish, Wish::Replace(there, _) if *there == key)) {
                Some(Wish::Replace(_, tokens)) => tokens.push(token.clone()),
                _ => wishes.push(Wish::Replace(key, vec![token.clone()])),
            }
        }
        wishes.extend(self.add.iter().filter(|token| !pools::is_part(&token.key())).cloned().map(Wish::Add));
        wishes.extend(self.last.iter().cloned().map(Wish::Last));
        wishes.extend(self.tidy.then_some(Wish::Tidy));
        Ok(wishes)
    }

    fn contradictions(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (at, token) in self.args.iter().enumerate() {
            let twice = self.args[..at].iter().any(|other| other.key() == token.key());
            if twice && !repeats(&token.key()) {
                let why = format!("`{}` is given twice; only the last would count", token.key());
                faults.push(fault("args", why, "give it once".to_owned()));
            }
        }
        for token in self.add.iter().filter(|token| !repeats(&token.key())) {
            let why = format!("`{}` may stand once only, so adding another would replace it", token.key());
            faults.push(fault("add", why, "say it in `args`".to_owned()));
        }
        for token in self.replace.iter().filter(|token| pools::is_part(&token.key())) {
            let way = "say the pool in `args`, and take another away by `absent: [hugepagesz=SIZE]`";
            faults.push(fault("replace", format!("`{token}` is half of a pair"), way.to_owned()));
        }
        let wanted = self.wanted();
        for token in &self.absent {
            let both = |other: &&Token| match token.value() {
                None => other.key() == token.key(),
                Some(value) => {
                    other.key() == token.key()
                        && other.value().is_some_and(|other| table::same_value(&token.key(), other, value))
                }
            };
            if let Some(other) = wanted.iter().find(both) {
                let why = format!("`{token}` shall be absent, and `{other}` shall be there");
                faults.push(fault("absent", why, "decide for one of them".to_owned()));
            }
        }
        let all = [&self.args, &self.add, &self.replace, &self.absent, &self.last];
        if all.iter().all(|list| list.is_empty()) && !self.tidy {
            let way = "give `args`, `add`, `replace`, `absent`, `last` or `tidy`";
            faults.push(fault("args", "nothing is asked for", way.to_owned()));
        }
        faults
    }
}
