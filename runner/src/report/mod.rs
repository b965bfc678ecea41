//! Events folded into what people and programs read.

pub mod arguments;
pub mod compare;
pub mod cost;
pub mod coverage;
pub mod diagnosis;
pub mod diagnostic;
pub mod draft;
pub mod drift;
pub mod event;
pub mod evidence;
pub mod history;
pub mod html;
pub mod junit;
pub mod ladder;
pub mod live;
pub mod manual;
pub mod markdown;
pub mod paint;
pub mod plan;
pub mod progress;
pub mod prometheus;
pub mod reference;
pub mod sarif;
pub mod schema;
pub mod terminal;
pub mod trials;
