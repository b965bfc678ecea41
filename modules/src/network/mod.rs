//! The network: what a card does by itself, its queues, its interrupts, bridges and taps.
pub(crate) mod card;
mod features;
pub(crate) mod interrupts;
mod irq_affinity;
mod nic_offload;
mod nic_queues;

pub use irq_affinity::IrqAffinity;
pub use nic_offload::NicOffload;
pub use nic_queues::NicQueues;
