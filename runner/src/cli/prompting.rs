//! Passwords and passphrases: given beforehand, or asked for.
use super::term;
use tunerun::transport::{Secret, SecretRequest, Secrets};

/// Passwords and passphrases that people are asked for.
pub struct Prompting {
    /// The password of the connection, where it was asked for beforehand.
    pub connection: Option<Secret>,
}

impl Secrets for Prompting {
    fn ask(&self, request: &SecretRequest) -> Option<Secret> {
        if let (SecretRequest::Password { .. }, Some(password)) = (request, &self.connection) {
            return Some(password.clone());
        }
        let question = match request {
            SecretRequest::Passphrase { path } => format!("Passphrase of {path}"),
            SecretRequest::Password { host, user } => format!("Password of {user} on {host}"),
            SecretRequest::Become { host, user } => format!("Password to become {user} on {host}"),
        };
        term::ask_secret(&question).map(Secret::new)
    }
}
