//! Methods of text.
use super::fault::Fault;
use super::methods::Method;
use super::value::Val;

/// The method of that name on this text, if text has it.
pub(super) fn method(method: &Method<'_, '_>, text: &str) -> Result<Option<Val>, Fault> {
    if let Some(done) = cutting(method, text)? {
        return Ok(Some(done));
    }
    let all = |test: fn(char) -> bool| Val::Bool(!text.is_empty() && text.chars().all(test));
    Ok(Some(match method.name {
        "upper" => Val::text(text.to_uppercase()),
        "lower" | "casefold" => Val::text(text.to_lowercase()),
        "title" => Val::text(titled(text)),
        "capitalize" => Val::text(capitalized(text)),
        "startswith" => Val::Bool(affixes(method)?.iter().any(|part| text.starts_with(part.as_str()))),
        "endswith" => Val::Bool(affixes(method)?.iter().any(|part| text.ends_with(part.as_str()))),
        "isdigit" | "isdecimal" | "isnumeric" => all(char::is_numeric),
        "isalpha" => all(char::is_alphabetic),
        "isalnum" => all(char::is_alphanumeric),
        "isspace" => all(char::is_whitespace),
        "islower" => Val::Bool(text.chars().any(char::is_lowercase) && !text.chars().any(char::is_uppercase)),
        "isupper" => Val::Bool(text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase)),
        "find" | "rfind" | "index" | "rindex" => {
            let part = method.need_text(0, "sub")?;
            let found = if method.name.starts_with('r') { text.rfind(part) } else { text.find(part) };
            match found {
                Some(at) => Val::Int(text[..at].chars().count() as i128),
                None if method.name.ends_with("find") => Val::Int(-1),
                None => return Err(method.fail("the text does not hold that part")),
            }
        }
        "count" => {
            let part = method.need_text(0, "sub")?;
            let count = if part.is_empty() { text.chars().count() + 1 } else { text.matches(part).count() };
            Val::Int(count as i128)
        }
        "replace" => {
            let (old, new) = (method.need_text(0, "old")?, method.need_text(1, "new")?);
            Val::text(replaced(text, old, new, method.int(2, "count")?))
        }
        "join" => {
            let list = method.arg(0, "iterable").ok_or_else(|| method.fail("`join` needs a list"))?;
            let items = method.eval.items(list, method.place)?;
            let parts = items.iter().map(|item| match item.as_str() {
                Some(part) => Ok(part),
                None => Err(method.fail(format!("`join` joins texts, not {}", item.kind()))),
            });
            Val::text(parts.collect::<Result<Vec<_>, _>>()?.join(text))
        }
        "zfill" | "ljust" | "rjust" | "center" => Val::text(filled(method, text)?),
        "format" => Val::text(formatted(method, text)?),
        "encode" => {
            let why = "text stays text here";
            return Err(Fault::unsupported("method `encode`", why, super::value::range(method.place)));
        }
        _ => return Ok(None),
    }))
}

/// Methods that take the text apart.
fn cutting(method: &Method<'_, '_>, text: &str) -> Result<Option<Val>, Fault> {
    let texts = |parts: Vec<&str>| Val::list(parts.into_iter().map(Val::text).collect());
    Ok(Some(match method.name {
        "split" | "rsplit" => {
            let limit = method.int(1, "maxsplit")?.and_then(|n| usize::try_from(n).ok());
            let parts = match method.text(0, "sep")? {
                Some("") => return Err(method.fail("the separator is empty")),
                Some(sep) if method.name == "split" => match limit {
                    Some(limit) => text.splitn(limit + 1, sep).collect(),
                    None => text.split(sep).collect(),
                },
                Some(sep) => {
                    let mut parts: Vec<&str> = match limit {
                        Some(limit) => text.rsplitn(limit + 1, sep).collect(),
                        None => text.rsplit(sep).collect(),
                    };
                    parts.reverse();
                    parts
                }
                None if method.name == "split" => blank_split(text, limit),
                None if limit.is_none() => text.split_whitespace().collect(),
                None => return Err(method.fail("`rsplit` with a limit needs a separator")),
            };
            texts(parts)
        }
        "splitlines" => texts(lines(text)),
        "partition" => match text.split_once(method.need_text(0, "sep")?) {
            Some((a, b)) => Val::tuple(vec![Val::text(a), method.given.pos[0].clone(), Val::text(b)]),
            None => Val::tuple(vec![Val::text(text), Val::text(""), Val::text("")]),
        },
        "rpartition" => match text.rsplit_once(method.need_text(0, "sep")?) {
            Some((a, b)) => Val::tuple(vec![Val::text(a), method.given.pos[0].clone(), Val::text(b)]),
            None => Val::tuple(vec![Val::text(""), Val::text(""), Val::text(text)]),
        },
        "strip" | "lstrip" | "rstrip" => {
            let chars = method.text(0, "chars")?;
            let drop = |c: char| chars.map_or(c.is_whitespace(), |chars| chars.contains(c));
            Val::text(match method.name {
                "strip" => text.trim_matches(drop),
                "lstrip" => text.trim_start_matches(drop),
                _ => text.trim_end_matches(drop),
            })
        }
        "removeprefix" => Val::text(text.strip_prefix(method.need_text(0, "prefix")?).unwrap_or(text)),
        "removesuffix" => Val::text(text.strip_suffix(method.need_text(0, "suffix")?).unwrap_or(text)),
        _ => return Ok(None),
    }))
}

