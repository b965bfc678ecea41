//! Waves, guards, promotion and abortion of a rollout.
pub mod guards;
