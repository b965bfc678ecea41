//! Filters of lists: first and last, order, sets, grouping, products.
use std::cmp::Ordering;
use std::rc::Rc;

use super::super::calls::{Bound, Callee, row};
use super::super::eval::Eval;
use super::super::fault::Fault;
use super::super::tree::Op;
use super::super::value::{Key, Val};
use super::choice::attribute;

pub(super) static TABLE: [Callee; 24] = [
    row("list", &["value"], |eval, bound| Ok(Val::list(eval.items(bound.input(), bound.place)?.to_vec()))),
    row("length", &["value"], length),
    row("count", &["value"], length),
    row("first", &["value"], |eval, bound| end(eval, bound, true)),
    row("last", &["value"], |eval, bound| end(eval, bound, false)),
    row("reverse", &["value"], reverse),
    row("sort", &["value", "reverse", "case_sensitive", "attribute"], sort),
    row("unique", &["value", "case_sensitive", "attribute"], unique),
    row("sum", &["value", "attribute", "start"], sum),
    row("min", &["value", "case_sensitive", "attribute"], |eval, bound| extreme(eval, bound, Ordering::Less)),
    row("max", &["value", "case_sensitive", "attribute"], |eval, bound| {
        extreme(eval, bound, Ordering::Greater)
    }),
    row("flatten", &["value", "levels", "skip_nulls"], flatten),
    row("union", &["value", "other"], |eval, bound| sets(eval, bound, Set::Union)),
    row("intersect", &["value", "other"], |eval, bound| sets(eval, bound, Set::Intersect)),
    row("difference", &["value", "other"], |eval, bound| sets(eval, bound, Set::Difference)),
    row("symmetric_difference", &["value", "other"], |eval, bound| sets(eval, bound, Set::Symmetric)),
    row("zip", &["value", "*others", "strict"], |eval, bound| zip(eval, bound, None)),
    row("zip_longest", &["value", "*others", "fillvalue"], |eval, bound| {
        zip(eval, bound, Some(bound.get(2).cloned().unwrap_or(Val::None)))
    }),
    row("product", &["value", "*others", "repeat"], product),
    row("groupby", &["value", "attribute", "default", "case_sensitive"], groupby),
    row("batch", &["value", "linecount", "fill_with"], batch),
    row("slice", &["value", "slices", "fill_with"], slice),
    row("subelements", &["value", "subelements", "skip_missing"], subelements),
    row("extract", &["value", "container", "morekeys"], extract),
];

fn length(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    Ok(Val::Int(eval.len(bound.input(), bound.place)? as i128))
}

fn end(eval: &Eval<'_>, bound: &Bound, first: bool) -> Result<Val, Fault> {
    let items = eval.items(bound.input(), bound.place)?;
    let found = if first { items.first() } else { items.last() };
    Ok(found.cloned().unwrap_or_else(|| eval.lack("the item of an empty list", bound.place)))
}

fn reverse(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let mut items = eval.items(bound.input(), bound.place)?.to_vec();
    items.reverse();
    Ok(match bound.input() {
        Val::Str(_) => Val::text(items.iter().filter_map(Val::as_str).collect::<String>()),
        _ => Val::list(items),
    })
}

/// What an item is compared by.
fn sort_key(
    eval: &Eval<'_>,
    item: &Val,
    name: Option<&Val>,
    fold: bool,
    bound: &Bound,
) -> Result<Val, Fault> {
    let val = name.map_or(Ok(item.clone()), |name| attribute(eval, item, name, bound))?;
    Ok(match &val {
        Val::Str(text) if fold => Val::text(text.to_lowercase()),
        _ => val,
    })
}

