//! The words that modules and the engine share: reads, facts, steps, changes.
mod bytes;
mod change;
mod claim;
mod facts;
mod image;
mod path;
mod prediction;
mod read;
mod row;
mod seen;
mod step;
mod stop;
mod wait;

pub use bytes::{Bytes, Digest};
pub use change::{Activation, Change, Diff, Effect, Mark, Risk, RiskName, Token};
pub use claim::Claim;
pub use facts::{Facts, Identity, Look};
pub use image::{Content, Image, Meta, Owner};
pub use path::HostPath;
pub(crate) use prediction::coupled;
pub use prediction::{glob_matches, touches};
pub use read::{Read, TEXT_LIMIT, Want};
pub use row::Row;
pub use seen::{Body, Kind, Node, Output, Seen};
pub use step::{Act, Back, Match, Spoil, Step};
pub use stop::{Refusal, Stop, TaskId};
pub use wait::{Goal, Presence, Wait};
