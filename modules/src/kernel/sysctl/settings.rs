//! The text of one settings file: its assignments, and edits that touch one key's line alone.
use super::name::Key;
use std::ops::Range;

/// One assignment of a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// The line, from 1.
    pub line: usize,
    /// The setting or the pattern.
    pub key: Key,
    /// The value, without blanks at its ends; none for a line `-key` that takes the key out of patterns.
    pub value: Option<String>,
    /// Where the value stands in the text, in bytes.
    place: Range<usize>,
    /// Where the whole line stands, with its newline.
    whole: Range<usize>,
}

/// The assignments of a text, in order. Comments and lines that say nothing are left out, as systemd-sysctl does.
pub(crate) fn assignments(text: &str) -> Vec<Assignment> {
    let mut found = Vec::new();
    let mut start = 0;
    for (index, whole) in text.split_inclusive('\n').enumerate() {
        let end = start + whole.len();
        found.extend(assignment(index + 1, start, whole));
        start = end;
    }
    found
}

fn assignment(line: usize, start: usize, whole: &str) -> Option<Assignment> {
    let trimmed = whole.trim();
    if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
        return None;
    }
    let span = start..start + whole.len();
    let Some(equals) = whole.find('=') else {
        let key = Key::parse(trimmed.strip_prefix('-')?).ok()?;
        return Some(Assignment { line, key, value: None, place: span.end..span.end, whole: span });
    };
    let name = whole[..equals].trim();
    let key = Key::parse(name.strip_prefix('-').unwrap_or(name)).ok()?;
    let right = &whole[equals + 1..];
    let value = right.trim();
    let lead = if value.is_empty() {
        right.trim_end_matches(['\n', '\r']).len()
    } else {
        right.len() - right.trim_start().len()
    };
    let from = start + equals + 1 + lead;
    Some(Assignment {
        line,
        key,
        value: Some(value.to_owned()),
        place: from..from + value.len(),
        whole: span,
    })
}

/// The text with one key set: the value of its last line is replaced in place, or a line is added at the end.
/// No other byte changes, save a newline that the last line lacks.
pub(crate) fn set(text: &str, key: &Key, value: &str) -> String {
    let last = assignments(text).into_iter().rfind(|found| found.key == *key && found.value.is_some());
    match last {
        Some(found) => {
            let mut out = text.to_owned();
            out.replace_range(found.place, value);
            out
        }
        None => format!("{}{} = {value}\n", crate::files::text::ended(text), key.dotted()),
    }
}

/// The text without the lines that set one key.
pub(crate) fn unset(text: &str, key: &Key) -> String {
    let mut out = text.to_owned();
    for found in assignments(text).into_iter().rev() {
        if found.key == *key && found.value.is_some() {
            out.replace_range(found.whole, "");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Key, assignments, set, unset};
    use proptest::prelude::*;

    const CASE_09: &str = "net.ipv4.conf.all.accept_redirects = 1
    # comment
net.ipv4.conf.all.accept_redirects = 0
    net.ipv4.conf.all.accept_source_route = 0
net.ipv4.conf.all.accept_local = 0
";

    #[test]
    fn changing_one_key_leaves_every_other_line() {
        let key = Key::parse("net.ipv4.conf.all.accept_local").unwrap();
        let after = set(CASE_09, &key, "1");
        assert_eq!(after, CASE_09.replace("accept_local = 0", "accept_local = 1"));
        assert_eq!(set(&after, &key, "1"), after);
    }

    #[test]
    fn spellings_blanks_and_missing_newlines_survive() {
        let key = Key::parse("vm.swappiness").unwrap();
        for (before, after) in [
            ("vm/swappiness=60", "vm/swappiness=1"),
            (" -vm.swappiness =  60  \r\n", " -vm.swappiness =  1  \r\n"),
            ("vm.swappiness =\n", "vm.swappiness =1\n"),
            ("a.b = 1", "a.b = 1\nvm.swappiness = 1\n"),
            ("#vm.swappiness = 60\n", "#vm.swappiness = 60\nvm.swappiness = 1\n"),
            ("vm.swappiness = 2\nvm.swappiness = 3\n", "vm.swappiness = 2\nvm.swappiness = 1\n"),
        ] {
            assert_eq!(set(before, &key, "1"), after);
        }
        assert_eq!(unset("a.b = 1\nvm/swappiness=2\n;c\nvm.swappiness = 3", &key), "a.b = 1\n;c\n");
    }

    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ \t]{0,2}(#|;)[ -~]{0,12}",
            "-?(vm|net)[./][a-z_]{1,5}[ \t]{0,2}=[ \t]{0,2}[0-9 ]{0,6}",
            "vm[./]x[ ]?=[ ]?[0-9]{1,3}",
            "[ -~é]{0,16}",
            Just(String::new()),
        ]
    }

    proptest! {
        #[test]
        fn only_the_own_line_changes(lines in proptest::collection::vec(line(), 0..8), newline: bool, value in "[0-9]{1,4}( [0-9]{1,3})?") {
            let text = lines.join("\n") + if newline { "\n" } else { "" };
            let key = Key::parse("vm.x").unwrap();
            let own = |text: &str| assignments(text).into_iter().rfind(|found| found.key == key && found.value.is_some());
            let after = set(&text, &key, &value);
            prop_assert_eq!(own(&after).unwrap().value.unwrap(), value.clone());
            prop_assert_eq!(set(&after, &key, &value), after.clone());
            match own(&text) {
                Some(found) => {
                    let place = found.place;
                    prop_assert_eq!(&after[..place.start], &text[..place.start]);
                    prop_assert_eq!(&after[place.start + value.len()..], &text[place.end..]);
                }
                None => {
                    prop_assert!(after.starts_with(&text));
                    let undone = unset(&after, &key);
                    prop_assert_eq!(undone.trim_end_matches('\n'), text.trim_end_matches('\n'));
                }
            }
            let gone = unset(&text, &key);
            prop_assert!(own(&gone).is_none());
            let others = |text: &str| text.lines().filter(|line| assignments(line).iter().all(|found| found.key != key || found.value.is_none())).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(others(&gone), others(&text));
        }
    }
}
