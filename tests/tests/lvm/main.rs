//! LVM, file systems, mounts and queues of block devices on real loop devices, by the real program.
//!
//! The kernel of a test machine may lack device-mapper: LVM works on its metadata alone then (`activation = 0`), which
//! is where groups, volumes, sizes and read-ahead live. Thin pools, which LVM makes only with the kernel, are written into
//! the metadata by hand here; making them for real is the virtual machine's part.
mod bed;
mod benchmarks;
mod conf;
mod files;
mod groups;
mod queues;
mod thin;
mod volumes;
