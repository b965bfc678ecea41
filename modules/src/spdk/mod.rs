//! SPDK: disks given to a target in user space, and the target with what it exports to guests.
mod address;
mod cores;
mod setup;
mod vhost;

pub use setup::SpdkSetup;
pub use vhost::SpdkVhost;