/// Sorts by keys; a pair without an order is a fault.
fn sorted(
    eval: &Eval<'_>,
    mut keyed: Vec<(Vec<Val>, Val)>,
    down: bool,
    bound: &Bound,
) -> Result<Vec<Val>, Fault> {
    let mut fault = None;
    eval.burn(keyed.len() as u64 * 8, bound.place)?;
    keyed.sort_by(|(a, _), (b, _)| {
        let mut order = Ordering::Equal;
        for (a, b) in a.iter().zip(b) {
            order = eval.order(a, b, bound.place).unwrap_or_else(|found| {
                fault.get_or_insert(found);
                Ordering::Equal
            });
            if order.is_ne() {
                break;
            }
        }
        if down { order.reverse() } else { order }
    });
    match fault {
        Some(fault) => Err(fault),
        None => Ok(keyed.into_iter().map(|(_, item)| item).collect()),
    }
}

fn sort(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let fold = !bound.flag(eval, 2)?;
    let names: Vec<Option<Val>> = match bound.some(3) {
        Some(Val::Str(names)) => names.split(',').map(|name| Some(Val::text(name))).collect(),
        other => vec![other.cloned()],
    };
    let mut keyed = Vec::new();
    for item in eval.items(bound.input(), bound.place)?.iter() {
        let keys = names.iter().map(|name| sort_key(eval, item, name.as_ref(), fold, bound));
        keyed.push((keys.collect::<Result<Vec<_>, _>>()?, item.clone()));
    }
    Ok(Val::list(sorted(eval, keyed, bound.flag(eval, 1)?, bound)?))
}

fn unique(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let fold = !bound.flag(eval, 1)?;
    let (mut keys, mut out): (Vec<Val>, Vec<Val>) = (Vec::new(), Vec::new());
    for item in eval.items(bound.input(), bound.place)?.iter() {
        let key = sort_key(eval, item, bound.some(2), fold, bound)?;
        if !holds(eval, &keys, &key, bound)? {
            keys.push(key);
            out.push(item.clone());
        }
    }
    Ok(Val::list(out))
}

