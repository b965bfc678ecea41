//! Names of kernel settings: `net.ipv4.conf.eth0/100.rp_filter` and `net/ipv4/conf/eth0.100/rp_filter` are one.
use crate::vocabulary::{HostPath, glob_matches};

/// A setting, held as its path below /proc/sys.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(String);

impl Key {
    /// Reads a name as sysctl.d(5) does: if its first separator is a dot, dots part and slashes are dots.
    pub fn parse(name: &str) -> Result<Self, String> {
        let name = name.trim();
        let path: String = match name.find(['.', '/']) {
            Some(first) if name[first..].starts_with('.') => name
                .chars()
                .map(|letter| match letter {
                    '.' => '/',
                    '/' => '.',
                    other => other,
                })
                .collect(),
            _ => name.to_owned(),
        };
        let key = path.strip_prefix("/proc/sys/").unwrap_or(&path).trim_matches('/').to_owned();
        let fault = key.is_empty()
            || key.split('/').any(|part| part.is_empty() || part == "." || part == "..")
            || key.contains(|letter: char| letter.is_whitespace() || letter == '=' || letter == '\0');
        if fault { Err(format!("`{name}` is not the name of a kernel setting")) } else { Ok(Self(key)) }
    }

    /// The name with dots, as people write it; slashes stand for dots inside parts.
    pub fn dotted(&self) -> String {
        self.0
            .chars()
            .map(|letter| match letter {
                '/' => '.',
                '.' => '/',
                other => other,
            })
            .collect()
    }

    /// Where the live value is.
    pub fn live(&self) -> Result<HostPath, String> {
        HostPath::new(&format!("/proc/sys/{}", self.0))
    }

    /// Whether a key of a settings file, which may hold patterns, means this one.
    pub fn matched_by(&self, pattern: &Self) -> bool {
        self.live().is_ok_and(|path| glob_matches(&format!("/proc/sys/{}", pattern.0), &path))
    }

    /// Whether it holds a pattern.
    pub fn is_pattern(&self) -> bool {
        self.0.contains(['*', '?', '['])
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn dots_and_slashes_name_one_setting() {
        let key = Key::parse("net.ipv4.conf.eth0/100.rp_filter").unwrap();
        assert_eq!(Key::parse("net/ipv4/conf/eth0.100/rp_filter"), Ok(key.clone()));
        assert_eq!(Key::parse("/proc/sys/net/ipv4/conf/eth0.100/rp_filter"), Ok(key.clone()));
        assert_eq!(key.live().unwrap().as_str(), "/proc/sys/net/ipv4/conf/eth0.100/rp_filter");
        assert_eq!(key.dotted(), "net.ipv4.conf.eth0/100.rp_filter");
        for bad in ["", "vm swappiness", "vm.a=1", "vm/../../etc/passwd", "vm..x"] {
            assert!(Key::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn patterns_match_part_by_part() {
        let key = Key::parse("net.ipv4.conf.eth0.rp_filter").unwrap();
        assert!(key.matched_by(&Key::parse("net.ipv4.conf.*.rp_filter").unwrap()));
        assert!(!key.matched_by(&Key::parse("net.ipv4.*.rp_filter").unwrap()));
    }
}
