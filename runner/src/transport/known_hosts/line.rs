//! One line of a known_hosts file.
use super::pattern;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use russh::keys::PublicKey;
use sha1::Sha1;

/// The word before the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    None,
    Authority,
    Revoked,
}

/// A line that names hosts and a key.
#[derive(Debug)]
pub(super) struct Entry {
    pub marker: Marker,
    hosts: Hosts,
    pub key: PublicKey,
    /// `file:line`.
    pub place: String,
}

#[derive(Debug)]
enum Hosts {
    Patterns(Vec<String>),
    Hashed { salt: Vec<u8>, digest: Vec<u8> },
}

impl Entry {
    /// Whether the entry is for a name as of `lookup_name`.
    pub fn names(&self, name: &str) -> bool {
        match &self.hosts {
            Hosts::Patterns(patterns) => pattern::list_matches(patterns.iter().map(String::as_str), name),
            Hosts::Hashed { salt, digest } => Hmac::<Sha1>::new_from_slice(salt).is_ok_and(|mut mac| {
                mac.update(name.as_bytes());
                mac.verify_slice(digest).is_ok()
            }),
        }
    }
}

/// Reads a line; comments and empty lines are no entry.
pub(super) fn parse(line: &str, place: &str) -> Result<Option<Entry>, String> {
    let mut words = line.split([' ', '\t', '\r']).filter(|word| !word.is_empty());
    let Some(mut first) = words.next() else { return Ok(None) };
    if first.starts_with('#') {
        return Ok(None);
    }
    let mut marker = Marker::None;
    if first.starts_with('@') {
        marker = match first {
            "@cert-authority" => Marker::Authority,
            "@revoked" => Marker::Revoked,
            other => return Err(format!("unknown marker `{other}`")),
        };
        first = words.next().ok_or("there are no host names after the marker")?;
    }
    let (Some(kind), Some(blob)) = (words.next(), words.next()) else {
        return Err("it is not `names type key`".into());
    };
    let key = PublicKey::from_openssh(&format!("{kind} {blob}"))
        .map_err(|error| format!("bad {kind} key: {error}"))?;
    Ok(Some(Entry { marker, hosts: hosts(first)?, key, place: place.to_owned() }))
}

fn hosts(text: &str) -> Result<Hosts, String> {
    let Some(hashed) = text.strip_prefix('|') else {
        let patterns = text.split(',').filter(|name| !name.is_empty()).map(str::to_ascii_lowercase).collect();
        return Ok(Hosts::Patterns(patterns));
    };
    let parts: Vec<&str> = hashed.split('|').collect();
    let ["1", salt, digest] = parts.as_slice() else {
        return Err("a hashed name of an unknown kind".into());
    };
    let decode =
        |text: &str| STANDARD.decode(text).map_err(|_| "a hashed name that is not base64".to_owned());
    Ok(Hosts::Hashed { salt: decode(salt)?, digest: decode(digest)? })
}
