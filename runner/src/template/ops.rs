//! What operators do: truth, equality, order, arithmetic, membership, as in Python.
use std::cmp::Ordering;

use super::eval::Eval;
use super::fault::Fault;
use super::tree::{Op, Place};
use super::value::{Key, Val, range};

/// Longest text or list that an operator may make.
const LARGEST: usize = 16 * 1024 * 1024;

impl Eval<'_> {
    /// Whether Python takes it for true.
    pub(super) fn truth(&self, val: &Val, place: Place) -> Result<bool, Fault> {
        Ok(match val {
            Val::Undef(lack) => return Err(self.undefined(lack)),
            Val::Late(missing) => return Err(Fault::missing(missing.clone(), range(place))),
            Val::None => false,
            Val::Omit => true,
            Val::Bool(b) => *b,
            Val::Int(n) => *n != 0,
            Val::Float(f) => *f != 0.0,
            Val::Str(text) => !text.is_empty(),
            val if val.is_list() || val.is_mapping() => self.len(val, place)? > 0,
            _ => true,
        })
    }

    /// Refuses what is undefined or not known yet.
    pub(super) fn known(&self, val: Val, place: Place) -> Result<Val, Fault> {
        match &val {
            Val::Undef(lack) => Err(self.undefined(lack)),
            Val::Late(missing) => Err(Fault::missing(missing.clone(), range(place))),
            _ => Ok(val),
        }
    }

    /// Python's `==`.
    pub(super) fn equal(&self, left: &Val, right: &Val, place: Place) -> Result<bool, Fault> {
        self.burn(1, place)?;
        for val in [left, right] {
            match val {
                Val::Undef(lack) => return Err(self.undefined(lack)),
                Val::Late(missing) => return Err(Fault::missing(missing.clone(), range(place))),
                _ => {}
            }
        }
        Ok(match (left, right) {
            (Val::None, Val::None) | (Val::Omit, Val::Omit) => true,
            (Val::Str(a), Val::Str(b)) => a == b,
            (Val::Tuple(a), Val::Tuple(b)) => self.equal_items(a, b, place)?,
            (Val::Tuple(_), _) | (_, Val::Tuple(_)) => false,
            (a, b) if a.is_list() && b.is_list() => {
                let (a, b) = (self.items(a, place)?, self.items(b, place)?);
                self.equal_items(&a, &b, place)?
            }
            (a, b) if a.is_mapping() && b.is_mapping() => {
                let (a, b) = (self.entries(a, place)?, self.entries(b, place)?);
                if a.len() != b.len() {
                    return Ok(false);
                }
                let b: super::value::Map = b.into_iter().collect();
                for (key, val) in &a {
                    match b.get(key) {
                        Some(other) if self.equal(val, other, place)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (a, b) => match (a.as_int(), b.as_int()) {
                (Some(a), Some(b)) => a == b,
                _ => matches!((a.as_float(), b.as_float()), (Some(a), Some(b)) if a == b),
            },
        })
    }

    fn equal_items(&self, a: &[Val], b: &[Val], place: Place) -> Result<bool, Fault> {
        if a.len() != b.len() {
            return Ok(false);
        }
        for (a, b) in a.iter().zip(b) {
            if !self.equal(a, b, place)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Python's order; different kinds have none.
    pub(super) fn order(&self, left: &Val, right: &Val, place: Place) -> Result<Ordering, Fault> {
        let left = self.known(left.clone(), place)?;
        let right = self.known(right.clone(), place)?;
        if let (Some(a), Some(b)) = (left.as_str(), right.as_str()) {
            return Ok(a.cmp(b));
        }
        if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
            return Ok(a.cmp(&b));
        }
        if let (Some(a), Some(b)) = (left.as_float(), right.as_float()) {
            return Ok(a.partial_cmp(&b).unwrap_or(Ordering::Equal));
        }
        if left.is_list() && right.is_list() {
            let (a, b) = (self.items(&left, place)?, self.items(&right, place)?);
            for (a, b) in a.iter().zip(b.iter()) {
                if !self.equal(a, b, place)? {
                    return self.order(a, b, place);
                }
            }
            return Ok(a.len().cmp(&b.len()));
        }
        let why = format!("{} and {} have no order", left.kind(), right.kind());
        let fault = Fault::failed(why, range(place));
        let numbers = [&left, &right].iter().any(|val| val.as_float().is_some());
        let texts = [&left, &right].iter().any(|val| val.as_str().is_some());
        Err(if numbers && texts { fault.hint("turn the text into a number with `| int`") } else { fault })
    }

    /// Whether `needle` is in `hay`.
    pub(super) fn contains(&self, hay: &Val, needle: &Val, place: Place) -> Result<bool, Fault> {
        let hay = self.known(hay.clone(), place)?;
        let needle = self.known(needle.clone(), place)?;
        if let Some(text) = hay.as_str() {
            let Some(part) = needle.as_str() else {
                let why = format!("text can only hold text, not {}", needle.kind());
                return Err(Fault::failed(why, range(place)));
            };
            return Ok(text.contains(part));
        }
        if hay.is_mapping() {
            return Ok(match self.key(&needle, place) {
                Ok(key) => self.child(&hay, &key, place)?.is_some(),
                Err(_) => false,
            });
        }
        if hay.is_list() {
            for item in self.items(&hay, place)?.iter() {
                if self.equal(item, &needle, place)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        Err(Fault::failed(format!("nothing can be in a {}", hay.kind()), range(place)))
    }

    /// The value as a key of a mapping.
    pub(super) fn key(&self, val: &Val, place: Place) -> Result<Key, Fault> {
        Ok(match self.known(val.clone(), place)? {
            Val::None => Key::None,
            Val::Bool(b) => Key::Bool(b),
            Val::Int(n) => Key::Int(n),
            Val::Str(text) => Key::Str(text),
            other => {
                let why = format!("a {} cannot be the key of a mapping", other.kind());
                return Err(Fault::failed(why, range(place)));
            }
        })
    }

    /// One operator.
    pub(super) fn apply(&self, op: Op, left: &Val, right: &Val, place: Place) -> Result<Val, Fault> {
        Ok(match op {
            Op::Eq => Val::Bool(self.equal(left, right, place)?),
            Op::Ne => Val::Bool(!self.equal(left, right, place)?),
            Op::Lt => Val::Bool(self.order(left, right, place)?.is_lt()),
            Op::Lte => Val::Bool(self.order(left, right, place)?.is_le()),
            Op::Gt => Val::Bool(self.order(left, right, place)?.is_gt()),
            Op::Gte => Val::Bool(self.order(left, right, place)?.is_ge()),
            Op::In => Val::Bool(self.contains(right, left, place)?),
            Op::NotIn => Val::Bool(!self.contains(right, left, place)?),
            Op::Concat => Val::text(self.show(left, place)? + &self.show(right, place)?),
            _ => {
                let left = self.known(left.clone(), place)?;
                let right = self.known(right.clone(), place)?;
                self.arithmetic(op, &left, &right, place)?
            }
        })
    }

    fn arithmetic(&self, op: Op, left: &Val, right: &Val, place: Place) -> Result<Val, Fault> {
        if let (Op::Rem, Some(format)) = (op, left.as_str()) {
            let args = match right {
                Val::Tuple(items) => items.to_vec(),
                other => vec![other.clone()],
            };
            return Ok(Val::text(self.percent(format, &args, right, place)?));
        }
        if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
            return whole(op, a, b, place);
        }
        if let (Some(a), Some(b)) = (left.as_float(), right.as_float()) {
            return real(op, a, b, place);
        }
        match (op, left, right) {
            (Op::Add, Val::Str(a), Val::Str(b)) => {
                self.burn((a.len() + b.len()) as u64 / 64, place)?;
                return Ok(Val::text(format!("{a}{b}")));
            }
            (Op::Add, Val::Tuple(a), Val::Tuple(b)) => {
                return Ok(Val::tuple(a.iter().chain(b.iter()).cloned().collect()));
            }
            (Op::Add, a, b) if a.is_list() && b.is_list() && a.kind() == b.kind() => {
                let mut items = self.items(a, place)?.to_vec();
                items.extend(self.items(b, place)?.iter().cloned());
                return Ok(Val::list(items));
            }
            (Op::Mul, a, b) => {
                let (thing, times) = if let Some(n) = b.as_int() { (a, Some(n)) } else { (b, a.as_int()) };
                if let Some(made) = times.map(|n| self.repeat(thing, n, place)).transpose()?.flatten() {
                    return Ok(made);
                }
            }
            _ => {}
        }
        let why = format!("{} and {} cannot be {}", left.kind(), right.kind(), done(op));
        let fault = Fault::failed(why, range(place));
        let text = left.as_str().is_some() || right.as_str().is_some();
        let number = left.as_float().is_some() || right.as_float().is_some();
        Err(if text && number {
            fault.hint("turn the text into a number with `| int`, or join texts with `~`")
        } else {
            fault
        })
    }

    fn repeat(&self, thing: &Val, times: i128, place: Place) -> Result<Option<Val>, Fault> {
        let times = usize::try_from(times.max(0)).unwrap_or(usize::MAX);
        let fits = |len: usize| len.checked_mul(times).is_some_and(|total| total <= LARGEST);
        let large = || Fault::failed("the result would be too large", range(place));
        if let Some(text) = thing.as_str() {
            return if fits(text.len()) { Ok(Some(Val::text(text.repeat(times)))) } else { Err(large()) };
        }
        if !thing.is_list() {
            return Ok(None);
        }
        let items = self.items(thing, place)?;
        if !fits(items.len() * 16) {
            return Err(large());
        }
        Ok(Some(Val::list(std::iter::repeat_n(items.iter().cloned(), times).flatten().collect())))
    }
}

fn done(op: Op) -> &'static str {
    match op {
        Op::Add => "added",
        Op::Sub => "subtracted",
        Op::Mul => "multiplied",
        Op::Div | Op::FloorDiv | Op::Rem => "divided",
        _ => "raised to a power",
    }
}

fn whole(op: Op, a: i128, b: i128, place: Place) -> Result<Val, Fault> {
    let large = || Fault::failed("the number is too large", range(place));
    let zero = || Fault::failed("division by zero", range(place));
    Ok(match op {
        Op::Add => Val::Int(a.checked_add(b).ok_or_else(large)?),
        Op::Sub => Val::Int(a.checked_sub(b).ok_or_else(large)?),
        Op::Mul => Val::Int(a.checked_mul(b).ok_or_else(large)?),
        Op::Div if b == 0 => return Err(zero()),
        Op::Div => Val::Float(a as f64 / b as f64),
        Op::FloorDiv | Op::Rem if b == 0 => return Err(zero()),
        Op::FloorDiv => {
            let quotient = a.checked_div(b).ok_or_else(large)?;
            Val::Int(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
        }
        Op::Rem => {
            let rest = a.checked_rem(b).ok_or_else(large)?;
            Val::Int(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
        _ if b < 0 => return real(op, a as f64, b as f64, place),
        _ => Val::Int(u32::try_from(b).ok().and_then(|b| a.checked_pow(b)).ok_or_else(large)?),
    })
}

fn real(op: Op, a: f64, b: f64, place: Place) -> Result<Val, Fault> {
    if b == 0.0 && matches!(op, Op::Div | Op::FloorDiv | Op::Rem) || a == 0.0 && b < 0.0 && op == Op::Pow {
        return Err(Fault::failed("division by zero", range(place)));
    }
    Ok(Val::Float(match op {
        Op::Add => a + b,
        Op::Sub => a - b,
        Op::Mul => a * b,
        Op::Div => a / b,
        Op::FloorDiv => (a / b).floor(),
        Op::Rem => {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }
        _ => a.powf(b),
    }))
}
