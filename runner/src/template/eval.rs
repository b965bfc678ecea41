//! One evaluation: names are looked up when they are reached, and what is late or undefined is noticed there.
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use super::calls::{self, Callee, Given};
use super::changing;
use super::fault::{Fault, Kind, Via};
use super::frame::Frame;
use super::scope::{Held, Vars};
use super::tree::{Args, Const, Expr, Op, Place};
use super::value::{Key, Lack, Origin, Val, View, Within, range};
use super::{Templates, functions, methods};
use crate::diagnostic::did_you_mean;

/// Steps that one evaluation may take.
const FUEL: u64 = 4_000_000;
/// How many expressions may stand within each other, those of variables included.
const HIGHEST: usize = 140;
/// How deep variables and macros may nest.
const DEEPEST: usize = 32;

/// One evaluation over one scope of variables.
pub(super) struct Eval<'v> {
    pub templates: &'v Templates,
    root: &'v dyn Vars,
    scopes: RefCell<Vec<Arc<dyn Vars>>>,
    /// Whether a secret was read.
    pub secret: Cell<bool>,
    fuel: Cell<u64>,
    depth: Cell<usize>,
    /// Expressions within expressions that are being evaluated.
    height: Cell<usize>,
    /// Variables that are being rendered, to notice circles.
    rendering: RefCell<Vec<(usize, String)>>,
    rendered: RefCell<HashMap<(usize, String), Val>>,
}

impl<'v> Eval<'v> {
    pub fn new(templates: &'v Templates, root: &'v dyn Vars) -> Self {
        Self {
            templates,
            root,
            scopes: RefCell::default(),
            secret: Cell::new(false),
            fuel: Cell::new(FUEL),
            depth: Cell::new(0),
            height: Cell::new(0),
            rendering: RefCell::default(),
            rendered: RefCell::default(),
        }
    }

    /// Takes steps from the allowance.
    pub fn burn(&self, steps: u64, place: Place) -> Result<(), Fault> {
        match self.fuel.get().checked_sub(steps) {
            Some(left) => {
                self.fuel.set(left);
                Ok(())
            }
            None => Err(Fault::failed("this takes too many steps", range(place))),
        }
    }

    /// Runs something one level deeper.
    pub fn deeper<T>(&self, place: Place, run: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        if self.depth.get() >= DEEPEST {
            return Err(Fault::failed("variables or macros nest too deeply", range(place)));
        }
        self.depth.set(self.depth.get() + 1);
        let done = run();
        self.depth.set(self.depth.get() - 1);
        done
    }

    /// The scope of that index.
    pub fn in_scope<T>(&self, scope: usize, ask: impl FnOnce(&dyn Vars) -> T) -> T {
        let found = scope.checked_sub(1).and_then(|index| self.scopes.borrow().get(index).cloned());
        match found {
            Some(vars) => ask(&*vars),
            None => ask(self.root),
        }
    }

    fn scope_index(&self, scope: &Arc<dyn Vars>) -> usize {
        let mut scopes = self.scopes.borrow_mut();
        match scopes.iter().position(|known| Arc::ptr_eq(known, scope)) {
            Some(index) => index + 1,
            None => {
                scopes.push(Arc::clone(scope));
                scopes.len()
            }
        }
    }

