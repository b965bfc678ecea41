//! What the planner offers to expressions: variables in layers, looked up one name at a time.
use std::collections::HashMap;
use std::sync::Arc;

use super::Json;
use crate::source::Span;

/// A variable's value: data, or a scope of further names that is asked lazily (`hostvars`, `ansible_facts`).
#[derive(Clone)]
pub enum Held {
    /// Plain data; text in it may hold templates if the variable is trusted.
    Data(Arc<Json>),
    /// Names that are looked up one at a time; templates found there are rendered within that scope.
    Scope(Arc<dyn Vars>),
}

/// A variable as the planner offers it.
#[derive(Clone)]
pub struct Var {
    /// What it holds.
    pub held: Held,
    /// Whether its text may hold templates, which are rendered when used. Results and facts are not trusted.
    pub trusted: bool,
    /// Whether whatever reads it is secret too.
    pub secret: bool,
    /// Where its value was written, for messages.
    pub span: Option<Span>,
}

impl Var {
    /// A value that a person wrote: templates in it are rendered on use.
    pub fn written(value: impl Into<Arc<Json>>) -> Self {
        Self { held: Held::Data(value.into()), trusted: true, secret: false, span: None }
    }

    /// A value that came from a machine or is marked `!unsafe`: never rendered.
    pub fn seen(value: impl Into<Arc<Json>>) -> Self {
        Self { held: Held::Data(value.into()), trusted: false, secret: false, span: None }
    }

    /// A nested scope, such as one host of `hostvars`.
    pub fn scope(scope: Arc<dyn Vars>) -> Self {
        Self { held: Held::Scope(scope), trusted: true, secret: false, span: None }
    }

    /// The same, secret.
    pub fn secret(mut self) -> Self {
        self.secret = true;
        self
    }

    /// The same, with the place where its value stands.
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }
}

/// A scope of variables. Lookups must be cheap; only what an expression names is asked for.
pub trait Vars: Send + Sync {
    /// The variable of that name, the innermost layer first.
    fn get(&self, name: &str) -> Option<Var>;
    /// All names, for "did you mean", for loops over a scope and for `lookup('varnames')`.
    fn names(&self) -> Vec<String>;
}

impl Vars for HashMap<String, Var> {
    fn get(&self, name: &str) -> Option<Var> {
        self.get(name).cloned()
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.keys().cloned().collect();
        names.sort();
        names
    }
}
