//! Edits of single arguments inside shell assignments; every byte that nobody asked about stays.
use std::ops::Range;

use super::lexer::{Quote, Tail};
use super::script::{Assign, Reading};
use super::value::{Placed, Seat, Value};
use crate::kernel::kernel_args::amend::Op;
use crate::kernel::kernel_args::line::is_blank;
use crate::kernel::kernel_args::token::Token;

/// Bytes of one script to be replaced; an empty range is an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Index of the script.
    pub script: usize,
    /// Which bytes.
    pub range: Range<usize>,
    /// What stands there instead.
    pub text: Vec<u8>,
}

/// Why an edit cannot be made in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cannot {
    /// An argument is put together from several places, or by code.
    Spread(String),
    /// No assignment of the variable is one that surely takes place.
    NoAssignment,
    /// Two edits want the same bytes.
    Overlap,
}

/// The edits that carry out operations on the arguments of one variable. Indices count `args`; `Append`s go to the
/// variable's last assignment.
pub fn edits(reading: &Reading, variable: &str, args: &[Placed], ops: &[Op]) -> Result<Vec<Edit>, Cannot> {
    let empty = Value::default();
    let value = reading.value(variable).unwrap_or(&empty);
    piecewise(reading, variable, value, args, ops)
        .or_else(|why| whole(reading, variable, value, args, ops).ok_or(why))
        .or_else(|why| glued(reading, variable, ops).ok_or(why))
}

/// The bytes after the edits; `None` where two of them want the same bytes.
pub fn apply(bytes: &[u8], script: usize, edits: &[Edit]) -> Option<Vec<u8>> {
    let mut mine: Vec<&Edit> = Vec::new();
    for edit in edits.iter().filter(|edit| edit.script == script) {
        if edit.range.is_empty() || !mine.contains(&edit) {
            mine.push(edit);
        }
    }
    mine.sort_by_key(|edit| (edit.range.start, edit.range.end));
    let mut out = Vec::with_capacity(bytes.len() + 64);
    let mut at = 0;
    for edit in mine {
        out.extend_from_slice(bytes.get(at..edit.range.start)?);
        out.extend_from_slice(&edit.text);
        at = edit.range.end;
    }
    out.extend_from_slice(bytes.get(at..)?);
    Some(out)
}

/// A text as it is written inside the quotes given so that a shell reads it back.
pub fn encode(text: &str, quote: Quote) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 8);
    for byte in text.bytes() {
        match quote {
            Quote::Double if matches!(byte, b'"' | b'\\' | b'$' | b'`') => out.extend([b'\\', byte]),
            Quote::Single if byte == b'\'' => out.extend_from_slice(b"'\\''"),
            Quote::Bare if !byte.is_ascii_alphanumeric() && !b"_@%+=:,./-".contains(&byte) && byte < 0x80 => {
                out.extend([b'\\', byte]);
            }
            _ => out.push(byte),
        }
    }
    out
}

/// Where an argument is written, if it is written in one piece; a line continuation inside it belongs to the piece.
fn seat(reading: &Reading, value: &Value, arg: &Placed) -> Result<Seat, Cannot> {
    let spread =
        || Cannot::Spread(arg.token.as_ref().map_or_else(String::new, |token| token.raw().to_owned()));
    let cells = &value.cells[arg.cells.clone()];
    let first = cells.first().and_then(|cell| cell.seat).ok_or_else(spread)?;
    let mut end = first.start;
    for cell in cells {
        match cell.seat {
            Some(seat)
                if seat.script == first.script
                    && seat.quote == first.quote
                    && continues(reading, first.script, end..seat.start) =>
            {
                end = seat.end;
            }
            _ => return Err(spread()),
        }
    }
    Ok(Seat { end, ..first })
}

/// Whether nothing but line continuations stands between two places of a script.
fn continues(reading: &Reading, script: usize, between: Range<usize>) -> bool {
    let bytes = reading.scripts.get(script).and_then(|script| script.bytes.get(between));
    bytes.is_some_and(|bytes| bytes.chunks(2).all(|pair| pair == b"\\\n"))
}

fn piecewise(
    reading: &Reading,
    variable: &str,
    value: &Value,
    args: &[Placed],
    ops: &[Op],
) -> Result<Vec<Edit>, Cannot> {
    let mut found = removals(reading, value, args, ops)?;
    let mut appended = Vec::new();
    for op in ops {
        match op {
            Op::Remove { .. } => {}
            Op::Replace { at, with } => {
                let seat = seat(reading, value, &args[*at])?;
                let text = encode(with.raw(), seat.quote);
                found.push(Edit { script: seat.script, range: seat.start..seat.end, text });
            }
            Op::After { at, new } => {
                let seat = seat(reading, value, &args[*at])?;
                if seat.quote == Quote::Bare {
                    return Err(Cannot::Spread(new.raw().to_owned()));
                }
                let text = encode(&format!(" {}", new.raw()), seat.quote);
                found.push(Edit { script: seat.script, range: seat.end..seat.end, text });
            }
            Op::Append { new, .. } => appended.push(new),
        }
    }
    if !appended.is_empty() {
        let removed = ops.iter().filter(|op| matches!(op, Op::Remove { .. })).count();
        if removed > 0 && removed == args.len() {
            return Err(Cannot::Overlap);
        }
        found.push(append(reading, variable, value, &appended)?);
    }
    Ok(found)
}

