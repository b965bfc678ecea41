//! Ceph: a cluster's options, as they are stored and as its daemons hold them.
pub mod answers;
mod ceph_config;
pub mod cluster;

pub use ceph_config::CephConfig;
pub use cluster::{Cluster, Shell};
