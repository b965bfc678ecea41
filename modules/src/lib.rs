//! The vocabulary of tunerun and its typed modules. Pure and synchronous: nothing here can touch a host.
//!
//! A module names what must be read, and turns what was seen into a change made of data. Only the engine acts,
//! only on data, and only after the way back is on disk.

// What everything is said in.
mod argument;
pub mod coverage;
mod module;
pub mod programs;
pub mod regex;
pub mod shape;
pub mod vocabulary;
pub mod xml;

// What is made of changes, and a host in memory to try them on.
pub mod fold;
pub mod host;
pub mod recovery;
#[cfg(test)]
mod trial;

// The modules, room by room.
mod block;
mod budget;
mod capture;
pub mod ceph;
mod commands;
mod cpu;
mod diagnose;
mod draft;
mod files;
mod filesystems;
mod guests;
mod kernel;
mod lvm;
mod network;
mod packages;
mod services;
pub mod setup;
mod spdk;
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
    Entry::of::<network::BridgeTap>(),
    Entry::of::<capture::Capture>(),
    Entry::of::<ceph::CephAuth>(),
    Entry::of::<ceph::CephConfig>(),
    Entry::of::<ceph::CephConnections>(),
    Entry::of::<ceph::CephFlag>(),
    Entry::of::<ceph::CephMsgrMode>(),
    Entry::of::<ceph::CephOsdRestart>(),
    Entry::of::<ceph::CephPool>(),
    Entry::of::<commands::Command>(),
    Entry::of::<files::Copy>(),
    Entry::of::<cpu::CpuAffinity>(),
    Entry::of::<cpu::CpuIsolation>(),
    Entry::of::<diagnose::Diagnose>(),
    Entry::of::<packages::Dnf>(),
    Entry::of::<files::File>(),
    Entry::of::<filesystems::Filesystem>(),
    Entry::of::<files::Find>(),
    Entry::of::<kernel::Hugepages>(),
    Entry::of::<files::IniFile>(),
    Entry::of::<block::IoScheduler>(),
    Entry::of::<network::IrqAffinity>(),
    Entry::of::<kernel::KernelArgs>(),
    Entry::of::<guests::LibvirtDomain>(),
    Entry::of::<files::Lineinfile>(),
    Entry::of::<lvm::LvmConf>(),
    Entry::of::<lvm::LvmLv>(),
    Entry::of::<lvm::LvmPv>(),
    Entry::of::<lvm::LvmThinPool>(),
    Entry::of::<lvm::LvmVg>(),
    Entry::of::<waiting::Manual>(),
    Entry::of::<kernel::Modprobe>(),
    Entry::of::<filesystems::Mount>(),
    Entry::of::<network::NicOffload>(),
    Entry::of::<network::NicQueues>(),
    Entry::of::<packages::Package>(),
    Entry::of::<packages::PackageFacts>(),
    Entry::of::<waiting::Ping>(),
    Entry::of::<guests::QemuArgs>(),
    Entry::of::<ceph::RbdImage>(),
    Entry::of::<block::ReadAhead>(),
    Entry::of::<waiting::Reboot>(),
    Entry::of::<files::Replace>(),
    Entry::of::<commands::Script>(),
    Entry::of::<services::Service>(),
    Entry::of::<services::ServiceFacts>(),
    Entry::of::<setup::Setup>(),
    Entry::of::<commands::Shell>(),
    Entry::of::<files::Slurp>(),
    Entry::of::<cpu::Smt>(),
    Entry::of::<spdk::SpdkSetup>(),
    Entry::of::<spdk::SpdkVhost>(),
    Entry::of::<files::Stat>(),
    Entry::of::<kernel::Sysctl>(),
    Entry::of::<kernel::Sysfs>(),
    Entry::of::<services::SystemdUnit>(),
    Entry::of::<files::Template>(),
    Entry::of::<cpu::TunedProfile>(),
    Entry::of::<waiting::WaitFor>(),
];
