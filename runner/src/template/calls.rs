//! Filters, tests and functions as rows of tables: their names, their parameters, what they do.
use std::ops::Range;
use std::sync::Arc;

use super::eval::Eval;
use super::fault::{Fault, Kind};
use super::tree::Place;
use super::value::{Map, Val, range};
use crate::diagnostic::did_you_mean;

/// What a row does with its arguments.
pub(super) type Run = fn(&Eval<'_>, &Bound) -> Result<Val, Fault>;

/// One filter, test or function.
pub(super) struct Callee {
    pub name: &'static str,
    /// Parameters in order, the operand first; `*name` takes the remaining positions, `**name` any keyword.
    pub params: &'static [&'static str],
    /// Whether it looks at undefined operands itself; the others pass them on.
    pub lenient: bool,
    pub run: Run,
}

impl std::fmt::Debug for Callee {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

/// A row with plain parameters.
pub(super) const fn row(name: &'static str, params: &'static [&'static str], run: Run) -> Callee {
    Callee { name, params, lenient: false, run }
}

/// A row that looks at undefined operands itself.
pub(super) const fn lenient(name: &'static str, params: &'static [&'static str], run: Run) -> Callee {
    Callee { name, params, lenient: true, run }
}

/// Arguments by value, before they are bound to parameters.
#[derive(Default)]
pub(super) struct Given {
    pub pos: Vec<Val>,
    pub kw: Vec<(Arc<str>, Val)>,
}

/// Arguments bound to a row's parameters.
pub(super) struct Bound {
    vals: Vec<Option<Val>>,
    /// What `*name` took.
    pub rest: Vec<Val>,
    /// What `**name` took.
    pub kw: Map,
    pub name: &'static str,
    pub place: Place,
    /// The scope in which the caller stands.
    pub scope: usize,
}

impl Bound {
    /// The operand of a filter or test.
    pub fn input(&self) -> &Val {
        self.vals.first().and_then(Option::as_ref).unwrap_or(&Val::None)
    }

    /// The parameter at this position, if given.
    pub fn get(&self, index: usize) -> Option<&Val> {
        self.vals.get(index).and_then(Option::as_ref)
    }

    /// The parameter at this position, if given and not `none`.
    pub fn some(&self, index: usize) -> Option<&Val> {
        self.get(index).filter(|val| !matches!(val, Val::None))
    }

    /// The parameter at this position; an error if it was not given.
    pub fn need(&self, index: usize, what: &str) -> Result<&Val, Fault> {
        self.get(index).ok_or_else(|| self.fail(format!("`{}` needs {what}", self.name)))
    }

    pub fn range(&self) -> Range<usize> {
        range(self.place)
    }

    pub fn fail(&self, why: impl Into<String>) -> Fault {
        Fault::failed(why, self.range())
    }

    /// The parameter as text.
    pub fn str(&self, eval: &Eval<'_>, index: usize, what: &str) -> Result<Arc<str>, Fault> {
        let val = self.need(index, what)?;
        match val {
            Val::Str(text) => Ok(Arc::clone(text)),
            other => Ok(eval.show(other, self.place)?.into()),
        }
    }

    /// The parameter as a whole number.
    pub fn int(&self, index: usize) -> Result<Option<i128>, Fault> {
        match self.some(index) {
            None => Ok(None),
            Some(val) => val.as_int().map(Some).ok_or_else(|| {
                self.fail(format!("`{}` needs a whole number, not {}", self.name, val.kind()))
            }),
        }
    }

    /// The parameter as a truth value, false where it is not given.
    pub fn flag(&self, eval: &Eval<'_>, index: usize) -> Result<bool, Fault> {
        self.get(index).map_or(Ok(false), |val| eval.truth(val, self.place))
    }
}

/// Binds arguments to the row's parameters and runs it. Undefined arguments are passed on, as Ansible does.
pub(super) fn run(
    eval: &Eval<'_>,
    callee: &'static Callee,
    given: Given,
    place: Place,
    scope: usize,
) -> Result<Val, Fault> {
    let bound = bind(callee, given, place, scope)?;
    if !callee.lenient {
        for val in bound.vals.iter().flatten().chain(&bound.rest).chain(bound.kw.values()) {
            match val {
                Val::Undef(_) => return Ok(val.clone()),
                Val::Late(missing) => return Err(Fault::missing(missing.clone(), range(place))),
                _ => {}
            }
        }
    }
    eval.burn(1, place)?;
    (callee.run)(eval, &bound)
}

fn bind(callee: &'static Callee, given: Given, place: Place, scope: usize) -> Result<Bound, Fault> {
    let plain = callee.params.iter().take_while(|param| !param.starts_with('*')).count();
    let fail = |why: String| Err(Fault::failed(why, range(place)));
    let mut bound = Bound {
        vals: callee.params.iter().map(|_| None).collect(),
        rest: Vec::new(),
        kw: Map::new(),
        name: callee.name,
        place,
        scope,
    };
    let variadic = callee.params.iter().any(|param| param.starts_with('*') && !param.starts_with("**"));
    for (index, val) in given.pos.into_iter().enumerate() {
        if index < plain {
            bound.vals[index] = Some(val);
        } else if variadic {
            bound.rest.push(val);
        } else {
            return fail(format!("`{}` takes at most {} arguments", callee.name, plain.saturating_sub(1)));
        }
    }
    for (name, val) in given.kw {
        match callee.params.iter().position(|param| *param == &*name) {
            Some(index) if bound.vals[index].is_some() => {
                return fail(format!("`{}` is given `{name}` twice", callee.name));
            }
            Some(index) => bound.vals[index] = Some(val),
            None if callee.params.iter().any(|param| param.starts_with("**")) => {
                bound.kw.insert(super::value::Key::Str(name), val);
            }
            None => {
                let near = did_you_mean(&name, callee.params.iter().copied());
                let why = format!("`{}` has no parameter `{name}`", callee.name);
                let fault = Fault::failed(why, range(place));
                return Err(match near {
                    Some(near) => fault.hint(format!("did you mean `{near}`?")),
                    None => fault,
                });
            }
        }
    }
    Ok(bound)
}

/// The name without a collection that is known to hold what is offered here.
pub(super) fn short_name(name: &str) -> &str {
    const COLLECTIONS: [&str; 10] = [
        "ansible.builtin.",
        "ansible_builtin_",
        "ansible.utils.",
        "ansible_utils_",
        "ansible.posix.",
        "ansible_posix_",
        "community.general.",
        "community_general_",
        "ansible.legacy.",
        "ansible_legacy_",
    ];
    COLLECTIONS.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// The row of that name, or the fault that says why there is none.
pub(super) fn find(
    what: &str,
    name: &str,
    place: Place,
    tables: &[&'static [Callee]],
    refused: &[(&str, &str)],
) -> Result<&'static Callee, Box<Fault>> {
    let short = short_name(name);
    if let Some(found) = tables.iter().flat_map(|table| table.iter()).find(|callee| callee.name == short) {
        return Ok(found);
    }
    if let Some((_, why)) = refused.iter().find(|(name, _)| *name == short) {
        return Err(Box::new(Fault::unsupported(format!("{what} `{short}`"), *why, range(place))));
    }
    let known = tables.iter().flat_map(|table| table.iter()).map(|callee| callee.name);
    let why = match did_you_mean(short, known) {
        Some(near) => format!("there is no such {what}; did you mean `{near}`?"),
        None => format!("there is no such {what}"),
    };
    let kind = Kind::Unsupported { name: format!("{what} `{short}`"), why };
    Err(Box::new(Fault::new(kind, range(place))))
}
