//! What a card does by itself, as `ethtool -k` tells it.
use crate::argument::nearest;
use std::collections::BTreeMap;

/// Names of features: as `ethtool -k` prints them, as the kernel calls them, and ethtool's short word, where it has one.
const NAMES: &[(&str, &str, &str)] = &[
    ("rx-checksumming", "rx-checksum", "rx"),
    ("tx-checksumming", "tx", "tx"),
    ("scatter-gather", "sg", "sg"),
    ("tcp-segmentation-offload", "tso", "tso"),
    ("udp-fragmentation-offload", "ufo", "ufo"),
    ("generic-segmentation-offload", "tx-generic-segmentation", "gso"),
    ("generic-receive-offload", "rx-gro", "gro"),
    ("large-receive-offload", "rx-lro", "lro"),
    ("rx-vlan-offload", "rx-vlan-hw-parse", "rxvlan"),
    ("tx-vlan-offload", "tx-vlan-hw-insert", "txvlan"),
    ("ntuple-filters", "rx-ntuple-filter", "ntuple"),
    ("receive-hashing", "rx-hashing", "rxhash"),
];

/// What stands in for several features.
const GROUPS: [&str; 4] =
    ["tx-checksumming", "scatter-gather", "tcp-segmentation-offload", "udp-fragmentation-offload"];

/// One feature of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Feature {
    /// Whether it works now.
    pub active: bool,
    /// Whether somebody asked for it; unlike `active` where another feature that it needs is off.
    pub requested: bool,
    /// Whether the driver lets nobody change it.
    pub fixed: bool,
}

impl Feature {
    /// As `ethtool` prints it.
    pub fn text(self) -> &'static str {
        match (self.active, self.requested, self.fixed) {
            (true, _, true) => "on [fixed]",
            (false, _, true) => "off [fixed]",
            (true, true, _) => "on",
            (false, false, _) => "off",
            (false, true, _) => "off [requested on]",
            (true, false, _) => "on [requested off]",
        }
    }
}

/// All features of a card, by the names that `ethtool -k` prints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Features(BTreeMap<String, Feature>);

impl Features {
    /// Takes what `ethtool -k` printed.
    pub fn parse(text: &str) -> Self {
        let feature = |words: &str| {
            let active = match words.split_whitespace().next()? {
                "on" => true,
                "off" => false,
                _ => return None,
            };
            let requested = match () {
                () if words.contains("[requested on]") => true,
                () if words.contains("[requested off]") => false,
                () => active,
            };
            Some(Feature { active, requested, fixed: words.contains("[fixed]") })
        };
        let lines = text.lines().filter_map(|line| line.trim().split_once(": "));
        Self(lines.filter_map(|(name, words)| Some((name.to_owned(), feature(words)?))).collect())
    }

    /// A feature by its printed name. Of a group: on where any of it is, fixed where all of it is.
    pub fn get(&self, printed: &str) -> Option<Feature> {
        let own = *self.0.get(printed)?;
        let parts: Vec<Feature> = self.parts(printed).collect();
        if parts.is_empty() {
            return Some(own);
        }
        let free = || parts.iter().filter(|part| !part.fixed);
        Some(Feature {
            active: own.active,
            requested: free().any(|part| part.requested) || (free().next().is_none() && own.active),
            fixed: parts.iter().all(|part| part.fixed),
        })
    }

    /// The features of a group; none where it is one by itself.
    fn parts<'a>(&'a self, printed: &'a str) -> impl Iterator<Item = Feature> + 'a {
        let part = move |name: &str| match printed {
            "tx-checksumming" => name.starts_with("tx-checksum-"),
            "scatter-gather" => name.starts_with("tx-scatter-gather"),
            "tcp-segmentation-offload" => name.starts_with("tx-tcp"),
            _ => false,
        };
        self.0.iter().filter(move |(name, _)| part(name)).map(|(_, feature)| *feature)
    }

    /// The printed name that a name means: printed, the kernel's, or ethtool's short word.
    pub fn printed<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let known = NAMES.iter().find(|(printed, kernel, short)| [*printed, *kernel, *short].contains(&name));
        let printed = known.map_or(name, |(printed, ..)| *printed);
        self.0.contains_key(printed).then_some(printed)
    }

    /// The nearest name of a feature.
    pub fn nearest<'a>(&'a self, name: &str) -> Option<&'a str> {
        nearest(name, self.0.keys().map(String::as_str).chain(NAMES.iter().map(|(.., short)| *short)))
    }

    /// The words that bring every feature that can be changed back to what it is asked to be now.
    pub fn words(&self) -> Vec<String> {
        let free = self.0.iter().filter(|(name, feature)| !feature.fixed && !GROUPS.contains(&name.as_str()));
        free.flat_map(|(name, feature)| [word(name), switch(feature.requested).to_owned()]).collect()
    }
}

/// The word by which `ethtool -K` takes a printed name.
pub(crate) fn word(printed: &str) -> String {
    let known = NAMES.iter().find(|(name, ..)| *name == printed);
    known.map_or(printed, |(_, kernel, _)| *kernel).to_owned()
}

/// `on` or `off`.
pub(crate) fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VETH: &str = "Features for v0:\nrx-checksumming: on\ntx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\n\
        \ttx-checksum-ip-generic: on\nlarge-receive-offload: off [fixed]\ntcp-segmentation-offload: off\n\
        \ttx-tcp-segmentation: off [requested on]\nntuple-filters: off [fixed]\ntx-lockless: on [fixed]\n";

    #[test]
    fn features_are_read_as_printed() {
        let features = Features::parse(VETH);
        assert_eq!(features.get("rx-checksumming").unwrap().text(), "on");
        assert_eq!(features.get("large-receive-offload").unwrap().text(), "off [fixed]");
        assert!(!features.get("tx-checksumming").unwrap().fixed, "a part of it can be changed");
        assert_eq!(features.get("tcp-segmentation-offload").unwrap().text(), "off [requested on]");
        assert_eq!(features.printed("rx"), Some("rx-checksumming"));
        assert_eq!(features.printed("rx-checksum"), Some("rx-checksumming"));
        assert_eq!(features.printed("tx-tcp-segmentation"), Some("tx-tcp-segmentation"));
        assert_eq!(features.printed("rx-lro"), Some("large-receive-offload"));
        assert_eq!((features.printed("gso"), features.nearest("ntupel")), (None, Some("ntuple")));
    }

    #[test]
    fn the_way_back_says_every_feature_that_was_free() {
        assert_eq!(
            Features::parse(VETH).words(),
            ["rx-checksum", "on", "tx-checksum-ip-generic", "on", "tx-tcp-segmentation", "on"]
        );
    }
}
