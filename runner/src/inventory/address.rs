//! How hosts are named in an inventory: `name`, `name:port`, `[::1]:22`, ranges such as `osd[01:20]`.
use std::borrow::Cow;
use std::net::Ipv6Addr;

/// The names that one entry stands for, and the port written with it.
#[derive(Debug, PartialEq)]
pub(super) struct Named<'a> {
    pub(super) names: Vec<Cow<'a, str>>,
    pub(super) port: Option<u16>,
}

/// Most hosts that one entry may stand for.
const MOST: usize = 100_000;

/// What is wrong with an entry, and the way to write it.
#[derive(Debug, PartialEq)]
pub(super) struct Malformed {
    pub(super) message: String,
    pub(super) help: &'static str,
}

fn malformed<T>(message: impl Into<String>, help: &'static str) -> Result<T, Malformed> {
    Err(Malformed { message: message.into(), help })
}

/// Reads one entry.
pub(super) fn parse(entry: &str) -> Result<Named<'_>, Malformed> {
    let (pattern, port) = split_port(entry)?;
    if pattern.is_empty() {
        return malformed("a host without a name", "write the name before the port");
    }
    if entry == "---" {
        return malformed("`---` begins a YAML file", "give the file the ending `.yml`");
    }
    if !pattern.contains(['[', ']']) || is_ipv6(pattern) {
        return Ok(Named { names: vec![Cow::Borrowed(pattern)], port });
    }
    let names = expand(pattern)?.into_iter().map(Cow::Owned).collect();
    Ok(Named { names, port })
}

/// Whether a text is a bare IPv6 address, with or without a zone.
pub(super) fn is_ipv6(text: &str) -> bool {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.contains(':') && address.parse::<Ipv6Addr>().is_ok()
}

fn split_port(entry: &str) -> Result<(&str, Option<u16>), Malformed> {
    if is_ipv6(entry) {
        return Ok((entry, None));
    }
    let inner = entry.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    if let Some((inner, after)) = inner
        && is_ipv6(inner)
    {
        return match after.strip_prefix(':') {
            Some(port) => Ok((inner, Some(port_of(port)?))),
            None if after.is_empty() => Ok((inner, None)),
            None => malformed(
                format!("text after the address: `{after}`"),
                "write `[address]:port`, or the address alone",
            ),
        };
    }
    // A colon inside brackets belongs to a range.
    let mut depth = 0usize;
    let mut colon = None;
    for (at, byte) in entry.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b':' if depth == 0 && colon.is_some() => {
                return malformed(
                    format!("`{entry}` is neither a name with a port nor an IPv6 address"),
                    "write an IPv6 address with its port as `[2001:db8::1]:22`",
                );
            }
            b':' if depth == 0 => colon = Some(at),
            _ => {}
        }
    }
    match colon {
        None => Ok((entry, None)),
        Some(at) if at + 1 == entry.len() => malformed(
            format!("`{entry}` ends with a colon"),
            "a colon goes before a port; if this is YAML, give the file the ending `.yml`",
        ),
        Some(at) => Ok((&entry[..at], Some(port_of(&entry[at + 1..])?))),
    }
}

fn port_of(text: &str) -> Result<u16, Malformed> {
    match text.parse::<u16>() {
        Ok(port) if port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => malformed(format!("`{text}` is not a port"), "a port is a number from 1 to 65535"),
    }
}

/// Expands every `[begin:end:step]` of a pattern, the leftmost varying slowest.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, Malformed> {
    let mut names = vec![String::new()];
    let mut rest = pattern;
    while let Some(open) = rest.find(['[', ']']) {
        if rest.as_bytes()[open] == b']' {
            return malformed("`]` without a `[` before it", "a range is written `name[01:20]`");
        }
        let Some(close) = rest[open..].find(']').map(|close| open + close) else {
            return malformed("`[` is not closed", "a range is written `name[01:20]`");
        };
        let items = range(&rest[open + 1..close])?;
        if names.len().saturating_mul(items.len()) > MOST {
            return malformed(
                format!("`{pattern}` stands for more than {MOST} hosts"),
                "check the bounds of its ranges",
            );
        }
        let head = &rest[..open];
        names = names
            .iter()
            .flat_map(|name| items.iter().map(move |item| format!("{name}{head}{item}")))
            .collect();
        rest = &rest[close + 1..];
    }
    for name in &mut names {
        name.push_str(rest);
    }
    Ok(names)
}

