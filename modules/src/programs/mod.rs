//! The visible tables of programs and RPC methods that tunerun may call: what reads, and what changes.
//! A new program is a row here, which a reviewer sees; what runs is made from the row, never from text.
mod ceph;
mod ceph_daemons;
mod ceph_osds;
mod ceph_parts;
mod ceph_script;
mod disks;
mod guests;
mod interrupts;
mod lvm;
mod measuring;
mod mutating;
mod reading;
pub mod rpc;

use crate::vocabulary::{HostPath, Row};

/// The tables of read-only programs, field by field.
pub const READING: &[&[Program]] = &[
    reading::READING,
    ceph::READING,
    ceph_daemons::READING,
    ceph_osds::READING,
    ceph_parts::READING,
    disks::READING,
    interrupts::READING,
    lvm::READING,
    measuring::READING,
];
/// The tables of programs that change something, field by field.
pub const MUTATING: &[&[Program]] = &[
    mutating::MUTATING,
    ceph::MUTATING,
    ceph_osds::MUTATING,
    ceph_parts::MUTATING,
    disks::MUTATING,
    interrupts::MUTATING,
    lvm::MUTATING,
];

/// Runs a script that comes by standard input: from a file of its own, so that its first line counts. The first
/// argument is the program that runs it, or empty.
const SCRIPT: &[&str] = &[
    "sh",
    "-c",
    "f=$(mktemp) || exit 125; trap 'rm -f \"$f\"' EXIT; cat >\"$f\" && chmod 700 \"$f\" || exit 125; by=$1; shift; \
     if [ -n \"$by\" ]; then $by \"$f\" \"$@\" </dev/null; else \"$f\" \"$@\" </dev/null; fi",
    "script",
];

/// One row of a table.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The row's name, used by [`Row::name`].
    pub name: &'static str,
    /// What it does, one sentence.
    pub about: &'static str,
    /// The words before the row's arguments; empty where the arguments are the whole command.
    pub words: &'static [&'static str],
    /// Folders and files that its answer follows from.
    pub reads: &'static [&'static str],
    /// Whether its answer is lost at a reboot.
    pub volatile: bool,
}

impl Program {
    /// A row whose answer follows from nothing that a file holds.
    pub(crate) const fn new(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self { name, about, words, reads: &[], volatile: true }
    }

    /// A row whose answer follows from what the kernel keeps below a path, and is lost at a reboot.
    pub(crate) const fn of_live_files(mut self, reads: &'static [&'static str]) -> Self {
        self.reads = reads;
        self
    }

    /// A row whose answer follows from files alone.
    pub(crate) const fn of_files(mut self, reads: &'static [&'static str]) -> Self {
        self.reads = reads;
        self.volatile = false;
        self
    }
}

/// The row with a name, in one of the tables.
pub fn program(name: &str) -> Option<&'static Program> {
    reading().chain(mutating()).find(|program| program.name == name)
}

/// All rows that only look.
pub fn reading() -> impl Iterator<Item = &'static Program> {
    READING.iter().copied().flatten()
}

/// All rows that change something.
pub fn mutating() -> impl Iterator<Item = &'static Program> {
    MUTATING.iter().copied().flatten()
}

/// Whether a row is of the table of read-only programs.
pub fn is_reading(name: &str) -> bool {
    reading().any(|program| program.name == name)
}

/// The words to run for a row.
///
/// # Errors
/// Names a row that no table has, and an empty command.
pub fn command(row: &Row) -> Result<Vec<String>, String> {
    let program =
        program(&row.name).ok_or_else(|| format!("no table of programs has a row `{}`", row.name))?;
    let words: Vec<String> =
        program.words.iter().map(|word| (*word).to_owned()).chain(row.args.iter().cloned()).collect();
    if words.first().is_none_or(String::is_empty) {
        return Err(format!("the row `{}` was given no command", row.name));
    }
    Ok(words)
}

/// Whether the answer of a row may follow from a path.
pub(crate) fn reads_path(name: &str, path: &HostPath) -> bool {
    program(name).is_some_and(|program| {
        program
            .reads
            .iter()
            .any(|read| HostPath::new(read).is_ok_and(|read| path.is_within(&read) || read.is_within(path)))
    })
}

/// Whether the answer of a row is lost at a reboot.
pub(crate) fn is_volatile(name: &str) -> bool {
    program(name).is_none_or(|program| program.volatile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_over_both_tables() {
        let mut names: Vec<_> = reading().chain(mutating()).map(|program| program.name).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn rows_become_words() {
        let row = Row::new("systemctl-show", ["ceph-osd@1.service"]);
        assert_eq!(command(&row).unwrap().last().unwrap(), "ceph-osd@1.service");
        assert!(command(&Row::new("rm", ["-rf", "/"])).unwrap_err().contains("`rm`"));
        assert!(command(&Row::new("command", Vec::<String>::new())).is_err());
    }
}
