//! OpenSSH's patterns: `*`, `?`, and lists with `!`.

/// Whether a pattern with `*` and `?` is the whole of `text`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return pattern == text;
    }
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut from, mut star, mut resume) = (0, 0, None, 0);
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some(at);
                resume = from;
                at += 1;
            }
            Some(letter) if *letter == '?' || *letter == text[from] => {
                at += 1;
                from += 1;
            }
            _ => match star {
                Some(position) => {
                    at = position + 1;
                    resume += 1;
                    from = resume;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

/// Whether a list of patterns names `text`: one must match, and none that begins with `!`.
pub(crate) fn list_matches<'a>(patterns: impl IntoIterator<Item = &'a str>, text: &str) -> bool {
    let mut found = false;
    for pattern in patterns {
        match pattern.strip_prefix('!') {
            Some(negated) if matches(negated, text) => return false,
            Some(_) => {}
            None => found |= matches(pattern, text),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_as_in_openssh() {
        for (pattern, text, wanted) in [
            ("*", "", true),
            ("*", "a", true),
            ("h?", "h1", true),
            ("h?", "h", false),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXb", false),
            ("[10.0.0.*]:2222", "[10.0.0.7]:2222", true),
            ("**a", "ba", true),
        ] {
            assert_eq!(matches(pattern, text), wanted, "{pattern} {text}");
        }
        assert!(!list_matches(["h1", "!h1"], "h1"));
        assert!(!list_matches(["!h1", "h*"], "h1"));
        assert!(list_matches(["!h1", "h*"], "h2"));
        assert!(!list_matches(["!h1"], "h2"));
    }
}
