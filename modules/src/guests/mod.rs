//! Modules on guests: domains of libvirt, and QEMU where people start it themselves.
mod libvirt_domain;
mod process;
mod qemu_args;
mod virsh;

pub use libvirt_domain::LibvirtDomain;
pub use qemu_args::QemuArgs;
