//! Events folded into what people and programs read.

pub mod diagnostic;
pub mod event;
