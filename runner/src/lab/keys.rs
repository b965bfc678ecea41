//! SSH keys of a lab: one for the client, one for each host, made anew for each lab.
use super::failed;
use crate::diagnostic::Diagnostic;
use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, PrivateKey};

/// A key pair in OpenSSH's formats.
pub(super) struct Pair {
    /// The private key file's text.
    pub private: String,
    /// Type and key of the public part, without a comment.
    pub public: String,
}

/// Makes an ed25519 pair.
pub(super) fn pair() -> Result<Pair, Box<Diagnostic>> {
    let made = PrivateKey::random(&mut rand::rng(), Algorithm::Ed25519).and_then(|key| {
        Ok(Pair {
            private: key.to_openssh(LineEnding::LF)?.to_string(),
            public: key.public_key().to_openssh()?,
        })
    });
    made.map_err(|error| failed("make an SSH key")(std::io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_ed25519_and_never_alike() {
        let (one, other) = (pair().unwrap(), pair().unwrap());
        assert!(one.private.starts_with("-----BEGIN OPENSSH PRIVATE KEY-----\n"));
        assert!(one.public.starts_with("ssh-ed25519 "));
        assert_ne!(one.public, other.public);
    }
}