/// `split()` without a separator.
pub(super) fn blank_split(text: &str, limit: Option<usize>) -> Vec<&str> {
    let Some(limit) = limit else { return text.split_whitespace().collect() };
    let (mut rest, mut parts) = (text.trim_start(), Vec::new());
    while !rest.is_empty() {
        match rest.find(char::is_whitespace) {
            Some(end) if parts.len() < limit => {
                parts.push(&rest[..end]);
                rest = rest[end..].trim_start();
            }
            _ => {
                parts.push(if parts.len() < limit { rest.trim_end() } else { rest });
                break;
            }
        }
    }
    parts
}

/// `splitlines()`.
pub(super) fn lines(text: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        parts.push(&rest[..end]);
        let skip = if rest[end..].starts_with("\r\n") { 2 } else { 1 };
        rest = rest.get(end + skip..).unwrap_or("");
    }
    parts
}

/// `replace()`, at most `count` times.
pub(super) fn replaced(text: &str, old: &str, new: &str, count: Option<i128>) -> String {
    match count.and_then(|n| usize::try_from(n).ok()) {
        Some(count) => text.replacen(old, new, count),
        None => text.replace(old, new),
    }
}

/// `capitalize()`.
pub(super) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars.flat_map(char::to_lowercase)).collect(),
        None => String::new(),
    }
}

/// `title()`: a letter after what is no letter is large.
pub(super) fn titled(text: &str) -> String {
    let mut inside = false;
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if inside {
            out.extend(c.to_lowercase())
        } else {
            out.extend(c.to_uppercase())
        }
        inside = c.is_alphabetic();
    }
    out
}

fn affixes(method: &Method<'_, '_>) -> Result<Vec<String>, Fault> {
    match method.arg(0, "prefix") {
        Some(Val::Tuple(items)) => Ok(items.iter().filter_map(Val::as_str).map(str::to_owned).collect()),
        _ => Ok(vec![method.need_text(0, "prefix")?.to_owned()]),
    }
}

fn filled(method: &Method<'_, '_>, text: &str) -> Result<String, Fault> {
    let width = method.int(0, "width")?.unwrap_or(0).clamp(0, 100_000) as usize;
    let missing = width.saturating_sub(text.chars().count());
    let fill = if method.name == "zfill" { "0" } else { method.text(1, "fillchar")?.unwrap_or(" ") };
    Ok(match method.name {
        "zfill" => {
            let sign = usize::from(text.starts_with(['-', '+']));
            format!("{}{}{}", &text[..sign], fill.repeat(missing), &text[sign..])
        }
        "ljust" => format!("{text}{}", fill.repeat(missing)),
        "rjust" => format!("{}{text}", fill.repeat(missing)),
        _ => {
            let left = missing / 2 + (missing & width & 1);
            format!("{}{text}{}", fill.repeat(left), fill.repeat(missing - left))
        }
    })
}

/// `'{} {0} {name}'.format(…)`; of formats after `:` those for width, zeros, and `x`, `d`, `f`, `s`.
fn formatted(method: &Method<'_, '_>, text: &str) -> Result<String, Fault> {
    let (mut out, mut rest, mut next) = (String::new(), text, 0);
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            out.push_str(&rest[..1]);
            rest = &rest[2..];
            continue;
        }
        let end = rest.find('}').filter(|_| rest.starts_with('{'));
        let end = end.ok_or_else(|| method.fail("a brace of the format stands alone"))?;
        let (name, format) = rest[1..end].split_once(':').unwrap_or((&rest[1..end], ""));
        rest = &rest[end + 1..];
        let val = if name.is_empty() {
            next += 1;
            method.given.pos.get(next - 1)
        } else if let Ok(index) = name.parse::<usize>() {
            method.given.pos.get(index)
        } else {
            method.given.kw.iter().find(|(known, _)| &**known == name).map(|(_, val)| val)
        };
        let val = val.ok_or_else(|| method.fail("the format names a missing value"))?;
        out.push_str(&one_format(method, val, format)?);
    }
    out.push_str(rest);
    Ok(out)
}

fn one_format(method: &Method<'_, '_>, val: &Val, format: &str) -> Result<String, Fault> {
    if format.is_empty() {
        return method.eval.show(val, method.place);
    }
    let (align, spec) = match format.strip_prefix(['<', '>']) {
        Some(spec) => (format.chars().next(), spec),
        None => (None, format),
    };
    let plain = spec.chars().all(|c| c.is_ascii_digit() || c == '.' || "sdxXof".contains(c));
    if !plain {
        let why = "write it with the `format` filter: `'%05d' | format(x)`";
        return Err(Fault::unsupported(format!("format `{format}`"), why, super::value::range(method.place)));
    }
    let kind = if spec.ends_with(|c: char| c.is_ascii_alphabetic()) {
        ""
    } else {
        match val {
            Val::Float(_) if spec.contains('.') => "f",
            Val::Int(_) => "d",
            _ => "s",
        }
    };
    // Text stands left in its width and numbers right, unlike after `%`.
    let left = align == Some('<') || (align.is_none() && val.as_str().is_some());
    let percent = format!("%{}{spec}{kind}", if left { "-" } else { "" });
    method.eval.percent(&percent, std::slice::from_ref(val), &Val::None, method.place)
}
