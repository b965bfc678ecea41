//! Amounts as people write them: shares in percent, times with a unit, numbers of hosts.
use crate::bench::Size;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, de};
use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

/// A share: `5%`, `0.5 %`, or 0.05.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Share(pub f64);

/// A time: `5s`, `20 min`, `1h 30m`, or a number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Time(#[serde(with = "seconds")] pub Duration);

/// So many hosts, or a share of all: `2`, `25%`. Cumulative in waves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Hosts {
    /// So many.
    Count(u32),
    /// A share of all.
    Share(f64),
}

impl Hosts {
    /// How many of `all` hosts: a share is rounded up, so that it is never none.
    pub fn of(self, all: u32) -> u32 {
        match self {
            Self::Count(count) => count.min(all),
            Self::Share(share) => ((share * f64::from(all)).ceil() as u32).min(all),
        }
    }
}

mod seconds {
    use serde::Serializer;
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(time.as_secs_f64())
    }
}

fn percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim();
    number.parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number / 100.0)
}

/// A visitor of numbers and texts.
struct Amount<T> {
    wanted: &'static str,
    number: fn(f64) -> Option<T>,
    text: fn(&str) -> Option<T>,
}

impl<T> de::Visitor<'_> for Amount<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wanted)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_f64(number as f64)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        (self.number)(number).ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.text)(text).ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
    }
}

impl Share {
    /// What is wanted, in words.
    const WANTED: &'static str = "a share such as 5% or 0.05";
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Amount {
            wanted: Self::WANTED,
            number: |number| (0.0..=1.0).contains(&number).then_some(Self(number)),
            // Without a sign it is a share of one: 5 is not 5 %.
            text: |text| {
                let plain = || text.trim().parse().ok().filter(|share: &f64| *share <= 1.0);
                percent(text).or_else(plain).filter(|share| *share >= 0.0).map(Self)
            },
        })
    }
}

impl Time {
    /// What is wanted, in words.
    const WANTED: &'static str = "a time such as 5s, 20min or 1h 30m";
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Amount {
            wanted: Self::WANTED,
            number: |number| Duration::try_from_secs_f64(number).ok().map(Self),
            text: |text| {
                let plain =
                    || text.trim().parse().ok().and_then(|number| Duration::try_from_secs_f64(number).ok());
                humantime::parse_duration(text.trim()).ok().or_else(plain).map(Self)
            },
        })
    }
}

impl Hosts {
    /// What is wanted, in words.
    const WANTED: &'static str = "a number of hosts from 1 on, or a share such as 25%";
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Amount {
            wanted: Self::WANTED,
            number: |number| {
                let whole = number.fract() == 0.0 && (1.0..=1e6).contains(&number);
                whole.then_some(Self::Count(number as u32))
            },
            text: |text| {
                let share = percent(text).filter(|share| *share > 0.0 && *share <= 1.0).map(Self::Share);
                share.or_else(|| text.trim().parse().ok().filter(|count| *count > 0).map(Self::Count))
            },
        })
    }
}

/// What a schema says of an amount: `least` and `most` are of numbers, the pattern is of text.
macro_rules! schema {
    ($($type:ty, $name:literal, $text:literal, $least:literal, $most:literal, $pattern:literal);+ $(;)?) => {
        $(impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": ["number", "string"],
                    "description": $text,
                    "minimum": $least,
                    "maximum": $most,
                    "pattern": $pattern,
                })
            }
        })+

        /// Whether a value is the amount of this name in the schemas, or what is wanted; none for other names.
        pub(super) fn fits(name: &str, value: &serde_json::Value) -> Option<Result<(), &'static str>> {
            match name {
                "Size" => Some(Size::deserialize(value).map(drop).map_err(|_| Size::WANTED)),
                $($name => Some(<$type>::deserialize(value).map(drop).map_err(|_| <$type>::WANTED)),)+
                _ => None,
            }
        }
    };
}

schema! {
    Share, "Share", "A share: 5%, or 0.05", 0, 1, r"^\s*([0-9]+\.?[0-9]*\s*%|0?\.[0-9]+|[01](\.0*)?)\s*$";
    Time, "Time", "A time: 5s, 20min, 1h 30m, or a number of seconds", 0, 1e12,
        r"^\s*[0-9]+(\.[0-9]+)?(\s*[a-zA-Zµ]+(\s*[0-9]+\s*[a-zA-Zµ]+)*)?\s*$";
    Hosts, "Hosts", "So many hosts: 2, or a share of all: 25%", 1, 1_000_000,
        r"^\s*([1-9][0-9]*|[0-9]+\.?[0-9]*\s*%)\s*$";
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{from_value, json};

    #[test]
    fn amounts_are_read_as_written() {
        for (written, share) in
            [(json!("5%"), 0.05), (json!("0.5 %"), 0.005), (json!(0.05), 0.05), (json!("0.05"), 0.05)]
        {
            assert!((from_value::<Share>(written).unwrap().0 - share).abs() < 1e-12);
        }
        for (written, seconds) in
            [(json!("5s"), 5), (json!("1h 30m"), 5400), (json!(90), 90), (json!("90"), 90)]
        {
            assert_eq!(from_value::<Time>(written).unwrap(), Time(Duration::from_secs(seconds)));
        }
        assert_eq!(from_value::<Hosts>(json!("25%")).unwrap(), Hosts::Share(0.25));
        assert_eq!(from_value::<Hosts>(json!(2)).unwrap(), Hosts::Count(2));
        assert_eq!(
            [Hosts::Share(0.25).of(10), Hosts::Share(0.001).of(10), Hosts::Count(20).of(10)],
            [3, 1, 10]
        );
    }

    #[test]
    fn nonsense_says_what_is_wanted() {
        for written in [json!(5), json!("5"), json!("five"), json!(-0.1), json!([])] {
            let told = from_value::<Share>(written).unwrap_err().to_string();
            assert!(told.contains("5% or 0.05"), "{told}");
        }
        assert!(from_value::<Time>(json!("soon")).unwrap_err().to_string().contains("20min"));
        assert!(from_value::<Hosts>(json!("0%")).unwrap_err().to_string().contains("25%"));
        assert!(from_value::<Hosts>(json!(0)).is_err() && from_value::<Hosts>(json!(1.5)).is_err());
    }
}
