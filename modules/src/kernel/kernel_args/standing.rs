//! Declared, next boot, running: where each wish stands.
use serde::Serialize;

use super::amend::{Draft, Wish};
use super::line::Line;
use super::token::{Key, Token};

/// One wish in three places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// What is wished, as on a command line; of what shall be absent, its name or argument.
    pub arg: String,
    /// Whether it shall be there.
    pub wanted: bool,
    /// The arguments of that name in the files that the boot line is made of.
    pub declared: Option<String>,
    /// The same in what the boot loader will boot; none also where that is unknown.
    pub next_boot: Option<String>,
    /// The same on the running line.
    pub running: Option<String>,
    /// Whether the running kernel has it as wished.
    pub live: bool,
}

/// The lines to compare.
#[derive(Clone, Copy, Debug)]
pub struct Lines<'a> {
    /// What the files say after the change.
    pub declared: &'a Line,
    /// What the boot loader will boot after the change; none where that is unknown.
    pub next_boot: Option<&'a Line>,
    /// `/proc/cmdline`.
    pub running: &'a Line,
}

/// Where a wish stands; none for what no line shows. It is live where it would change nothing on the running line, so
/// repeats and order that have no effect never ask for a reboot (a comparison of sets would, for ever).
pub fn of(wish: &Wish, lines: Lines<'_>) -> Option<Standing> {
    let (arg, keys) = said(wish)?;
    let counts = |line: &Line| -> Option<String> {
        let tokens = line.args.iter().filter(|token| keys.contains(&token.key()));
        let texts: Vec<&str> = tokens.map(Token::raw).collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    };
    Some(Standing {
        arg,
        wanted: !matches!(wish, Wish::AbsentKey(_) | Wish::Absent(_)),
        declared: counts(lines.declared),
        next_boot: lines.next_boot.and_then(counts),
        running: counts(lines.running),
        live: holds(wish, lines.running),
    })
}

/// Whether a wish would change nothing on a line.
pub fn holds(wish: &Wish, line: &Line) -> bool {
    let mut draft = Draft::of(line.args.iter().cloned());
    let stood = draft.slots.clone();
    draft.meet(wish).is_ok() && draft.ops(&stood).is_empty()
}

/// A wish in words, and the keys that it is about.
fn said(wish: &Wish) -> Option<(String, Vec<Key>)> {
    let joined = |tokens: &[Token]| tokens.iter().map(Token::raw).collect::<Vec<_>>().join(" ");
    Some(match wish {
        Wish::Set(token) | Wish::Add(token) | Wish::Absent(token) | Wish::Last(token) => {
            (token.raw().to_owned(), vec![token.key()])
        }
        Wish::Replace(key, tokens) | Wish::Among(key, tokens) => (joined(tokens), vec![key.clone()]),
        Wish::AbsentKey(key) => (key.to_string(), vec![key.clone()]),
        Wish::Pools(pools) => {
            let halves = pools.iter().flat_map(|pool| [&pool.size, &pool.count]).flatten();
            let texts: Vec<&str> = halves.map(Token::raw).collect();
            (texts.join(" "), vec![Key::of("hugepagesz"), Key::of("hugepages")])
        }
        Wish::Tidy => return None,
    })
}
