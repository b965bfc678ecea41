//! The name of what a change owns.
use super::path::HostPath;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a thing that a change owns, as narrow as the task: `file/etc/default/grub#regexp`,
/// `sysctl/vm.swappiness`, `lvm/vg0/thin`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Claim(String);

impl Claim {
    /// A thing of some kind: `Claim::new("sysctl", "vm.swappiness")`.
    pub fn new(kind: &str, name: &str) -> Self {
        Self(format!("{kind}/{name}"))
    }

    /// A whole file or folder.
    pub fn file(path: &HostPath) -> Self {
        Self(format!("file{path}"))
    }

    /// A part of a file, named by what finds it.
    pub fn part(path: &HostPath, part: &str) -> Self {
        Self(format!("file{path}#{part}"))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}
