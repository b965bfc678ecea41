//! Methods that change a list or a mapping: allowed where all who hold it are names of the template itself, so that
//! nothing outside of one evaluation ever changes.
//!
//! Values are shared and do not change: a changed one is a new one that takes the place of the old one wherever a name
//! of the template holds it, directly or inside of something. Whether these are all who hold it is told by counting.
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::eval::Eval;
use super::fault::Fault;
use super::frame::Frame;
use super::methods::Method;
use super::tree::Expr;
use super::value::{Key, Map, Val, View, range};

/// Methods that change what they are called on.
const CHANGING: [&str; 11] = [
    "append",
    "extend",
    "insert",
    "remove",
    "pop",
    "popitem",
    "clear",
    "update",
    "setdefault",
    "sort",
    "reverse",
];

/// Whether the method changes a list or mapping that it is called on.
pub(super) fn changes(object: &Val, name: &str) -> bool {
    let fits = if object.is_mapping() {
        matches!(name, "update" | "setdefault" | "pop" | "popitem" | "clear")
    } else {
        object.is_list() && CHANGING.contains(&name) && !matches!(name, "update" | "setdefault" | "popitem")
    };
    fits && matches!(object, Val::List(_) | Val::Map(_) | Val::View(_))
}

/// Changes what `written` names, and gives what the method gives.
pub(super) fn change(
    method: &Method<'_, '_>,
    frame: &Frame,
    written: &Expr,
    object: Val,
) -> Result<Val, Fault> {
    let (eval, place) = (method.eval, method.place);
    for val in method.given.pos.iter().chain(method.given.kw.iter().map(|(_, val)| val)) {
        eval.known(val.clone(), place)?;
    }
    eval.burn(1, place)?;
    let by_name = match written {
        Expr::Name(name, _) => Some(name),
        _ => None,
    };
    let old = Id::of(&object);
    if let (Some(name), Some(_), 2) = (by_name, &old, holders(&object)) {
        // The name alone holds it: it is changed in place.
        let mut taken = take(frame, name);
        if taken.as_ref().and_then(Id::of) == old {
            drop(object);
            let done = taken.as_mut().map_or(Ok(Val::None), |val| act(method, val));
            put(frame, name, taken);
            return done;
        }
        put(frame, name, taken);
    }
    let mut new = owned(eval, &object, method)?;
    let given = act(method, &mut new)?;
    match (&object, old) {
        (Val::View(view), _) => from_variable(method, frame, by_name.map(|name| &**name), view, &new)?,
        (_, Some(old)) => {
            let all = holders(&object) - 1;
            let mut found = Found { old, left: all, seen: HashSet::new(), steps: 0 };
            frame.locals().iter().for_each(|(_, val)| found.look(val));
            eval.burn(found.steps, place)?;
            if found.left > 0 {
                return Err(held_elsewhere(method));
            }
            let mut swap = Swap { old, new, left: all, done: HashMap::new() };
            frame.locals_mut().iter_mut().for_each(|(_, val)| swap.at(val));
        }
        (_, None) => return Err(held_elsewhere(method)),
    }
    Ok(given)
}

fn held_elsewhere(method: &Method<'_, '_>) -> Fault {
    let why = "this value is held outside of what the template itself has made, and does not change: begin with a copy \
               of your own, `{% set mine = theirs | list %}` or `{% set mine = dict(theirs) %}`";
    Fault::unsupported(format!("method `{}`", method.name), why, range(method.place))
}

/// A part of a variable: the names that show it become a copy, the variable stays as it is. It is not read again.
fn from_variable(
    method: &Method<'_, '_>,
    frame: &Frame,
    by_name: Option<&str>,
    view: &View,
    new: &Val,
) -> Result<(), Fault> {
    let mut found = false;
    for (_, val) in frame.locals_mut().iter_mut() {
        if matches!(val, Val::View(other) if other.is_same(view)) {
            *val = new.clone();
            found = true;
        }
    }
    match by_name {
        Some(name) if !found && frame.local(name).is_none() => {
            // From here on the name is one of the template's own, in its outermost layer.
            frame.locals_mut().insert(0, (name.into(), new.clone()));
            Ok(())
        }
        _ if found => {
            frame.spoil(&view.origin.name);
            Ok(())
        }
        _ => Err(held_elsewhere(method)),
    }
}

/// A list or mapping that nobody else holds.
fn owned(eval: &Eval<'_>, object: &Val, method: &Method<'_, '_>) -> Result<Val, Fault> {
    let place = method.place;
    Ok(match object {
        object if object.is_mapping() => Val::map(eval.mapping(object, place)?),
        object => Val::list(eval.items(object, place)?.to_vec()),
    })
}

fn take(frame: &Frame, name: &str) -> Option<Val> {
    let mut locals = frame.locals_mut();
    let (_, val) = locals.iter_mut().rev().find(|(known, _)| &**known == name)?;
    Some(std::mem::replace(val, Val::None))
}

