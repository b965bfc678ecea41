//! Splitting a line into words as a POSIX shell's reader does, keeping where each word stood.
use std::borrow::Cow;

/// One word without its quotes, and the bytes of the line that it was written in.
#[derive(Debug, PartialEq)]
pub(super) struct Word<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The words of a line, and where a comment began right after a word without a blank before it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Words<'a> {
    pub(super) words: Vec<Word<'a>>,
    pub(super) glued_comment: Option<usize>,
}

/// What kept a line from being split: the place of the quote or backslash that nothing closes.
#[derive(Debug, PartialEq)]
pub(super) struct Unclosed {
    pub(super) at: usize,
    pub(super) mark: char,
}

/// Splits at blanks; `#` begins a comment even in the middle of a word, as it does for Ansible.
pub(super) fn split(line: &str) -> Result<Words<'_>, Unclosed> {
    let bytes = line.as_bytes();
    let mut out = Words::default();
    let mut at = 0;
    loop {
        while at < bytes.len() && is_blank(bytes[at]) {
            at += 1;
        }
        if at == bytes.len() || bytes[at] == b'#' {
            return Ok(out);
        }
        let start = at;
        while at < bytes.len() && !is_blank(bytes[at]) && !matches!(bytes[at], b'#' | b'\'' | b'"' | b'\\') {
            at += 1;
        }
        let mut text = Cow::Borrowed(&line[start..at]);
        if at < bytes.len() && matches!(bytes[at], b'\'' | b'"' | b'\\') {
            at = quoted(line, at, text.to_mut())?;
        }
        out.words.push(Word { text, start, end: at });
        if at < bytes.len() && bytes[at] == b'#' {
            out.glued_comment = Some(at);
            return Ok(out);
        }
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Reads on from a quote or backslash to the end of the word; answers where that is.
fn quoted(line: &str, mut at: usize, text: &mut String) -> Result<usize, Unclosed> {
    let next = |at: usize| line[at..].chars().next();
    while let Some(c) = next(at) {
        match c {
            ' ' | '\t' | '\r' | '\n' | '#' => break,
            '\\' => {
                let escaped = next(at + 1).ok_or(Unclosed { at, mark: '\\' })?;
                text.push(escaped);
                at += 1 + escaped.len_utf8();
            }
            '\'' => {
                let close = line[at + 1..].find('\'').ok_or(Unclosed { at, mark: c })?;
                text.push_str(&line[at + 1..at + 1 + close]);
                at += close + 2;
            }
            '"' => at = double_quoted(line, at, text)?,
            _ => {
                text.push(c);
                at += c.len_utf8();
            }
        }
    }
    Ok(at)
}

fn double_quoted(line: &str, open: usize, text: &mut String) -> Result<usize, Unclosed> {
    let mut chars = line[open + 1..].char_indices();
    while let Some((offset, c)) = chars.next() {
        match c {
            '"' => return Ok(open + 1 + offset + 1),
            '\\' => match chars.next() {
                Some((_, escaped @ ('"' | '\\'))) => text.push(escaped),
                Some((_, other)) => {
                    text.push('\\');
                    text.push(other);
                }
                None => break,
            },
            _ => text.push(c),
        }
    }
    Err(Unclosed { at: open, mark: '"' })
}

#[cfg(test)]
mod tests {
    use super::{Unclosed, split};

    fn texts(line: &str) -> Vec<String> {
        split(line).unwrap().words.into_iter().map(|word| word.text.into_owned()).collect()
    }

    #[test]
    fn words_are_split_as_python_shlex_does() {
        assert_eq!(texts("a b=1\tc"), ["a", "b=1", "c"]);
        assert_eq!(texts("a b='x y' c=\"p q\"z"), ["a", "b=x y", "c=p qz"]);
        assert_eq!(texts(r#"a b="{ 'root': 'HDD' }""#), ["a", "b={ 'root': 'HDD' }"]);
        assert_eq!(texts(r#"a b="\"q\" \n" c=\ d 'it''s'"#), ["a", r#"b="q" \n"#, "c= d", "its"]);
        assert_eq!(texts("a b=1 # c=2"), ["a", "b=1"]);
        assert_eq!(texts("a b='#1'"), ["a", "b=#1"]);
        assert_eq!(texts("a b= c=''"), ["a", "b=", "c="]);
        assert_eq!(texts("é ü='ö'"), ["é", "ü=ö"]);
    }

    #[test]
    fn a_comment_glued_to_a_word_is_reported() {
        let words = split("a pw=abc#1 b").unwrap();
        assert_eq!(words.words[1].text, "pw=abc");
        assert_eq!(words.glued_comment, Some(8));
    }

    #[test]
    fn what_is_not_closed_is_an_error_at_its_place() {
        assert_eq!(split("a b='x"), Err(Unclosed { at: 4, mark: '\'' }));
        assert_eq!(split("a b=\"x\\\""), Err(Unclosed { at: 4, mark: '"' }));
        assert_eq!(split("a b=x\\"), Err(Unclosed { at: 5, mark: '\\' }));
    }
}
