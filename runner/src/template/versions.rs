//! Comparing versions: loose as Python's old distutils did, strict, and semantic.
use std::cmp::Ordering;

/// One part of a loose version.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Number(u128),
    Word(String),
}

/// Compares two versions after the rules of that kind.
pub(super) fn compare(a: &str, b: &str, kind: &str) -> Result<Ordering, String> {
    match kind {
        "loose" => loose(a, b),
        "strict" => Ok(strict(a)?.cmp(&strict(b)?)),
        "semver" | "semantic" => semantic(a, b),
        "pep440" => Err("the version type `pep440` is not offered: use `loose`".to_owned()),
        _ => Err("the version type is one of loose, strict, semver".to_owned()),
    }
}

fn parts(version: &str) -> Vec<Part> {
    let mut out = Vec::new();
    let mut rest = version;
    while let Some(first) = rest.chars().next() {
        let class = |c: char| match c {
            '0'..='9' => 1,
            'a'..='z' => 2,
            '.' => 3,
            _ => 4,
        };
        let kind = class(first);
        let end = if kind == 3 { 1 } else { rest.find(|c| class(c) != kind).unwrap_or(rest.len()) };
        let part = &rest[..end];
        match kind {
            1 => out.push(part.parse().map_or_else(|_| Part::Word(part.to_owned()), Part::Number)),
            3 => {}
            _ => out.push(Part::Word(part.to_owned())),
        }
        rest = &rest[end..];
    }
    out
}

fn loose(a: &str, b: &str) -> Result<Ordering, String> {
    let (a, b) = (parts(a), parts(b));
    for (a, b) in a.iter().zip(&b) {
        let order = match (a, b) {
            (Part::Number(a), Part::Number(b)) => a.cmp(b),
            (Part::Word(a), Part::Word(b)) => a.cmp(b),
            _ => return Err("these versions do not compare: a number stands against a word".to_owned()),
        };
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(a.len().cmp(&b.len()))
}

/// `1.2`, `1.2.3`, `1.2a4`, `1.2.3b1`; no letter comes after any.
fn strict(version: &str) -> Result<(Vec<u64>, char, u64), String> {
    let wrong = || "a strict version is `1.2`, `1.2.3`, `1.2a4` or `1.2.3b1`".to_owned();
    let (numbers, letter, pre) = match version.find(['a', 'b']) {
        Some(at) => (&version[..at], version[at..].chars().next().unwrap_or('a'), &version[at + 1..]),
        None => (version, '~', "0"),
    };
    let parts = numbers.split('.').map(|part| part.parse::<u64>().map_err(|_| wrong()));
    let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
    if !(2..=3).contains(&parts.len()) {
        return Err(wrong());
    }
    parts.resize(3, 0);
    Ok((parts, letter, pre.parse().map_err(|_| wrong())?))
}

fn semantic(a: &str, b: &str) -> Result<Ordering, String> {
    let read = |version: &str| {
        let wrong = || "a semantic version is `1.2.3`, with `-pre` and `+build` at will".to_owned();
        let version = version.split('+').next().unwrap_or(version);
        let (core, pre) = version.split_once('-').map_or((version, None), |(core, pre)| (core, Some(pre)));
        let core = core.split('.').map(|part| part.parse::<u64>().map_err(|_| wrong()));
        let core = core.collect::<Result<Vec<_>, _>>()?;
        if core.len() != 3 {
            return Err(wrong());
        }
        Ok((core, pre.map(str::to_owned)))
    };
    let ((a, a_pre), (b, b_pre)) = (read(a)?, read(b)?);
    Ok(a.cmp(&b).then_with(|| match (a_pre, b_pre) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => prerelease(&a, &b),
    }))
}

fn prerelease(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<&str>, Vec<&str>) = (a.split('.').collect(), b.split('.').collect());
    for (a, b) in a.iter().zip(&b) {
        let order = match (a.parse::<u64>(), b.parse::<u64>()) {
            (Ok(a), Ok(b)) => a.cmp(&b),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            _ => a.cmp(b),
        };
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}
