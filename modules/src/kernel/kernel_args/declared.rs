//! What the files say that the boot line is made of, argument by argument, with where each is written.
use super::seeing::{self, entry_line};
use super::writing::placed;
use crate::vocabulary::{Facts, Read, Stop, missing};

/// An argument as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    /// The argument.
    pub arg: String,
    /// File, line and variable, or the boot entry.
    pub origin: String,
}

/// What must be looked at.
pub(crate) fn reads(facts: &Facts) -> Vec<Read> {
    missing(seeing::look(facts, &[]))
}

/// The arguments that the files declare, in order; none where no boot loader is known.
///
/// # Errors
/// [`Stop`], as facts say.
pub(crate) fn declared(facts: &Facts) -> Result<Vec<Declared>, Stop> {
    let found = seeing::look(facts, &[])?;
    let mut all: Vec<Declared> = placed(&found.reading)
        .into_iter()
        .map(|(token, origin)| Declared { arg: token.raw().to_owned(), origin: origin.unwrap_or_default() })
        .collect();
    // Where entries are booted, what they say counts.
    if let Some(entry) = found.entries.first() {
        let line = entry_line(&entry.bytes, &found.references);
        let origin = entry.path.as_str();
        all = line
            .args
            .iter()
            .map(|token| Declared { arg: token.raw().to_owned(), origin: origin.to_owned() })
            .collect();
    }
    Ok(all)
}
