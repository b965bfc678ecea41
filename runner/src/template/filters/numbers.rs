//! Filters of numbers and truth: `int`, `float`, `bool`, `round`, sizes, roots.
use super::super::calls::{Bound, Callee, row};
use super::super::eval::Eval;
use super::super::fault::Fault;
use super::super::value::Val;
use super::flag;

pub(super) static TABLE: [Callee; 11] = [
    row("bool", &["value"], to_bool),
    row("int", &["value", "default", "base"], int),
    row("float", &["value", "default"], float),
    row("abs", &["value"], abs),
    row("round", &["value", "precision", "method"], round),
    row("log", &["value", "base"], log),
    row("pow", &["value", "power"], pow),
    row("root", &["value", "base"], root),
    row("human_to_bytes", &["value", "default_unit", "isbits"], human_to_bytes),
    row("human_readable", &["value", "isbits", "unit"], human_readable),
    row("type_debug", &["value"], |_, bound| Ok(Val::text(bound.input().kind()))),
];

/// What Ansible takes for true or false; nothing else is.
pub(in super::super) fn as_bool(val: &Val) -> Option<bool> {
    match val {
        Val::Bool(b) => Some(*b),
        Val::Int(1) => Some(true),
        Val::Int(0) => Some(false),
        Val::Float(f) if *f == 1.0 => Some(true),
        Val::Float(f) if *f == 0.0 => Some(false),
        Val::Str(text) => match text.to_lowercase().as_str() {
            "y" | "yes" | "on" | "1" | "true" | "t" | "1.0" => Some(true),
            "n" | "no" | "off" | "0" | "false" | "f" | "0.0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// As Ansible, what is neither true nor false is false.
fn to_bool(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    flag(as_bool(bound.input()).unwrap_or(false))
}

/// Text as Python's `int(text, base)` reads it.
fn parse_int(text: &str, base: u32) -> Option<i128> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_lowercase();
    let marked = [("0x", 16), ("0o", 8), ("0b", 2)].into_iter().find(|(mark, _)| lower.starts_with(mark));
    let (digits, base) = match (marked, base) {
        (Some((_, found)), 0) => (&lower[2..], found),
        (Some((_, found)), base) if found == base => (&lower[2..], base),
        (None, 0) if lower.len() > 1 && lower.starts_with('0') && lower.bytes().any(|b| b != b'0') => {
            return None;
        }
        (None, 0) => (&lower[..], 10),
        (_, base) => (&lower[..], base),
    };
    let clean = !digits.starts_with('_') && !digits.ends_with('_') && !digits.contains("__");
    if !clean || digits.starts_with(['+', '-']) {
        return None;
    }
    i128::from_str_radix(&digits.replace('_', ""), base).ok().map(|n| sign * n)
}

/// Text as Python's `float(text)` reads it.
fn parse_float(text: &str) -> Option<f64> {
    text.trim().replace('_', "").parse().ok()
}

fn int(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let base = bound.int(2)?.unwrap_or(10);
    let base = u32::try_from(base).ok().filter(|base| *base == 0 || (2..=36).contains(base));
    let base = base.ok_or_else(|| bound.fail("the base is 0 or 2 to 36"))?;
    let whole = |f: f64| (f.is_finite() && f.abs() < 1e30).then_some(f.trunc() as i128);
    let read = match bound.input() {
        Val::Str(text) => parse_int(text, base).or_else(|| parse_float(text).and_then(whole)),
        Val::Float(f) => whole(*f),
        other => other.as_int(),
    };
    Ok(read.map(Val::Int).unwrap_or_else(|| bound.get(1).cloned().unwrap_or(Val::Int(0))))
}

fn float(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let read = match bound.input() {
        Val::Str(text) => parse_float(text),
        other => other.as_float(),
    };
    Ok(read.map(Val::Float).unwrap_or_else(|| bound.get(1).cloned().unwrap_or(Val::Float(0.0))))
}

fn number(bound: &Bound) -> Result<f64, Fault> {
    let input = bound.input();
    input.as_float().ok_or_else(|| {
        bound
            .fail(format!("`{}` needs a number, not {}", bound.name, input.kind()))
            .hint("`| int` comes first")
    })
}

fn abs(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    match bound.input().as_int() {
        Some(n) => Ok(Val::Int(n.abs())),
        None => number(bound).map(|f| Val::Float(f.abs())),
    }
}

fn round(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let f = number(bound)?;
    let precision = bound.int(1)?.unwrap_or(0).clamp(-300, 300) as i32;
    let method = bound.some(2).map_or(Ok("common".into()), |_| bound.str(eval, 2, "a method"))?;
    let scale = 10_f64.powi(precision);
    Ok(match &*method {
        // Python rounds the exact decimal value, halves to even: so does formatting.
        "common" if precision > 0 => Val::Float(format!("{f:.*}", precision as usize).parse().unwrap_or(f)),
        "common" => {
            let rounded = (f * scale).round_ties_even() / scale;
            match bound.input().as_int() {
                Some(_) => Val::Int(rounded as i128),
                None => Val::Float(rounded),
            }
        }
        "ceil" => Val::Float((f * scale).ceil() / scale),
        "floor" => Val::Float((f * scale).floor() / scale),
        _ => return Err(bound.fail("the method is one of common, ceil, floor")),
    })
}

fn log(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let f = number(bound)?;
    if f <= 0.0 {
        return Err(bound.fail("only numbers above zero have a logarithm"));
    }
    Ok(Val::Float(match bound.some(1).and_then(Val::as_float) {
        None => f.ln(),
        Some(10.0) => f.log10(),
        Some(base) => f.ln() / base.ln(),
    }))
}

fn pow(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let power = bound.need(1, "a power")?.as_float().ok_or_else(|| bound.fail("a power is a number"))?;
    Ok(Val::Float(number(bound)?.powf(power)))
}

fn root(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let base =
        bound.some(1).map_or(Some(2.0), Val::as_float).ok_or_else(|| bound.fail("a base is a number"))?;
    let f = number(bound)?;
    if f < 0.0 {
        return Err(bound.fail("a number below zero has no root here"));
    }
    Ok(Val::Float(if base == 2.0 { f.sqrt() } else { f.powf(1.0 / base) }))
}

const UNITS: [(char, u32); 9] =
    [('Y', 80), ('Z', 70), ('E', 60), ('P', 50), ('T', 40), ('G', 30), ('M', 20), ('K', 10), ('B', 0)];

fn human_to_bytes(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let text = bound.str(eval, 0, "a size")?;
    let wrong = || bound.fail("a size is a number with a unit such as `10 MB`, `2G`, `512KiB`");
    let bits = bound.flag(eval, 2)?;
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let amount: f64 = text[..end].parse().map_err(|_| wrong())?;
    let mut unit = text[end..].trim().to_owned();
    if unit.is_empty() {
        unit = match bound.some(1) {
            Some(_) => bound.str(eval, 1, "a unit")?.to_string(),
            None => return Ok(Val::Int(amount.round() as i128)),
        };
    }
    let first = unit.chars().next().map(|c| c.to_ascii_uppercase()).ok_or_else(wrong)?;
    let (_, power) = UNITS.iter().find(|(name, _)| *name == first).ok_or_else(wrong)?;
    let tail = unit.get(1..).unwrap_or("");
    let fits = match (bits, tail) {
        (_, "") => true,
        (false, "B" | "iB") | (true, "b" | "ib") => first != 'B' || tail.is_empty(),
        (false, "ytes") | (true, "its") => first == 'B',
        _ => false,
    };
    if !fits || (bits && first == 'B' && unit.starts_with('B') && tail.is_empty()) {
        return Err(wrong());
    }
    Ok(Val::Int((amount * 2_f64.powi(*power as i32)).round() as i128))
}

fn human_readable(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let f = number(bound)?;
    let letter = if bound.flag(eval, 1)? { "b" } else { "B" };
    let unit = bound.some(2).map(|_| bound.str(eval, 2, "a unit")).transpose()?;
    for (name, power) in UNITS {
        let size = 2_f64.powi(power as i32);
        let wanted = match unit.as_deref() {
            Some(unit) => unit.to_uppercase().starts_with(name),
            None => f >= size,
        };
        if wanted || name == 'B' {
            let word = match (name, letter) {
                ('B', "b") => "bits".to_owned(),
                ('B', _) => "Bytes".to_owned(),
                (name, letter) => format!("{name}{letter}"),
            };
            return Ok(Val::text(format!("{:.2} {word}", f / size)));
        }
    }
    Err(bound.fail("there is no such unit"))
}
