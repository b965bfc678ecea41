//! Services: whether systemd's units run, start at boot or are masked, and their drop-ins.
pub(crate) mod acts;
mod drop_in;
mod service;
mod service_facts;
mod systemd_unit;
pub(crate) mod unit;

pub use drop_in::DropIn;
pub use service::Service;
pub use service_facts::ServiceFacts;
pub use systemd_unit::SystemdUnit;

pub(crate) use unit::RUNNING;
