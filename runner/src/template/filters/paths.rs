//! Filters of path names; none looks at a file.
use std::sync::Arc;

use super::super::calls::{Bound, Callee, row};
use super::super::eval::Eval;
use super::super::fault::Fault;
use super::super::value::Val;

pub(super) static TABLE: [Callee; 7] = [
    row("basename", &["value"], |eval, bound| {
        let path = bound.str(eval, 0, "a path")?;
        Ok(Val::text(path.rsplit('/').next().unwrap_or("")))
    }),
    row("dirname", &["value"], |eval, bound| Ok(Val::text(dirname(&bound.str(eval, 0, "a path")?)))),
    row("path_join", &["value"], path_join),
    row("splitext", &["value"], splitext),
    row("normpath", &["value"], |eval, bound| Ok(Val::text(normal(&bound.str(eval, 0, "a path")?)))),
    row("relpath", &["value", "start"], relpath),
    row("commonpath", &["value"], commonpath),
];

fn dirname(path: &str) -> String {
    let head = path.rfind('/').map_or("", |at| &path[..=at]);
    let trimmed = head.trim_end_matches('/');
    if trimmed.is_empty() { head.to_owned() } else { trimmed.to_owned() }
}

fn path_join(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let parts = match bound.input() {
        Val::Str(one) => vec![Arc::clone(one)],
        list => {
            let items = eval.items(list, bound.place)?;
            let part = |item: &Val| match item {
                Val::Str(part) => Ok(Arc::clone(part)),
                other => Err(bound.fail(format!("a part of a path is text, not {}", other.kind()))),
            };
            items.iter().map(part).collect::<Result<_, _>>()?
        }
    };
    let mut out = String::new();
    for part in parts {
        if part.starts_with('/') {
            out.clear();
        } else if !out.is_empty() && !out.ends_with('/') {
            out.push('/');
        }
        out.push_str(&part);
    }
    Ok(Val::text(out))
}

fn splitext(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let path = bound.str(eval, 0, "a path")?;
    let name_at = path.rfind('/').map_or(0, |at| at + 1);
    let name = &path[name_at..];
    let dots = name.len() - name.trim_start_matches('.').len();
    let cut = name[dots..].rfind('.').map(|at| name_at + dots + at);
    let (stem, ext) = path.split_at(cut.unwrap_or(path.len()));
    Ok(Val::list(vec![Val::text(stem), Val::text(ext)]))
}

/// Python's `normpath`.
fn normal(path: &str) -> String {
    let root = match path {
        path if path.starts_with("//") && !path.starts_with("///") => "//",
        path if path.starts_with('/') => "/",
        _ => "",
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        match parts.last() {
            Some(last) if part == ".." && *last != ".." => {
                parts.pop();
            }
            None if part == ".." && !root.is_empty() => {}
            _ => parts.push(part),
        }
    }
    let out = format!("{root}{}", parts.join("/"));
    if out.is_empty() { ".".to_owned() } else { out }
}

fn relpath(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let path = normal(&bound.str(eval, 0, "a path")?);
    let start = match bound.some(1) {
        Some(_) => normal(&bound.str(eval, 1, "a path")?),
        None => String::new(),
    };
    if !path.starts_with('/') || !start.starts_with('/') {
        let why = "it would depend on the folder of this run: give two absolute paths";
        return Err(Fault::unsupported("filter `relpath` of relative paths", why, bound.range()));
    }
    let parts =
        |path: &str| path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let (path, start) = (parts(&path), parts(&start));
    let common = path.iter().zip(&start).take_while(|(a, b)| a == b).count();
    let mut out = vec!["..".to_owned(); start.len() - common];
    out.extend_from_slice(&path[common..]);
    Ok(Val::text(if out.is_empty() { ".".to_owned() } else { out.join("/") }))
}

fn commonpath(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let mut common: Option<Vec<String>> = None;
    let mut rooted = false;
    for item in eval.items(bound.input(), bound.place)?.iter() {
        let path = item.as_str().ok_or_else(|| bound.fail("`commonpath` needs a list of paths"))?;
        rooted = path.starts_with('/');
        let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned);
        let parts: Vec<String> = parts.collect();
        common = Some(match common {
            Some(old) => old.into_iter().zip(parts).take_while(|(a, b)| a == b).map(|(a, _)| a).collect(),
            None => parts,
        });
    }
    let common = common.ok_or_else(|| bound.fail("`commonpath` needs at least one path"))?;
    Ok(Val::text(format!("{}{}", if rooted { "/" } else { "" }, common.join("/"))))
}
