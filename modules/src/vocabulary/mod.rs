//! The words that modules and the engine share: reads, facts, steps, changes.
mod bytes;
mod change;
mod claim;
mod evidence;
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
pub use change::{
    Activation, Change, CycleTime, Diff, Effect, GuestCycle, Mark, Risk, RiskName, Token,
};
pub use claim::Claim;
pub use evidence::{Evidence, Standing};
pub(crate) use facts::link_target;
pub use facts::{Facts, Identity, Look};
pub use image::{Content, Image, Meta, Owner};
pub use path::HostPath;
pub(crate) use prediction::coupled;
pub(crate) use prediction::listed_folder;
pub use prediction::{glob_matches, touches};
pub use read::{Read, TEXT_LIMIT, Want};
pub use row::Row;
pub use seen::{Body, Kind, Node, Output, Seen};
pub use step::{Act, Back, Match, Spoil, Step};
pub use stop::{Refusal, Stop, TaskId, all, missing};
pub use wait::{Goal, Presence, Wait};
