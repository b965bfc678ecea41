//! Which names a text reads, said without variables.
use std::collections::BTreeSet;

use super::tree::{Args, Body, Compiled, Const, Expr, Macro, Stmt, Target};

/// The names that it reads, dotted as far as they are written out; names that it binds itself are left out.
pub(super) fn used(compiled: &Compiled) -> Vec<String> {
    let mut names = Names::default();
    match &compiled.body {
        Body::Expr(expr) => names.expr(expr),
        Body::Template(body) => names.body(body),
    }
    let bound = names.bound;
    let free = |name: &String| !bound.contains(name.split('.').next().unwrap_or(name));
    names.read.into_iter().filter(free).collect()
}

#[derive(Default)]
struct Names {
    read: BTreeSet<String>,
    bound: BTreeSet<String>,
}

impl Names {
    /// The dotted path of an expression, if it is nothing but one.
    fn path(expr: &Expr) -> Option<String> {
        match expr {
            Expr::Name(name, _) => Some(name.to_string()),
            Expr::Attr(object, name, _) => Some(format!("{}.{name}", Self::path(object)?)),
            Expr::Item(object, index, _) => match &**index {
                Expr::Const(Const::Str(name)) => Some(format!("{}.{name}", Self::path(object)?)),
                Expr::Const(Const::Int(n)) => Some(format!("{}.{n}", Self::path(object)?)),
                _ => None,
            },
            _ => None,
        }
    }

    fn each<'e>(&mut self, exprs: impl IntoIterator<Item = &'e Expr>) {
        for expr in exprs {
            self.expr(expr);
        }
    }

    fn args(&mut self, args: &Args) {
        self.each(args.pos.iter().chain(&args.splat).chain(&args.kw_splat));
        self.each(args.kw.iter().map(|(_, expr)| expr));
    }

    fn expr(&mut self, expr: &Expr) {
        if let Some(path) = Self::path(expr) {
            self.read.insert(path);
            return;
        }
        match expr {
            Expr::Const(_) | Expr::Nested(..) | Expr::Name(..) | Expr::Broken(_) => {}
            Expr::Attr(object, ..) => self.expr(object),
            Expr::Item(a, b, _) | Expr::And(a, b) | Expr::Or(a, b) | Expr::Bin(_, a, b, _) => {
                self.each([&**a, &**b]);
            }
            Expr::Slice(object, parts, _) => {
                self.expr(object);
                self.each(parts.iter().flatten().map(|part| &**part));
            }
            Expr::Not(operand, _) | Expr::Neg(operand, _) => self.expr(operand),
            Expr::Compare(first, rest, _) => {
                self.expr(first);
                self.each(rest.iter().map(|(_, expr)| expr));
            }
            Expr::If(test, then, otherwise, _) => {
                self.each([&**test, &**then]);
                self.each(otherwise.iter().map(|expr| &**expr));
            }
            Expr::Filter(_, operand, args, _) => {
                self.each(operand.iter().map(|expr| &**expr));
                self.args(args);
            }
            Expr::Test(_, operand, args, _) => {
                self.expr(operand);
                self.args(args);
            }
            Expr::Call(callee, args, _) => {
                match &**callee {
                    // A method's receiver is read, its name is not.
                    Expr::Attr(object, ..) => self.expr(object),
                    Expr::Name(..) => {}
                    other => self.expr(other),
                }
                self.args(args);
            }
            Expr::List(items) | Expr::Tuple(items) => self.each(items),
            Expr::Map(pairs, _) => self.each(pairs.iter().flat_map(|(key, val)| [key, val])),
        }
    }

    fn target(&mut self, target: &Target) {
        match target {
            Target::Name(name) => {
                self.bound.insert(name.to_string());
            }
            Target::Attr(..) => {}
            Target::Many(targets, _) => targets.iter().for_each(|target| self.target(target)),
        }
    }

    fn macro_decl(&mut self, decl: &Macro) {
        self.bound.insert(decl.name.to_string());
        self.bound.extend(decl.params.iter().map(|param| param.to_string()));
        self.bound.insert("caller".to_owned());
        self.each(&decl.defaults);
        self.body(&decl.body);
    }

    fn body(&mut self, body: &[Stmt]) {
        body.iter().for_each(|stmt| self.stmt(stmt));
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Raw(_) | Stmt::Broken(_) => {}
            Stmt::Emit(expr) | Stmt::Do(expr) => self.expr(expr),
            Stmt::For { target, iter, only, body, otherwise, .. } => {
                self.bound.insert("loop".to_owned());
                self.target(target);
                self.expr(iter);
                self.each(only);
                self.body(body);
                self.body(otherwise);
            }
            Stmt::If(test, yes, no) => {
                self.expr(test);
                self.body(yes);
                self.body(no);
            }
            Stmt::With(binds, body) => {
                for (target, expr) in binds {
                    self.target(target);
                    self.expr(expr);
                }
                self.body(body);
            }
            Stmt::Set(target, expr) => {
                self.expr(expr);
                self.target(target);
            }
            Stmt::SetBlock(target, filter, body) => {
                self.target(target);
                self.each(filter);
                self.body(body);
            }
            Stmt::FilterBlock(filter, body) => {
                self.expr(filter);
                self.body(body);
            }
            Stmt::Group(body) => self.body(body),
            Stmt::Macro(decl) => self.macro_decl(decl),
            Stmt::CallBlock(callee, args, caller, _) => {
                self.expr(callee);
                self.args(args);
                self.macro_decl(caller);
            }
        }
    }
}
