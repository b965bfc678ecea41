//! The only seam to a host: SSH, a local shell, the lab. Scripts go out as frames, answers come back as sections.
//!
//! A [`Connection`] is opened from an [`Endpoint`](endpoint::Endpoint). It keeps one long-lived interpreter for each
//! [`Identity`]; a [`Script`] is one frame and costs one round trip, however many sections it holds.

mod connection;
mod counters;
pub mod endpoint;
mod error;
mod exec;
mod identity;
pub mod known_hosts;
mod local;
pub mod rpc;
mod secret;
pub mod shell;
mod ssh;
mod tether;
pub mod ssh_config;
mod wire;

pub use connection::Connection;
pub use counters::{Counters, Tally};
pub use error::{LinkError, LinkErrorKind};
pub use identity::{Become, BecomeMethod, Identity};
pub use secret::{NoSecrets, Secret, SecretRequest, Secrets};
pub(crate) use tether::Tethered;
pub use shell::{Answer, Captured, Script, Section, Shell, Stream};
