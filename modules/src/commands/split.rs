//! A line of text as words, quoted as in a shell but without anything else of it.

/// Splits a line into words: blanks part, `'…'` is literal, in `"…"` a backslash keeps `"` and `\`, and outside of
/// quotes it keeps any letter. As Python's shlex.
///
/// # Errors
/// Says which quote is not closed.
pub(crate) fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            blank if blank.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('\'') => break,
                        Some(letter) => word.push(letter),
                        None => return Err(unclosed('\'', line)),
                    }
                }
            }
            '"' => quoted(&mut letters, word.get_or_insert_default()).ok_or_else(|| unclosed('"', line))?,
            '\\' => match letters.next() {
                Some(letter) => word.get_or_insert_default().push(letter),
                None => return Err(format!("`{line}` ends with a backslash that keeps nothing")),
            },
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Ok(words)
}

fn quoted(letters: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match letters.next()? {
            '"' => return Some(()),
            '\\' => match letters.next()? {
                letter @ ('"' | '\\') => word.push(letter),
                letter => word.extend(['\\', letter]),
            },
            letter => word.push(letter),
        }
    }
}

fn unclosed(quote: char, line: &str) -> String {
    format!("a {quote} is not closed in `{line}`")
}

#[cfg(test)]
mod tests {
    use super::words;
    use proptest::prelude::*;

    #[test]
    fn lines_are_words_as_in_shlex() {
        for (line, wanted) in [
            ("a  b\tc", vec!["a", "b", "c"]),
            ("echo 'a b' \"c \\\" d\" e\\ f", vec!["echo", "a b", "c \" d", "e f"]),
            ("x '' \"\"", vec!["x", "", ""]),
            ("a'b'\"c\"d", vec!["abcd"]),
            ("awk '{print $1}' | x", vec!["awk", "{print $1}", "|", "x"]),
            (r#"grep "a\.b""#, vec!["grep", r"a\.b"]),
            ("", vec![]),
        ] {
            assert_eq!(words(line).unwrap(), wanted, "{line}");
        }
        for bad in ["a 'b", "a \"b", "a\\"] {
            assert!(words(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn quoted_words_come_back(list in proptest::collection::vec(".{0,8}", 0..5)) {
            let line = list.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(words(&line).unwrap(), list);
        }
    }
}
