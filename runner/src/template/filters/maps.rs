//! Filters of mappings: `combine`, `dict2items` and back, sorting, leaving out keys.
use modules::regex::{Flags, Part, Pattern};
use std::sync::Arc;

use super::super::calls::{Bound, Callee, row};
use super::super::eval::Eval;
use super::super::fault::Fault;
use super::super::value::{Key, Map, Val};

pub(super) static TABLE: [Callee; 7] = [
    row("combine", &["value", "*others", "recursive", "list_merge"], combine),
    row("dict2items", &["value", "key_name", "value_name"], dict2items),
    row("items2dict", &["value", "key_name", "value_name"], items2dict),
    row("items", &["value"], items),
    row("dictsort", &["value", "case_sensitive", "by", "reverse"], dictsort),
    row("remove_keys", &["data", "target", "matching_parameter"], |eval, bound| pruned(eval, bound, false)),
    row("keep_keys", &["data", "target", "matching_parameter"], |eval, bound| pruned(eval, bound, true)),
];

fn combine(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let recursive = bound.flag(eval, 2)?;
    let merge = bound.some(3).map_or(Ok("replace".into()), |_| bound.str(eval, 3, "a way to merge"))?;
    if !["replace", "keep", "append", "prepend", "append_rp", "prepend_rp"].contains(&&*merge) {
        return Err(
            bound.fail("`list_merge` is one of replace, keep, append, prepend, append_rp, prepend_rp")
        );
    }
    let mut maps = Vec::new();
    for val in std::iter::once(bound.input()).chain(&bound.rest) {
        collect(eval, val, bound, &mut maps)?;
    }
    let mut out = Map::new();
    for map in maps {
        out = merged(eval, out, map, recursive, &merge, bound)?;
    }
    Ok(Val::map(out))
}

fn collect(eval: &Eval<'_>, val: &Val, bound: &Bound, maps: &mut Vec<Map>) -> Result<(), Fault> {
    if val.is_list() {
        for item in eval.items(val, bound.place)?.iter() {
            eval.deeper(bound.place, || collect(eval, item, bound, maps))?;
        }
        return Ok(());
    }
    maps.push(eval.mapping(val, bound.place)?);
    Ok(())
}

fn merged(
    eval: &Eval<'_>,
    mut below: Map,
    above: Map,
    recursive: bool,
    merge: &str,
    bound: &Bound,
) -> Result<Map, Fault> {
    if !recursive && merge == "replace" {
        below.extend(above);
        return Ok(below);
    }
    for (key, val) in above {
        let joined = match below.get(&key) {
            Some(old) if old.is_mapping() && val.is_mapping() && recursive => {
                let (old, new) = (eval.mapping(old, bound.place)?, eval.mapping(&val, bound.place)?);
                Val::map(eval.deeper(bound.place, || merged(eval, old, new, recursive, merge, bound))?)
            }
            Some(old) if old.is_list() && val.is_list() => join_lists(eval, old, &val, merge, bound)?,
            _ => val,
        };
        below.insert(key, joined);
    }
    Ok(below)
}

fn join_lists(eval: &Eval<'_>, old: &Val, new: &Val, merge: &str, bound: &Bound) -> Result<Val, Fault> {
    let (old, new) = (eval.items(old, bound.place)?, eval.items(new, bound.place)?);
    let without = |list: &[Val], other: &[Val]| -> Result<Vec<Val>, Fault> {
        let mut kept = Vec::new();
        for item in list {
            let mut found = false;
            for other in other {
                found = found || eval.equal(item, other, bound.place)?;
            }
            if !found {
                kept.push(item.clone());
            }
        }
        Ok(kept)
    };
    let joined = |a: Vec<Val>, b: &[Val]| a.into_iter().chain(b.iter().cloned()).collect();
    Ok(Val::list(match merge {
        "replace" => new.to_vec(),
        "keep" => old.to_vec(),
        "append" => joined(old.to_vec(), &new),
        "prepend" => joined(new.to_vec(), &old),
        "append_rp" => joined(without(&old, &new)?, &new),
        _ => joined(new.to_vec(), &without(&old, &new)?),
    }))
}

fn names(eval: &Eval<'_>, bound: &Bound) -> Result<(Key, Key), Fault> {
    let name = |index, usual: &str| -> Result<Key, Fault> {
        match bound.some(index) {
            Some(_) => Ok(Key::Str(bound.str(eval, index, "a name")?)),
            None => Ok(Key::from(usual)),
        }
    };
    Ok((name(1, "key")?, name(2, "value")?))
}

fn dict2items(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let (key_name, value_name) = names(eval, bound)?;
    if !bound.input().is_mapping() {
        return Err(bound.fail(format!("`dict2items` needs a mapping, not {}", bound.input().kind())));
    }
    let rows = eval.entries(bound.input(), bound.place)?.into_iter().map(|(key, val)| {
        Val::map([(key_name.clone(), key.into()), (value_name.clone(), val)].into_iter().collect())
    });
    Ok(Val::list(rows.collect()))
}

