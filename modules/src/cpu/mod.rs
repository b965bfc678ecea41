//! The processors: which of them serve what.
mod cpu_affinity;
mod cpu_isolation;
mod smt;
pub(crate) mod topology;
mod tuned_profile;

pub use cpu_affinity::CpuAffinity;
pub use cpu_isolation::CpuIsolation;
pub use smt::Smt;
pub use tuned_profile::TunedProfile;
