//! Sizes in bytes as people write them: `16K`, `4M`, `2G`, or a number.
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de};
use std::borrow::Cow;
use std::fmt;

/// A number of bytes. Units are powers of 1024; `16K`, `16k` and `16KiB` are 16384.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Size(pub u64);

impl JsonSchema for Size {
    fn schema_name() -> Cow<'static, str> {
        "Size".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["integer", "string"],
            "description": "A size: 16K, 4M, 2G, or a number of bytes",
            "minimum": 0,
            "pattern": r"^\s*[0-9]+\s*([kKmMgGtT]([iI]?[bB])?|[bB])?\s*$",
        })
    }
}

impl Size {
    /// What is wanted, in words.
    pub(crate) const WANTED: &'static str = "a size such as 16K, 4M, 2G, or a number of bytes";

    /// Reads a size.
    ///
    /// # Errors
    /// Where it is none; the sentence says what one looks like.
    pub fn parse(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit()).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let shift = match unit.trim().to_ascii_lowercase().trim_end_matches("ib").trim_end_matches('b') {
            "" => 0,
            "k" => 10,
            "m" => 20,
            "g" => 30,
            "t" => 40,
            _ => return Err(format!("{text:?} is no size; say 16K, 4M or 2G")),
        };
        let number: u64 = number.parse().map_err(|_| format!("{text:?} is no size; say 16K, 4M or 2G"))?;
        number.checked_mul(1 << shift).map(Self).ok_or_else(|| format!("{text:?} is too large"))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Size;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(Size::WANTED)
            }

            fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Size, E> {
                Ok(Size(bytes))
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Size, E> {
                u64::try_from(bytes).map(Size).map_err(|_| E::custom(format!("{bytes} bytes are no size")))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Size, E> {
                Size::parse(text).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::Size;

    #[test]
    fn sizes_are_read_as_written() {
        for (text, bytes) in
            [("16K", 16384), ("16384", 16384), ("4 MiB", 4 << 20), ("2g", 2 << 30), ("1kb", 1024)]
        {
            assert_eq!(Size::parse(text), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "K", "4X", "-1", "99999999999T"] {
            assert!(Size::parse(text).is_err(), "{text}");
        }
        assert_eq!(serde_json::from_str::<Size>("\"64k\"").unwrap(), Size(65536));
        assert_eq!(serde_json::from_str::<Size>("64").unwrap(), Size(64));
    }
}
