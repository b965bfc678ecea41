//! A command line in a text: its words with their places, quotes undone, lines continued by a backslash.
use std::ops::Range;

/// One word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Where it stands in the text.
    pub(super) range: Range<usize>,
    /// What the program is given; none where a shell makes it up (`$…`, backquotes).
    pub(super) value: Option<String>,
}

impl Word {
    /// What the program is given, or nothing.
    pub(super) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

/// How words are quoted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// In a shell script: `;`, `&`, `|` and a newline end a command.
    Shell,
    /// In a unit of systemd: a newline does.
    Unit,
}

/// The commands of a text, each as its words.
pub(super) fn commands(text: &str, dialect: Dialect) -> Vec<Vec<Word>> {
    let mut commands = vec![Vec::new()];
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let rest = &text[at..];
        let ends = match dialect {
            Dialect::Shell => b"\n;&|()".as_slice(),
            Dialect::Unit => b"\n".as_slice(),
        };
        if let Some(skip) = continued(rest) {
            at += skip;
        } else if ends.contains(&bytes[at]) {
            commands.push(Vec::new());
            at += 1;
        } else if bytes[at].is_ascii_whitespace() {
            at += 1;
        } else if is_comment(bytes[at], commands.last().is_some_and(Vec::is_empty), dialect) {
            at += rest.find('\n').unwrap_or(rest.len());
        } else {
            let word = word(text, at, dialect, ends);
            at = word.range.end.max(at + 1);
            commands.last_mut().into_iter().for_each(|command| command.push(word.clone()));
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// A shell takes a comment where a word would begin, systemd where a line does.
fn is_comment(byte: u8, is_first: bool, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Shell => byte == b'#',
        Dialect::Unit => is_first && matches!(byte, b'#' | b';'),
    }
}

/// How many bytes a continued line's end takes.
fn continued(rest: &str) -> Option<usize> {
    rest.starts_with("\\\n").then_some(2).or_else(|| rest.starts_with("\\\r\n").then_some(3))
}

fn word(text: &str, start: usize, dialect: Dialect, ends: &[u8]) -> Word {
    let mut value = Some(String::new());
    let mut quote: Option<char> = None;
    let mut at = start;
    while let Some(letter) = text[at..].chars().next() {
        let after = at + letter.len_utf8();
        match (quote, letter) {
            (None, letter) if letter.is_whitespace() => break,
            (None, letter) if letter.is_ascii() && ends.contains(&(letter as u8)) => break,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (quoted, '\\') if quoted != Some('\'') => {
                if let Some(skip) = continued(&text[at..]) {
                    if quoted.is_none() {
                        break;
                    }
                    at += skip;
                    continue;
                }
                let next = text[after..].chars().next();
                let escapes = quoted.is_none() || next.is_some_and(|next| "\"\\$`".contains(next));
                match next.filter(|_| escapes) {
                    Some(next) => {
                        push(&mut value, next);
                        at = after + next.len_utf8();
                        continue;
                    }
                    None => push(&mut value, letter),
                }
            }
            (quoted, '$' | '`') if dialect == Dialect::Shell && quoted != Some('\'') => value = None,
            (_, letter) => push(&mut value, letter),
        }
        at = after;
    }
    Word { range: start..at, value }
}

fn push(value: &mut Option<String>, letter: char) {
    if let Some(value) = value {
        value.push(letter);
    }
}

/// A value as one word, quoted only where it must be.
pub(super) fn quoted(value: &str, dialect: Dialect) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:,=+@%".contains(letter);
    match dialect {
        _ if !value.is_empty() && value.chars().all(plain) => value.to_owned(),
        Dialect::Shell => format!("'{}'", value.replace('\'', r"'\''")),
        Dialect::Unit => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Dialect, commands, quoted};

    fn texts(text: &str, dialect: Dialect) -> Vec<Vec<String>> {
        let texts = |words: &Vec<super::Word>| {
            words.iter().map(|word| word.value.clone().unwrap_or_else(|| "?".to_owned())).collect()
        };
        commands(text, dialect).iter().map(texts).collect()
    }

    #[test]
    fn words_are_what_a_shell_gives() {
        let text = "#!/bin/sh\ncd /x && A='1 2' qemu -a \"b c\" \\\n  -d e\\ f \"$g\" # no\nexit\n";
        assert_eq!(
            texts(text, Dialect::Shell),
            [vec!["cd", "/x"], vec!["A=1 2", "qemu", "-a", "b c", "-d", "e f", "?"], vec!["exit"]]
        );
    }

    #[test]
    fn units_have_lines() {
        let text = "[Service]\n; no\nExecStart=/usr/bin/qemu -a \"b\\\"c\" \\\n -d;e\n";
        assert_eq!(
            texts(text, Dialect::Unit),
            [vec!["[Service]"], vec!["ExecStart=/usr/bin/qemu", "-a", "b\"c", "-d;e"]]
        );
    }

    #[test]
    fn values_are_quoted_where_they_must_be() {
        assert_eq!(quoted("file=a,b", Dialect::Shell), "file=a,b");
        assert_eq!(quoted("it's $x", Dialect::Shell), r"'it'\''s $x'");
        assert_eq!(quoted("a b\"%i", Dialect::Unit), "\"a b\\\"%i\"");
    }
}
