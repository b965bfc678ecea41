//! Domains of a real libvirt and a real QEMU: one libvirtd a test, in namespaces of its own.
mod backend;
mod bed;
mod cycles;
mod definitions;
mod gates;
mod guests;
mod pages;
mod policies;
mod qemu;
mod shared;
mod units;
