//! The network: what a card does by itself, its queues, its interrupts, bridges and taps.
mod bridge_tap;
pub(crate) mod card;
pub(crate) mod features;
pub(crate) mod interrupts;
mod irq_affinity;
mod nic_offload;
mod nic_queues;
pub(crate) mod owner;

pub use bridge_tap::BridgeTap;
pub use irq_affinity::IrqAffinity;
pub use nic_offload::NicOffload;
pub use nic_queues::NicQueues;
