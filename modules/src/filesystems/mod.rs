//! File systems: made on empty devices, and mounted.
mod filesystem;
mod fstab;
mod mount;
mod options;

pub use filesystem::Filesystem;
pub use mount::Mount;
