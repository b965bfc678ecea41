//! The `tunerun` command.
fn main() {}
