//! A real Ceph cluster on loopback: options set, seen at daemons, refused, shared by many hosts, and taken back.
mod bed;
mod cluster;
mod many;
mod options;
mod quorum;
mod refused;
