//! Contents of files, and their digests.
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// What a file holds; cheap to clone. As JSON: text where it is UTF-8, else `{"base64": …}`, or `{"blob": DIGEST}` where
/// contents are [shared](super::share).
#[derive(Clone, Default)]
pub struct Bytes(Arc<Held>);

/// The bytes, and their digest once somebody asked for it: contents are compared by it many times.
#[derive(Default)]
struct Held {
    bytes: Box<[u8]>,
    digest: OnceLock<Digest>,
}

impl Bytes {
    /// The bytes themselves.
    pub fn as_slice(&self) -> &[u8] {
        &self.0.bytes
    }

    /// The text, if it is UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(self.as_slice()).ok()
    }

    /// The SHA-256 of them.
    pub fn digest(&self) -> Digest {
        *self.0.digest.get_or_init(|| Digest::of(&self.0.bytes))
    }
}

impl<T: AsRef<[u8]>> From<T> for Bytes {
    fn from(bytes: T) -> Self {
        Self(Arc::new(Held { bytes: bytes.as_ref().into(), digest: OnceLock::new() }))
    }
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.as_slice() == other.as_slice()
    }
}

impl Eq for Bytes {}

impl PartialOrd for Bytes {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bytes {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}

impl Hash for Bytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            Some(text) => write!(out, "{text:?}"),
            None => write!(out, "<{} bytes>", self.as_slice().len()),
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Base64 { base64: String },
    Blob { blob: Digest },
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if super::share::by_digest(self) {
            return Written::Blob { blob: self.digest() }.serialize(serializer);
        }
        match self.text() {
            Some(text) => serializer.serialize_str(text),
            None => Written::Base64 { base64: STANDARD.encode(self.as_slice()) }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(Self::from(text)),
            Written::Base64 { base64 } => {
                STANDARD.decode(base64).map(Self::from).map_err(serde::de::Error::custom)
            }
            Written::Blob { blob } => super::share::shared(blob)
                .ok_or_else(|| serde::de::Error::custom(format!("the content {blob} is not known here"))),
        }
    }
}

/// A SHA-256, shown and stored as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Reads 64 hexadecimal digits.
    ///
    /// # Errors
    /// Says what is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is not a SHA-256");
        if text.len() != 64 || !text.is_ascii() {
            return Err(fault());
        }
        let mut digest = [0; 32];
        for (index, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * index..2 * index + 2], 16).map_err(|_| fault())?;
        }
        Ok(Self(digest))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{self}")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Digest};

    #[test]
    fn bytes_survive_json() {
        for bytes in [&b"vm.swappiness = 1\n"[..], b"\xff\x00\xfe", b""] {
            let json = serde_json::to_string(&Bytes::from(bytes)).unwrap();
            assert_eq!(serde_json::from_str::<Bytes>(&json).unwrap().as_slice(), bytes, "{json}");
        }
    }

    #[test]
    fn digests_are_sha256() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(Digest::parse(empty).unwrap(), Digest::of(b""));
        assert!(Digest::parse("e3").is_err());
        assert!(Digest::parse(&"zz".repeat(32)).is_err());
    }
}
