//! Filters of text: case, trimming, splitting, quoting, regular expressions.
use std::sync::Arc;

use super::super::calls::{Bound, Callee, row};
use super::super::eval::Eval;
use super::super::fault::Fault;
use super::super::texts;
use super::super::value::Val;
use modules::regex::{Flags, Found, Pattern, Template, escape};

pub(super) static TABLE: [Callee; 23] = [
    row("string", &["value"], |eval, bound| Ok(Val::text(eval.show(bound.input(), bound.place)?))),
    row("lower", &["value"], |eval, bound| Ok(Val::text(input(eval, bound)?.to_lowercase()))),
    row("upper", &["value"], |eval, bound| Ok(Val::text(input(eval, bound)?.to_uppercase()))),
    row("capitalize", &["value"], |eval, bound| Ok(Val::text(texts::capitalized(&input(eval, bound)?)))),
    row("title", &["value"], title),
    row("trim", &["value", "chars"], trim),
    row("strip", &["value", "chars"], trim),
    row("replace", &["value", "old", "new", "count"], replace),
    row("split", &["value", "sep", "maxsplit"], split),
    row("join", &["value", "d", "attribute"], join),
    row("quote", &["value"], quote),
    row("indent", &["value", "width", "first", "blank"], indent),
    row("center", &["value", "width"], center),
    row("truncate", &["value", "length", "killwords", "end", "leeway"], truncate),
    row("format", &["value", "*args", "**options"], format),
    row("comment", &["value", "style"], comment),
    row("urlencode", &["value"], urlencode),
    row(
        "regex_replace",
        &["value", "pattern", "replacement", "ignorecase", "multiline", "count", "mandatory_count"],
        regex_replace,
    ),
    row("regex_search", &["value", "regex", "*args", "ignorecase", "multiline"], regex_search),
    row("regex_findall", &["value", "regex", "multiline", "ignorecase"], regex_findall),
    row("regex_escape", &["value", "re_type"], regex_escape),
    row("splitlines", &["value"], |eval, bound| {
        Ok(Val::list(texts::lines(&input(eval, bound)?).into_iter().map(Val::text).collect()))
    }),
    row("wordwrap", &["value", "width"], |_, bound| {
        let why = "break the lines where the text is written";
        Err(Fault::unsupported("filter `wordwrap`", why, bound.range()))
    }),
];

fn input(eval: &Eval<'_>, bound: &Bound) -> Result<Arc<str>, Fault> {
    bound.str(eval, 0, "text")
}

/// Jinja's `title`: words are parted by blanks, hyphens and brackets only.
fn title(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let (mut inside, mut out) = (false, String::new());
    for c in input(eval, bound)?.chars() {
        if inside {
            out.extend(c.to_lowercase())
        } else {
            out.extend(c.to_uppercase())
        }
        inside = !(c.is_whitespace() || "-({[<".contains(c));
    }
    Ok(Val::text(out))
}

fn trim(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let text = input(eval, bound)?;
    let chars = bound.some(1).map(|_| bound.str(eval, 1, "characters")).transpose()?;
    Ok(Val::text(match chars {
        Some(chars) => text.trim_matches(|c| chars.contains(c)),
        None => text.trim(),
    }))
}

fn replace(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let (old, new) = (bound.str(eval, 1, "what to replace")?, bound.str(eval, 2, "what to put there")?);
    Ok(Val::text(texts::replaced(&input(eval, bound)?, &old, &new, bound.int(3)?)))
}

fn split(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let kind = bound.input().kind();
    let text = bound.input().as_str().ok_or_else(|| bound.fail(format!("`split` needs text, not {kind}")))?;
    let limit = bound.int(2)?.and_then(|n| usize::try_from(n).ok());
    let parts: Vec<&str> = match bound.some(1) {
        None => texts::blank_split(text, limit),
        Some(sep) => match (sep.as_str(), limit) {
            (None | Some(""), _) => return Err(bound.fail("the separator is text that is not empty")),
            (Some(sep), Some(limit)) => text.splitn(limit + 1, sep).collect(),
            (Some(sep), None) => text.split(sep).collect(),
        },
    };
    let _ = eval;
    Ok(Val::list(parts.into_iter().map(Val::text).collect()))
}

