//! Filters that choose: defaults, `ternary`, and those that run tests and filters over lists.
use std::rc::Rc;
use std::sync::Arc;

use super::super::calls::{self, Bound, Callee, Given, lenient, row};
use super::super::eval::Eval;
use super::super::fault::Fault;
use super::super::predicates;
use super::super::value::{Key, Lack, Val, Within};

pub(super) static TABLE: [Callee; 9] = [
    lenient("default", &["value", "default_value", "boolean"], default),
    lenient("d", &["value", "default_value", "boolean"], default),
    lenient("mandatory", &["value", "msg"], mandatory),
    lenient("ternary", &["value", "true_val", "false_val", "none_val"], ternary),
    row("map", &["value", "*args", "**options"], map),
    row("select", &["value", "*args", "**options"], |eval, bound| select(eval, bound, false, true)),
    row("reject", &["value", "*args", "**options"], |eval, bound| select(eval, bound, false, false)),
    row("selectattr", &["value", "*args", "**options"], |eval, bound| select(eval, bound, true, true)),
    row("rejectattr", &["value", "*args", "**options"], |eval, bound| select(eval, bound, true, false)),
];

fn default(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let empty = match bound.input() {
        Val::Late(missing) => return Err(Fault::missing(missing.clone(), bound.range())),
        // Ansible 2.19 fails here too.
        Val::Undef(lack) if matches!(lack.within, Within::Blank) => return Err(eval.undefined(lack)),
        Val::Undef(_) => true,
        val => match bound.get(2) {
            Some(flag) => eval.truth(flag, bound.place)? && !eval.truth(val, bound.place)?,
            None => false,
        },
    };
    if empty { Ok(bound.get(1).cloned().unwrap_or_else(|| Val::text(""))) } else { Ok(bound.input().clone()) }
}

fn mandatory(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    match bound.input() {
        Val::Late(missing) => Err(Fault::missing(missing.clone(), bound.range())),
        Val::Undef(lack) => {
            let hint = match bound.some(1) {
                Some(_) => bound.str(eval, 1, "a message")?.to_string(),
                None => format!("the mandatory variable `{}` is not defined", lack.name),
            };
            let lack = Lack {
                name: lack.name.clone(),
                within: Within::Nothing,
                hint: Some(hint),
                place: lack.place,
                via: lack.via.clone(),
            };
            Ok(Val::Undef(Rc::new(lack)))
        }
        val => Ok(val.clone()),
    }
}

/// Only the value and the chosen side must be known.
fn ternary(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let yes = bound.need(1, "a value for true")?;
    let no = bound.need(2, "a value for false")?;
    match (bound.input(), bound.some(3)) {
        (Val::Undef(lack), _) => Ok(Val::Undef(Rc::clone(lack))),
        (Val::None, Some(none)) => Ok(none.clone()),
        (val, _) => Ok(if eval.truth(val, bound.place)? { yes } else { no }.clone()),
    }
}

/// The attribute of that dotted name; numbers index lists.
pub(super) fn attribute(eval: &Eval<'_>, item: &Val, name: &Val, bound: &Bound) -> Result<Val, Fault> {
    match name {
        Val::Str(path) => {
            let mut at = item.clone();
            for part in path.split('.') {
                at = match part.parse::<i128>() {
                    Ok(n) => eval.member(&at, &Val::Int(n), true, bound.place)?,
                    Err(_) => eval.member(&at, &Val::text(part), true, bound.place)?,
                };
            }
            Ok(at)
        }
        other => eval.item(item, other, bound.place),
    }
}

fn map(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let items = eval.items(bound.input(), bound.place)?;
    let mut out = Vec::with_capacity(items.len());
    if let Some(name) = bound.kw.get(&Key::from("attribute")) {
        if let Some(Key::Str(other)) =
            bound.kw.keys().find(|key| !["attribute", "default"].map(Key::from).contains(key))
        {
            return Err(bound.fail(format!("`map` has no parameter `{other}` beside `attribute`")));
        }
        let default = bound.kw.get(&Key::from("default"));
        for item in items.iter() {
            let val = attribute(eval, item, name, bound)?;
            out.push(match (&val, default) {
                (Val::Undef(_), Some(default)) => default.clone(),
                _ => val,
            });
        }
        return Ok(Val::list(out));
    }
    let (name, args) =
        bound.rest.split_first().ok_or_else(|| bound.fail("`map` needs a filter or `attribute=`"))?;
    let name = name.as_str().ok_or_else(|| bound.fail("a filter's name is text"))?;
    let filter = super::find(name, bound.place).map_err(|fault| *fault)?;
    let kw: Vec<(Arc<str>, Val)> = keywords(bound);
    for item in items.iter() {
        let mut pos = vec![item.clone()];
        pos.extend(args.iter().cloned());
        out.push(calls::run(eval, filter, Given { pos, kw: kw.clone() }, bound.place, bound.scope)?);
    }
    Ok(Val::list(out))
}

fn keywords(bound: &Bound) -> Vec<(Arc<str>, Val)> {
    let name = |key: &Key| match key {
        Key::Str(name) => Some(Arc::clone(name)),
        _ => None,
    };
    bound.kw.iter().filter_map(|(key, val)| Some((name(key)?, val.clone()))).collect()
}

/// The four selecting filters.
fn select(eval: &Eval<'_>, bound: &Bound, by_attribute: bool, keep: bool) -> Result<Val, Fault> {
    let mut args = bound.rest.as_slice();
    let mut name = None;
    if by_attribute {
        let (first, rest) =
            args.split_first().ok_or_else(|| bound.fail("this needs the name of an attribute"))?;
        (name, args) = (Some(first), rest);
    }
    let test = match args.split_first() {
        Some((test, _)) => {
            let test = test.as_str().ok_or_else(|| bound.fail("a test's name is text"))?;
            Some(predicates::find(test, bound.place).map_err(|fault| *fault)?)
        }
        None => None,
    };
    let kw = keywords(bound);
    let mut out = Vec::new();
    for item in eval.items(bound.input(), bound.place)?.iter() {
        let val = name.map_or(Ok(item.clone()), |name| attribute(eval, item, name, bound))?;
        let held = match test {
            Some(test) => {
                let mut pos = vec![val];
                pos.extend(args.iter().skip(1).cloned());
                calls::run(eval, test, Given { pos, kw: kw.clone() }, bound.place, bound.scope)?
            }
            None => val,
        };
        if eval.truth(&held, bound.place)? == keep {
            out.push(item.clone());
        }
    }
    Ok(Val::list(out))
}
