//! Checks the host's key while the connection is made, and says which algorithms to ask for.
use crate::transport::endpoint::{NewKeys, SshWay};
use crate::transport::error::LinkErrorKind;
use crate::transport::known_hosts::{self, KnownHosts, Verdict};
use russh::client::Handler;
use russh::keys::{Algorithm, HashAlg, PublicKey, PublicKeyOrCertificate};
use russh::{Preferred, cipher, kex};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// Lets a host in whose key is known.
pub(crate) struct Gate {
    known: KnownHosts,
    name: String,
    port: u16,
    new_keys: NewKeys,
    file: PathBuf,
    refusal: Refusal,
}

/// Why the gate did not open, for the one who waits outside of russh.
#[derive(Clone, Default)]
pub(crate) struct Refusal(Arc<Mutex<Option<LinkErrorKind>>>);

impl Refusal {
    pub(crate) fn take(&self) -> Option<LinkErrorKind> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, kind: LinkErrorKind) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(kind);
    }
}

impl Gate {
    /// Reads the known_hosts files of a way.
    pub(crate) fn new(way: &SshWay) -> Self {
        let files = way.known_hosts.iter().chain(&way.global_known_hosts);
        Self {
            known: KnownHosts::read(files.map(PathBuf::as_path)),
            name: way.host_key_alias.clone().unwrap_or_else(|| way.address.clone()),
            // OpenSSH looks an alias up without a port.
            port: if way.host_key_alias.is_some() { 22 } else { way.port },
            new_keys: way.new_keys,
            file: way.known_hosts.first().cloned().unwrap_or_default(),
            refusal: Refusal::default(),
        }
    }

    /// Damaged lines of the known_hosts files.
    pub(crate) fn warnings(&self) -> &[String] {
        self.known.warnings()
    }

    pub(crate) fn refusal(&self) -> Refusal {
        self.refusal.clone()
    }

    /// curve25519 first (the hybrid costs more than it gives here), AES-GCM first (half the CPU of ChaCha where the
    /// processor has AES), the host's known key types first.
    pub(crate) fn preferred(&self) -> Preferred {
        let mut kex: Vec<kex::Name> = vec![kex::CURVE25519, kex::CURVE25519_PRE_RFC_8731];
        let rest = Preferred::DEFAULT.kex;
        kex.extend(
            rest.iter().filter(|name| ![kex::CURVE25519, kex::CURVE25519_PRE_RFC_8731].contains(name)),
        );
        let cipher = vec![
            cipher::AES_256_GCM,
            cipher::AES_128_GCM,
            cipher::CHACHA20_POLY1305,
            cipher::AES_256_CTR,
            cipher::AES_192_CTR,
            cipher::AES_128_CTR,
        ];
        let known = self.known.algorithms(&self.name, self.port);
        let is_known = |algorithm: &Algorithm| {
            known.iter().any(|known| match (known, algorithm) {
                (Algorithm::Rsa { .. }, Algorithm::Rsa { .. }) => true,
                (known, algorithm) => known == algorithm,
            })
        };
        // `ssh-rsa` with SHA-1 is left out.
        let all: Vec<Algorithm> = Preferred::DEFAULT
            .key
            .iter()
            .filter(|key| **key != Algorithm::Rsa { hash: None })
            .cloned()
            .collect();
        let (mut key, others): (Vec<_>, Vec<_>) = all.iter().cloned().partition(is_known);
        key.extend(others);
        let certificates = if self.known.has_authority(&self.name, self.port) { all } else { Vec::new() };
        Preferred {
            kex: Cow::Owned(kex),
            cipher: Cow::Owned(cipher),
            key: Cow::Owned(key),
            host_key_certificates: Cow::Owned(certificates),
            ..Preferred::DEFAULT
        }
    }

    fn admit(&self, shown: &PublicKeyOrCertificate) -> Result<(), LinkErrorKind> {
        let key = shown.public_key();
        let (name, port) = (self.name.as_str(), self.port);
        let verdict = match shown {
            PublicKeyOrCertificate::PublicKey { .. } => self.known.judge(name, port, &key),
            PublicKeyOrCertificate::Certificate(certificate) => {
                self.known.judge_certificate(name, port, certificate, SystemTime::now())
            }
        };
        let fingerprint = key.fingerprint(HashAlg::Sha256).to_string();
        let algorithm = key.algorithm().as_str().to_owned();
        match verdict {
            Verdict::Known => Ok(()),
            Verdict::Unknown if self.new_keys == NewKeys::Accept => self.write_down(&key),
            Verdict::Unknown => Err(LinkErrorKind::HostKeyUnknown {
                fingerprint,
                algorithm,
                file: self.file.display().to_string(),
                name: known_hosts::lookup_name(name, port),
            }),
            Verdict::Changed { known_at } => {
                Err(LinkErrorKind::HostKeyChanged { fingerprint, algorithm, known_at })
            }
            Verdict::Revoked { known_at } => Err(LinkErrorKind::HostKeyRevoked { fingerprint, known_at }),
            Verdict::BadCertificate { why } => Err(LinkErrorKind::HostCertificate(why)),
        }
    }

    fn write_down(&self, key: &PublicKey) -> Result<(), LinkErrorKind> {
        if self.file == Path::new("") {
            return Err(LinkErrorKind::Config("accept-new needs a known_hosts file of the user".into()));
        }
        let name = known_hosts::lookup_name(&self.name, self.port);
        known_hosts::append(&self.file, &name, key).map_err(|error| {
            LinkErrorKind::Config(format!(
                "the new host key cannot be written to {}: {error}",
                self.file.display()
            ))
        })
    }
}

impl Handler for Gate {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        match self.admit(shown) {
            Ok(()) => Ok(true),
            Err(kind) => {
                self.refusal.set(kind);
                Ok(false)
            }
        }
    }
}
