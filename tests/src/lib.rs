//! Shared beds of the tests.

pub mod sshd;