fn join(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let sep = bound.some(1).map_or(Ok("".into()), |_| bound.str(eval, 1, "a separator"))?;
    let mut parts = Vec::new();
    for item in eval.items(bound.input(), bound.place)?.iter() {
        let item = match bound.some(2) {
            Some(name) => super::choice::attribute(eval, item, name, bound)?,
            None => item.clone(),
        };
        if matches!(item, Val::Undef(_)) {
            return Ok(item);
        }
        parts.push(eval.show(&item, bound.place)?);
    }
    Ok(Val::text(parts.join(&sep)))
}

/// Python's `shlex.quote`; nothing becomes `''`.
fn quote(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    if matches!(bound.input(), Val::None) {
        return Ok(Val::text("''"));
    }
    let text = input(eval, bound)?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return Ok(Val::Str(text));
    }
    Ok(Val::text(format!("'{}'", text.replace('\'', "'\"'\"'"))))
}

fn indent(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let text = input(eval, bound)?;
    let pad = match bound.some(1) {
        Some(Val::Str(pad)) => pad.to_string(),
        _ => " ".repeat(bound.int(1)?.unwrap_or(4).clamp(0, 1000) as usize),
    };
    let (first, blank) = (bound.flag(eval, 2)?, bound.flag(eval, 3)?);
    let lines = text.split('\n').enumerate().map(|(index, line)| {
        let skip = (index == 0 && !first) || (index > 0 && line.is_empty() && !blank);
        if skip { line.to_owned() } else { format!("{pad}{line}") }
    });
    Ok(Val::text(lines.collect::<Vec<_>>().join("\n")))
}

fn center(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let text = input(eval, bound)?;
    let width = bound.int(1)?.unwrap_or(80).clamp(0, 100_000) as usize;
    let missing = width.saturating_sub(text.chars().count());
    let left = missing / 2 + (missing & width & 1);
    Ok(Val::text(format!("{}{text}{}", " ".repeat(left), " ".repeat(missing - left))))
}

fn truncate(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let text = input(eval, bound)?;
    let size = |index, usual| bound.int(index).map(|n| n.unwrap_or(usual).clamp(0, 1_000_000) as usize);
    let (length, leeway) = (size(1, 255)?, size(4, 5)?);
    let end = bound.some(3).map_or(Ok("...".into()), |_| bound.str(eval, 3, "an end"))?;
    let ending = end.chars().count();
    if length < ending {
        return Err(bound.fail("the length is shorter than the end"));
    }
    if text.chars().count() <= length + leeway {
        return Ok(Val::Str(text));
    }
    let cut: String = text.chars().take(length - ending).collect();
    if bound.flag(eval, 2)? {
        return Ok(Val::text(format!("{cut}{end}")));
    }
    let words = cut.rsplit_once(' ').map_or(cut.as_str(), |(words, _)| words);
    Ok(Val::text(format!("{words}{end}")))
}

fn format(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let text = input(eval, bound)?;
    let map = Val::map(bound.kw.clone());
    if !bound.kw.is_empty() && !bound.rest.is_empty() {
        return Err(bound.fail("`format` takes values by position or by name, not both"));
    }
    Ok(Val::text(eval.percent(&text, &bound.rest, &map, bound.place)?))
}

fn comment(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let style = bound.some(1).map_or(Ok("plain".into()), |_| bound.str(eval, 1, "a style"))?;
    let mark = match &*style {
        "plain" => "#",
        "erlang" => "%",
        "c" => "//",
        _ => {
            let why = "write it with `plain`, `c` or `erlang`";
            return Err(Fault::unsupported(format!("comment style `{style}`"), why, bound.range()));
        }
    };
    let mut out = format!("{mark}\n");
    for line in input(eval, bound)?.split('\n') {
        out.push_str(format!("{mark} {line}").trim_end_matches(if line.is_empty() { ' ' } else { '\0' }));
        out.push('\n');
    }
    Ok(Val::text(out + mark))
}

