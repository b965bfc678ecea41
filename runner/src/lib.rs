//! tunerun: a playbook runner for storage tuning. It plans first, applies what was seen, proves it, and can undo it.
//!
//! The library never prints, never exits and never reads the environment: that is left to the binary.

pub mod bench;
pub mod diagnostic;
pub mod engine;
pub mod gate;
pub mod inventory;
pub mod journal;
pub mod lab;
pub mod load;
pub mod lsp;
pub mod plan;
pub mod playbook;
pub mod report;
pub mod rollout;
pub mod source;
pub mod template;
pub mod transport;
pub mod trials;
pub mod vault;
pub mod yaml;
