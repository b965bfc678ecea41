//! Paths on a host.
use serde::{Deserialize, Serialize};
use std::fmt;

/// An absolute path on a host, without `.`, `..`, doubled slashes or a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostPath(String);

impl HostPath {
    /// Checks and normalises a path.
    ///
    /// # Errors
    /// Says why it cannot be used: relative, holding NUL, or holding `..`.
    pub fn new(text: &str) -> Result<Self, String> {
        if !text.starts_with('/') {
            return Err(format!("`{text}` is not an absolute path: begin it with `/`"));
        }
        if text.contains('\0') {
            return Err("a path cannot hold a NUL byte".to_owned());
        }
        let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(format!("`{text}` holds `..`: name the folder itself"));
        }
        Ok(Self(format!("/{}", parts.join("/"))))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The folder that holds it; none for `/`.
    pub fn parent(&self) -> Option<Self> {
        let cut = self.0.rfind('/')?;
        match (cut, self.0.len()) {
            (0, 1) => None,
            (0, _) => Some(Self("/".to_owned())),
            _ => Some(Self(self.0[..cut].to_owned())),
        }
    }

    /// The last part; empty for `/`.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or("")
    }

    /// A path below this one.
    ///
    /// # Errors
    /// As [`HostPath::new`].
    pub fn join(&self, below: &str) -> Result<Self, String> {
        Self::new(&format!("{}/{below}", self.0))
    }

    /// Whether the kernel makes its text up: /proc and /sys, where files are written in place and have no size.
    pub fn is_virtual(&self) -> bool {
        self.0.starts_with("/proc/") || self.0.starts_with("/sys/")
    }

    /// Whether this is `other` or lies below it.
    pub fn is_within(&self, other: &Self) -> bool {
        other.0 == "/"
            || self.0 == other.0
            || self.0.strip_prefix(&other.0).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl fmt::Display for HostPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl From<HostPath> for String {
    fn from(path: HostPath) -> Self {
        path.0
    }
}

impl TryFrom<String> for HostPath {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::new(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::HostPath;

    #[test]
    fn paths_are_normalised_or_refused() {
        assert_eq!(HostPath::new("//etc/./default//grub/").unwrap().as_str(), "/etc/default/grub");
        assert_eq!(HostPath::new("/").unwrap().as_str(), "/");
        for bad in ["etc", "", "/etc/../shadow", "/a\0b"] {
            assert!(HostPath::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn parents_end_at_the_root() {
        let path = HostPath::new("/etc/default").unwrap();
        assert_eq!(path.parent().unwrap().as_str(), "/etc");
        assert_eq!(path.parent().unwrap().parent().unwrap().as_str(), "/");
        assert!(path.parent().unwrap().parent().unwrap().parent().is_none());
        assert!(path.is_within(&HostPath::new("/").unwrap()));
        assert!(!HostPath::new("/etcetera").unwrap().is_within(&HostPath::new("/etc").unwrap()));
    }
}
