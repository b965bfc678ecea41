//! The memory that the settings of a host promise together, and whether the host has that much.
//!
//! Huge pages, what OSDs may use, guests and a reserve for everything else. What cannot be seen is named and not
//! guessed; a change is held up only where it makes the sum grow beyond what there is.
mod cluster;
mod seen;
#[cfg(test)]
mod tests;

pub(crate) use cluster::{OsdHosts, OsdMetadata};
pub(crate) use seen::{Guest, default_page, first_reads, pools_now};

use crate::vocabulary::{Change, Facts, Risk, RiskName, Stop};
use std::collections::BTreeMap;

/// What a task makes of the memory's use. What it does not name stays as it is seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Huge pages that are kept, all sizes: bytes of a page, and how many.
    pub pools: Option<BTreeMap<u64, u64>>,
    /// What each OSD of the host may use, in bytes.
    pub osd_target: Option<u64>,
    /// Guests by name, in place of what is seen of them.
    pub guests: BTreeMap<String, Guest>,
    /// Where that is said, such as `count of this task`.
    pub source: String,
}

/// One part of the sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// What it is: `64 huge pages of 1 GiB`.
    pub what: String,
    /// Bytes.
    pub bytes: u64,
    /// Where it was seen.
    pub source: String,
}

/// What is promised of a host's memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    /// What the host has, in bytes.
    pub total: u64,
    /// The parts, the reserve last.
    pub parts: Vec<Part>,
    /// What could not be seen, and is not in the sum: one phrase each.
    pub unknown: Vec<String>,
}

/// What is left to the kernel, its caches and all other programs: a twentieth, and at least 128 MiB.
pub(crate) fn reserve(total: u64) -> Part {
    Part {
        what: "a reserve for all else".to_owned(),
        bytes: (total / 20).max(128 << 20),
        source: "5 % of the memory, at least 128 MiB".to_owned(),
    }
}

impl Budget {
    /// All parts together, in bytes.
    pub fn sum(&self) -> u64 {
        self.parts.iter().fold(0, |sum, part| sum.saturating_add(part.bytes))
    }

    /// Whether more is promised than there is.
    pub fn is_over(&self) -> bool {
        self.total > 0 && self.sum() > self.total
    }

    /// The sum with each part and where it was seen.
    pub fn words(&self) -> String {
        let parts: Vec<String> = self
            .parts
            .iter()
            .map(|part| format!("{} for {} ({})", about(part.bytes), part.what, part.source))
            .collect();
        format!("{} = {} of {}", parts.join(" + "), about(self.sum()), about(self.total))
    }
}

/// Bytes as people add them up: GiB with one digit, MiB below one GiB.
pub(crate) fn about(bytes: u64) -> String {
    let tenths = |shift: u32| bytes.saturating_mul(10).saturating_add(1 << (shift - 1)) >> shift;
    let (unit, shift) = if bytes >= 1 << 30 { ("GiB", 30) } else { ("MiB", 20) };
    match tenths(shift) {
        whole if whole.is_multiple_of(10) => format!("{} {unit}", whole / 10),
        tenths => format!("{}.{} {unit}", tenths / 10, tenths % 10),
    }
}

/// A page's size as people and modules write it: `2M`, `1G`.
pub(crate) fn page_text(bytes: u64) -> String {
    let text = crate::shape::size_text(bytes);
    [(" KiB", "K"), (" MiB", "M"), (" GiB", "G")]
        .iter()
        .fold(text, |text, (long, short)| text.replace(long, short))
}

/// The ways out of a sum that is too large.
const WAY_OUT: &str = "ask for fewer huge pages, a smaller osd_memory_target or smaller guests";

/// Adds the risk of promising more memory than the host has, where a change makes the sum grow beyond it; and what
/// could not be seen.
///
/// # Errors
/// [`Stop::Unread`].
pub(crate) fn judge(facts: &Facts, asked: &Asked, change: &mut Change) -> Result<(), Stop> {
    if change.steps.is_empty() {
        return Ok(());
    }
    let (before, after) = (seen::budget(facts, &Asked::default())?, seen::budget(facts, asked)?);
    if after.total == 0 {
        change.notes.push("memory: how much this host has cannot be read, so nothing is judged".to_owned());
        return Ok(());
    }
    if after.sum() <= before.sum() {
        return Ok(());
    }
    if after.is_over() {
        let why = format!(
            "more memory is promised than this host has: {}{}; {WAY_OUT}",
            after.words(),
            not_counted(&after.unknown)
        );
        change.risks.push(Risk { name: RiskName::Memory, why });
    } else if !after.unknown.is_empty() {
        change.notes.push(format!(
            "memory: {}, {} promised of {}",
            after.unknown.join("; "),
            about(after.sum()),
            about(after.total)
        ));
    }
    Ok(())
}

fn not_counted(unknown: &[String]) -> String {
    if unknown.is_empty() { String::new() } else { format!(", and {}", unknown.join("; ")) }
}
