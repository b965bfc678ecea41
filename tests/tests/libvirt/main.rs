//! Domains of a real libvirt and a real QEMU: one libvirtd a test, in namespaces of its own.
mod bed;
mod cycles;
mod definitions;
mod guests;
mod qemu;
