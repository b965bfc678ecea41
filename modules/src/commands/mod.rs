//! `command`, `shell` and `script`: what a person wrote is run as it is.
mod call;
mod command;
mod script;
mod shell;
mod split;
#[cfg(test)]
mod tests;

pub use call::answered;
pub use command::Command;
pub use script::Script;
pub use shell::Shell;
pub(crate) use split::words as line_words;
