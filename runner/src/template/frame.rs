//! The names that a template binds itself while it runs.
use std::sync::Arc;

use super::value::Val;

/// The names that a template binds itself, in layers.
pub(super) struct Frame {
    pub scope: usize,
    pub locals: Vec<(Arc<str>, Val)>,
    pub layers: Vec<usize>,
}

impl Frame {
    pub fn new(scope: usize) -> Self {
        Self { scope, locals: Vec::new(), layers: vec![0] }
    }

    pub fn local(&self, name: &str) -> Option<&Val> {
        self.locals.iter().rev().find(|(known, _)| &**known == name).map(|(_, val)| val)
    }

    /// Binds a name in the innermost layer.
    pub fn set(&mut self, name: &Arc<str>, val: Val) {
        let base = self.layers.last().copied().unwrap_or(0);
        match self.locals[base..].iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = val,
            None => self.locals.push((Arc::clone(name), val)),
        }
    }

    pub fn enter(&mut self) {
        self.layers.push(self.locals.len());
    }

    pub fn leave(&mut self) {
        if let Some(base) = self.layers.pop() {
            self.locals.truncate(base);
        }
    }
}
