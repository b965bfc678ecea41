//! Values of options by their type: what is written, as the mons would store it.
use crate::argument::nearest;
use crate::ceph::answers::OptionHelp;
use crate::shape::{Shape, parse_size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A value of an option: text, a number or a truth value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// A truth value.
    Truth(bool),
    /// A number.
    Number(serde_json::Number),
    /// Text.
    Text(String),
}

impl Value {
    /// As text. YAML makes a truth value of `on`: where an option has these words, they are meant.
    pub(super) fn text(&self, words: &[String]) -> String {
        match self {
            Self::Text(text) => text.trim().to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Truth(truth) => {
                let ways = if *truth { ["true", "on", "yes"] } else { ["false", "off", "no"] };
                let way = ways.iter().find(|way| words.iter().any(|word| word == *way));
                (*way.unwrap_or(&ways[0])).to_owned()
            }
        }
    }
}

/// How stored values of an option compare: only what the mons write in more than one way needs a shape.
pub(super) fn shape(help: &OptionHelp) -> Shape {
    if help.kind == "float" { Shape::Decimal } else { Shape::Text }
}

/// A value as the mons store it.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn stored(help: &OptionHelp, text: &str) -> Result<String, String> {
    let text = text.trim();
    let value = match help.kind.as_str() {
        "bool" => truth(text)?.to_string(),
        "int" => decimal_units(text)?.to_string(),
        "uint" => match decimal_units(text)? {
            number if number < 0 => {
                return Err(format!("`{text}` is below zero, and the option has no sign"));
            }
            number => number.to_string(),
        },
        "size" => parse_size(text.strip_suffix('i').unwrap_or(text))?.to_string(),
        "float" => decimal(text)?.to_string(),
        "secs" => seconds(text)?.to_string(),
        "millisecs" => {
            text.parse::<u64>().map_err(|_| format!("`{text}` is no number of milliseconds"))?.to_string()
        }
        _ => one_of(help, text)?,
    };
    bounded(help, &value)?;
    Ok(value)
}

fn one_of(help: &OptionHelp, text: &str) -> Result<String, String> {
    if help.name.starts_with("debug_") && !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
    {
        // One level is stored as both: what is logged, and what is kept in memory.
        return Ok(format!("{text}/{text}"));
    }
    if help.enum_values.is_empty() || help.enum_values.iter().any(|known| known == text) {
        return Ok(text.to_owned());
    }
    let near = nearest(text, help.enum_values.iter().map(String::as_str));
    let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    Err(format!("`{text}` is none of {}{hint}", help.enum_values.join(", ")))
}

fn bounded(help: &OptionHelp, value: &str) -> Result<(), String> {
    let Ok(number) = decimal(value) else { return Ok(()) };
    let bound = |text: &str| decimal(text).ok();
    if let Some(min) = bound(&help.min).filter(|min| number < *min) {
        return Err(format!("{value} is below the least value, {}", exact(&help.min, min)));
    }
    if let Some(max) = bound(&help.max).filter(|max| number > *max) {
        return Err(format!("{value} is above the greatest value, {}", exact(&help.max, max)));
    }
    Ok(())
}

fn exact(text: &str, number: f64) -> String {
    if text.is_empty() { number.to_string() } else { text.to_owned() }
}

fn truth(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("`{text}` is neither true nor false")),
    }
}

fn decimal(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("`{text}` is no number")),
    }
}

/// A whole number; K, M, G … mean powers of 1000 here, as Ceph reads them for everything but sizes.
fn decimal_units(text: &str) -> Result<i128, String> {
    let (digits, power) = match text.as_bytes().last() {
        Some(unit) => match b"KMGTPE".iter().position(|known| known == unit) {
            Some(place) => (&text[..text.len() - 1], place + 1),
            None => (text, 0),
        },
        None => return Err("a number is needed".to_owned()),
    };
    let number: i64 = digits.parse().map_err(|_| format!("`{text}` is no whole number"))?;
    let power = u32::try_from(power).unwrap_or(0);
    Ok(i128::from(number) * 1000_i128.pow(power))
}

/// Seconds: `90`, `5m`, `1h`, `2 days`.
fn seconds(text: &str) -> Result<u64, String> {
    let cut = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let fault = || format!("`{text}` is no time: write seconds, or a number with s, m, h, d or w");
    let number: u64 = text[..cut].parse().map_err(|_| fault())?;
    let each = match text[cut..].trim() {
        "" | "s" | "sec" | "second" | "seconds" => 1,
        "m" | "min" | "minute" | "minutes" => 60,
        "h" | "hr" | "hour" | "hours" => 3600,
        "d" | "day" | "days" => 86_400,
        "w" | "wk" | "week" | "weeks" => 604_800,
        _ => return Err(fault()),
    };
    number.checked_mul(each).ok_or_else(fault)
}

/// Whether two texts of an option of an unknown type mean the same: a file says no types.
pub(super) fn loosely_alike(one: &str, two: &str) -> bool {
    let (one, two) = (one.trim(), two.trim());
    let both = |shape: Shape| shape.alike(one, two);
    let truths = matches!((truth(one), truth(two)), (Ok(one), Ok(two)) if one == two);
    one == two || truths || both(Shape::Decimal) || both(Shape::Size) || both(Shape::Words)
}
