//! The language: from YAML with places to plays, blocks, tasks and roles.
//!
//! [`Loader::load`] gives a whole [`Playbook`] or every problem in it, before any host is contacted. What tasks inherit
//! is already resolved in them; imports are replaced by what they import; includes with a literal name are loaded and
//! checked too, those with a template are loaded by the planner through [`Loader::included_tasks`] and
//! [`Loader::included_role`].
mod action;
pub mod arguments;
pub mod coerce;
mod expect;
mod fields;
pub mod files;
mod freeform;
mod handlers;
mod include;
pub mod keywords;
pub mod lints;
mod loader;
mod loops;
pub mod meanings;
mod play;
mod role;
pub mod rollout;
pub mod rungs;
pub mod settings;
pub mod tags;
mod task;
#[cfg(test)]
mod tests;
pub mod tree;
pub mod vocabulary;

pub use arguments::{Places, arguments};
pub use expect::{Expectation, Worth};
pub use fields::{boolean, is_template};
pub use files::{Disk, Files, Memory, Overlay};
pub use handlers::visit;
pub use loader::Loader;
pub use role::Role;
pub use settings::{Layer, LayerKind, Settings, Waiver};
pub use tags::Selection;
pub use tree::*;
pub use vocabulary::{Known, Vocabulary};