fn put(frame: &Frame, name: &str, taken: Option<Val>) {
    let mut locals = frame.locals_mut();
    if let (Some((_, val)), Some(taken)) =
        (locals.iter_mut().rev().find(|(known, _)| &**known == name), taken)
    {
        *val = taken;
    }
}

/// What tells one list or mapping from another that is equal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Id(*const ());

impl Id {
    fn of(val: &Val) -> Option<Self> {
        match val {
            Val::List(items) | Val::Tuple(items) => Some(Self(Rc::as_ptr(items).cast())),
            Val::Map(map) => Some(Self(Rc::as_ptr(map).cast())),
            _ => None,
        }
    }
}

fn holders(val: &Val) -> usize {
    match val {
        Val::List(items) => Rc::strong_count(items),
        Val::Map(map) => Rc::strong_count(map),
        _ => 0,
    }
}

/// Counts who holds a value.
struct Found {
    old: Id,
    /// How many are not found yet.
    left: usize,
    seen: HashSet<*const ()>,
    steps: u64,
}

impl Found {
    fn look(&mut self, val: &Val) {
        self.steps += 1;
        if self.left == 0 {
            return;
        }
        if Id::of(val) == Some(self.old) {
            self.left -= 1;
            return;
        }
        match val {
            Val::List(items) | Val::Tuple(items) => self.all(items),
            Val::Map(map) if self.is_new(Rc::as_ptr(map).cast()) => {
                map.values().for_each(|val| self.look(val));
            }
            Val::Namespace(map) if self.is_new(Rc::as_ptr(map).cast()) => {
                map.borrow().values().for_each(|val| self.look(val));
            }
            Val::Macro(value) if self.is_new(Rc::as_ptr(value).cast()) => {
                value.locals.borrow().iter().for_each(|(_, val)| self.look(val));
            }
            Val::Loop(state) => self.all(&state.items),
            _ => {}
        }
    }

    fn all(&mut self, items: &Rc<Vec<Val>>) {
        // The list that is looped over is held by the loop as well, and is not found here: it does not change.
        if self.is_new(Rc::as_ptr(items).cast()) {
            items.iter().for_each(|val| self.look(val));
        }
    }

    fn is_new(&mut self, at: *const ()) -> bool {
        self.seen.insert(at)
    }
}

/// Puts a value in the place of another, wherever a name holds it. What is shared stays shared.
struct Swap {
    old: Id,
    new: Val,
    /// How many hold it still.
    left: usize,
    done: HashMap<Id, Option<Val>>,
}

impl Swap {
    fn at(&mut self, val: &mut Val) {
        let id = Id::of(val);
        if self.left == 0 {
            return;
        }
        if id == Some(self.old) {
            *val = self.new.clone();
            self.left -= 1;
            return;
        }
        match val {
            Val::Namespace(map) => {
                // A namespace that holds itself is being swapped already.
                if let Ok(mut map) = map.try_borrow_mut() {
                    map.values_mut().for_each(|val| self.at(val));
                }
                return;
            }
            Val::Macro(value) => {
                if let Ok(mut locals) = value.locals.try_borrow_mut() {
                    locals.iter_mut().for_each(|(_, val)| self.at(val));
                }
                return;
            }
            _ => {}
        }
        let Some(id) = id else { return };
        if let Some(known) = self.done.get(&id) {
            if let Some(known) = known.clone() {
                *val = known;
            }
            return;
        }
        let swapped = self.inside(val);
        self.done.insert(id, swapped.clone());
        if let Some(swapped) = swapped {
            *val = swapped;
        }
    }

    /// The list or mapping with the new value in it; none where the old one is not in it.
    fn inside(&mut self, val: &Val) -> Option<Val> {
        match val {
            Val::List(items) => self.list(items).map(Val::list),
            Val::Tuple(items) => self.list(items).map(Val::tuple),
            Val::Map(map) => {
                let mut swapped: Option<Map> = None;
                for (key, val) in &**map {
                    if let Some(new) = self.other(val) {
                        swapped.get_or_insert_with(|| (**map).clone()).insert(key.clone(), new);
                    }
                }
                swapped.map(Val::map)
            }
            _ => None,
        }
    }

    fn list(&mut self, items: &[Val]) -> Option<Vec<Val>> {
        let mut swapped: Option<Vec<Val>> = None;
        for (at, val) in items.iter().enumerate() {
            if let Some(new) = self.other(val) {
                swapped.get_or_insert_with(|| items.to_vec())[at] = new;
            }
        }
        swapped
    }

    /// What takes the place of a value; none where it stays.
    fn other(&mut self, val: &Val) -> Option<Val> {
        let mut other = val.clone();
        self.at(&mut other);
        (Id::of(&other) != Id::of(val)).then_some(other)
    }
}

