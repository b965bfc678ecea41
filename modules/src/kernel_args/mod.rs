//! Kernel arguments: what stands on the command line, who wrote it there, and how to change it for good.

pub mod amend;
pub mod environment_block;
pub mod grub;
pub mod layout;
pub mod line;
pub mod lints;
pub mod memparse;
pub mod plain;
pub mod pools;
pub mod shell;
pub mod standing;
pub mod table;
pub mod token;

#[cfg(test)]
mod tests;
