//! RPC over a socket on a host, and SPDK's modules: recorded answers of a real target, its faults, and real plays.
mod bed;
mod binding;
mod cases;
mod crashes;
mod faults;
mod lab;
mod model;
mod play;
mod roads;
mod unit;
