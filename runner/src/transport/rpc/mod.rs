//! JSON-RPC with who serves a socket on a host: through SSH, on this machine, or by a program where another user acts.
mod client;
mod fault;
mod frame;
mod pipe;
mod program;

pub use client::Client;
pub use fault::Fault;
pub use frame::{Answers, Garbage};
pub use pipe::NotOpened;
