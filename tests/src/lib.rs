//! Shared beds of the tests.

pub mod program;
pub mod spdk;
pub mod sshd;
pub mod vm;