fn urlencode(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    if bound.input().as_str().is_none() {
        let why = "only text is encoded";
        return Err(Fault::unsupported("filter `urlencode` of what is no text", why, bound.range()));
    }
    let mut out = String::new();
    for byte in input(eval, bound)?.bytes() {
        if byte.is_ascii_alphanumeric() || b"_.-~/".contains(&byte) {
            out.push(byte as char);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(Val::text(out))
}

/// The pattern of the first argument, with the flags that two others give.
pub(in super::super) fn pattern(
    eval: &Eval<'_>,
    bound: &Bound,
    ignore_case: usize,
    multiline: usize,
) -> Result<Pattern, Fault> {
    let source = bound.str(eval, 1, "a regular expression")?;
    let flags = Flags {
        ignore_case: bound.flag(eval, ignore_case)?,
        multiline: bound.flag(eval, multiline)?,
        ..Flags::default()
    };
    Pattern::new(&source, flags).map_err(|why| bound.fail(why.to_string()))
}

fn regex_replace(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let pattern = pattern(eval, bound, 3, 4)?;
    let with = bound.some(2).map_or(Ok("".into()), |_| bound.str(eval, 2, "a replacement"))?;
    let size = |index| bound.int(index).map(|n| usize::try_from(n.unwrap_or(0)).unwrap_or(0));
    let (count, mandatory) = (size(5)?, size(6)?);
    let text = input(eval, bound)?;
    let limit = (count > 0).then_some(count);
    let replaced = Template::new(&with, &pattern).and_then(|with| pattern.replace(&text, &with, limit));
    let (out, times) = replaced.map_err(|why| bound.fail(why.to_string()))?;
    if mandatory > 0 && times != mandatory {
        return Err(bound.fail(format!("{times} replacements were made where {mandatory} must be")));
    }
    Ok(Val::text(out))
}

fn regex_search(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let pattern = pattern(eval, bound, 3, 4)?;
    let text = input(eval, bound)?;
    let Some(found) = pattern.search(&text).map_err(|why| bound.fail(why.to_string()))? else {
        return Ok(Val::None);
    };
    let group = |index: Option<usize>| match index.filter(|index| *index <= pattern.groups()) {
        Some(index) => Ok(found.span(index).map_or(Val::None, |(start, end)| Val::text(&text[start..end]))),
        None => Err(bound.fail("there is no such group in the regular expression")),
    };
    if bound.rest.is_empty() {
        return group(Some(0));
    }
    let mut out = Vec::new();
    for arg in &bound.rest {
        let name = arg.as_str().unwrap_or_default();
        let named = name.strip_prefix("\\g<").and_then(|rest| rest.strip_suffix('>'));
        out.push(match (named, name.strip_prefix('\\')) {
            (Some(name), _) => group(pattern.named(name).or_else(|| name.parse().ok()))?,
            (None, Some(number)) => group(number.parse().ok())?,
            _ => return Err(bound.fail("a group is written `\\\\1` or `\\\\g<name>`")),
        });
    }
    Ok(Val::list(out))
}

fn regex_findall(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let pattern = pattern(eval, bound, 3, 2)?;
    let text = input(eval, bound)?;
    let all = pattern.matches(&text).map_err(|why| bound.fail(why.to_string()))?;
    let group = |found: &Found, index: usize| Val::text(found.group(&text, index));
    let rows = all.iter().map(|found| match pattern.groups() {
        // The whole where there is no group, the group where there is one.
        groups @ (0 | 1) => group(found, groups),
        groups => Val::tuple((1..=groups).map(|index| group(found, index)).collect()),
    });
    Ok(Val::list(rows.collect()))
}

fn regex_escape(eval: &Eval<'_>, bound: &Bound) -> Result<Val, Fault> {
    let kind = bound.some(1).map_or(Ok("python".into()), |_| bound.str(eval, 1, "a kind"))?;
    let special = match &*kind {
        "python" => return Ok(Val::text(escape(&input(eval, bound)?))),
        "posix_basic" => "\\.^$*[]",
        _ => {
            let why = "write `python` or `posix_basic`";
            return Err(Fault::unsupported(format!("`regex_escape` for `{kind}`"), why, bound.range()));
        }
    };
    let mut out = String::new();
    for c in input(eval, bound)?.chars() {
        if special.contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    Ok(Val::text(out))
}
