//! Matching a name against a shell pattern.

/// A shell pattern: `*`, `?`, `[abc]`, `[a-c]`, `[!abc]`.
pub(super) struct Glob(Vec<char>);

/// Whether a name is as a shell pattern says.
pub fn is_like(pattern: &str, name: &str) -> bool {
    Glob::new(pattern).is_match(name)
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Self(pattern.chars().collect())
    }

    pub(super) fn is_match(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        glob(&self.0, &name)
    }
}

/// Linear in the name for each star: on a mismatch only the last star takes one character more.
fn glob(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => one_of(&pattern[p..], name[n]),
            Some(c) if *c == name[n] => Some(1),
            _ => None,
        };
        match (step, star) {
            (Some(width), _) => {
                p += width;
                n += 1;
            }
            (None, Some((star_p, star_n))) => {
                star = Some((star_p, star_n + 1));
                p = star_p + 1;
                n = star_n + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// The width of a `[…]` that holds the character; a `[` that nothing closes is itself.
fn one_of(pattern: &[char], c: char) -> Option<usize> {
    let negated = pattern.get(1) == Some(&'!');
    let first = if negated { 2 } else { 1 };
    let close = pattern.iter().skip(first + 1).position(|c| *c == ']').map(|at| at + first + 1);
    let Some(close) = close else { return (c == '[').then_some(1) };
    let set = &pattern[first..close];
    let mut at = 0;
    let mut found = false;
    while at < set.len() {
        if at + 2 < set.len() && set[at + 1] == '-' {
            found |= (set[at]..=set[at + 2]).contains(&c);
            at += 3;
        } else {
            found |= set[at] == c;
            at += 1;
        }
    }
    (found != negated).then_some(close + 1)
}