    /// The variable of that name, rendered if it is text with a template.
    pub fn variable(
        &self,
        scope: usize,
        prefix: &str,
        name: &str,
        place: Place,
    ) -> Result<Option<Val>, Fault> {
        let Some(var) = self.in_scope(scope, |vars| vars.get(name)) else { return Ok(None) };
        if var.secret {
            self.secret.set(true);
        }
        let full = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}.{name}") };
        match var.held {
            Held::Scope(inner) => Ok(Some(Val::Scope(self.scope_index(&inner), full.into()))),
            Held::Data(root) => {
                let origin = Rc::new(Origin { name: full, scope, trusted: var.trusted, span: var.span });
                self.settle(View { root, path: Vec::new(), origin }, place).map(Some)
            }
        }
    }

    /// What a view shows: scalars by value, templates rendered, containers as they are.
    pub fn settle(&self, view: View, place: Place) -> Result<Val, Fault> {
        use super::{Json, missing};
        let data = view.data();
        Ok(match data {
            Json::Null => Val::None,
            Json::Bool(b) => Val::Bool(*b),
            Json::Number(n) => match (n.as_i64(), n.as_u64()) {
                (Some(n), _) => Val::Int(n.into()),
                (_, Some(n)) => Val::Int(n.into()),
                _ => Val::Float(n.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) if view.origin.trusted && Templates::is_template(text) => {
                return self.render_variable(&view, text, place);
            }
            Json::String(text) => Val::text(text.as_str()),
            Json::Object(_) if missing::is_omit(data) => Val::Omit,
            Json::Object(_) => match missing::missing(data) {
                Some(missing) => Val::Late(missing),
                None => Val::View(view),
            },
            Json::Array(_) => Val::View(view),
        })
    }

    fn render_variable(&self, view: &View, text: &str, place: Place) -> Result<Val, Fault> {
        let name = view.name();
        let key = (view.origin.scope, name.clone());
        if let Some(val) = self.rendered.borrow().get(&key) {
            return Ok(val.clone());
        }
        let circle = {
            let stack = self.rendering.borrow();
            let from = stack.iter().position(|known| *known == key);
            from.map(|from| stack[from..].iter().map(|(_, name)| format!("`{name}`")).collect::<Vec<_>>())
        };
        if let Some(circle) = circle {
            let way = circle.join(" → ");
            let why = format!("`{name}` is defined by way of itself: {way} → `{name}`");
            return Err(Fault::failed(why, range(place)));
        }
        self.rendering.borrow_mut().push(key.clone());
        let done = self.deeper(place, || {
            let compiled = self.templates.compiled_value(text);
            self.render(&compiled, Frame::new(view.origin.scope))
        });
        self.rendering.borrow_mut().pop();
        let span = view.origin.span.clone().filter(|_| view.path.is_empty());
        let via = |range| Via { name: name.clone(), span, range };
        match done {
            Ok(Val::Undef(lack)) => {
                let mut vias = vec![via(range(lack.place))];
                vias.extend(lack.via.iter().cloned());
                let within = Within::Nothing;
                let (name, hint) = (lack.name.clone(), lack.hint.clone());
                Ok(Val::Undef(Rc::new(Lack { name, within, hint, place, via: vias })))
            }
            Ok(val) => {
                self.rendered.borrow_mut().insert(key, val.clone());
                Ok(val)
            }
            Err(mut fault) => {
                fault.via.insert(0, via(fault.range.clone()));
                fault.range = range(place);
                Err(fault)
            }
        }
    }

    /// The fault of reading what does not exist.
    pub fn undefined(&self, lack: &Lack) -> Fault {
        let leaf = lack.name.rsplit('.').next().unwrap_or(&lack.name);
        let mut known: Vec<String> = match &lack.within {
            Within::Scope(scope) => self.in_scope(*scope, |vars| vars.names()),
            Within::Value(val) if val.is_mapping() => self.key_names(val),
            _ => Vec::new(),
        };
        // Facts are read where they are named, so that those of a host do not stand among its variables.
        let facts = modules::FACTS.iter().filter(|fact| !fact.is_refused()).map(|fact| fact.name);
        match lack.name.split_once('.') {
            None if leaf.starts_with("ansible_") => known.extend(facts.map(|name| format!("ansible_{name}"))),
            Some(("ansible_facts", _)) => known.extend(facts.map(str::to_owned)),
            _ => {}
        }
        let near = did_you_mean(leaf, known.iter().map(String::as_str)).filter(|near| *near != leaf);
        let kind = match &lack.hint {
            _ if matches!(lack.within, Within::Blank) => {
                let name = "`if` without `else` where its value is needed".to_owned();
                Kind::Unsupported { name, why: "add `else ''`, or `else omit` for a parameter".to_owned() }
            }
            Some(hint) => Kind::Failed { why: hint.clone(), hint: None },
            None => Kind::Undefined { name: lack.name.clone(), near: near.map(str::to_owned) },
        };
        let mut fault = Fault::new(kind, range(lack.place));
        fault.via.clone_from(&lack.via);
        fault
    }

    /// Evaluates an expression; the result may be undefined or late.
    pub fn eval(&self, expr: &Expr, frame: &Frame) -> Result<Val, Fault> {
        let height = self.height.get();
        if height >= HIGHEST {
            let why = "variables and expressions nest too deeply";
            return Err(Fault::failed(why, range(place_of(expr))));
        }
        self.height.set(height + 1);
        let val = self.walk(expr, frame);
        self.height.set(height);
        val
    }

    /// Each kind has a function of its own, so that the stack holds little for each level.
    fn walk(&self, expr: &Expr, frame: &Frame) -> Result<Val, Fault> {
        match expr {
            Expr::Const(constant) => Ok(constant_value(constant)),
            Expr::Nested(text, place) => self.nested(text, *place, frame),
            Expr::Name(name, place) => self.name(name, *place, frame),
            Expr::Attr(object, name, place) => self.attr(object, name, *place, frame),
            Expr::Item(object, index, place) => self.index(object, index, *place, frame),
            Expr::Slice(object, parts, place) => self.part(object, parts, *place, frame),
            Expr::Not(operand, place) => self.not(operand, *place, frame),
            Expr::Neg(operand, place) => self.negate(operand, *place, frame),
            Expr::And(left, right) => self.either(left, right, true, frame),
            Expr::Or(left, right) => self.either(left, right, false, frame),
            Expr::Bin(op, left, right, place) => self.binary(*op, (left, right), *place, frame),
            Expr::Compare(first, rest, place) => self.chain(first, rest, *place, frame),
            Expr::If(test, then, otherwise, place) => {
                self.choice(test, then, otherwise.as_deref(), *place, frame)
            }
            Expr::Filter(callee, operand, args, place) => {
                self.piped(callee, operand.as_deref(), args, *place, frame)
            }
            Expr::Test(callee, operand, args, place) => {
                self.piped(callee, Some(operand), args, *place, frame)
            }
            Expr::Call(callee, args, place) => self.call(callee, args, *place, frame),
            Expr::List(items) => self.all(items, frame).map(Val::list),
            Expr::Tuple(items) => self.all(items, frame).map(Val::tuple),
            Expr::Map(pairs, place) => self.pairs(pairs, *place, frame),
            Expr::Broken(fault) => Err((**fault).clone()),
        }
    }

    fn nested(&self, text: &str, place: Place, frame: &Frame) -> Result<Val, Fault> {
        let compiled = self.templates.compiled_value(text);
        let val = self.deeper(place, || self.render(&compiled, Frame::new(frame.scope)))?;
        self.known(val, place)
    }

    fn attr(&self, object: &Expr, name: &Arc<str>, place: Place, frame: &Frame) -> Result<Val, Fault> {
        let object = self.eval(object, frame)?;
        self.attribute(&object, name, place)
    }

    fn index(&self, object: &Expr, index: &Expr, place: Place, frame: &Frame) -> Result<Val, Fault> {
        let object = self.eval(object, frame)?;
        let shown = matches!(index, Expr::Const(_));
        let index = self.eval(index, frame)?;
        self.member(&object, &index, shown, place)
    }

    fn part(
        &self,
        object: &Expr,
        parts: &[Option<Box<Expr>>; 3],
        place: Place,
        frame: &Frame,
    ) -> Result<Val, Fault> {
        let object = self.eval(object, frame)?;
        let part = |part: &Option<Box<Expr>>| part.as_ref().map(|e| self.eval(e, frame)).transpose();
        let parts = [part(&parts[0])?, part(&parts[1])?, part(&parts[2])?];
        self.slice(&object, &parts, place)
    }

    fn not(&self, operand: &Expr, place: Place, frame: &Frame) -> Result<Val, Fault> {
        let val = self.eval(operand, frame)?;
        self.truth(&val, place).map(|held| Val::Bool(!held))
    }

    /// `and` goes on where the left is true, `or` where it is false.
    fn either(&self, left: &Expr, right: &Expr, go_on: bool, frame: &Frame) -> Result<Val, Fault> {
        let first = self.eval(left, frame)?;
        if self.truth(&first, place_of(left))? == go_on { self.eval(right, frame) } else { Ok(first) }
    }

    fn binary(&self, op: Op, sides: (&Expr, &Expr), place: Place, frame: &Frame) -> Result<Val, Fault> {
        self.burn(1, place)?;
        let left = self.eval(sides.0, frame)?;
        let right = self.eval(sides.1, frame)?;
        self.apply(op, &left, &right, place)
    }

    fn choice(
        &self,
        test: &Expr,
        then: &Expr,
        otherwise: Option<&Expr>,
        place: Place,
        frame: &Frame,
    ) -> Result<Val, Fault> {
        let test = self.eval(test, frame)?;
        match (self.truth(&test, place)?, otherwise) {
            (true, _) => self.eval(then, frame),
            (false, Some(otherwise)) => self.eval(otherwise, frame),
            (false, None) => {
                let (name, within) = ("if without else".to_owned(), Within::Blank);
                Ok(Val::Undef(Rc::new(Lack { name, within, hint: None, place, via: Vec::new() })))
            }
        }
    }

    /// A filter or test with its operand.
    fn piped(
        &self,
        callee: &'static Callee,
        operand: Option<&Expr>,
        args: &Args,
        place: Place,
        frame: &Frame,
    ) -> Result<Val, Fault> {
        let mut given = Given::default();
        given.pos.push(operand.map_or(Ok(Val::None), |operand| self.eval(operand, frame))?);
        self.args(args, &mut given, frame, place)?;
        calls::run(self, callee, given, place, frame.scope)
    }

    fn pairs(&self, pairs: &[(Expr, Expr)], place: Place, frame: &Frame) -> Result<Val, Fault> {
        let mut map = super::value::Map::new();
        for (key, val) in pairs {
            let key = self.key(&self.eval(key, frame)?, place)?;
            let key = key.held_by(&map).unwrap_or(key);
            map.insert(key, self.eval(val, frame)?);
        }
        Ok(Val::map(map))
    }

    fn all(&self, items: &[Expr], frame: &Frame) -> Result<Vec<Val>, Fault> {
        items.iter().map(|item| self.eval(item, frame)).collect()
    }

    fn name(&self, name: &Arc<str>, place: Place, frame: &Frame) -> Result<Val, Fault> {
        self.burn(1, place)?;
        if let Some(val) = frame.local(name) {
            return Ok(val);
        }
        if frame.is_spoilt(name) {
            let why = "a part of it was changed in this template, and the variable itself stays as it is: read it before, \
                       or begin with a copy of your own";
            return Err(Fault::unsupported(format!("variable `{name}`"), why, range(place)));
        }
        if let Some(val) = self.variable(frame.scope, "", name, place)? {
            return Ok(val);
        }
        if &**name == "omit" {
            return Ok(Val::Omit);
        }
        let (name, within) = (name.to_string(), Within::Scope(frame.scope));
        Ok(Val::Undef(Rc::new(Lack { name, within, hint: None, place, via: Vec::new() })))
    }

    /// An undefined value of that description.
    pub fn lack(&self, name: &str, place: Place) -> Val {
        let within = Within::Nothing;
        Val::Undef(Rc::new(Lack { name: name.to_owned(), within, hint: None, place, via: Vec::new() }))
    }

    fn chain(&self, first: &Expr, rest: &[(Op, Expr)], place: Place, frame: &Frame) -> Result<Val, Fault> {
        let mut left = self.eval(first, frame)?;
        for (op, expr) in rest {
            let right = self.eval(expr, frame)?;
            let held = self.apply(*op, &left, &right, place)?;
            if !self.truth(&held, place)? {
                return Ok(Val::Bool(false));
            }
            left = right;
        }
        Ok(Val::Bool(true))
    }

    fn negate(&self, operand: &Expr, place: Place, frame: &Frame) -> Result<Val, Fault> {
        let val = self.eval(operand, frame)?;
        match self.known(val, place)? {
            Val::Float(f) => Ok(Val::Float(-f)),
            val => match val.as_int() {
                Some(n) => Ok(Val::Int(-n)),
                None => Err(Fault::failed(format!("a {} cannot be negated", val.kind()), range(place))),
            },
        }
    }

    /// Arguments by value.
    pub fn args(&self, args: &Args, given: &mut Given, frame: &Frame, place: Place) -> Result<(), Fault> {
        for arg in &args.pos {
            given.pos.push(self.eval(arg, frame)?);
        }
        for arg in &args.splat {
            let list = self.known(self.eval(arg, frame)?, place)?;
            given.pos.extend(self.items(&list, place)?.iter().cloned());
        }
        for (name, arg) in &args.kw {
            given.kw.push((Arc::clone(name), self.eval(arg, frame)?));
        }
        for arg in &args.kw_splat {
            let map = self.known(self.eval(arg, frame)?, place)?;
            for (key, val) in self.entries(&map, place)? {
                if let Key::Str(name) = key {
                    given.kw.push((name, val));
                }
            }
        }
        Ok(())
    }

    fn call(&self, callee: &Expr, args: &Args, place: Place, frame: &Frame) -> Result<Val, Fault> {
        let mut given = Given::default();
        if let Expr::Attr(written, name, _) = callee {
            let object = self.known_or_lack(self.eval(written, frame)?, place)?;
            self.args(args, &mut given, frame, place)?;
            if changing::changes(&object, name) {
                let method = methods::Method { eval: self, name, given, place };
                return changing::change(&method, frame, written, object);
            }
            return methods::call(self, object, name, given, place);
        }
        if let Expr::Name(name, name_place) = callee
            && frame.local(name).is_none()
        {
            let function = functions::find(name).ok_or_else(|| functions::unknown(name, *name_place))?;
            self.args(args, &mut given, frame, place)?;
            return calls::run(self, function, given, place, frame.scope);
        }
        let callee = self.known(self.eval(callee, frame)?, place)?;
        self.args(args, &mut given, frame, place)?;
        self.call_value(&callee, given, place)
    }

    /// Refuses what is late; undefined values pass.
    fn known_or_lack(&self, val: Val, place: Place) -> Result<Val, Fault> {
        if matches!(val, Val::Undef(_)) { Ok(val) } else { self.known(val, place) }
    }
}