fn range(inner: &str) -> Result<Vec<String>, Malformed> {
    const SHAPE: &str = "a range is written `[01:20]`, `[a:f]` or with a step `[0:10:2]`";
    let bounds: Vec<&str> = inner.split(':').collect();
    let (begin, end, step) = match bounds[..] {
        [begin, end] => (begin, end, "1"),
        [begin, end, step] => (begin, end, step),
        _ => return malformed(format!("`[{inner}]` is not a range"), SHAPE),
    };
    if end.is_empty() {
        return malformed(format!("the range `[{inner}]` has no end"), SHAPE);
    }
    let step = match step.parse::<usize>() {
        Ok(step) if step > 0 => step,
        _ => return malformed(format!("`{step}` is not a step"), SHAPE),
    };
    let begin = if begin.is_empty() { "0" } else { begin };
    if let (Some(first), Some(last)) = (letter(begin), letter(end)) {
        if first > last {
            return malformed(format!("the range `[{inner}]` ends before it begins"), SHAPE);
        }
        return Ok((first..=last).step_by(step).map(|at| (LETTERS[at] as char).to_string()).collect());
    }
    let number = |text: &str| {
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<u64>().ok().filter(|_| digits)
    };
    let (Some(first), Some(last)) = (number(begin), number(end)) else {
        return malformed(format!("the bounds of `[{inner}]` are neither numbers nor single letters"), SHAPE);
    };
    let width = if begin.len() > 1 && begin.starts_with('0') { begin.len() } else { 0 };
    if width > 0 && width != end.len() {
        return malformed(
            format!("the bounds of `[{inner}]` have unequal lengths"),
            "write both with the same number of digits, such as `[01:20]`",
        );
    }
    if first > last {
        return malformed(format!("the range `[{inner}]` ends before it begins"), SHAPE);
    }
    if (last - first) / step as u64 >= MOST as u64 {
        return malformed(
            format!("`[{inner}]` stands for more than {MOST} hosts"),
            "check the bounds of its ranges",
        );
    }
    Ok((first..=last).step_by(step).map(|number| format!("{number:0width$}")).collect())
}

const LETTERS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

fn letter(text: &str) -> Option<usize> {
    let [byte] = text.as_bytes() else { return None };
    LETTERS.iter().position(|letter| letter == byte)
}

/// The first character of a name that no host name, address or alias has.
pub(super) fn odd_character(name: &str) -> Option<char> {
    if is_ipv6(name) {
        return None;
    }
    name.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')))
}

#[cfg(test)]
mod tests {
    use super::{odd_character, parse};

    fn read(entry: &str) -> (Vec<String>, Option<u16>) {
        let named = parse(entry).unwrap_or_else(|bad| panic!("{entry}: {}", bad.message));
        (named.names.into_iter().map(|name| name.into_owned()).collect(), named.port)
    }

    fn names(entry: &str) -> Vec<String> {
        read(entry).0
    }

    #[test]
    fn names_ports_and_addresses() {
        assert_eq!(read("osd1"), (vec!["osd1".into()], None));
        assert_eq!(read("osd1:2222"), (vec!["osd1".into()], Some(2222)));
        assert_eq!(read("192.0.2.1:22"), (vec!["192.0.2.1".into()], Some(22)));
        assert_eq!(read("[::1]:22"), (vec!["::1".into()], Some(22)));
        assert_eq!(read("[2001:db8::1]"), (vec!["2001:db8::1".into()], None));
        assert_eq!(read("2001:db8::1"), (vec!["2001:db8::1".into()], None));
        assert_eq!(read("fe80::1%eth0"), (vec!["fe80::1%eth0".into()], None));
        assert_eq!(read("<mgmt_if_ip>"), (vec!["<mgmt_if_ip>".into()], None));
        assert_eq!(odd_character("<mgmt_if_ip>"), Some('<'));
        assert_eq!(odd_character("fe80::1%eth0"), None);
    }

    #[test]
    fn ranges() {
        assert_eq!(names("h[01:03]"), ["h01", "h02", "h03"]);
        assert_eq!(names("h[8:11]x"), ["h8x", "h9x", "h10x", "h11x"]);
        assert_eq!(names("h[a:c]"), ["ha", "hb", "hc"]);
        assert_eq!(names("h[y:B]"), ["hy", "hz", "hA", "hB"]);
        assert_eq!(names("h[0:10:4]"), ["h0", "h4", "h8"]);
        assert_eq!(names("h[:2]"), ["h0", "h1", "h2"]);
        assert_eq!(names("r[1:2]n[a:b]"), ["r1na", "r1nb", "r2na", "r2nb"]);
        assert_eq!(names("[a:b]-x"), ["a-x", "b-x"]);
        assert_eq!(names("10.0.[0:1].[5:6]"), ["10.0.0.5", "10.0.0.6", "10.0.1.5", "10.0.1.6"]);
        assert_eq!(read("h[1:2]:2222"), (vec!["h1".into(), "h2".into()], Some(2222)));
        assert_eq!(names("h[001:100]").len(), 100);
    }

    #[test]
    fn what_is_no_name_says_why() {
        for (entry, wanted) in [
            ("h[1-3]", "`[1-3]` is not a range"),
            ("h[1:", "`[` is not closed"),
            ("h1]", "`]` without a `[`"),
            ("h[1:]", "has no end"),
            ("h[01:100]", "unequal lengths"),
            ("h[5:1]", "ends before it begins"),
            ("h[c:a]", "ends before it begins"),
            ("h[1:5:0]", "is not a step"),
            ("h[1:5:-1]", "is not a step"),
            ("h[ab:cd]", "neither numbers nor single letters"),
            ("h[0:9999999]", "more than 100000 hosts"),
            ("h[0:999][0:999]", "more than 100000 hosts"),
            ("h:", "ends with a colon"),
            ("h:ssh", "`ssh` is not a port"),
            ("h:0", "`0` is not a port"),
            ("h:70000", "`70000` is not a port"),
            (":22", "a host without a name"),
            ("a:b:c", "neither a name with a port nor an IPv6 address"),
            ("[::1]x", "text after the address"),
            ("---", "begins a YAML file"),
        ] {
            let message = parse(entry).expect_err(entry).message;
            assert!(message.contains(wanted), "{entry}: {message}");
        }
    }
}
