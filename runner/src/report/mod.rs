//! Events folded into what people and programs read.