/// Does what the method says to a list or mapping.
fn act(method: &Method<'_, '_>, val: &mut Val) -> Result<Val, Fault> {
    match val {
        Val::List(items) => on_list(method, Rc::make_mut(items)),
        Val::Map(map) => on_mapping(method, Rc::make_mut(map)),
        _ => Err(held_elsewhere(method)),
    }
}

fn on_list(method: &Method<'_, '_>, items: &mut Vec<Val>) -> Result<Val, Fault> {
    let (eval, place) = (method.eval, method.place);
    let need = |index: usize| {
        method
            .given
            .pos
            .get(index)
            .cloned()
            .ok_or_else(|| method.fail(format!("`{}` needs {} arguments", method.name, index + 1)))
    };
    match method.name {
        "append" => items.push(need(0)?),
        "extend" => items.extend(eval.items(&need(0)?, place)?.iter().cloned()),
        "insert" => {
            let at = method.int(0, "index")?.ok_or_else(|| method.fail("`insert` needs a position"))?;
            let at = counted(at, items.len()).min(items.len());
            items.insert(at, need(1)?);
        }
        "remove" => {
            let wanted = need(0)?;
            for at in 0..items.len() {
                if eval.equal(&items[at], &wanted, place)? {
                    items.remove(at);
                    return Ok(Val::None);
                }
            }
            return Err(method.fail("the list does not hold that value"));
        }
        "pop" => {
            let at = method.int(0, "index")?.unwrap_or(-1);
            let length = items.len() as i128;
            if at >= length || at < -length {
                return Err(method.fail("`pop` from where the list has nothing"));
            }
            return Ok(items.remove(counted(at, items.len())));
        }
        "clear" => items.clear(),
        "reverse" => items.reverse(),
        _ => sort(method, items)?,
    }
    Ok(Val::None)
}

fn sort(method: &Method<'_, '_>, items: &mut [Val]) -> Result<(), Fault> {
    if method.arg(0, "key").is_some() {
        return Err(method.fail("`sort` takes no key here: use the filter `sort(attribute=…)`"));
    }
    let (eval, place) = (method.eval, method.place);
    let mut fault = None;
    items.sort_by(|one, two| {
        eval.order(one, two, place).unwrap_or_else(|why| {
            fault.get_or_insert(why);
            std::cmp::Ordering::Equal
        })
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    let backwards = method.given.kw.iter().find(|(name, _)| &**name == "reverse");
    if backwards.map_or(Ok(false), |(_, val)| eval.truth(val, place))? {
        items.reverse();
    }
    Ok(())
}

fn on_mapping(method: &Method<'_, '_>, map: &mut Map) -> Result<Val, Fault> {
    let (eval, place) = (method.eval, method.place);
    let key = |map: &Map| {
        let key =
            method.given.pos.first().ok_or_else(|| method.fail(format!("`{}` needs a key", method.name)))?;
        let key = eval.key(key, place)?;
        Ok::<_, Fault>(key.held_by(map).unwrap_or(key))
    };
    match method.name {
        "update" => {
            let given = method.given.pos.first().map_or(Ok(Vec::new()), |given| pairs(method, given))?;
            let named = method.given.kw.iter().map(|(name, val)| (Key::Str(name.clone()), val.clone()));
            for (key, val) in given.into_iter().chain(named) {
                let key = key.held_by(map).unwrap_or(key);
                map.insert(key, val);
            }
            Ok(Val::None)
        }
        "setdefault" => {
            let (key, default) = (key(map)?, method.given.pos.get(1).cloned().unwrap_or(Val::None));
            Ok(map.entry(key).or_insert(default).clone())
        }
        "pop" => {
            let taken = map.shift_remove(&key(map)?);
            taken
                .or_else(|| method.given.pos.get(1).cloned())
                .ok_or_else(|| method.fail("the mapping has no such key"))
        }
        "popitem" => match map.pop() {
            Some((key, val)) => Ok(Val::tuple(vec![key.into(), val])),
            None => Err(method.fail("`popitem` of an empty mapping")),
        },
        _ => {
            map.clear();
            Ok(Val::None)
        }
    }
}

/// What `update` takes: a mapping, or a list of pairs.
fn pairs(method: &Method<'_, '_>, given: &Val) -> Result<Vec<(Key, Val)>, Fault> {
    let (eval, place) = (method.eval, method.place);
    if given.is_mapping() {
        return eval.entries(given, place);
    }
    let mut pairs = Vec::new();
    for pair in eval.items(given, place)?.iter() {
        match eval.items(pair, place)?.as_slice() {
            [key, val] => pairs.push((eval.key(key, place)?, val.clone())),
            _ => return Err(method.fail("`update` takes a mapping, or pairs")),
        }
    }
    Ok(pairs)
}

/// A position as Python counts: from the end where it is negative.
fn counted(at: i128, length: usize) -> usize {
    let length = length as i128;
    usize::try_from(if at < 0 { (at + length).max(0) } else { at.min(length) }).unwrap_or(0)
}
