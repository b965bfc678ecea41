//! Positions in a pattern: `osds[0]`, `osds[-1]`, `osds[0:2]`.
use super::model::HostId;
use super::pattern::Unselected;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Positions of a group's hosts.
pub(super) enum Subscript {
    One(i64),
    /// Both ends counted in; no end is the last.
    Slice(usize, Option<usize>),
}

impl Subscript {
    pub(super) fn of(&self, hosts: &[HostId]) -> Option<Vec<HostId>> {
        if hosts.is_empty() {
            return Some(Vec::new());
        }
        match *self {
            Self::One(at) => {
                let at = if at < 0 { at + hosts.len() as i64 } else { at };
                hosts.get(usize::try_from(at).ok()?).map(|host| vec![*host])
            }
            Self::Slice(start, end) => {
                let end = end.unwrap_or(usize::MAX).min(hosts.len() - 1);
                Some(hosts.get(start..=end).unwrap_or_default().to_vec())
            }
        }
    }
}

pub(super) fn subscript<'p>(
    text: &'p str,
    span: Option<&Span>,
) -> Result<(&'p str, Option<Subscript>), Unselected> {
    let whole = (text, None);
    let Some((name, inner)) = text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) else {
        return Ok(whole);
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let bad = |help: String| {
        let problem = Diagnostic::error(format!("`[{inner}]` in `{text}` is not a position"), span.cloned());
        Err(Unselected::malformed(problem.help(help)))
    };
    if name.is_empty() {
        return bad("write the group before it, such as `osds[0]`".to_owned());
    }
    if digits(inner.strip_prefix('-').unwrap_or(inner)) {
        return match inner.parse() {
            Ok(at) => Ok((name, Some(Subscript::One(at)))),
            Err(_) => bad("the number is too great".to_owned()),
        };
    }
    if let Some((start, end)) = inner.split_once(':') {
        let end_given = !end.is_empty();
        return match (start.parse(), end.parse()) {
            (Ok(start), Ok(end)) if digits(inner.replace(':', "").as_str()) => {
                Ok((name, Some(Subscript::Slice(start, Some(end)))))
            }
            (Ok(start), _) if !end_given => Ok((name, Some(Subscript::Slice(start, None)))),
            _ => bad("positions are `[0]`, `[-1]`, `[0:2]` (both ends counted in) or `[3:]`".to_owned()),
        };
    }
    match inner.split_once('-') {
        // Ansible takes this for positions, a shell for characters.
        Some((start, end)) if digits(start) && digits(end) => bad(format!(
            "for positions write `{name}[{start}:{end}]`, for characters the expression `~{name}[{start}-{end}]`"
        )),
        _ => Ok(whole),
    }
}
