//! The sh protocol on this machine's dash, bash and busybox ash.
mod floods;
mod forks;
mod frames;
mod lifetime;
mod uploads;
mod values;

use std::sync::Arc;
use tunerun::transport::endpoint::Endpoint;
use tunerun::transport::{Answer, Connection, Identity, NoSecrets, Script};

/// All interpreters that the protocol promises to work on.
pub const INTERPRETERS: [&str; 3] = ["dash", "bash", "busybox sh"];

/// A connection to this machine by one interpreter.
pub async fn open(interpreter: &str) -> Connection {
    let mut endpoint = Endpoint::local("here");
    endpoint.interpreter = interpreter.to_owned();
    Connection::open(&endpoint, Arc::new(NoSecrets)).await.unwrap()
}

/// Runs a script as the login user.
pub async fn run(connection: &Connection, text: &str) -> Answer {
    connection.run(&Identity::Login, &Script::new(text)).await.unwrap_or_else(|error| panic!("{error}"))
}