/// Takes runs of neighbouring arguments away, each with the blanks on one side of it.
fn removals(reading: &Reading, value: &Value, args: &[Placed], ops: &[Op]) -> Result<Vec<Edit>, Cannot> {
    let gone = |at: usize| ops.contains(&Op::Remove { at });
    let mut found = Vec::new();
    let mut at = 0;
    while at < args.len() {
        if !gone(at) {
            at += 1;
            continue;
        }
        let first = at;
        while at < args.len() && gone(at) {
            at += 1;
        }
        let seats =
            args[first..at].iter().map(|arg| seat(reading, value, arg)).collect::<Result<Vec<_>, _>>()?;
        let (from, to) = (args[first].cells.start, args[at - 1].cells.end);
        // Blanks behind go with the run, so that what comes before keeps its own; at the end those before do.
        let behind = args.get(at).map_or(to, |next| next.cells.start);
        let before = first.checked_sub(1).map_or(0, |at| args[at].cells.end);
        // Only blanks that are written right beside it are its own; others belong to a reference.
        let touches = |one: usize, other: usize| match (value.cells[one].seat, value.cells[other].seat) {
            (Some(one), Some(other)) => one.script == other.script && one.end == other.start,
            _ => false,
        };
        let cells = match behind > to && touches(to - 1, to) {
            true => from..behind,
            false if before < from && touches(from - 1, from) => before..to,
            false => from..to,
        };
        let home =
            |seat: &Seat| seats.iter().any(|other| other.script == seat.script && other.quote == seat.quote);
        let mut range: Option<Seat> = None;
        let blank = |at: &usize| value.cells[*at].byte.is_some_and(is_blank);
        for place in cells.filter(|place| (from..to).contains(place) || blank(place)) {
            let Some(seat) = value.cells[place].seat else { continue };
            let inside = (from..to).contains(&place);
            match &mut range {
                Some(run) if run.script == seat.script && run.end == seat.start => run.end = seat.end,
                _ if !inside && !home(&seat) => {}
                _ => {
                    found.extend(range.take().map(deletion));
                    range = Some(seat);
                }
            }
        }
        found.extend(range.map(deletion));
    }
    Ok(found)
}

fn deletion(seat: Seat) -> Edit {
    Edit { script: seat.script, range: seat.start..seat.end, text: Vec::new() }
}

fn target<'r>(reading: &'r Reading, variable: &str) -> Result<&'r Assign, Cannot> {
    reading.last_assign(variable).filter(|assign| assign.sure).ok_or(Cannot::NoAssignment)
}

fn append(reading: &Reading, variable: &str, value: &Value, new: &[&Token]) -> Result<Edit, Cannot> {
    let assign = target(reading, variable)?;
    let quote = match assign.tail {
        Tail::Double => Quote::Double,
        Tail::Single => Quote::Single,
        Tail::Bare => return Err(Cannot::Spread(variable.to_owned())),
    };
    let words: Vec<&str> = new.iter().map(|token| token.raw()).collect();
    let bare = match value.cells.last() {
        None => assign.value.len() == 2,
        Some(cell) => cell.byte.is_some_and(is_blank),
    };
    let text = format!("{}{}", if bare { "" } else { " " }, words.join(" "));
    let at = assign.value.end - 1;
    Ok(Edit { script: assign.script, range: at..at, text: encode(&text, quote) })
}

/// Writes the whole value anew between double quotes, where all of it stands in its last assignment.
fn whole(reading: &Reading, variable: &str, value: &Value, args: &[Placed], ops: &[Op]) -> Option<Vec<Edit>> {
    let assign = target(reading, variable).ok()?;
    let here = |seat: Seat| seat.script == assign.script && assign.value.contains(&seat.start);
    if !value.cells.iter().all(|cell| cell.doubt.is_none() && cell.seat.is_some_and(here)) {
        return None;
    }
    // A reference to an empty variable leaves no cell, but must stay.
    let written = &reading.scripts[assign.script].bytes[assign.value.clone()];
    if written.contains(&b'$') && !value.cells.iter().any(|cell| cell.byte == Some(b'$')) {
        return None;
    }
    let mut words: Vec<String> = Vec::new();
    for (at, arg) in args.iter().enumerate() {
        let replaced = ops.iter().find_map(|op| match op {
            Op::Replace { at: place, with } if *place == at => Some(with.raw()),
            _ => None,
        });
        if !ops.contains(&Op::Remove { at }) {
            words.push(replaced.or(arg.token.as_ref().map(Token::raw))?.to_owned());
        }
        words.extend(ops.iter().filter_map(|op| match op {
            Op::After { at: place, new } if *place == at => Some(new.raw().to_owned()),
            _ => None,
        }));
    }
    words.extend(ops.iter().filter_map(|op| match op {
        Op::Append { new, .. } => Some(new.raw().to_owned()),
        _ => None,
    }));
    let mut text = vec![b'"'];
    text.extend(encode(&words.join(" "), Quote::Double));
    text.push(b'"');
    Some(vec![Edit { script: assign.script, range: assign.value.clone(), text }])
}

/// Puts a quoted piece behind an unquoted value such as `$OTHER`.
fn glued(reading: &Reading, variable: &str, ops: &[Op]) -> Option<Vec<Edit>> {
    let assign = target(reading, variable).ok().filter(|assign| assign.tail == Tail::Bare)?;
    let mut text = vec![b'"'];
    for op in ops {
        let Op::Append { new, .. } = op else { return None };
        text.extend(encode(&format!(" {}", new.raw()), Quote::Double));
    }
    text.push(b'"');
    Some(vec![Edit { script: assign.script, range: assign.value.end..assign.value.end, text }])
}
