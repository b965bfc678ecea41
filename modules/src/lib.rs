//! The vocabulary of tunerun and its typed modules. Pure and synchronous: nothing here can touch a host.
//!
//! A module names what must be read, and turns what was seen into a change made of data. Only the engine acts,
//! only on data, and only after the way back is on disk.

mod files;
pub mod fold;
pub mod host;
mod module;
pub mod programs;
pub mod recovery;
pub mod regex;
pub mod shape;
pub mod vocabulary;

pub use files::{Mode, TreeEntry, TreeKind};
pub use module::{Entry, Module, Planner, Sample, Scope, find};

/// All modules, in the order of their names.
pub const ALL: &[Entry] = &[
    Entry::of::<files::Blockinfile>(),
    Entry::of::<files::Copy>(),
    Entry::of::<files::File>(),
    Entry::of::<files::Find>(),
    Entry::of::<files::IniFile>(),
    Entry::of::<files::Lineinfile>(),
    Entry::of::<files::Replace>(),
    Entry::of::<files::Slurp>(),
    Entry::of::<files::Stat>(),
    Entry::of::<files::Template>(),
];
