//! Which host keys are known: an own reader of known_hosts files, as strict as OpenSSH's.

mod line;
pub(crate) mod pattern;
#[cfg(test)]
mod tests;

use line::{Entry, Marker};
use russh::keys::ssh_key::certificate::CertType;
use russh::keys::{Algorithm, Certificate, HashAlg, PublicKey};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// All entries of several files.
#[derive(Debug, Default)]
pub struct KnownHosts {
    parts: Vec<Arc<Part>>,
    warnings: Vec<String>,
}

/// The entries of one file.
#[derive(Debug, Default)]
struct Part {
    entries: Vec<Entry>,
    warnings: Vec<String>,
}

/// What is another one where a file was written again: device, inode, size, time of content, time of node.
type Stamp = (u64, u64, u64, SystemTime, (i64, i64));

/// Files as they were read last: a fleet has a line for each host, and each host's connection asks for all of them.
static LATELY: LazyLock<Mutex<Lately>> = LazyLock::new(Mutex::default);

/// Parts of files, each with what tells whether its file is still the same.
type Lately = HashMap<PathBuf, (Stamp, Arc<Part>)>;

/// What is known of a key that a host shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is the host's key.
    Known,
    /// Nothing is known of the host.
    Unknown,
    /// The host has another key.
    Changed {
        /// `file:line` of the known one.
        known_at: String,
    },
    /// The key, or its authority's, must not be used.
    Revoked {
        /// `file:line` of the mark.
        known_at: String,
    },
    /// The certificate of a trusted authority does not hold.
    BadCertificate {
        /// Why.
        why: String,
    },
}

/// The name that a host has in known_hosts: lower case, and `[host]:port` where the port is not 22.
pub fn lookup_name(host: &str, port: u16) -> String {
    let host = host.to_ascii_lowercase();
    if port == 22 { host } else { format!("[{host}]:{port}") }
}

impl Part {
    fn of(file: &str, text: &str) -> Self {
        let mut part = Self::default();
        for (index, line) in text.lines().enumerate() {
            let place = format!("{file}:{}", index + 1);
            match line::parse(line, &place) {
                Ok(entry) => part.entries.extend(entry),
                Err(why) => part.warnings.push(format!("{place}: {why}; the line is passed over")),
            }
        }
        part
    }

    /// A file, read again only where it is another one than last time.
    fn read(path: &Path) -> std::io::Result<Arc<Self>> {
        let is = std::fs::metadata(path)?;
        let stamp = (is.dev(), is.ino(), is.len(), is.modified()?, (is.ctime(), is.ctime_nsec()));
        let mut lately = LATELY.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, part)) = lately.get(path).filter(|(known, _)| *known == stamp) {
            return Ok(Arc::clone(part));
        }
        let text = std::fs::read(path)?;
        let part = Arc::new(Self::of(&path.display().to_string(), &String::from_utf8_lossy(&text)));
        lately.insert(path.to_owned(), (stamp, Arc::clone(&part)));
        Ok(part)
    }
}

impl KnownHosts {
    /// Takes a file's text in. Damaged lines are passed over with a warning.
    pub fn add_text(&mut self, file: &str, text: &str) {
        self.add(Arc::new(Part::of(file, text)));
    }

    fn add(&mut self, part: Arc<Part>) {
        self.warnings.extend_from_slice(&part.warnings);
        self.parts.push(part);
    }

    fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.parts.iter().flat_map(|part| &part.entries)
    }

    /// Reads files; those that are not there are empty.
    pub fn read<'a>(files: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut known = Self::default();
        for path in files {
            match Part::read(path) {
                Ok(part) => known.add(part),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => known.warnings.push(format!("{}: {error}", path.display())),
            }
        }
        known
    }

    /// What was wrong with the files, each with `file:line`.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn matching(&self, host: &str, port: u16) -> impl Iterator<Item = &Entry> {
        let (host, name) = (host.to_ascii_lowercase(), lookup_name(host, port));
        // As in OpenSSH, an entry without a port counts for every port; a revocation even more so.
        self.entries().filter(move |entry| entry.names(&name) || (port != 22 && entry.names(&host)))
    }

    /// Judges a plain key.
    pub fn judge(&self, host: &str, port: u16, key: &PublicKey) -> Verdict {
        let same = |entry: &&Entry| entry.key.key_data() == key.key_data();
        if let Some(entry) =
            self.matching(host, port).filter(|entry| entry.marker == Marker::Revoked).find(same)
        {
            return Verdict::Revoked { known_at: entry.place.clone() };
        }
        let plain = || self.matching(host, port).filter(|entry| entry.marker == Marker::None);
        if plain().any(|entry| same(&entry)) {
            return Verdict::Known;
        }
        // Entries without a port are a fallback for the same key only: another port may well be another host.
        let name = lookup_name(host, port);
        let mut others: Vec<&Entry> = plain().filter(|entry| entry.names(&name)).collect();
        others.sort_by_key(|entry| entry.key.algorithm() != key.algorithm());
        match others.first() {
            Some(entry) => Verdict::Changed { known_at: entry.place.clone() },
            None => Verdict::Unknown,
        }
    }

    /// Judges a host certificate at a time. One whose authority is not trusted here counts as its plain key.
    pub fn judge_certificate(
        &self,
        host: &str,
        port: u16,
        certificate: &Certificate,
        now: SystemTime,
    ) -> Verdict {
        let shown = PublicKey::new(certificate.public_key().clone(), "");
        let authority = certificate.signature_key();
        for entry in self.matching(host, port).filter(|entry| entry.marker == Marker::Revoked) {
            if entry.key.key_data() == authority || entry.key.key_data() == shown.key_data() {
                return Verdict::Revoked { known_at: entry.place.clone() };
            }
        }
        let mut authorities = self.matching(host, port).filter(|entry| entry.marker == Marker::Authority);
        if !authorities.any(|entry| entry.key.key_data() == authority) {
            return self.judge(host, port, &shown);
        }
        match check_certificate(host, certificate, now) {
            Ok(()) => Verdict::Known,
            Err(why) => Verdict::BadCertificate { why },
        }
    }

    /// The algorithms of the keys that are known for a host: these are to be asked for first, or a host that is known
    /// by its RSA key alone would seem unknown.
    pub fn algorithms(&self, host: &str, port: u16) -> Vec<Algorithm> {
        let plain = self.matching(host, port).filter(|entry| entry.marker == Marker::None);
        plain.map(|entry| entry.key.algorithm()).collect()
    }

    /// Whether host certificates are to be asked for.
    pub fn has_authority(&self, host: &str, port: u16) -> bool {
        self.matching(host, port).any(|entry| entry.marker == Marker::Authority)
    }
}

fn check_certificate(host: &str, certificate: &Certificate, now: SystemTime) -> Result<(), String> {
    if certificate.cert_type() != CertType::Host {
        return Err("it is a user's certificate".into());
    }
    let principals = certificate.valid_principals();
    // A certificate without principals is good for any host, as in OpenSSH 9.
    let host = host.to_ascii_lowercase();
    if !principals.is_empty()
        && !principals.iter().any(|name| pattern::matches(&name.to_ascii_lowercase(), &host))
    {
        return Err(format!("it is for {}, not for {host}", principals.join(", ")));
    }
    if let Some((option, _)) = certificate.critical_options().iter().next() {
        return Err(format!("it has the critical option `{option}`, which nobody knows for hosts"));
    }
    let seconds =
        now.duration_since(UNIX_EPOCH).map_err(|_| "the clock stands before 1970".to_owned())?.as_secs();
    if seconds < certificate.valid_after() {
        return Err("it is not valid yet (or the clock here is wrong)".into());
    }
    if seconds >= certificate.valid_before() {
        return Err("it has expired (or the clock here is wrong)".into());
    }
    let authority = certificate.signature_key().fingerprint(HashAlg::Sha256);
    certificate.validate_at(seconds, [&authority]).map_err(|_| "its signature is wrong".into())
}

/// Appends a key to a known_hosts file by one write, so that runs side by side cannot tear lines.
pub fn append(path: &Path, name: &str, key: &PublicKey) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = std::fs::OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    let mut text = String::new();
    let mut before = Vec::new();
    file.read_to_end(&mut before)?;
    if before.last().is_some_and(|byte| *byte != b'\n') {
        text.push('\n');
    }
    let bare = PublicKey::new(key.key_data().clone(), "");
    let encoded = bare.to_openssh().map_err(std::io::Error::other)?;
    text.push_str(&format!("{name} {}\n", encoded.trim()));
    file.write_all(text.as_bytes())
}
