//! A real Ceph cluster on loopback: options set, seen at daemons, refused, shared by many hosts, and taken back.
mod bed;
mod cluster;
mod flags;
mod guards;
mod judged;
#[path = "../lab/bed.rs"]
#[expect(dead_code, reason = "the lab's own tests use all of it")]
mod lab;
mod many;
mod masks;
mod modes;
mod options;
mod parts;
mod quorum;
mod refused;
mod restarts;
mod wire;
