//! Probe, plan, execute, verify.
pub mod batch;
pub mod carrier;
pub mod doubles;
pub mod fleet;
pub mod links;
pub mod marks;
pub mod next;
pub mod probe;
pub mod recovery;
mod rpc;
pub mod run;
pub mod stopping;
pub mod target;
pub mod undo;
pub mod vocabulary;
pub mod walk;
