//! Passwords and passphrases: never printed, wiped when dropped, asked for through one trait.
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroize;

/// A password or a passphrase. Its `Debug` shows nothing; the memory is wiped when the last copy goes.
#[derive(Clone)]
pub struct Secret(Arc<Wiped>);

struct Wiped(String);

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl Secret {
    /// Takes a text in; the caller's own copy is the caller's concern.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Arc::new(Wiped(text.into())))
    }

    /// The text itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.0 == other.0.0
    }
}

impl Eq for Secret {}

impl std::hash::Hash for Secret {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.0.hash(state);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret(…)")
    }
}

/// What a secret is wanted for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SecretRequest {
    /// The passphrase of an encrypted private key file.
    Passphrase {
        /// The key file.
        path: String,
    },
    /// The login password of a user on a host.
    Password {
        /// Inventory name of the host.
        host: String,
        /// The login user.
        user: String,
    },
    /// The password that sudo or su asks for.
    Become {
        /// Inventory name of the host.
        host: String,
        /// The user to become.
        user: String,
    },
}

/// Where secrets come from that no variable gave: a prompt, an askpass program, nothing.
pub trait Secrets: Send + Sync {
    /// The secret, or nothing if nobody can be asked. It may block: it is called on a blocking thread.
    fn ask(&self, request: &SecretRequest) -> Option<Secret>;
}

/// Has no secrets: for tests, CI and pipes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl Secrets for NoSecrets {
    fn ask(&self, _request: &SecretRequest) -> Option<Secret> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(…)");
    }
}
