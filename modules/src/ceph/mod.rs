//! Ceph: options, connections, flags, restarts, pools, clients and images of a cluster.
pub mod answers;
mod ceph_auth;
mod ceph_config;
mod ceph_connections;
mod ceph_flag;
mod ceph_msgr_mode;
mod ceph_osd_restart;
mod ceph_pool;
pub mod cluster;
mod rbd_image;

pub use ceph_auth::CephAuth;
pub use ceph_config::CephConfig;
pub use ceph_connections::CephConnections;
pub use ceph_flag::CephFlag;
pub use ceph_msgr_mode::CephMsgrMode;
pub use ceph_osd_restart::CephOsdRestart;
pub use ceph_pool::CephPool;
pub use cluster::{Cluster, Shell};
pub use rbd_image::RbdImage;
