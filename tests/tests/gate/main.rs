//! What the gate promises: its operating characteristics on simulated noise, against what people use today, and its
//! benchmarks' drivers on real outputs. All of it goes through the code that decides for real, with fixed seeds.
mod anchors;
mod attacks;
mod boots;
mod calibration;
mod ceph_outputs;
mod fio_outputs;
mod gaussian;
mod models;
mod network_outputs;
mod noise;
mod other_outputs;
mod outputs;
mod rates;
mod trace;