/// A value that stands in the text.
fn constant_value(constant: &Const) -> Val {
    match constant {
        Const::None => Val::None,
        Const::Bool(b) => Val::Bool(*b),
        Const::Int(n) => Val::Int(*n),
        Const::Float(f) => Val::Float(*f),
        Const::Str(text) => Val::Str(Arc::clone(text)),
    }
}

/// Where an expression stands, as well as it is known.
pub(super) fn place_of(expr: &Expr) -> Place {
    match expr {
        Expr::Name(_, place)
        | Expr::Nested(_, place)
        | Expr::Attr(_, _, place)
        | Expr::Item(_, _, place)
        | Expr::Slice(_, _, place)
        | Expr::Not(_, place)
        | Expr::Neg(_, place)
        | Expr::Bin(_, _, _, place)
        | Expr::Compare(_, _, place)
        | Expr::If(_, _, _, place)
        | Expr::Filter(_, _, _, place)
        | Expr::Test(_, _, _, place)
        | Expr::Call(_, _, place)
        | Expr::Map(_, place) => *place,
        Expr::And(left, right) | Expr::Or(left, right) => (place_of(left).0, place_of(right).1),
        Expr::List(items) | Expr::Tuple(items) => {
            let ends = items.first().zip(items.last());
            ends.map_or((0, 0), |(first, last)| (place_of(first).0, place_of(last).1))
        }
        Expr::Const(_) | Expr::Broken(_) => (0, 0),
    }
}
