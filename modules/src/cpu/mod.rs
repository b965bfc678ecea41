//! The processors: which of them serve what.
pub(crate) mod topology;
