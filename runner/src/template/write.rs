//! Running a template's statements and joining what they write.
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::calls::{self, Given};
use super::eval::{Eval, place_of};
use super::fault::Fault;
use super::frame::Frame;
use super::tree::{Args, Body, Compiled, Expr, Macro, Place, Stmt, Target};
use super::value::{Key, LoopState, MacroValue, Val, Within, range};

impl Eval<'_> {
    /// Runs a template or an expression.
    pub(super) fn render(&self, compiled: &Compiled, mut frame: Frame) -> Result<Val, Fault> {
        match &compiled.body {
            Body::Expr(expr) => self.eval(expr, &frame),
            Body::Template(body) => {
                let mut out = Vec::new();
                self.exec(body, &mut frame, &mut out)?;
                self.joined(out)
            }
        }
    }

    /// One piece stays as it is, several become text; `none` writes nothing.
    fn joined(&self, mut out: Vec<(Val, Place)>) -> Result<Val, Fault> {
        out.retain(|(val, _)| !matches!(val, Val::None));
        if out.len() < 2 {
            return Ok(out.pop().map_or(Val::None, |(val, _)| val));
        }
        let mut text = String::new();
        for (val, place) in &out {
            if matches!(val, Val::Undef(lack) if matches!(lack.within, Within::Blank)) {
                continue;
            }
            text.push_str(&self.show(val, *place)?);
            self.burn(val.as_str().map_or(1, |text| 1 + text.len() as u64 / 64), *place)?;
        }
        Ok(Val::text(text))
    }

    /// Runs statements for their text.
    fn captured(&self, body: &[Stmt], frame: &mut Frame) -> Result<Val, Fault> {
        let mut out = Vec::new();
        frame.enter();
        let done = self.exec(body, frame, &mut out);
        frame.leave();
        done?;
        match self.joined(out)? {
            Val::None => Ok(Val::text("")),
            val => Ok(val),
        }
    }

    fn exec(&self, body: &[Stmt], frame: &mut Frame, out: &mut Vec<(Val, Place)>) -> Result<(), Fault> {
        for stmt in body {
            self.burn(1, (0, 0))?;
            self.stmt(stmt, frame, out)?;
        }
        Ok(())
    }

    fn stmt(&self, stmt: &Stmt, frame: &mut Frame, out: &mut Vec<(Val, Place)>) -> Result<(), Fault> {
        match stmt {
            Stmt::Raw(text) => out.push((Val::Str(Arc::clone(text)), (0, 0))),
            Stmt::Emit(expr) => out.push((self.eval(expr, frame)?, place_of(expr))),
            Stmt::For { target, iter, only, body, otherwise, place } => {
                frame.enter();
                let done = self.for_loop((target, iter, only.as_ref()), body, *place, frame, out);
                frame.leave();
                if !done? {
                    return self.exec(otherwise, frame, out);
                }
            }
            Stmt::If(test, yes, no) => {
                let held = self.truth(&self.eval(test, frame)?, place_of(test))?;
                return self.exec(if held { yes } else { no }, frame, out);
            }
            Stmt::With(binds, body) => {
                frame.enter();
                let done = self.with(binds, body, frame, out);
                frame.leave();
                return done;
            }
            Stmt::Set(target, expr) => {
                let val = self.eval(expr, frame)?;
                self.bind(target, val, frame)?;
            }
            Stmt::SetBlock(target, filter, body) => {
                let val = self.captured(body, frame)?;
                let val =
                    filter.as_ref().map_or(Ok(val.clone()), |filter| self.filtered(filter, val, frame))?;
                self.bind(target, val, frame)?;
            }
            Stmt::FilterBlock(filter, body) => {
                let val = self.captured(body, frame)?;
                out.push((self.filtered(filter, val, frame)?, place_of(filter)));
            }
            Stmt::Group(body) => return self.exec(body, frame, out),
            Stmt::Macro(decl) => {
                let val = self.macro_value(decl, frame);
                frame.set(&decl.name, val);
            }
            Stmt::CallBlock(callee, args, caller, place) => {
                out.push((self.call_block(callee, args, caller, *place, frame)?, *place));
            }
            Stmt::Do(expr) => {
                self.eval(expr, frame)?;
            }
            Stmt::Broken(fault) => return Err((**fault).clone()),
        }
        Ok(())
    }

    fn with(
        &self,
        binds: &[(Target, Expr)],
        body: &[Stmt],
        frame: &mut Frame,
        out: &mut Vec<(Val, Place)>,
    ) -> Result<(), Fault> {
        for (target, expr) in binds {
            let val = self.eval(expr, frame)?;
            self.bind(target, val, frame)?;
        }
        self.exec(body, frame, out)
    }

    /// Whether anything was looped over.
    fn for_loop(
        &self,
        (target, iter, only): (&Target, &Expr, Option<&Expr>),
        body: &[Stmt],
        place: Place,
        frame: &mut Frame,
        out: &mut Vec<(Val, Place)>,
    ) -> Result<bool, Fault> {
        let list = self.known(self.eval(iter, frame)?, place)?;
        let mut items = self.items(&list, place)?;
        if let Some(only) = only {
            let mut kept = Vec::new();
            for item in items.iter() {
                self.bind(target, item.clone(), frame)?;
                if self.truth(&self.eval(only, frame)?, place_of(only))? {
                    kept.push(item.clone());
                }
            }
            items = Rc::new(kept);
        }
        let depth = match &frame.local("loop") {
            Some(Val::Loop(outer)) => outer.depth + 1,
            _ => 1,
        };
        let changed = RefCell::new(None);
        let mut state = LoopState { items: Rc::clone(&items), index: 0, depth, last_changed: changed };
        for (index, item) in items.iter().enumerate() {
            frame.enter();
            state.index = index;
            let shared = Rc::new(state);
            frame.set(&"loop".into(), Val::Loop(Rc::clone(&shared)));
            let done = self.bind(target, item.clone(), frame).and_then(|()| self.exec(body, frame, out));
            frame.leave();
            let last = shared.last_changed.borrow().clone();
            state = LoopState { items: Rc::clone(&items), index, depth, last_changed: RefCell::new(last) };
            done?;
        }
        Ok(!items.is_empty())
    }

    fn bind(&self, target: &Target, val: Val, frame: &mut Frame) -> Result<(), Fault> {
        match target {
            Target::Name(name) => frame.set(name, val),
            Target::Attr(name, attribute, place) => match &frame.local(name) {
                Some(Val::Namespace(map)) => {
                    map.borrow_mut().insert(Key::Str(Arc::clone(attribute)), val);
                }
                _ => {
                    let why = format!("`{name}` is not a namespace: make it one with `namespace(…)`");
                    return Err(Fault::failed(why, range(*place)));
                }
            },
            Target::Many(targets, place) => {
                let val = self.known(val, *place)?;
                let items = self.items(&val, *place)?;
                if items.len() != targets.len() {
                    let why = format!("{} values do not fit {} names", items.len(), targets.len());
                    return Err(Fault::failed(why, range(*place)));
                }
                for (target, item) in targets.iter().zip(items.iter()) {
                    self.bind(target, item.clone(), frame)?;
                }
            }
        }
        Ok(())
    }

    /// The filters of a block, applied to its text.
    fn filtered(&self, filter: &Expr, val: Val, frame: &Frame) -> Result<Val, Fault> {
        let Expr::Filter(callee, operand, args, place) = filter else { return self.eval(filter, frame) };
        let input = match operand {
            Some(inner) => self.filtered(inner, val, frame)?,
            None => val,
        };
        let mut given = Given { pos: vec![input], kw: Vec::new() };
        self.args(args, &mut given, frame, *place)?;
        calls::run(self, callee, given, *place, frame.scope)
    }

    fn macro_value(&self, decl: &Arc<Macro>, frame: &Frame) -> Val {
        let locals = RefCell::new(frame.locals().clone());
        Val::Macro(Rc::new(MacroValue { decl: Arc::clone(decl), scope: frame.scope, locals }))
    }

    fn call_block(
        &self,
        callee: &Expr,
        args: &Args,
        caller: &Arc<Macro>,
        place: Place,
        frame: &Frame,
    ) -> Result<Val, Fault> {
        let mut given = Given::default();
        self.args(args, &mut given, frame, place)?;
        given.kw.push(("caller".into(), self.macro_value(caller, frame)));
        let callee = self.known(self.eval(callee, frame)?, place)?;
        self.call_value(&callee, given, place)
    }

    /// Calls a macro, or what `cycler` and `joiner` gave.
    pub(super) fn call_value(&self, callee: &Val, given: Given, place: Place) -> Result<Val, Fault> {
        match callee {
            Val::Macro(value) => self.deeper(place, || self.call_macro(value, callee, given, place)),
            Val::Joiner(state) => {
                let first = !state.1.replace(true);
                Ok(if first { Val::text("") } else { Val::Str(Arc::clone(&state.0)) })
            }
            other => Err(Fault::failed(format!("a {} cannot be called", other.kind()), range(place))),
        }
    }

    fn call_macro(&self, value: &MacroValue, own: &Val, given: Given, place: Place) -> Result<Val, Fault> {
        let decl = &value.decl;
        let fail = |why: String| Fault::failed(why, range(place));
        let mut frame = Frame::with(value.scope, value.locals.borrow().clone());
        frame.set(&decl.name, own.clone());
        frame.enter();
        if given.pos.len() > decl.params.len() {
            return Err(fail(format!("the macro `{}` takes {} arguments", decl.name, decl.params.len())));
        }
        let mut args: Vec<Option<Val>> = given.pos.into_iter().map(Some).collect();
        args.resize(decl.params.len(), None);
        for (name, val) in given.kw {
            match decl.params.iter().position(|param| *param == name) {
                Some(index) => args[index] = Some(val),
                None if &*name == "caller" => frame.set(&name, val),
                None => return Err(fail(format!("the macro `{}` has no parameter `{name}`", decl.name))),
            }
        }
        let plain = decl.params.len() - decl.defaults.len().min(decl.params.len());
        for (index, (param, arg)) in decl.params.iter().zip(args).enumerate() {
            let val = match (arg, index.checked_sub(plain).and_then(|at| decl.defaults.get(at))) {
                (Some(val), _) => val,
                (None, Some(default)) => self.eval(default, &frame)?,
                (None, None) => self.lack(param, place),
            };
            frame.set(param, val);
        }
        self.captured(&decl.body, &mut frame)
    }
}
