//! Shared beds of the tests.

pub mod program;
pub mod sshd;
pub mod vm;
