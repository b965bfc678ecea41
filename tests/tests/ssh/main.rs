//! Connections to a real OpenSSH server.
mod becoming;
mod death;
mod host_keys;
mod logins;
mod roads;
mod speed;
mod work;

use std::sync::Arc;
use tests::sshd::Sshd;
use tunerun::transport::endpoint::SshWay;
use tunerun::transport::{
    Answer, Connection, Identity, LinkError, NoSecrets, Script, Secret, SecretRequest, Secrets,
};

/// Connects with no secrets.
pub async fn open(way: SshWay) -> Result<Connection, LinkError> {
    Connection::open(&Sshd::endpoint(way), Arc::new(NoSecrets)).await
}

/// Connects; must succeed.
pub async fn connect(way: SshWay) -> Connection {
    open(way).await.unwrap_or_else(|error| panic!("{error}"))
}

/// Connects; must fail. The words of the error and its help.
pub async fn refused(way: SshWay) -> String {
    match open(way).await {
        Ok(_) => panic!("it connected"),
        Err(error) => format!("{error}\n{}", error.help().unwrap_or_default()),
    }
}

/// Runs a script as the login user.
pub async fn run(connection: &Connection, text: &str) -> Answer {
    connection.run(&Identity::Login, &Script::new(text)).await.unwrap_or_else(|error| panic!("{error}"))
}

/// Who the login user is.
pub async fn whoami(connection: &Connection) -> String {
    run(connection, "id -un").await.rest.stdout.text().trim().to_owned()
}

/// Has one secret for every question.
pub struct OneSecret(pub &'static str);

impl Secrets for OneSecret {
    fn ask(&self, _request: &SecretRequest) -> Option<Secret> {
        Some(Secret::new(self.0))
    }
}