fn holds(eval: &Eval<'_>, items: &[Val], wanted: &Val, bound: &Bound) -> Result<bool, Fault> {
    for item in items {
        if eval.equal(item, wanted, bound.place)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn sum(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let mut total = bound.get(2).cloned().unwrap_or(Val::Int(0));
    for item in eval.items(bound.input(), bound.place)?.iter() {
        let item = bound.some(1).map_or(Ok(item.clone()), |name| attribute(eval, item, name, bound))?;
        total = eval.apply(Op::Add, &total, &item, bound.place)?;
    }
    Ok(total)
}

fn extreme(eval: &Eval<'_>, bound: &Bound, wanted: Ordering) -> Result<Val, Fault> {
    let fold = !bound.flag(eval, 1)?;
    let mut best: Option<(Val, Val)> = None;
    for item in eval.items(bound.input(), bound.place)?.iter() {
        let key = sort_key(eval, item, bound.some(2), fold, bound)?;
        let better = match &best {
            Some((old, _)) => eval.order(&key, old, bound.place)? == wanted,
            None => true,
        };
        if better {
            best = Some((key, item.clone()));
        }
    }
    Ok(best.map(|(_, item)| item).unwrap_or_else(|| eval.lack("the extreme of an empty list", bound.place)))
}

fn flatten(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let levels = bound.int(1)?;
    let skip = bound.get(2).map_or(Ok(true), |val| eval.truth(val, bound.place))?;
    let mut out = Vec::new();
    flat(eval, bound.input(), levels, skip, bound, &mut out)?;
    Ok(Val::list(out))
}

fn flat(
    eval: &Eval<'_>,
    list: &Val,
    levels: Option<i128>,
    skip: bool,
    bound: &Bound,
    out: &mut Vec<Val>,
) -> Result<(), Fault> {
    for item in eval.items(list, bound.place)?.iter() {
        let null = matches!(item, Val::None) || matches!(item.as_str(), Some("None" | "null"));
        if skip && null {
            continue;
        }
        match levels {
            _ if !item.is_list() => out.push(item.clone()),
            Some(n) if n < 1 => out.push(item.clone()),
            levels => {
                eval.deeper(bound.place, || flat(eval, item, levels.map(|n| n - 1), skip, bound, out))?
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Set {
    Union,
    Intersect,
    Difference,
    Symmetric,
}

/// The set filters keep the order of their lists, as Ansible 2.19 does where items can be compared.
fn sets(eval: &Eval<'_>, bound: &Bound, kind: Set) -> Result<Val, Fault> {
    let a = eval.items(bound.input(), bound.place)?;
    let b = eval.items(bound.need(1, "a list")?, bound.place)?;
    let mut out: Vec<Val> = Vec::new();
    let add = |out: &mut Vec<Val>, item: &Val| -> Result<(), Fault> {
        if !holds(eval, out, item, bound)? {
            out.push(item.clone());
        }
        Ok(())
    };
    for item in a.iter() {
        let kept = match kind {
            Set::Union => true,
            Set::Intersect => holds(eval, &b, item, bound)?,
            Set::Difference | Set::Symmetric => !holds(eval, &b, item, bound)?,
        };
        if kept {
            add(&mut out, item)?;
        }
    }
    for item in b.iter() {
        let kept = match kind {
            Set::Union => true,
            Set::Symmetric => !holds(eval, &a, item, bound)?,
            Set::Intersect | Set::Difference => false,
        };
        if kept {
            add(&mut out, item)?;
        }
    }
    Ok(Val::list(out))
}

/// All lists of a filter that takes several.
fn lists(eval: &Eval<'_>, bound: &Bound) -> Result<Vec<Rc<Vec<Val>>>, Fault> {
    std::iter::once(bound.input()).chain(&bound.rest).map(|list| eval.items(list, bound.place)).collect()
}

fn zip(eval: &Eval<'_>, bound: &Bound, fill: Option<Val>) -> Result<Val, Fault> {
    let lists = lists(eval, bound)?;
    let lens = lists.iter().map(|list| list.len());
    let len = if fill.is_some() { lens.clone().max() } else { lens.clone().min() }.unwrap_or(0);
    if fill.is_none() && bound.flag(eval, 2)? && lens.clone().any(|other| other != len) {
        return Err(bound.fail("the lists are not of one length"));
    }
    let fill = fill.unwrap_or(Val::None);
    let rows = (0..len).map(|at| {
        Val::tuple(lists.iter().map(|list| list.get(at).cloned().unwrap_or_else(|| fill.clone())).collect())
    });
    Ok(Val::list(rows.collect()))
}

fn product(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let mut lists = lists(eval, bound)?;
    let repeat = bound.int(2)?.unwrap_or(1).clamp(0, 8) as usize;
    lists = std::iter::repeat_n(lists, repeat).flatten().collect();
    let mut rows: Vec<Vec<Val>> = vec![Vec::new()];
    for list in &lists {
        eval.burn((rows.len() * list.len()) as u64 * 4, bound.place)?;
        rows = rows
            .iter()
            .flat_map(|row| list.iter().map(move |item| row.iter().chain([item]).cloned().collect()))
            .collect();
    }
    Ok(Val::list(rows.into_iter().map(Val::tuple).collect()))
}

fn groupby(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let name = bound.need(1, "an attribute")?;
    let fold = !bound.flag(eval, 3)?;
    let mut keyed = Vec::new();
    for item in eval.items(bound.input(), bound.place)?.iter() {
        let mut val = attribute(eval, item, name, bound)?;
        if let (Val::Undef(_), Some(default)) = (&val, bound.get(2)) {
            val = default.clone();
        }
        let val = eval.known(val, bound.place)?;
        let folded = sort_key(eval, &val, None, fold, bound)?;
        keyed.push((vec![folded.clone()], Val::tuple(vec![folded, val, item.clone()])));
    }
    let mut groups: Vec<(Val, Val, Vec<Val>)> = Vec::new();
    for row in sorted(eval, keyed, false, bound)? {
        let Val::Tuple(row) = row else { continue };
        match groups.last_mut() {
            Some((folded, _, items)) if eval.equal(folded, &row[0], bound.place)? => {
                items.push(row[2].clone())
            }
            _ => groups.push((row[0].clone(), row[1].clone(), vec![row[2].clone()])),
        }
    }
    let pairs = groups.into_iter().map(|(_, key, items)| Val::tuple(vec![key, Val::list(items)]));
    Ok(Val::list(pairs.collect()))
}

fn size(bound: &Bound) -> Result<usize, Fault> {
    let size = bound.int(1)?.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
    size.ok_or_else(|| bound.fail(format!("`{}` needs a number above zero", bound.name)))
}

fn batch(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let size = size(bound)?;
    let rows = eval.items(bound.input(), bound.place)?;
    let rows = rows.chunks(size).map(|chunk| {
        let mut row = chunk.to_vec();
        if let Some(fill) = bound.some(2) {
            row.resize(size.min(100_000), fill.clone());
        }
        Val::list(row)
    });
    Ok(Val::list(rows.collect()))
}

fn slice(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let count = size(bound)?.min(100_000);
    let items = eval.items(bound.input(), bound.place)?;
    let (each, longer) = (items.len() / count, items.len() % count);
    let (mut at, mut out) = (0, Vec::new());
    for index in 0..count {
        let end = at + each + usize::from(index < longer);
        let mut row = items[at..end].to_vec();
        if let Some(fill) = bound.some(2).filter(|_| index >= longer && longer > 0) {
            row.push(fill.clone());
        }
        at = end;
        out.push(Val::list(row));
    }
    Ok(Val::list(out))
}

fn subelements(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let skip = match bound.some(2) {
        Some(options) if options.is_mapping() => {
            let flag = eval.child(options, &Key::from("skip_missing"), bound.place)?;
            flag.map_or(Ok(false), |flag| eval.truth(&flag, bound.place))?
        }
        Some(flag) => eval.truth(flag, bound.place)?,
        None => false,
    };
    let name = bound.need(1, "the name of the inner list")?;
    let path: Vec<Val> = match name {
        Val::Str(path) => path.split('.').map(Val::text).collect(),
        list => eval.items(list, bound.place)?.to_vec(),
    };
    pairs_of(eval, bound.input(), &path, skip, bound).map(Val::list)
}

/// Each item with each of its inner items.
pub(in super::super) fn pairs_of(
    eval: &Eval<'_>,
    outer: &Val,
    path: &[Val],
    skip: bool,
    bound: &Bound,
) -> Result<Vec<Val>, Fault> {
    let outer: Vec<Val> = if outer.is_mapping() {
        eval.entries(outer, bound.place)?.into_iter().map(|(_, val)| val).collect()
    } else {
        eval.items(outer, bound.place)?.to_vec()
    };
    let mut out = Vec::new();
    for item in outer {
        let mut inner = item.clone();
        for step in path {
            inner = eval.item(&inner, step, bound.place)?;
        }
        match &inner {
            Val::Undef(_) if skip => continue,
            inner if inner.is_list() => {}
            Val::Undef(_) => {
                return Err(bound.fail("an item has no inner list: `skip_missing=True` passes over it"));
            }
            _ if skip => continue,
            other => return Err(bound.fail(format!("the inner list is a {}", other.kind()))),
        }
        for part in eval.items(&inner, bound.place)?.iter() {
            out.push(Val::tuple(vec![item.clone(), part.clone()]));
        }
    }
    Ok(out)
}

fn extract(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let mut found = eval.item(bound.need(1, "a container")?, bound.input(), bound.place)?;
    match bound.some(2) {
        None => {}
        Some(keys) if keys.is_list() => {
            for key in eval.items(keys, bound.place)?.iter() {
                found = eval.item(&found, key, bound.place)?;
            }
        }
        Some(key) => found = eval.item(&found, key, bound.place)?,
    }
    Ok(found)
}