fn items2dict(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let name = |index, usual| bound.some(index).cloned().unwrap_or_else(|| Val::text(usual));
    let (key_name, value_name): (Val, Val) = (name(1, "key"), name(2, "value"));
    if !bound.input().is_list() {
        return Err(bound.fail(format!("`items2dict` needs a list, not {}", bound.input().kind())));
    }
    let mut out = Map::new();
    for item in eval.items(bound.input(), bound.place)?.iter() {
        let key = eval.item(item, &key_name, bound.place)?;
        let val = eval.item(item, &value_name, bound.place)?;
        if matches!(key, Val::Undef(_)) || matches!(val, Val::Undef(_)) {
            return Err(
                bound.fail("an item has no key or no value: name them with `key_name` and `value_name`")
            );
        }
        out.insert(eval.key(&key, bound.place)?, val);
    }
    Ok(Val::map(out))
}

fn items(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let rows = eval.entries(bound.input(), bound.place)?.into_iter();
    Ok(Val::list(rows.map(|(key, val)| Val::tuple(vec![key.into(), val])).collect()))
}

fn dictsort(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let fold = !bound.flag(eval, 1)?;
    let by = bound.some(2).map_or(Ok("key".into()), |_| bound.str(eval, 2, "`key` or `value`"))?;
    let mut rows = eval.entries(bound.input(), bound.place)?;
    let mut fault = None;
    let folded = |val: &Val| match val {
        Val::Str(text) if fold => Val::text(text.to_lowercase()),
        other => other.clone(),
    };
    rows.sort_by(|(a, a_val), (b, b_val)| {
        let (a, b) = match &*by {
            "value" => (folded(a_val), folded(b_val)),
            _ => (folded(&a.clone().into()), folded(&b.clone().into())),
        };
        eval.order(&a, &b, bound.place).unwrap_or_else(|found| {
            fault.get_or_insert(found);
            std::cmp::Ordering::Equal
        })
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    if bound.flag(eval, 3)? {
        rows.reverse();
    }
    Ok(Val::list(rows.into_iter().map(|(key, val)| Val::tuple(vec![key.into(), val])).collect()))
}

/// `remove_keys` and `keep_keys` of ansible.utils, at every depth.
fn pruned(eval: &Eval<'_>, bound: &Bound, keep: bool) -> Result<Val, Fault> {
    let target = bound.need(1, "the keys")?;
    let target =
        if target.is_list() { eval.items(target, bound.place)?.to_vec() } else { vec![target.clone()] };
    let target: Vec<Arc<str>> =
        target.iter().map(|val| eval.show(val, bound.place).map(Arc::from)).collect::<Result<_, _>>()?;
    let way = bound.some(2).map_or(Ok("equality".into()), |_| bound.str(eval, 2, "a way to match"))?;
    let mut fits: Vec<Box<Fits<'_>>> = Vec::new();
    for name in &target {
        let pattern = match &*way {
            "regex" => Some(Pattern::new(name, Flags::default()).map_err(|why| bound.fail(why.to_string()))?),
            "equality" | "starts_with" | "ends_with" => None,
            _ => return Err(bound.fail("it is one of equality, starts_with, ends_with, regex")),
        };
        let way = Arc::clone(&way);
        fits.push(Box::new(move |key| match (&*way, &pattern) {
            (_, Some(pattern)) => pattern.holds(key, Part::Start).map_err(|why| bound.fail(why.to_string())),
            ("starts_with", _) => Ok(key.starts_with(&**name)),
            ("ends_with", _) => Ok(key.ends_with(&**name)),
            _ => Ok(key == &**name),
        }));
    }
    let test = |key: &str| -> Result<bool, Fault> {
        for fit in &fits {
            if fit(key)? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    prune(eval, bound.input(), &test, keep, bound)
}

/// Whether a key is meant.
type Fits<'a> = dyn Fn(&str) -> Result<bool, Fault> + 'a;

fn prune(eval: &Eval<'_>, val: &Val, test: &Fits<'_>, keep: bool, bound: &Bound) -> Result<Val, Fault> {
    if val.is_list() {
        let items = eval.items(val, bound.place)?;
        let items =
            items.iter().map(|item| eval.deeper(bound.place, || prune(eval, item, test, keep, bound)));
        return Ok(Val::list(items.collect::<Result<_, _>>()?));
    }
    if !val.is_mapping() {
        return Ok(val.clone());
    }
    let mut out = Map::new();
    for (key, item) in eval.entries(val, bound.place)? {
        let hit = match &key {
            Key::Str(name) => test(name)?,
            _ => false,
        };
        match (keep, hit) {
            (false, true) => {}
            (true, true) => {
                out.insert(key, item);
            }
            (true, false) if !item.is_mapping() && !item.is_list() => {}
            _ => {
                let inner = eval.deeper(bound.place, || prune(eval, &item, test, keep, bound))?;
                if !keep || eval.len(&inner, bound.place)? > 0 {
                    out.insert(key, inner);
                }
            }
        }
    }
    Ok(Val::map(out))
}
