//! Private key files and their certificates.
use crate::transport::exec::Link;
use crate::transport::secret::{SecretRequest, Secrets};
use russh::keys::{Certificate, PrivateKey, PublicKey};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A key file that is there.
pub(super) struct KeyFile {
    pub path: PathBuf,
    /// Known without a passphrase where the format or a `.pub` file tells it.
    pub public: Option<PublicKey>,
    text: String,
}

impl KeyFile {
    /// Reads a key file. Nothing if it is not there.
    pub(super) fn read(path: &Path) -> Result<Option<Self>, String> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let public = match PrivateKey::from_openssh(&text) {
            Ok(key) => Some(key.public_key().clone()),
            // A public key in its place names a key of the agent.
            Err(_) => PublicKey::from_openssh(text.trim())
                .ok()
                .or_else(|| PublicKey::read_openssh_file(beside(path, ".pub")).ok()),
        };
        Ok(Some(Self { path: path.to_owned(), public, text }))
    }

    /// The private key, with its passphrase asked for where it is encrypted.
    pub(super) async fn unlock(&self, secrets: &Arc<dyn Secrets>) -> Result<Arc<PrivateKey>, String> {
        let shown = self.path.display();
        match russh::keys::decode_secret_key(&self.text, None) {
            Ok(key) => return Ok(Arc::new(key)),
            Err(russh::keys::Error::KeyIsEncrypted) => {}
            // Older formats do not tell encryption from damage.
            Err(error) if !self.text.contains("ENCRYPTED") => return Err(format!("{shown}: {error}")),
            Err(_) => {}
        }
        let request = SecretRequest::Passphrase { path: shown.to_string() };
        let Some(passphrase) = Link::ask(secrets, request).await else {
            return Err(format!("{shown}: it is encrypted, and there is no passphrase"));
        };
        let text = self.text.clone();
        // The key derivation takes a while by design.
        let unlock = tokio::task::spawn_blocking(move || {
            russh::keys::decode_secret_key(&text, Some(passphrase.reveal()))
        });
        match unlock.await {
            Ok(Ok(key)) => Ok(Arc::new(key)),
            _ => Err(format!("{shown}: the passphrase is wrong")),
        }
    }
}

/// The certificates beside key files, and others that are named.
pub(super) fn certificates(keys: &[KeyFile], named: &[PathBuf], notes: &mut Vec<String>) -> Vec<Certificate> {
    let beside = keys.iter().map(|key| beside(&key.path, "-cert.pub")).filter(|path| path.exists());
    let mut found = Vec::new();
    for path in named.iter().cloned().chain(beside) {
        match std::fs::read_to_string(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| Certificate::from_openssh(text.trim()).map_err(|error| error.to_string()))
        {
            Ok(certificate) => found.push(certificate),
            Err(why) => notes.push(format!("{}: {why}", path.display())),
        }
    }
    found
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
