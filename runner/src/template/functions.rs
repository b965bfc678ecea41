//! Functions that templates call: `range`, `dict`, `namespace`, `lookup`, `query` and their kin.
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use super::calls::{Bound, Callee, lenient, row, short_name};
use super::eval::Eval;
use super::fault::{Fault, Kind};
use super::lower::constant_text;
use super::tree::{Args, Place};
use super::value::{Key, Lack, Map, Val, Within, range};
use super::{clock, lookups};
use crate::diagnostic::did_you_mean;

static TABLE: [Callee; 10] = [
    row("range", &["*ends"], run_range),
    row("dict", &["*pairs", "**items"], run_dict),
    row("namespace", &["*maps", "**items"], run_namespace),
    row("cycler", &["*items"], run_cycler),
    row("joiner", &["sep"], run_joiner),
    lenient("undef", &["hint"], run_undef),
    row("now", &["utc", "fmt"], run_now),
    row("lookup", &["*terms", "**options"], run_lookup),
    row("query", &["*terms", "**options"], run_query),
    row("q", &["*terms", "**options"], run_query),
];

/// The function of that name.
pub(super) fn find(name: &str) -> Option<&'static Callee> {
    TABLE.iter().find(|callee| callee.name == name)
}

/// The fault of calling what is no function.
pub(super) fn unknown(name: &str, place: Place) -> Fault {
    let why = match name {
        "lipsum" => "it makes random text".to_owned(),
        _ => match did_you_mean(name, TABLE.iter().map(|callee| callee.name)) {
            Some(near) => format!("there is no such function; did you mean `{near}`?"),
            None => format!("there is no such function; a filter is written `value | {name}`"),
        },
    };
    Fault::new(Kind::Unsupported { name: format!("function `{name}`"), why }, range(place))
}

/// The fault of a lookup whose name stands in the text and is not offered.
pub(super) fn refused_lookup(function: &str, args: &Args, place: Place) -> Option<Fault> {
    if !matches!(function, "lookup" | "query" | "q") {
        return None;
    }
    let name = constant_text(args.pos.first()?)?;
    lookups::find(name, place).err().map(|fault| *fault)
}

fn run_range(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let ends = bound.rest.iter().map(Val::as_int).collect::<Option<Vec<_>>>();
    let (start, stop, step) = match ends.as_deref() {
        Some([stop]) => (0, *stop, 1),
        Some([start, stop]) => (*start, *stop, 1),
        Some([start, stop, step]) if *step != 0 => (*start, *stop, *step),
        _ => return Err(bound.fail("`range` takes one to three whole numbers, the last not zero")),
    };
    let count = if step > 0 { (stop - start + step - 1) / step } else { (start - stop - step - 1) / -step };
    if count > 100_000 {
        return Err(bound.fail("`range` of more than 100,000 numbers"));
    }
    Ok(Val::list((0..count.max(0)).map(|n| Val::Int(start + n * step)).collect()))
}

fn run_dict(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let mut map = Map::new();
    for source in &bound.rest {
        if source.is_mapping() {
            map.extend(eval.entries(source, bound.place)?);
            continue;
        }
        for pair in eval.items(source, bound.place)?.iter() {
            match eval.items(pair, bound.place)?.as_slice() {
                [key, val] => map.insert(eval.key(key, bound.place)?, val.clone()),
                _ => return Err(bound.fail("`dict` needs pairs of key and value")),
            };
        }
    }
    map.extend(bound.kw.iter().map(|(key, val)| (key.clone(), val.clone())));
    Ok(Val::map(map))
}

fn run_namespace(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    match run_dict(eval, bound)? {
        Val::Map(map) => Ok(Val::Namespace(Rc::new(RefCell::new((*map).clone())))),
        other => Ok(other),
    }
}

fn run_cycler(_: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    if bound.rest.is_empty() {
        return Err(bound.fail("`cycler` needs at least one value"));
    }
    Ok(Val::Cycler(Rc::new((bound.rest.clone(), Cell::new(0)))))
}

fn run_joiner(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let sep = match bound.get(0) {
        Some(_) => bound.str(eval, 0, "a separator")?,
        None => ", ".into(),
    };
    Ok(Val::Joiner(Rc::new((sep, Cell::new(false)))))
}

fn run_undef(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let hint = match bound.some(0) {
        Some(_) => bound.str(eval, 0, "a hint")?.to_string(),
        None => "this variable must be set".to_owned(),
    };
    let (name, within) = ("undef()".to_owned(), Within::Nothing);
    Ok(Val::Undef(Rc::new(Lack { name, within, hint: Some(hint), place: bound.place, via: Vec::new() })))
}

fn run_now(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    if !bound.flag(eval, 0)? {
        let why = "this machine's time zone is not a part of the plan: write `now(utc=true, fmt=…)`";
        return Err(Fault::unsupported("function `now` in local time", why, bound.range()));
    }
    let Some(now) = eval.templates.world().now else {
        return Err(Fault::unsupported("function `now`", "no time was given to this run", bound.range()));
    };
    match bound.some(1) {
        Some(_) => {
            let format = bound.str(eval, 1, "a format")?;
            clock::format(&format, now).map(Val::text).map_err(|why| bound.fail(why))
        }
        None => {
            let why =
                "a time is not a value that can be kept: give it a format, `now(utc=true, fmt='%F %T')`";
            Err(Fault::unsupported("function `now` without `fmt`", why, bound.range()))
        }
    }
}

/// The lookup's values, whether it wants a list, and whether errors count.
fn look(eval: &Eval<'_>, bound: &Bound) -> Result<(Vec<Val>, bool), Fault> {
    let Some((name, terms)) = bound.rest.split_first() else {
        return Err(bound.fail("a lookup needs its name"));
    };
    let name = name.as_str().ok_or_else(|| bound.fail("a lookup's name is text"))?;
    let mut options = bound.kw.clone();
    let mut option = |name: &str| options.shift_remove(&Key::from(name));
    let wants_list = option("wantlist").is_some_and(|val| matches!(val, Val::Bool(true)));
    let errors = option("errors").and_then(|val| val.as_str().map(str::to_owned));
    let lookup = lookups::find(short_name(name), bound.place).map_err(|fault| *fault)?;
    let found = (lookup.run)(eval, &lookups::Asked { terms, options: &options, bound });
    match (found, errors.as_deref()) {
        (Err(fault), Some("ignore" | "warn")) if !fault.is_missing() => Ok((Vec::new(), wants_list)),
        (found, _) => {
            let list = |val| if let Val::Tuple(items) = val { Val::List(items) } else { val };
            Ok((found?.into_iter().map(list).collect(), wants_list))
        }
    }
}

fn run_query(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    Ok(Val::list(look(eval, bound)?.0))
}

/// One value stays as it is; several texts are joined with commas, as Ansible does.
fn run_lookup(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let (mut found, wants_list) = look(eval, bound)?;
    if wants_list {
        return Ok(Val::list(found));
    }
    match found.len() {
        0 => Ok(Val::list(found)),
        1 => Ok(found.pop().unwrap_or(Val::None)),
        _ if found.iter().all(|val| val.as_str().is_some()) => {
            let texts: Vec<&str> = found.iter().filter_map(Val::as_str).collect();
            Ok(Val::text(texts.join(",")))
        }
        _ => Ok(Val::list(found)),
    }
}
