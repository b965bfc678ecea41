//! From the parser's tree to ours: names of filters and tests are found, what is refused is marked.
use std::collections::HashSet;
use std::sync::Arc;

use minijinja::ErrorKind;
use minijinja::machinery::{Span, ast};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};

use super::calls::Callee;
use super::fault::{Fault, Kind};
use super::marks;
use super::tree::{Args, Body, Compiled, Const, Expr, Op, Place, Target};
use super::{filters, functions, predicates, value};

/// Reads a template that was masked already.
pub(super) fn template(masked: Option<&str>, syntax: SyntaxConfig) -> Compiled {
    let Some(masked) = masked else { return too_long() };
    let mut lower = Lower::new(false);
    match minijinja::machinery::parse(masked, "", syntax) {
        Ok(ast::Stmt::Template(root)) => {
            let body = lower.body(&root.children);
            lower.done(Body::Template(body))
        }
        Ok(other) => {
            let body = vec![lower.stmt(&other)];
            lower.done(Body::Template(body))
        }
        Err(error) => broken(&error, masked),
    }
}

/// Reads a bare expression that was masked already.
pub(super) fn expression(masked: Option<&str>) -> Compiled {
    let Some(masked) = masked else { return too_long() };
    let mut lower = Lower::new(true);
    match minijinja::machinery::parse_expr(masked) {
        Ok(expr) => {
            let body = lower.expr(&expr);
            lower.done(Body::Expr(body))
        }
        Err(error) => broken(&error, masked),
    }
}

/// A text that cannot be read is one fault, raised whenever it is used.
fn broken(error: &minijinja::Error, masked: &str) -> Compiled {
    let range = error.range().unwrap_or(0..masked.len());
    let why = match error.kind() {
        ErrorKind::SyntaxError => error.detail().unwrap_or("it is malformed").to_owned(),
        _ => error.detail().unwrap_or("it is malformed").to_owned(),
    };
    let at = |text: &str| masked.get(range.clone()).is_some_and(|found| found.starts_with(text));
    let hint = if why.contains("unexpected `=`") || (at("=") && !at("==")) {
        Some("compare with `==`".to_owned())
    } else if why.contains("end of variable block") {
        Some("close it with `}}`; inside, quote texts and close brackets".to_owned())
    } else if why.contains("expected end of block") {
        let name = masked
            .split("{%")
            .nth(1)
            .and_then(|block| block.trim_start_matches('-').split_whitespace().next());
        name.map(|name| format!("close it with `{{% end{name} %}}`"))
    } else if why.contains("unexpected end of input") {
        Some("something is missing at its end: a bracket, a quote or a value".to_owned())
    } else if why.contains("after expression") {
        Some("join parts by an operator (`and`, `==`, `in`, `~`); a text needs quotes of its own inside the YAML's".to_owned())
    } else if masked.contains("&&") || masked.contains("||") {
        Some("write `and` and `or`".to_owned())
    } else if masked.contains("{{") && why.contains(['{', '}']) {
        Some("templates do not nest: name the variable without `{{ }}`".to_owned())
    } else {
        None
    };
    let fault = Fault::new(Kind::Syntax { why, hint }, range);
    let body = Body::Expr(Expr::Broken(Box::new(fault.clone())));
    Compiled { body, faults: vec![fault] }
}

fn too_long() -> Compiled {
    let fault =
        Fault::failed("an expression of more than 16 KiB", 0..0).hint("keep parts of it in variables");
    Compiled { body: Body::Expr(Expr::Broken(Box::new(fault.clone()))), faults: vec![fault] }
}

/// Deepest tree of an expression.
const DEEPEST: usize = 90;

/// The span as a place.
pub(super) fn place(span: Span) -> Place {
    (span.start_offset, span.end_offset)
}

/// The work on one text.
pub(super) struct Lower {
    faults: Vec<Fault>,
    /// Names that the text binds itself: macros, loop variables, `set`.
    pub(super) bound: HashSet<Arc<str>>,
    /// Calls of names that are no function.
    calls: Vec<(Arc<str>, Place)>,
    /// Whether constants may hold templates of their own, as Ansible allows in conditions.
    nested: bool,
    depth: usize,
}

impl Lower {
    fn new(nested: bool) -> Self {
        let bound = ["caller".into(), "loop".into(), "self".into()].into();
        Self { faults: Vec::new(), bound, calls: Vec::new(), nested, depth: 0 }
    }

