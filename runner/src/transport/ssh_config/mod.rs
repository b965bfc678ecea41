//! What people write in ssh_config, read by ourselves; for what we do not understand, `ssh -G` is asked.

mod ask;
mod files;
mod keywords;
mod line;
mod matching;
pub mod options;
#[cfg(test)]
mod tests;

pub use ask::ssh_g;
pub use files::SshConfig;

use std::collections::BTreeMap;

/// The settings for one host: the first value of each keyword, in lower case. IdentityFile and CertificateFile gather.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<String, Vec<String>>,
}

/// Why our reader does not do, and `ssh -G` must be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeedsSshG {
    /// `file:line` and the reason.
    pub why: String,
}

impl Settings {
    /// The value of a keyword (lower case).
    pub fn get(&self, keyword: &str) -> Option<&str> {
        self.values.get(keyword)?.first().map(String::as_str)
    }

    /// All values of a keyword that gathers.
    pub fn all(&self, keyword: &str) -> &[String] {
        self.values.get(keyword).map_or(&[], Vec::as_slice)
    }

    /// Sets a value, unless the keyword has one and does not gather.
    pub fn add(&mut self, keyword: &str, value: impl Into<String>) {
        let values = self.values.entry(keyword.to_owned()).or_default();
        let value = value.into();
        if values.is_empty() || (keywords::gathers(keyword) && !values.contains(&value)) {
            values.push(value);
        }
    }

    /// Adds what `other` has beyond this.
    pub fn add_all(&mut self, other: &Settings) {
        for (keyword, values) in &other.values {
            values.iter().for_each(|value| self.add(keyword, value));
        }
    }

    /// Reads the output of `ssh -G`: a keyword and its value on each line.
    pub fn from_ssh_g(text: &str) -> Self {
        let mut settings = Self::default();
        for line in text.lines() {
            if let Some((keyword, value)) = line.split_once(' ') {
                settings.add(&keyword.to_ascii_lowercase(), value.trim());
            }
        }
        settings
    }
}

/// Whether a value means yes.
pub fn is_yes(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "yes" | "true")
}
