//! Statements from the parser's tree to ours.
use std::sync::Arc;

use minijinja::machinery::ast;

use super::fault::Fault;
use super::lower::{Lower, place};
use super::tree::{Expr, Macro, Place, Stmt};
use super::value::range;

impl Lower {
    /// Several statements.
    pub(super) fn body(&mut self, body: &[ast::Stmt<'_>]) -> Vec<Stmt> {
        body.iter().map(|stmt| self.stmt(stmt)).collect()
    }

    /// One statement.
    pub(super) fn stmt(&mut self, stmt: &ast::Stmt<'_>) -> Stmt {
        match stmt {
            ast::Stmt::Template(root) => Stmt::Group(self.body(&root.children)),
            ast::Stmt::EmitRaw(raw) => Stmt::Raw(raw.raw.into()),
            ast::Stmt::EmitExpr(emit) => Stmt::Emit(self.expr(&emit.expr)),
            ast::Stmt::ForLoop(node) if node.recursive => {
                self.refused("recursive for", "write a macro that calls itself", place(node.span()))
            }
            ast::Stmt::ForLoop(node) => Stmt::For {
                target: self.target(&node.target),
                iter: self.expr(&node.iter),
                only: node.filter_expr.as_ref().map(|e| self.expr(e)),
                body: self.body(&node.body),
                otherwise: self.body(&node.else_body),
                place: place(node.iter.span()),
            },
            ast::Stmt::IfCond(node) => {
                Stmt::If(self.expr(&node.expr), self.body(&node.true_body), self.body(&node.false_body))
            }
            ast::Stmt::WithBlock(node) => {
                let binds =
                    node.assignments.iter().map(|(target, e)| (self.target(target), self.expr(e))).collect();
                Stmt::With(binds, self.body(&node.body))
            }
            ast::Stmt::Set(node) => {
                let expr = self.expr(&node.expr);
                Stmt::Set(self.target(&node.target), expr)
            }
            ast::Stmt::SetBlock(node) => {
                let filter = node.filter.as_ref().map(|e| self.expr(e));
                Stmt::SetBlock(self.target(&node.target), filter, self.body(&node.body))
            }
            ast::Stmt::AutoEscape(node) => Stmt::Group(self.body(&node.body)),
            ast::Stmt::FilterBlock(node) => {
                let filter = self.expr(&node.filter);
                Stmt::FilterBlock(filter, self.body(&node.body))
            }
            ast::Stmt::Macro(node) => Stmt::Macro(self.macro_decl(node)),
            ast::Stmt::CallBlock(node) => {
                let (callee, args) = (self.expr(&node.call.expr), self.args(&node.call.args));
                Stmt::CallBlock(callee, args, self.macro_decl(&node.macro_decl), place(node.call.span()))
            }
            ast::Stmt::Continue(node) => self.refused("continue", NO_JUMPS, place(node.span())),
            ast::Stmt::Break(node) => self.refused("break", NO_JUMPS, place(node.span())),
            ast::Stmt::Do(node) => {
                let at = place(node.call.span());
                let args = self.args(&node.call.args);
                Stmt::Do(Expr::Call(self.boxed(&node.call.expr), args, at))
            }
            ast::Stmt::Block(node) => {
                self.refused("block", "template inheritance is not offered: use a macro", place(node.span()))
            }
            ast::Stmt::Import(node) => self.refused("import", ONE_FILE, place(node.span())),
            ast::Stmt::FromImport(node) => self.refused("from", ONE_FILE, place(node.span())),
            ast::Stmt::Extends(node) => self.refused("extends", ONE_FILE, place(node.span())),
            ast::Stmt::Include(node) => self.refused(
                "include",
                "write `{{ lookup('template', NAME) }}` in its place",
                place(node.span()),
            ),
        }
    }

    fn refused(&mut self, name: &str, why: &str, at: Place) -> Stmt {
        let fault = Fault::unsupported(format!("statement `{name}`"), why, range(at));
        match self.refuse(fault) {
            Expr::Broken(fault) => Stmt::Broken(fault),
            other => Stmt::Emit(other),
        }
    }

    fn macro_decl(&mut self, node: &ast::Macro<'_>) -> Arc<Macro> {
        let name: Arc<str> = node.name.into();
        self.bound.insert(Arc::clone(&name));
        let names = node.args.iter().filter_map(|arg| match arg {
            ast::Expr::Var(var) => Some(Arc::<str>::from(var.id)),
            _ => None,
        });
        let params: Vec<Arc<str>> = names.collect();
        self.bound.extend(params.iter().cloned());
        let defaults = node.defaults.iter().map(|e| self.expr(e)).collect();
        Arc::new(Macro { name, params, defaults, body: self.body(&node.body) })
    }
}

const NO_JUMPS: &str = "Ansible has it not either: choose the items with `{% for … if … %}`";
const ONE_FILE: &str = "a template is one file here: move the macros into it";
