//! Probe, plan, execute, verify.
pub mod batch;
pub mod carrier;
pub mod probe;
