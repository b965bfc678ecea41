//! Probe, plan, execute, verify.
pub mod batch;
pub mod carrier;
pub mod probe;
pub mod target;
pub mod vocabulary;
pub mod walk;
