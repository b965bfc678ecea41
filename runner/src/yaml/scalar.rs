//! What a plain scalar means: YAML 1.1's implicit types exactly as PyYAML's resolver has them.
//!
//! YAML 1.2 reads some of these otherwise (`0644`, `yes`), and so would every template that was tried under Ansible.
use super::Data;

/// The value of an unquoted scalar.
pub fn plain(text: &str) -> Data {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Data::Null,
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => return Data::Bool(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => return Data::Bool(false),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Data::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Data::Float(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Data::Float(f64::NAN),
        _ => {}
    }
    if !text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) {
        return Data::Str(text.to_owned());
    }
    integer(text).or_else(|| float(text)).unwrap_or_else(|| Data::Str(text.to_owned()))
}

/// A whole number: decimal, `0x`, `0b`, octal with a leading 0, or base 60 (`1:30`).
pub fn integer(text: &str) -> Option<Data> {
    let (negative, digits) = sign(text);
    let magnitude = if let Some(binary) = digits.strip_prefix("0b") {
        radix(binary, 2)
    } else if let Some(hex) = digits.strip_prefix("0x") {
        radix(hex, 16)
    } else if digits == "0" {
        Some(0)
    } else if let Some(octal) = digits.strip_prefix('0') {
        if octal.bytes().all(|digit| digit == b'_') { Some(0) } else { radix(octal, 8) }
    } else if digits.contains(':') {
        sexagesimal(digits)
    } else if digits.starts_with(|first: char| first.is_ascii_digit()) {
        radix(digits, 10)
    } else {
        None
    }?;
    whole(negative, magnitude)
}

fn whole(negative: bool, magnitude: u128) -> Option<Data> {
    let value = i128::try_from(magnitude).ok()?;
    let value = if negative { -value } else { value };
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => Some(Data::Int(value)),
        (_, Ok(value)) => Some(Data::UInt(value)),
        // Beyond 64 bits the digits stay text: nothing on a host takes such a number, and rounding would lie.
        _ => None,
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn radix(text: &str, base: u32) -> Option<u128> {
    let mut seen = false;
    let mut value: u128 = 0;
    for letter in text.chars().filter(|letter| *letter != '_') {
        value = value.checked_mul(base.into())?.checked_add(letter.to_digit(base)?.into())?;
        seen = true;
    }
    seen.then_some(value)
}

fn sexagesimal(text: &str) -> Option<u128> {
    let (first, rest) = text.split_once(':')?;
    if !first.starts_with(|letter: char| ('1'..='9').contains(&letter)) {
        return None;
    }
    let mut value = radix(first, 10)?;
    for part in rest.split(':') {
        value = value.checked_mul(60)?.checked_add(sixtieth(part)?)?;
    }
    Some(value)
}

/// One or two digits below 60.
fn sixtieth(part: &str) -> Option<u128> {
    let digits = part.bytes().all(|letter| letter.is_ascii_digit()) && matches!(part.len(), 1 | 2);
    part.parse().ok().filter(|value| digits && *value < 60)
}

/// A number with a point: `1.10`, `.5`, `1.5e+3` (an exponent needs its sign), `1:30.5` in base 60.
pub fn float(text: &str) -> Option<Data> {
    let (negative, digits) = sign(text);
    let (before, after) = digits.split_once('.')?;
    if before.is_empty() && digits.len() != text.len() {
        return None;
    }
    let counts = |part: &str| part.bytes().all(|letter| letter.is_ascii_digit() || letter == b'_');
    let (fraction, exponent) = match after.split_once(['e', 'E']) {
        Some((fraction, exponent)) => (fraction, Some(exponent)),
        None => (after, None),
    };
    let signed = |power: &str| {
        let digits = power.strip_prefix(['-', '+']);
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()))
    };
    let starts = if before.is_empty() { fraction } else { before };
    let sixty = before.contains(':');
    if !starts.starts_with(|first: char| first.is_ascii_digit())
        || !counts(fraction)
        || exponent.is_some_and(|power| sixty || !signed(power))
    {
        return None;
    }
    let fraction: f64 =
        format!("0.{}0e{}", fraction.replace('_', ""), exponent.unwrap_or("0")).parse().ok()?;
    let value = if sixty {
        let (first, rest) = before.split_once(':')?;
        let mut value = radix(first, 10)?;
        for part in rest.split(':') {
            value = value.checked_mul(60)?.checked_add(sixtieth(part)?)?;
        }
        let value: f64 = value.to_string().parse().ok()?;
        value + fraction
    } else if counts(before) {
        digits.replace('_', "").trim_end_matches('.').parse().ok()?
    } else {
        return None;
    };
    Some(Data::Float(if negative { -value } else { value }))
}
