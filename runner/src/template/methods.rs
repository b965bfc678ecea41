//! Methods of text, lists and mappings, as in Python, as far as they change nothing.
use super::calls::Given;
use super::eval::Eval;
use super::fault::Fault;
use super::tree::Place;
use super::value::{Key, Val, range};

/// A call of a method with its arguments.
pub(super) struct Method<'a, 'v> {
    pub eval: &'a Eval<'v>,
    pub name: &'a str,
    pub given: Given,
    pub place: Place,
}

/// Calls `object.name(…)`.
pub(super) fn call(
    eval: &Eval<'_>,
    object: Val,
    name: &str,
    given: Given,
    place: Place,
) -> Result<Val, Fault> {
    for val in std::iter::once(&object).chain(&given.pos).chain(given.kw.iter().map(|(_, val)| val)) {
        match val {
            Val::Undef(_) => return Ok(val.clone()),
            Val::Late(missing) => return Err(Fault::missing(missing.clone(), range(place))),
            _ => {}
        }
    }
    eval.burn(1, place)?;
    let method = Method { eval, name, given, place };
    let done = match &object {
        Val::Str(text) => super::texts::method(&method, text)?,
        Val::Cycler(state) => match name {
            "next" => {
                let at = state.1.get();
                state.1.set((at + 1) % state.0.len());
                Some(state.0[at].clone())
            }
            "reset" => {
                state.1.set(0);
                Some(Val::None)
            }
            _ => None,
        },
        Val::Loop(state) => match name {
            "cycle" if !method.given.pos.is_empty() => {
                Some(method.given.pos[state.index % method.given.pos.len()].clone())
            }
            "changed" => {
                let now = method.given.pos.clone();
                let same = match &*state.last_changed.borrow() {
                    Some(last) => eval.equal(&Val::list(last.clone()), &Val::list(now.clone()), place)?,
                    None => false,
                };
                *state.last_changed.borrow_mut() = Some(now);
                Some(Val::Bool(!same))
            }
            _ => None,
        },
        val if val.is_mapping() => mapping(&method, val)?,
        val if val.is_list() => list(&method, val)?,
        _ => None,
    };
    match done {
        Some(val) => Ok(val),
        None => fallback(&method, &object),
    }
}

/// What a namespace or mapping holds under that name is called; else the method is unknown.
fn fallback(method: &Method<'_, '_>, object: &Val) -> Result<Val, Fault> {
    let (name, place) = (method.name, method.place);
    if let Some(val @ (Val::Macro(_) | Val::Joiner(_))) =
        method.eval.child(object, &Key::from(name), place)?
    {
        let given = Given { pos: method.given.pos.clone(), kw: method.given.kw.clone() };
        return method.eval.call_value(&val, given, place);
    }
    let why = format!("a {} has no such method", object.kind());
    Err(Fault::unsupported(format!("method `{name}`"), why, range(place)))
}

impl Method<'_, '_> {
    pub fn fail(&self, why: impl Into<String>) -> Fault {
        Fault::failed(why, range(self.place))
    }

    /// The argument at this position or of that name.
    pub fn arg(&self, index: usize, name: &str) -> Option<&Val> {
        let keyword = self.given.kw.iter().find(|(known, _)| &**known == name).map(|(_, val)| val);
        self.given.pos.get(index).or(keyword)
    }

    pub fn text(&self, index: usize, name: &str) -> Result<Option<&str>, Fault> {
        match self.arg(index, name) {
            None | Some(Val::None) => Ok(None),
            Some(val) => match val.as_str() {
                Some(text) => Ok(Some(text)),
                None => Err(self.fail(format!("`{}` needs text, not {}", self.name, val.kind()))),
            },
        }
    }

    pub fn need_text(&self, index: usize, name: &str) -> Result<&str, Fault> {
        self.text(index, name)?.ok_or_else(|| self.fail(format!("`{}` needs an argument", self.name)))
    }

    pub fn int(&self, index: usize, name: &str) -> Result<Option<i128>, Fault> {
        match self.arg(index, name) {
            None | Some(Val::None) => Ok(None),
            Some(val) => match val.as_int() {
                Some(n) => Ok(Some(n)),
                None => Err(self.fail(format!("`{}` needs a whole number, not {}", self.name, val.kind()))),
            },
        }
    }
}

fn mapping(method: &Method<'_, '_>, map: &Val) -> Result<Option<Val>, Fault> {
    let (eval, place) = (method.eval, method.place);
    Ok(Some(match method.name {
        "items" => {
            let pairs = eval.entries(map, place)?.into_iter();
            Val::list(pairs.map(|(key, val)| Val::tuple(vec![key.into(), val])).collect())
        }
        "keys" => Val::List(eval.items(map, place)?),
        "values" => Val::list(eval.entries(map, place)?.into_iter().map(|(_, val)| val).collect()),
        "copy" => Val::map(eval.mapping(map, place)?),
        "get" => {
            let key = method.arg(0, "key").ok_or_else(|| method.fail("`get` needs a key"))?;
            let found = eval.child(map, &eval.key(key, place)?, place)?;
            found.unwrap_or_else(|| method.arg(1, "default").cloned().unwrap_or(Val::None))
        }
        _ => return Ok(None),
    }))
}

fn list(method: &Method<'_, '_>, list: &Val) -> Result<Option<Val>, Fault> {
    let (eval, place) = (method.eval, method.place);
    let items = eval.items(list, place)?;
    Ok(Some(match (method.name, method.arg(0, "value")) {
        ("index", Some(wanted)) => {
            for (at, item) in items.iter().enumerate() {
                if eval.equal(item, wanted, place)? {
                    return Ok(Some(Val::Int(at as i128)));
                }
            }
            return Err(method.fail("the list does not hold that value"));
        }
        ("count", Some(wanted)) => {
            let mut count = 0;
            for item in items.iter() {
                count += i128::from(eval.equal(item, wanted, place)?);
            }
            Val::Int(count)
        }
        ("copy", _) => Val::list(items.to_vec()),
        _ => return Ok(None),
    }))
}
