//! Expressions and statements as this crate evaluates them: owned, with filters and tests already found.
use std::sync::Arc;

use super::calls::Callee;
use super::fault::Fault;

/// First byte and one past the last, in the template's text.
pub(super) type Place = (u32, u32);

/// A value that stands in the text.
#[derive(Debug)]
pub(super) enum Const {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Arc<str>),
}

/// Operators with two operands that are both always evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    Pow,
    Concat,
    Eq,
    Ne,
    Lt,
    Lte,
    Gt,
    Gte,
    In,
    NotIn,
}

/// Arguments as written.
#[derive(Debug, Default)]
pub(super) struct Args {
    pub pos: Vec<Expr>,
    pub kw: Vec<(Arc<str>, Expr)>,
    pub splat: Vec<Expr>,
    pub kw_splat: Vec<Expr>,
}

/// An expression.
#[derive(Debug)]
pub(super) enum Expr {
    Const(Const),
    /// A constant of a condition that holds a template of its own.
    Nested(Arc<str>, Place),
    Name(Arc<str>, Place),
    Attr(Box<Expr>, Arc<str>, Place),
    Item(Box<Expr>, Box<Expr>, Place),
    Slice(Box<Expr>, [Option<Box<Expr>>; 3], Place),
    Not(Box<Expr>, Place),
    Neg(Box<Expr>, Place),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Bin(Op, Box<Expr>, Box<Expr>, Place),
    Compare(Box<Expr>, Vec<(Op, Expr)>, Place),
    If(Box<Expr>, Box<Expr>, Option<Box<Expr>>, Place),
    /// A filter; without an operand only as the head of a filter block.
    Filter(&'static Callee, Option<Box<Expr>>, Args, Place),
    Test(&'static Callee, Box<Expr>, Args, Place),
    Call(Box<Expr>, Args, Place),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Map(Vec<(Expr, Expr)>, Place),
    /// What is refused; the fault is raised when it is reached.
    Broken(Box<Fault>),
}

/// Where a value is bound.
#[derive(Debug)]
pub(super) enum Target {
    Name(Arc<str>),
    Attr(Arc<str>, Arc<str>, Place),
    Many(Vec<Target>, Place),
}

/// A macro's declaration.
#[derive(Debug)]
pub(super) struct Macro {
    pub name: Arc<str>,
    pub params: Vec<Arc<str>>,
    /// For the last parameters.
    pub defaults: Vec<Expr>,
    pub body: Vec<Stmt>,
}

/// A statement.
#[derive(Debug)]
pub(super) enum Stmt {
    Raw(Arc<str>),
    Emit(Expr),
    For {
        target: Target,
        iter: Expr,
        only: Option<Expr>,
        body: Vec<Stmt>,
        otherwise: Vec<Stmt>,
        place: Place,
    },
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    With(Vec<(Target, Expr)>, Vec<Stmt>),
    Set(Target, Expr),
    SetBlock(Target, Option<Expr>, Vec<Stmt>),
    FilterBlock(Expr, Vec<Stmt>),
    Group(Vec<Stmt>),
    Macro(Arc<Macro>),
    CallBlock(Expr, Args, Arc<Macro>, Place),
    Do(Expr),
    Broken(Box<Fault>),
}

/// A text after reading: what to evaluate, and what is wrong with it as far as can be said without variables.
#[derive(Debug)]
pub(super) struct Compiled {
    pub body: Body,
    pub faults: Vec<Fault>,
}

/// A template or a bare expression.
#[derive(Debug)]
pub(super) enum Body {
    Template(Vec<Stmt>),
    Expr(Expr),
}
