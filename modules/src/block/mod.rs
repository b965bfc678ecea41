//! Block devices: whether they are free to be taken, and how the kernel serves them.
pub(crate) mod device;
mod io_scheduler;
mod queue;
mod read_ahead;
mod rules;

pub use io_scheduler::IoScheduler;
pub use read_ahead::ReadAhead;