    fn done(mut self, body: Body) -> Compiled {
        for (name, place) in std::mem::take(&mut self.calls) {
            if !self.bound.contains(&name) {
                self.faults.push(functions::unknown(&name, place));
            }
        }
        Compiled { body, faults: self.faults }
    }

    /// Notes the fault and gives the expression that raises it.
    pub(super) fn refuse(&mut self, fault: Fault) -> Expr {
        self.faults.push(fault.clone());
        Expr::Broken(Box::new(fault))
    }

    pub(super) fn boxed(&mut self, expr: &ast::Expr<'_>) -> Box<Expr> {
        Box::new(self.expr(expr))
    }

    /// One expression.
    pub(super) fn expr(&mut self, expr: &ast::Expr<'_>) -> Expr {
        if self.depth >= DEEPEST {
            let fault = Fault::failed("this expression nests too deeply", value::range(place(expr.span())));
            return self.refuse(fault.hint("keep parts of it in variables"));
        }
        self.depth += 1;
        let lowered = self.lowered(expr);
        self.depth -= 1;
        lowered
    }

    fn lowered(&mut self, expr: &ast::Expr<'_>) -> Expr {
        let at = place(expr.span());
        match expr {
            ast::Expr::Var(var) => Expr::Name(var.id.into(), at),
            ast::Expr::Const(constant) => self.constant(&constant.value, at),
            ast::Expr::Slice(slice) => {
                let part =
                    |lower: &mut Self, part: &Option<ast::Expr<'_>>| part.as_ref().map(|e| lower.boxed(e));
                let parts = [part(self, &slice.start), part(self, &slice.stop), part(self, &slice.step)];
                Expr::Slice(self.boxed(&slice.expr), parts, at)
            }
            ast::Expr::UnaryOp(op) => match op.op {
                ast::UnaryOpKind::Not => Expr::Not(self.boxed(&op.expr), at),
                ast::UnaryOpKind::Neg => Expr::Neg(self.boxed(&op.expr), at),
            },
            ast::Expr::BinOp(op) => self.bin_op(op, at),
            ast::Expr::Compare(compare) => {
                let first = self.boxed(&compare.expr);
                let rest = compare.ops.iter().map(|op| (compare_op(op.op), self.expr(&op.expr))).collect();
                Expr::Compare(first, rest, at)
            }
            ast::Expr::IfExpr(cond) => {
                let otherwise = cond.false_expr.as_ref().map(|e| self.boxed(e));
                Expr::If(self.boxed(&cond.test_expr), self.boxed(&cond.true_expr), otherwise, at)
            }
            ast::Expr::Filter(filter) => {
                let operand = filter.expr.as_ref().map(|e| self.boxed(e));
                let args = self.args(&filter.args);
                match self.found(filters::find(filter.name, at)) {
                    Ok(callee) => Expr::Filter(callee, operand, args, at),
                    Err(broken) => broken,
                }
            }
            ast::Expr::Test(test) => {
                let operand = self.boxed(&test.expr);
                let args = self.args(&test.args);
                match self.found(predicates::find(test.name, at)) {
                    Ok(callee) => Expr::Test(callee, operand, args, at),
                    Err(broken) => broken,
                }
            }
            ast::Expr::GetAttr(attr) => Expr::Attr(self.boxed(&attr.expr), attr.name.into(), at),
            ast::Expr::GetItem(item) => {
                Expr::Item(self.boxed(&item.expr), self.boxed(&item.subscript_expr), at)
            }
            ast::Expr::Call(call) => self.call(call, at),
            ast::Expr::List(list) => Expr::List(list.items.iter().map(|item| self.expr(item)).collect()),
            ast::Expr::Tuple(tuple) => Expr::Tuple(tuple.items.iter().map(|item| self.expr(item)).collect()),
            ast::Expr::Map(map) => {
                let pairs = map.keys.iter().zip(&map.values);
                Expr::Map(pairs.map(|(key, val)| (self.expr(key), self.expr(val))).collect(), at)
            }
        }
    }

