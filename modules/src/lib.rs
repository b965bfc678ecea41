//! The vocabulary of tunerun and its typed modules. Pure and synchronous: nothing here can touch a host.
//!
//! A module names what must be read, and turns what was seen into a change made of data. Only the engine acts,
//! only on data, and only after the way back is on disk.

// What everything is said in.
mod argument;
mod module;
pub mod programs;
pub mod regex;
pub mod shape;
pub mod vocabulary;

// What is made of changes, and a host in memory to try them on.
pub mod fold;
pub mod host;
pub mod recovery;
#[cfg(test)]
mod trial;

// The modules, room by room.
pub mod ceph;
mod commands;
mod files;
mod kernel;
mod packages;
mod services;
pub mod setup;
mod waiting;

pub use argument::{Names, Scalar};
pub use commands::answered;
pub use files::{Mode, TreeEntry, TreeKind};
pub use kernel::kernel_args;
pub use module::{Entry, Module, Planner, Sample, Scope, find};
pub use setup::{FACTS, Fact, fact_reads, fact_value};

/// All modules, in the order of their names.
pub const ALL: &[Entry] = &[
    Entry::of::<packages::Apt>(),
    Entry::of::<files::Blockinfile>(),
    Entry::of::<ceph::CephAuth>(),
    Entry::of::<ceph::CephConfig>(),
    Entry::of::<ceph::CephConnections>(),
    Entry::of::<ceph::CephFlag>(),
    Entry::of::<ceph::CephMsgrMode>(),
    Entry::of::<ceph::CephOsdRestart>(),
    Entry::of::<ceph::CephPool>(),
    Entry::of::<commands::Command>(),
    Entry::of::<files::Copy>(),
    Entry::of::<packages::Dnf>(),
    Entry::of::<files::File>(),
    Entry::of::<files::Find>(),
    Entry::of::<kernel::Hugepages>(),
    Entry::of::<files::IniFile>(),
    Entry::of::<kernel::KernelArgs>(),
    Entry::of::<files::Lineinfile>(),
    Entry::of::<waiting::Manual>(),
    Entry::of::<kernel::Modprobe>(),
    Entry::of::<packages::Package>(),
    Entry::of::<packages::PackageFacts>(),
    Entry::of::<waiting::Ping>(),
    Entry::of::<ceph::RbdImage>(),
    Entry::of::<waiting::Reboot>(),
    Entry::of::<files::Replace>(),
    Entry::of::<commands::Script>(),
    Entry::of::<services::Service>(),
    Entry::of::<services::ServiceFacts>(),
    Entry::of::<setup::Setup>(),
    Entry::of::<commands::Shell>(),
    Entry::of::<files::Slurp>(),
    Entry::of::<files::Stat>(),
    Entry::of::<kernel::Sysctl>(),
    Entry::of::<kernel::Sysfs>(),
    Entry::of::<services::SystemdUnit>(),
    Entry::of::<files::Template>(),
    Entry::of::<waiting::WaitFor>(),
];
