//! Probe, plan, execute, verify.
