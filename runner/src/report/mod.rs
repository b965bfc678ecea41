//! Events folded into what people and programs read.

pub mod diagnostic;
pub mod event;
pub mod paint;
pub mod plan;
pub mod reference;
pub mod terminal;
