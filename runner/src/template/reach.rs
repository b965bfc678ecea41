//! Reaching into values: children, items, entries, slices, and values back into JSON.
use std::rc::Rc;
use std::sync::Arc;

use super::eval::Eval;
use super::fault::Fault;
use super::tree::Place;
use super::value::{Key, Lack, LoopState, Map, Step, Val, Within, range};
use super::{Json, missing};

impl Eval<'_> {
    /// `object.name`; undefined where it does not exist, also on what is undefined itself.
    pub(super) fn attribute(&self, object: &Val, name: &Arc<str>, place: Place) -> Result<Val, Fault> {
        if let Val::Loop(state) = object {
            return Ok(
                loop_attribute(state, name).unwrap_or_else(|| self.lack(&format!("loop.{name}"), place))
            );
        }
        self.member(object, &Val::Str(Arc::clone(name)), true, place)
    }

    /// `object[index]`, undefined where it does not exist; messages never show the index, it may be a secret.
    pub(super) fn item(&self, object: &Val, index: &Val, place: Place) -> Result<Val, Fault> {
        self.member(object, index, false, place)
    }

    /// `object[index]`; `shown` says that the index stands in the text, so that messages may show it.
    pub(super) fn member(&self, object: &Val, index: &Val, shown: bool, place: Place) -> Result<Val, Fault> {
        // `u.a.b` is about `u`, the first part that is missing.
        if let Val::Undef(_) = object {
            return Ok(object.clone());
        }
        let object = self.known(object.clone(), place)?;
        let index = match index {
            Val::Undef(_) => return Ok(index.clone()),
            other => self.known(other.clone(), place)?,
        };
        let found = match (&object, &index) {
            (Val::Str(text), Val::Int(n)) => {
                let chars: Vec<char> = text.chars().collect();
                position(*n, chars.len()).map(|at| Val::text(chars[at].to_string()))
            }
            (object, index) if object.is_list() => match index.as_int() {
                Some(n) => {
                    let len = self.len(object, place)?;
                    position(n, len).map(|at| self.nth(object, at, place)).transpose()?
                }
                None => None,
            },
            (object, index) => match self.key(index, place) {
                Ok(key) => self.child(object, &key, place)?,
                Err(_) => None,
            },
        };
        Ok(found.unwrap_or_else(|| {
            let leaf = match &index {
                Val::Str(key) if shown => key.to_string(),
                Val::Int(n) if shown => n.to_string(),
                _ => "…".to_owned(),
            };
            let name = match &object {
                Val::View(view) => format!("{}.{leaf}", view.name()),
                Val::Scope(_, name) => format!("{name}.{leaf}"),
                _ => leaf,
            };
            let within = Within::Value(object.clone());
            Val::Undef(Rc::new(Lack { name, within, hint: None, place, via: Vec::new() }))
        }))
    }

    /// The child of a mapping.
    pub(super) fn child(&self, object: &Val, key: &Key, place: Place) -> Result<Option<Val>, Fault> {
        Ok(match object {
            Val::Map(map) => key.held_by(map).and_then(|key| map.get(&key).cloned()),
            Val::Namespace(map) => map.borrow().get(key).cloned(),
            Val::Scope(scope, prefix) => match key {
                Key::Str(name) => self.variable(*scope, prefix, name, place)?,
                _ => None,
            },
            Val::View(view) => {
                let name: Arc<str> = match key {
                    Key::Str(name) => Arc::clone(name),
                    // Keys that were numbers in YAML are text by now.
                    Key::Int(n) => n.to_string().into(),
                    Key::Bool(_) | Key::None => return Ok(None),
                };
                match view.data().as_object() {
                    Some(map) if map.contains_key(&*name) => {
                        Some(self.settle(view.step(Step::Key(name)), place)?)
                    }
                    _ => None,
                }
            }
            _ => None,
        })
    }

    fn nth(&self, list: &Val, at: usize, place: Place) -> Result<Val, Fault> {
        match list {
            Val::List(items) | Val::Tuple(items) => Ok(items[at].clone()),
            Val::View(view) => self.settle(view.step(Step::Index(at)), place),
            _ => Ok(Val::None),
        }
    }

    /// How many items, entries or characters it has.
    pub(super) fn len(&self, val: &Val, place: Place) -> Result<usize, Fault> {
        Ok(match val {
            Val::Str(text) => text.chars().count(),
            Val::List(items) | Val::Tuple(items) => items.len(),
            Val::Map(map) => map.len(),
            Val::Scope(scope, _) => self.in_scope(*scope, |vars| vars.names().len()),
            Val::View(view) => match view.data() {
                Json::Array(items) => items.len(),
                Json::Object(map) => map.len(),
                _ => 0,
            },
            other => {
                let other = self.known(other.clone(), place)?;
                return Err(Fault::failed(format!("a {} has no length", other.kind()), range(place)));
            }
        })
    }

    /// What a loop over it yields: items, keys or characters.
    pub(super) fn items(&self, val: &Val, place: Place) -> Result<Rc<Vec<Val>>, Fault> {
        let items = match val {
            Val::List(items) | Val::Tuple(items) => Rc::clone(items),
            Val::Str(text) => Rc::new(text.chars().map(|c| Val::text(c.to_string())).collect()),
            val if val.is_mapping() => {
                Rc::new(self.key_names(val).into_iter().map(Val::text).collect::<Vec<_>>())
            }
            Val::View(view) => {
                let len = view.data().as_array().map_or(0, Vec::len);
                let settle = |at| self.settle(view.step(Step::Index(at)), place);
                Rc::new((0..len).map(settle).collect::<Result<Vec<_>, _>>()?)
            }
            other => {
                let other = self.known(other.clone(), place)?;
                let why = format!("a {} is not a list", other.kind());
                return Err(Fault::failed(why, range(place)));
            }
        };
        self.burn(items.len() as u64, place)?;
        let items = match val {
            Val::Map(map) => Rc::new(map.keys().cloned().map(Val::from).collect()),
            _ => items,
        };
        Ok(items)
    }

    /// Keys of a mapping that are text.
    pub(super) fn key_names(&self, val: &Val) -> Vec<String> {
        match val {
            Val::Map(map) => map.keys().map(key_name).collect(),
            Val::Scope(scope, _) => self.in_scope(*scope, |vars| vars.names()),
            Val::View(view) => {
                view.data().as_object().map(|map| map.keys().cloned().collect()).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// Keys and values of a mapping.
    pub(super) fn entries(&self, val: &Val, place: Place) -> Result<Vec<(Key, Val)>, Fault> {
        match val {
            Val::Map(map) => Ok(map.iter().map(|(key, val)| (key.clone(), val.clone())).collect()),
            val if val.is_mapping() => {
                let mut out = Vec::new();
                for name in self.key_names(val) {
                    self.burn(1, place)?;
                    let key = Key::from(name.as_str());
                    if let Some(child) = self.child(val, &key, place)? {
                        out.push((key, child));
                    }
                }
                Ok(out)
            }
            other => {
                let other = self.known(other.clone(), place)?;
                Err(Fault::failed(format!("this needs a mapping, not {}", other.kind()), range(place)))
            }
        }
    }

    /// The entries as a mapping.
    pub(super) fn mapping(&self, val: &Val, place: Place) -> Result<Map, Fault> {
        Ok(self.entries(val, place)?.into_iter().collect())
    }

    /// `object[start:stop:step]`.
    pub(super) fn slice(&self, object: &Val, parts: &[Option<Val>; 3], place: Place) -> Result<Val, Fault> {
        let object = self.known(object.clone(), place)?;
        let part = |index: usize| match &parts[index] {
            None | Some(Val::None) => Ok(None),
            Some(val) => self
                .known(val.clone(), place)?
                .as_int()
                .map(Some)
                .ok_or_else(|| Fault::failed("the ends of a slice are whole numbers", range(place))),
        };
        let (start, stop, step) = (part(0)?, part(1)?, part(2)?.unwrap_or(1));
        if step == 0 {
            return Err(Fault::failed("the step of a slice cannot be zero", range(place)));
        }
        if !object.is_list() && object.as_str().is_none() {
            let why = format!("a {} cannot be sliced", object.kind());
            return Err(Fault::failed(why, range(place)));
        }
        let items = self.items(&object, place)?;
        let len = items.len() as i128;
        let (low, high) = if step > 0 { (0, len) } else { (-1, len - 1) };
        let end = |given: Option<i128>, default: i128| {
            given.map_or(default, |n| if n < 0 { n + len } else { n }.clamp(low, high))
        };
        let (mut at, stop) =
            if step > 0 { (end(start, 0), end(stop, len)) } else { (end(start, len - 1), end(stop, -1)) };
        let mut out = Vec::new();
        while (step > 0 && at < stop) || (step < 0 && at > stop) {
            out.push(items[at as usize].clone());
            at += step;
        }
        Ok(match object {
            Val::Str(_) => Val::text(out.iter().filter_map(Val::as_str).collect::<String>()),
            Val::Tuple(_) => Val::tuple(out),
            _ => Val::list(out),
        })
    }

    /// The value as JSON; anything undefined or not known inside it is a fault.
    pub(super) fn json(&self, val: &Val, place: Place) -> Result<Json, Fault> {
        self.burn(1, place)?;
        let fail = |why: String| Fault::failed(why, range(place));
        Ok(match val {
            Val::Undef(lack) => return Err(self.undefined(lack)),
            Val::Late(missing) => return Err(Fault::missing(missing.clone(), range(place))),
            Val::Omit => missing::omit(),
            Val::None => Json::Null,
            Val::Bool(b) => Json::Bool(*b),
            Val::Int(n) => match (i64::try_from(*n), u64::try_from(*n)) {
                (Ok(n), _) => n.into(),
                (_, Ok(n)) => n.into(),
                _ => return Err(fail("the number is too large".to_owned())),
            },
            Val::Float(f) => serde_json::Number::from_f64(*f)
                .map(Json::Number)
                .ok_or_else(|| fail("the result is not a finite number".to_owned()))?,
            Val::Str(text) => Json::String(text.to_string()),
            Val::View(view) if !view.origin.trusted => {
                let data = view.data();
                if let Some(missing) = missing::find_missing(data) {
                    return Err(Fault::missing(missing, range(place)));
                }
                data.clone()
            }
            val if val.is_list() => {
                let items = self.items(val, place)?;
                let kept = items.iter().filter(|item| !matches!(item, Val::Omit));
                Json::Array(kept.map(|item| self.json(item, place)).collect::<Result<_, _>>()?)
            }
            val if val.is_mapping() => {
                let mut map = serde_json::Map::new();
                for (key, item) in self.entries(val, place)? {
                    if !matches!(item, Val::Omit) {
                        map.insert(key_name(&key), self.json(&item, place)?);
                    }
                }
                Json::Object(map)
            }
            other => return Err(fail(format!("a {} is not a value that can be kept", other.kind()))),
        })
    }

    /// JSON as a value; text in it is never rendered.
    pub(super) fn plain(&self, json: Json, place: Place) -> Result<Val, Fault> {
        use super::value::{Origin, View};
        let origin = Origin { name: "the result".to_owned(), scope: 0, trusted: false, span: None };
        self.settle(View { root: Arc::new(json), path: Vec::new(), origin: Rc::new(origin) }, place)
    }
}

/// A key as JSON writes it.
fn key_name(key: &Key) -> String {
    match key {
        Key::Str(name) => name.to_string(),
        Key::Int(n) => n.to_string(),
        Key::Bool(b) => if *b { "true" } else { "false" }.to_owned(),
        Key::None => "null".to_owned(),
    }
}

/// A Python index as a position.
fn position(index: i128, len: usize) -> Option<usize> {
    let at = if index < 0 { index + len as i128 } else { index };
    usize::try_from(at).ok().filter(|at| *at < len)
}

fn loop_attribute(state: &LoopState, name: &str) -> Option<Val> {
    let (at, len) = (state.index, state.items.len());
    let int = |n: usize| Some(Val::Int(n as i128));
    match name {
        "index" => int(at + 1),
        "index0" => int(at),
        "revindex" => int(len - at),
        "revindex0" => int(len - at - 1),
        "first" => Some(Val::Bool(at == 0)),
        "last" => Some(Val::Bool(at + 1 == len)),
        "length" => int(len),
        "depth" => int(state.depth),
        "depth0" => int(state.depth - 1),
        "previtem" => at.checked_sub(1).and_then(|at| state.items.get(at)).cloned(),
        "nextitem" => state.items.get(at + 1).cloned(),
        _ => None,
    }
}