    fn found(&mut self, found: Result<&'static Callee, Box<Fault>>) -> Result<&'static Callee, Expr> {
        found.map_err(|fault| self.refuse(*fault))
    }

    fn bin_op(&mut self, op: &ast::BinOp<'_>, at: Place) -> Expr {
        let (left, right) = (self.boxed(&op.left), self.boxed(&op.right));
        let kind = match op.op {
            ast::BinOpKind::ScAnd => return Expr::And(left, right),
            ast::BinOpKind::ScOr => return Expr::Or(left, right),
            ast::BinOpKind::Eq => Op::Eq,
            ast::BinOpKind::Ne => Op::Ne,
            ast::BinOpKind::Lt => Op::Lt,
            ast::BinOpKind::Lte => Op::Lte,
            ast::BinOpKind::Gt => Op::Gt,
            ast::BinOpKind::Gte => Op::Gte,
            ast::BinOpKind::Add => Op::Add,
            ast::BinOpKind::Sub => Op::Sub,
            ast::BinOpKind::Mul => Op::Mul,
            ast::BinOpKind::Div => Op::Div,
            ast::BinOpKind::FloorDiv => Op::FloorDiv,
            ast::BinOpKind::Rem => Op::Rem,
            ast::BinOpKind::Pow => Op::Pow,
            ast::BinOpKind::Concat => Op::Concat,
            ast::BinOpKind::In => Op::In,
        };
        Expr::Bin(kind, left, right, at)
    }

    fn constant(&mut self, val: &Value, at: Place) -> Expr {
        Expr::Const(match val.kind() {
            ValueKind::None | ValueKind::Undefined => Const::None,
            ValueKind::Bool => Const::Bool(val.is_true()),
            ValueKind::Number if val.is_integer() => match i128::try_from(val.clone()) {
                Ok(n) => Const::Int(n),
                Err(_) => return self.refuse(Fault::failed("this number is too large", value::range(at))),
            },
            ValueKind::Number => Const::Float(f64::try_from(val.clone()).unwrap_or(f64::NAN)),
            _ => match marks::unmask(val.as_str().unwrap_or_default()) {
                Ok(text) if self.nested && marks::Delimiters::default().found_in(&text) => {
                    return Expr::Nested(text.into(), at);
                }
                Ok(text) => Const::Str(text.into()),
                Err(why) => return self.refuse(Fault::failed(why, value::range(at))),
            },
        })
    }

    fn call(&mut self, call: &ast::Call<'_>, at: Place) -> Expr {
        let args = self.args(&call.args);
        if let ast::Expr::Var(var) = &call.expr {
            let name: Arc<str> = var.id.into();
            if functions::find(&name).is_none() {
                self.calls.push((Arc::clone(&name), place(var.span())));
            } else if let Some(fault) = functions::refused_lookup(&name, &args, at) {
                return self.refuse(fault);
            }
        }
        Expr::Call(self.boxed(&call.expr), args, at)
    }

    pub(super) fn args(&mut self, given: &[ast::CallArg<'_>]) -> Args {
        let mut args = Args::default();
        for arg in given {
            match arg {
                ast::CallArg::Pos(expr) => args.pos.push(self.expr(expr)),
                ast::CallArg::Kwarg(name, expr) => args.kw.push(((*name).into(), self.expr(expr))),
                ast::CallArg::PosSplat(expr) => args.splat.push(self.expr(expr)),
                ast::CallArg::KwargSplat(expr) => args.kw_splat.push(self.expr(expr)),
            }
        }
        args
    }

    /// Where a value is bound: a name, `ns.attribute`, or several of them.
    pub(super) fn target(&mut self, expr: &ast::Expr<'_>) -> Target {
        let at = place(expr.span());
        match expr {
            ast::Expr::Var(var) => {
                let name: Arc<str> = var.id.into();
                self.bound.insert(Arc::clone(&name));
                Target::Name(name)
            }
            ast::Expr::GetAttr(attr) => match &attr.expr {
                ast::Expr::Var(var) => Target::Attr(var.id.into(), attr.name.into(), at),
                _ => Target::Many(Vec::new(), at),
            },
            ast::Expr::List(list) => Target::Many(list.items.iter().map(|e| self.target(e)).collect(), at),
            ast::Expr::Tuple(tuple) => Target::Many(tuple.items.iter().map(|e| self.target(e)).collect(), at),
            _ => Target::Many(Vec::new(), at),
        }
    }
}

fn compare_op(op: ast::CompareOpKind) -> Op {
    match op {
        ast::CompareOpKind::Eq => Op::Eq,
        ast::CompareOpKind::Ne => Op::Ne,
        ast::CompareOpKind::Lt => Op::Lt,
        ast::CompareOpKind::Lte => Op::Lte,
        ast::CompareOpKind::Gt => Op::Gt,
        ast::CompareOpKind::Gte => Op::Gte,
        ast::CompareOpKind::In => Op::In,
        ast::CompareOpKind::NotIn => Op::NotIn,
    }
}

/// The name of a called lookup, where it stands in the text.
pub(super) fn constant_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Const(Const::Str(text)) => Some(text),
        _ => None,
    }
}
