//! Modules on files and folders: their existence, content, mode and owners, edits of their text, looks at them.
mod attributes;
mod blockinfile;
mod copy;
mod edit;
mod file;
mod find;
mod ini_file;
mod lineinfile;
mod mode;
mod place;
mod replace;
mod slurp;
mod stat;
mod template;

pub use blockinfile::Blockinfile;
pub use copy::{Copy, TreeEntry, TreeKind};
pub use file::File;
pub use find::Find;
pub use ini_file::IniFile;
pub use lineinfile::Lineinfile;
pub use mode::Mode;
pub use replace::Replace;
pub use slurp::Slurp;
pub use stat::Stat;
pub use template::Template;

use crate::vocabulary::{Change, Read, Stop};

/// The reads of a module whose plan names what it misses: what is planned with, is read, and nothing else.
pub(crate) fn missing(plan: Result<Change, Stop>) -> Vec<Read> {
    match plan {
        Err(Stop::Unread(reads)) => reads,
        _ => Vec::new(),
    }
}

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_true(value: &bool) -> bool {
    *value
}

fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests;
