//! A network card of the host: its name, and how `ethtool` tells of it.
use crate::argument::nearest;
use crate::vocabulary::{Facts, HostPath, Output, Row, Stop};

/// Where the kernel lists cards.
pub(crate) const CARDS: &str = "/sys/class/net/*";

/// Takes the name of a card: what a rule file and a path can hold.
pub(crate) fn named(argument: &'static str, name: &str) -> Result<(), Stop> {
    let fine = |letter: char| letter.is_ascii_alphanumeric() || "._-@".contains(letter);
    if name.is_empty() || name.len() > 15 || name.starts_with(['-', '.']) || !name.chars().all(fine) {
        return Err(Stop::refused(argument, format!("`{name}` is not the name of a network card")));
    }
    Ok(())
}

/// Refuses a card that the host does not have, with the nearest name. The cards must have been listed.
pub(crate) fn there(facts: &Facts, argument: &'static str, name: &str) -> Result<(), Stop> {
    let names = facts.names(CARDS)?;
    if names.iter().any(|card| card.name() == name) {
        return Ok(());
    }
    let near = nearest(name, names.iter().map(HostPath::name));
    let hint = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let all: Vec<&str> = names.iter().map(HostPath::name).collect();
    Err(Stop::refused(argument, format!("this host has no network card {name}")).way_out(format!(
        "{hint}it has: {}",
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    )))
}

/// A row of `ethtool` on a card.
pub(crate) fn row(name: &str, card: &str) -> Row {
    Row::new(name, [card])
}

/// What `ethtool` answered; a refusal where it is not there or does not know the card.
pub(crate) fn told(facts: &Facts, row: &Row, what: &str) -> Result<Output, Stop> {
    let output = facts.output(row)?;
    match output.status {
        0 => Ok(output),
        127 => Err(Stop::failed("`ethtool` is not installed on this host")
            .way_out("install the package `ethtool` in an earlier task")),
        _ => Err(Stop::failed(format!("{what} cannot be told: {}", output.error_text().trim()))),
    }
}
