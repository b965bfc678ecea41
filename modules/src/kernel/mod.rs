//! The kernel's settings: values below /proc and /sys, loadable modules, huge pages and the command line.
mod hugepages;
pub mod kernel_args;
mod modprobe;
pub(crate) mod sysctl;
mod sysfs;
mod tmpfiles;

pub use hugepages::Hugepages;
pub use kernel_args::KernelArgs;
pub use modprobe::Modprobe;
pub use sysctl::Sysctl;
pub use sysfs::Sysfs;
