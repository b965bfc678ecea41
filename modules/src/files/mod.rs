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
pub(crate) mod place;
mod replace;
mod slurp;
mod stat;
mod template;
pub(crate) mod text;
pub(crate) mod udev;

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

use crate::argument::yes;

fn is_false(value: &bool) -> bool {
    !*value
}

fn is_true(value: &bool) -> bool {
    *value
}

#[cfg(test)]
mod tests;
