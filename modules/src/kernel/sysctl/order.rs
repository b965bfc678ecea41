//! Which settings file wins at boot: systemd-sysctl's order over all folders.
use super::name::Key;
use super::settings::assignments;
use crate::files::text::TextFile;
use crate::vocabulary::{Facts, HostPath, Read, Stop, all};
use std::collections::BTreeMap;

/// Folders of settings, the strongest first: of files with one name only the strongest folder's is read.
const FOLDERS: [&str; 4] = ["/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d"];

/// What [`Order::read`] reads first.
pub(crate) fn first_reads() -> Vec<Read> {
    FOLDERS.iter().map(|folder| Read::Glob(format!("{folder}/*.conf"))).collect()
}

/// Settings files in the order in which they are applied.
#[derive(Clone, Debug)]
pub(crate) struct Order(Vec<(HostPath, TextFile)>);

/// Where a setting is persisted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The file as it is listed in its folder.
    pub file: HostPath,
    /// The line, from 1.
    pub line: usize,
    /// The value.
    pub value: String,
}

impl Order {
    /// All files that are read at boot.
    pub fn read(facts: &Facts) -> Result<Self, Stop> {
        facts.need(&first_reads())?;
        let mut by_name: BTreeMap<String, HostPath> = BTreeMap::new();
        for folder in FOLDERS {
            for path in facts.names(&format!("{folder}/*.conf"))? {
                by_name.entry(path.name().to_owned()).or_insert(path);
            }
        }
        let real = all(by_name.values().map(|path| facts.resolve(path)))?;
        // A link to /dev/null masks the weaker folders' file.
        let masked = |real: &HostPath| real.as_str() == "/dev/null";
        let listed: Vec<HostPath> =
            by_name.into_values().zip(real).filter(|(_, real)| !masked(real)).map(|(path, _)| path).collect();
        let read = TextFile::read_all(facts, &listed)?;
        let files = listed.into_iter().zip(read).collect();
        Ok(Self(files))
    }

    /// Whether a file is read at boot, by its own name or by a link to it.
    pub fn holds(&self, path: &HostPath) -> bool {
        self.0.iter().any(|(listed, file)| listed == path || file.path() == path)
    }

    /// Whether a file of this name would be read at boot.
    pub fn would_hold(path: &HostPath) -> bool {
        path.as_str().ends_with(".conf")
            && path.parent().is_some_and(|folder| FOLDERS.contains(&folder.as_str()))
    }

    /// The order after a file got a text.
    pub fn with(mut self, path: &HostPath, text: &str) -> Self {
        let mut known = false;
        for (listed, file) in &mut self.0 {
            if listed == path || file.path() == path {
                text.clone_into(&mut file.text);
                known = true;
            }
        }
        if !known && Self::would_hold(path) {
            let file = TextFile::planned(path.clone(), text);
            let at = self.0.partition_point(|(listed, _)| listed.name() < path.name());
            self.0.insert(at, (path.clone(), file));
        }
        self
    }

    /// All settings that files name, patterns too, each with the last line that names it.
    pub fn decided(&self) -> Vec<(Key, Place)> {
        let mut decided: BTreeMap<Key, Place> = BTreeMap::new();
        for (file, text) in &self.0 {
            for found in assignments(&text.text) {
                if let Some(value) = found.value {
                    decided.insert(found.key, Place { file: file.clone(), line: found.line, value });
                }
            }
        }
        decided.into_iter().collect()
    }

    /// The line that decides a setting at boot: the last that names it, else the last pattern that means it.
    pub fn winner(&self, key: &Key) -> Option<Place> {
        let all = || {
            self.0.iter().flat_map(|(path, file)| {
                assignments(&file.text).into_iter().map(move |found| (path.clone(), found))
            })
        };
        let mut exact = None;
        let mut pattern = None;
        let mut excluded = false;
        for (file, found) in all() {
            let place = found.value.clone().map(|value| Place { file, line: found.line, value });
            if found.key == *key {
                match place {
                    Some(place) => exact = Some(place),
                    None => excluded = true,
                }
            } else if found.key.is_pattern() && key.matched_by(&found.key) && place.is_some() {
                pattern = place;
            }
        }
        exact.or(if excluded { None } else { pattern })
    }
}
