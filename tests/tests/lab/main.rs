//! Hosts without hardware: real labs, started and ended on this machine.
mod bed;
mod booted;
mod demos;
mod isolation;
mod killed;
mod leftovers;
mod looking;
mod plain;
mod playing;
mod trial;
mod unprivileged;
