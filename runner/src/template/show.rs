//! Values as text, as Python writes them: `True`, `None`, `192.0`, `{'a': 1}`.
use std::fmt::Write as _;

use super::eval::Eval;
use super::fault::Fault;
use super::tree::Place;
use super::value::Val;

impl Eval<'_> {
    /// As `str()` writes it.
    pub(super) fn show(&self, val: &Val, place: Place) -> Result<String, Fault> {
        match val {
            Val::Str(text) => Ok(text.to_string()),
            other => self.repr(other, place),
        }
    }

    /// As `repr()` writes it.
    pub(super) fn repr(&self, val: &Val, place: Place) -> Result<String, Fault> {
        let mut out = String::new();
        self.write_repr(val, &mut out, place)?;
        Ok(out)
    }

    fn write_repr(&self, val: &Val, out: &mut String, place: Place) -> Result<(), Fault> {
        self.burn(1, place)?;
        match val {
            Val::Undef(lack) => return Err(self.undefined(lack)),
            Val::Late(missing) => return Err(Fault::missing(missing.clone(), super::value::range(place))),
            Val::Omit => {
                let why = "`omit` cannot be a part of text or of a list that is written out";
                return Err(Fault::failed(why, super::value::range(place)));
            }
            Val::None => out.push_str("None"),
            Val::Bool(true) => out.push_str("True"),
            Val::Bool(false) => out.push_str("False"),
            Val::Int(n) => {
                let _ = write!(out, "{n}");
            }
            Val::Float(f) => out.push_str(&float(*f)),
            Val::Str(text) => quoted(text, out),
            Val::Tuple(items) => {
                out.push('(');
                self.write_items(items, out, place)?;
                out.push_str(if items.len() == 1 { ",)" } else { ")" });
            }
            val if val.is_mapping() => {
                out.push('{');
                for (index, (key, item)) in self.entries(val, place)?.into_iter().enumerate() {
                    if index > 0 {
                        out.push_str(", ");
                    }
                    self.write_repr(&key.into(), out, place)?;
                    out.push_str(": ");
                    self.write_repr(&item, out, place)?;
                }
                out.push('}');
            }
            val if val.is_list() => {
                out.push('[');
                self.write_items(&self.items(val, place)?, out, place)?;
                out.push(']');
            }
            other => {
                let why = format!("a {} cannot be written as text", other.kind());
                return Err(Fault::failed(why, super::value::range(place)));
            }
        }
        Ok(())
    }

    fn write_items(&self, items: &[Val], out: &mut String, place: Place) -> Result<(), Fault> {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                out.push_str(", ");
            }
            self.write_repr(item, out, place)?;
        }
        Ok(())
    }
}

/// Text as `repr()` quotes it.
pub(super) fn quoted(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\\' => out.push_str("\\\\"),
            c if c == quote => {
                out.push('\\');
                out.push(c);
            }
            c if (c as u32) < 0x20 || (0x7f..0xa1).contains(&(c as u32)) => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// A float as `repr()` writes it: the shortest digits, an exponent from 1e16 on and below 1e-4.
pub(super) fn float(f: f64) -> String {
    if f.is_nan() {
        return "nan".to_owned();
    }
    if f.is_infinite() {
        return if f > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let size = f.abs();
    if size != 0.0 && !(1e-4..1e16).contains(&size) {
        let text = format!("{f:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, number) = match exponent.strip_prefix('-') {
            Some(number) => ('-', number),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{number:0>2}");
    }
    let text = format!("{f}");
    if text.contains('.') { text } else { format!("{text}.0") }
}
