//! The vocabulary of tunerun and its typed modules. Pure and synchronous: nothing here can touch a host.
//!
//! A module names what must be read, and turns what was seen into a change made of data. Only the engine acts,
//! only on data, and only after the way back is on disk.

mod argument;
mod command;
mod files;
pub mod fold;
pub mod host;
mod hugepages;
pub mod kernel_args;
mod manual;
mod modprobe;
mod module;
mod package;
mod ping;
pub mod programs;
mod reboot;
pub mod recovery;
pub mod regex;
pub mod setup;
pub mod shape;
mod sysctl;
mod sysfs;
mod systemd;
mod text_file;
mod tmpfiles;
#[cfg(test)]
mod trial;
pub mod vocabulary;
mod wait_for;

pub use argument::{Names, Scalar};
pub use command::answered;
pub use files::{Mode, TreeEntry, TreeKind};
pub use module::{Entry, Module, Planner, Sample, Scope, find};
pub use setup::{FACTS, Fact, fact_reads, fact_value};

/// All modules, in the order of their names.
pub const ALL: &[Entry] = &[
    Entry::of::<package::Apt>(),
    Entry::of::<files::Blockinfile>(),
    Entry::of::<command::Command>(),
    Entry::of::<files::Copy>(),
    Entry::of::<package::Dnf>(),
    Entry::of::<files::File>(),
    Entry::of::<files::Find>(),
    Entry::of::<hugepages::Hugepages>(),
    Entry::of::<files::IniFile>(),
    Entry::of::<kernel_args::KernelArgs>(),
    Entry::of::<files::Lineinfile>(),
    Entry::of::<manual::Manual>(),
    Entry::of::<modprobe::Modprobe>(),
    Entry::of::<package::Package>(),
    Entry::of::<package::PackageFacts>(),
    Entry::of::<ping::Ping>(),
    Entry::of::<reboot::Reboot>(),
    Entry::of::<files::Replace>(),
    Entry::of::<command::Script>(),
    Entry::of::<systemd::Service>(),
    Entry::of::<systemd::ServiceFacts>(),
    Entry::of::<setup::Setup>(),
    Entry::of::<command::Shell>(),
    Entry::of::<files::Slurp>(),
    Entry::of::<files::Stat>(),
    Entry::of::<sysctl::Sysctl>(),
    Entry::of::<sysfs::Sysfs>(),
    Entry::of::<systemd::SystemdUnit>(),
    Entry::of::<files::Template>(),
    Entry::of::<wait_for::WaitFor>(),
];
