//! `/etc/default/grub` and its drop-ins read as a POSIX shell would, without running anything.

pub mod edit;
pub mod lexer;
pub mod script;
pub mod value;
mod walk;

#[cfg(test)]
mod tests;
