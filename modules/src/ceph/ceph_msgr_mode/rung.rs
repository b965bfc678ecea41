//! The modes that a cluster's messenger may be told, as rungs of a ladder that is climbed one at a time.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What connections may be: checked by sums alone (`crc`), or encrypted (`secure`). Where both are offered, the order of
/// the side that connects decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Rung {
    /// Only sums. A client that insists on encryption hangs.
    #[serde(rename = "crc")]
    Crc,
    /// Both, sums preferred: Ceph's default for data.
    #[serde(rename = "crc secure")]
    CrcSecure,
    /// Both, encryption preferred: Ceph's default for the mons.
    #[serde(rename = "secure crc")]
    SecureCrc,
    /// Only encryption. A client that cannot hangs, without a word and without a health warning.
    #[serde(rename = "secure")]
    Secure,
}

impl Rung {
    /// From the lowest to the highest.
    pub const ALL: [Self; 4] = [Self::Crc, Self::CrcSecure, Self::SecureCrc, Self::Secure];

    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Crc => "crc",
            Self::CrcSecure => "crc secure",
            Self::SecureCrc => "secure crc",
            Self::Secure => "secure",
        }
    }

    /// A stored value; Ceph also takes commas. None for what Ceph stores without a word and hangs with: unknown words,
    /// none at all, one of them twice.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> =
            text.split([',', ' ', '\t', ';', '=']).filter(|word| !word.is_empty()).collect();
        Self::ALL.into_iter().find(|rung| rung.as_str().split(' ').eq(words.iter().copied()))
    }

    /// The rungs between this one and another, the other one included, in the order of climbing.
    pub fn way_to(self, other: Self) -> Vec<Self> {
        if self <= other {
            Self::ALL.into_iter().filter(|rung| *rung > self && *rung <= other).collect()
        } else {
            Self::ALL.into_iter().rev().filter(|rung| *rung < self && *rung >= other).collect()
        }
    }

    /// What connections are where both sides have this rung.
    pub fn prefers(self) -> &'static str {
        match self {
            Self::Crc | Self::CrcSecure => "crc",
            Self::SecureCrc | Self::Secure => "secure",
        }
    }

    /// Whether both modes are offered, so that every peer finds one.
    pub fn offers_both(self) -> bool {
        matches!(self, Self::CrcSecure | Self::SecureCrc)
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Rung;

    #[test]
    fn only_the_four_are_modes() {
        for (text, rung) in [
            ("crc", Some(Rung::Crc)),
            ("crc secure", Some(Rung::CrcSecure)),
            (" secure , crc ", Some(Rung::SecureCrc)),
            ("secure,crc", Some(Rung::SecureCrc)),
            ("secure", Some(Rung::Secure)),
            ("foo", None),
            ("SECURE", None),
            ("1", None),
            ("", None),
            ("secure foo", None),
            ("crc crc", None),
            ("crc,foo", None),
        ] {
            assert_eq!(Rung::parse(text), rung, "{text:?}");
        }
    }

    #[test]
    fn the_ladder_is_climbed_rung_by_rung() {
        assert_eq!(Rung::CrcSecure.way_to(Rung::Secure), [Rung::SecureCrc, Rung::Secure]);
        assert_eq!(Rung::Secure.way_to(Rung::CrcSecure), [Rung::SecureCrc, Rung::CrcSecure]);
        assert_eq!(Rung::Crc.way_to(Rung::Crc), []);
    }
}
