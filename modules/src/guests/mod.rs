//! Modules on guests: domains of libvirt, and QEMU where people start it themselves.
mod libvirt_domain;
mod process;
mod virsh;

pub use libvirt_domain::LibvirtDomain;
