//! The RPC carrier: looks and acts over a socket on a host, compared and sent by the engine under the host's lock.
mod asking;
mod carrying;
mod split;

pub(crate) use asking::look;
pub(crate) use carrying::carry_out;
pub(crate) use split::{is_rpc, parts};
