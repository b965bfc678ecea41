//! Cards, queues and links of real hosts: real `ethtool` on real veth cards, and changes that really cut the link.
#[path = "../lab/bed.rs"]
#[expect(dead_code, reason = "the lab's own tests use all of it")]
mod bed;
mod cpus;
mod cut;
mod offload;
mod queues;
mod scripts;
mod stage;
mod timer;
mod tuned;
