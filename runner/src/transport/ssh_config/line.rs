//! One line of ssh_config: keyword and arguments, with `=`, quotes, tabs and comments.

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// In lower case.
    pub keyword: String,
    /// Without their quotes.
    pub arguments: Vec<String>,
    /// All after the keyword as it stands, for commands.
    pub raw: String,
}

/// Splits a line; nothing for comments and empty lines.
pub(super) fn parse(text: &str) -> Result<Option<Line>, String> {
    let text = text.trim_matches([' ', '\t', '\r', '\n', '\x0c']);
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let end = text.find([' ', '\t', '=', '"']).unwrap_or(text.len());
    let (keyword, rest) = text.split_at(end);
    let rest = rest.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix('=').unwrap_or(rest).trim_start_matches([' ', '\t']);
    let arguments = split(rest)?;
    if arguments.is_empty() {
        return Err(format!("`{keyword}` has no value"));
    }
    Ok(Some(Line { keyword: keyword.to_ascii_lowercase(), arguments, raw: rest.to_owned() }))
}

fn split(text: &str) -> Result<Vec<String>, String> {
    let mut arguments = Vec::new();
    let mut now: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                now.get_or_insert_default();
            }
            (_, '\\') if letters.peek().is_some_and(|next| matches!(next, '"' | '\'' | '\\')) => {
                now.get_or_insert_default().extend(letters.next());
            }
            (None, '\\') if letters.peek() == Some(&' ') => {
                now.get_or_insert_default().extend(letters.next())
            }
            (None, ' ' | '\t') => arguments.extend(now.take()),
            // A comment after the arguments.
            (None, '#') if now.is_none() => break,
            (_, letter) => now.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed".into());
    }
    arguments.extend(now);
    Ok(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling() {
        for (text, keyword, arguments) in [
            ("Port 2222", "port", vec!["2222"]),
            ("Port=2222", "port", vec!["2222"]),
            ("\tPort\t=\t2222\r", "port", vec!["2222"]),
            ("IdentityFile \"~/my keys/id\"", "identityfile", vec!["~/my keys/id"]),
            ("IdentityFile=\"a b\"", "identityfile", vec!["a b"]),
            ("Host a  b\t!c # and so on", "host", vec!["a", "b", "!c"]),
            ("User a\\\"b", "user", vec!["a\"b"]),
            ("User \"\"", "user", vec![""]),
        ] {
            let line = parse(text).unwrap().unwrap();
            assert_eq!(
                (line.keyword.as_str(), line.arguments),
                (keyword, arguments.into_iter().map(str::to_owned).collect()),
                "{text}"
            );
        }
        assert_eq!(parse("  # Port 1").unwrap(), None);
        assert!(parse("Port").is_err() && parse("User \"a").is_err());
        assert_eq!(parse("ProxyCommand ssh -W '%h:%p' gw").unwrap().unwrap().raw, "ssh -W '%h:%p' gw");
    }
}
