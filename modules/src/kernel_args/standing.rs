//! Declared, next boot, running: where each wished argument stands.
use serde::Serialize;

use super::line::{Line, same};
use super::table::repeats;
use super::token::Token;

/// One argument in three places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// The argument as wished; of one that shall be absent, its name.
    pub arg: String,
    /// Whether it shall be there.
    pub wanted: bool,
    /// What counts in the files that the boot line is made of; none where nothing does.
    pub declared: Option<String>,
    /// What counts in what the boot loader will boot; none where it is absent there.
    pub next_boot: Option<String>,
    /// What counts on the running line.
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

/// Compares one wished argument. Only what counts is compared: for a key that may stand once, its last argument, so
/// that repeats and order never make a difference (a set comparison would want a reboot for ever).
pub fn present(wanted: &Token, lines: Lines<'_>) -> Standing {
    let counts = |line: &Line| -> Option<String> {
        let key = wanted.key();
        let found = match repeats(&key) {
            true => line.args.iter().rev().find(|token| same(token, wanted)).or_else(|| line.last(&key)),
            false => line.last(&key),
        };
        found.map(|token| token.raw().to_owned())
    };
    let running = counts(lines.running);
    Standing {
        arg: wanted.raw().to_owned(),
        wanted: true,
        declared: counts(lines.declared),
        next_boot: lines.next_boot.and_then(counts),
        live: running.as_deref().is_some_and(|text| same(&Token::read(text), wanted)),
        running,
    }
}

/// Compares an argument that shall be absent; `exact` where only the same value shall.
pub fn absent(unwanted: &Token, exact: bool, lines: Lines<'_>) -> Standing {
    let counts = |line: &Line| -> Option<String> {
        let key = unwanted.key();
        let found =
            line.args.iter().rev().find(|token| token.key() == key && (!exact || same(token, unwanted)));
        found.map(|token| token.raw().to_owned())
    };
    let running = counts(lines.running);
    Standing {
        arg: unwanted.raw().to_owned(),
        wanted: false,
        declared: counts(lines.declared),
        next_boot: lines.next_boot.and_then(counts),
        live: running.is_none(),
        running,
    }
}
