//! The names that a template binds itself while it runs.
use std::cell::{Ref, RefCell, RefMut};
use std::sync::Arc;

use super::value::Val;

/// Names with their values, the newest last.
pub(super) type Locals = Vec<(Arc<str>, Val)>;

/// The names that a template binds itself, in layers.
pub(super) struct Frame {
    pub scope: usize,
    locals: RefCell<Locals>,
    layers: Vec<usize>,
    /// Variables from which a value was taken and changed: what they hold is not what a template reads any more.
    changed: RefCell<Vec<String>>,
}

impl Frame {
    pub fn new(scope: usize) -> Self {
        Self::with(scope, Locals::new())
    }

    /// One that begins with the names of another.
    pub fn with(scope: usize, locals: Locals) -> Self {
        Self { scope, locals: RefCell::new(locals), layers: vec![0], changed: RefCell::default() }
    }

    pub fn local(&self, name: &str) -> Option<Val> {
        let locals = self.locals.borrow();
        locals.iter().rev().find(|(known, _)| &**known == name).map(|(_, val)| val.clone())
    }

    pub fn locals(&self) -> Ref<'_, Locals> {
        self.locals.borrow()
    }

    pub fn locals_mut(&self) -> RefMut<'_, Locals> {
        self.locals.borrow_mut()
    }

    /// Binds a name in the innermost layer.
    pub fn set(&mut self, name: &Arc<str>, val: Val) {
        let base = self.layers.last().copied().unwrap_or(0);
        let locals = self.locals.get_mut();
        match locals[base..].iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = val,
            None => locals.push((Arc::clone(name), val)),
        }
    }

    pub fn enter(&mut self) {
        self.layers.push(self.locals.get_mut().len());
    }

    pub fn leave(&mut self) {
        if let Some(base) = self.layers.pop() {
            self.locals.get_mut().truncate(base);
        }
    }

    /// Remembers that a value of a variable was changed.
    pub fn spoil(&self, variable: &str) {
        self.changed.borrow_mut().push(variable.to_owned());
    }

    /// Whether a value of that variable was changed.
    pub fn is_spoilt(&self, variable: &str) -> bool {
        self.changed.borrow().iter().any(|known| known == variable)
    }
}
