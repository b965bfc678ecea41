//! The text of fstab: one entry set or taken out, every other byte left alone.
use super::options;
use std::ops::Range;

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) source: String,
    pub(super) path: String,
    pub(super) fstype: String,
    pub(super) options: String,
    pub(super) dump: u32,
    pub(super) pass: u32,
}

/// A field as fstab has it: see fstab(5).
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            ' ' => out.push_str("\\040"),
            '\t' => out.push_str("\\011"),
            '\n' => out.push_str("\\012"),
            '\\' => out.push_str("\\134"),
            other => out.push(other),
        }
    }
    out
}

fn unescaped(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let digits = rest
            .get(at + 1..at + 4)
            .filter(|digits| digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit)));
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = &rest[at + 4..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}

/// The fields of a line, where it is an entry.
fn fields(line: &str) -> Vec<Range<usize>> {
    if line.trim_start().starts_with('#') {
        return Vec::new();
    }
    let mut fields = Vec::new();
    let mut start = None;
    for (at, letter) in line.char_indices() {
        match (letter.is_whitespace(), start) {
            (true, Some(from)) => {
                fields.push(from..at);
                start = None;
            }
            (false, None) => start = Some(at),
            _ => {}
        }
    }
    fields.extend(start.map(|from| from..line.len()));
    fields
}

fn is_of(line: &str, path: &str) -> bool {
    fields(line).get(1).is_some_and(|field| {
        unescaped(&line[field.clone()]).trim_end_matches('/') == path.trim_end_matches('/')
    })
}

/// How many entries a path has.
pub(super) fn count(text: &str, path: &str) -> usize {
    text.lines().filter(|line| is_of(line, path)).count()
}

/// The options that the first entry of a path has.
#[cfg(test)]
pub(super) fn options_of(text: &str, path: &str) -> Option<String> {
    let line = text.lines().find(|line| is_of(line, path))?;
    fields(line).get(3).map(|field| line[field.clone()].to_owned())
}

/// The text with an entry. Of an entry that is there only the fields that differ change.
pub(super) fn set(text: &str, entry: &Entry) -> String {
    let mut done = false;
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        if done || !is_of(line, &entry.path) {
            out.push_str(line);
        } else {
            out.push_str(&changed(line, entry));
            done = true;
        }
    }
    if !done {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push('\n');
        }
        out.push_str(&format!("{}\n", words(entry).join(" ")));
    }
    out
}

fn words(entry: &Entry) -> [String; 6] {
    [
        escaped(&entry.source),
        escaped(&entry.path),
        entry.fstype.clone(),
        escaped(&entry.options),
        entry.dump.to_string(),
        entry.pass.to_string(),
    ]
}

fn changed(line: &str, entry: &Entry) -> String {
    let mut out = line.to_owned();
    let there = fields(line);
    let words = words(entry);
    for (number, wanted) in words.iter().enumerate().rev() {
        match there.get(number) {
            Some(field) => {
                let now = &line[field.clone()];
                let same = match number {
                    1 => true,
                    3 => options::alike(&unescaped(now), &entry.options),
                    4 | 5 => now.parse::<u32>().ok() == wanted.parse().ok(),
                    _ => unescaped(now) == unescaped(wanted),
                };
                if !same {
                    out.replace_range(field.clone(), wanted);
                }
            }
            // Missing numbers are 0, missing options are the defaults.
            None => {
                let needed = words[number..].iter().enumerate().any(|(more, word)| {
                    let number = number + more;
                    there.get(number).is_none() && word != if number == 3 { "defaults" } else { "0" }
                });
                if needed && let Some(last) = there.last() {
                    let end = last.end;
                    out.insert_str(end, &format!(" {wanted}"));
                }
            }
        }
    }
    out
}

/// The text without the entries of a path.
pub(super) fn unset(text: &str, path: &str) -> String {
    text.split_inclusive('\n').filter(|line| !is_of(line, path)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Entry, count, set, unset};
    use proptest::prelude::*;

    const TEXT: &str = "# /etc/fstab\nUUID=a  /      ext4  errors=remount-ro  0  1\n\tUUID=b\t/srv\txfs\tnofail,noatime\t0 2 # images\n#UUID=c /srv ext4 defaults 0 0\n";

    fn entry(options: &str) -> Entry {
        Entry {
            source: "UUID=b".into(),
            path: "/srv".into(),
            fstype: "xfs".into(),
            options: options.into(),
            dump: 0,
            pass: 2,
        }
    }

    #[test]
    fn only_the_fields_that_differ_change() {
        assert_eq!(set(TEXT, &entry("noatime,nofail")), TEXT);
        assert_eq!(set(TEXT, &entry("noatime")), TEXT.replace("nofail,noatime", "noatime"));
        let other = Entry { source: "/dev/vg0/a b".into(), pass: 0, ..entry("noatime,nofail") };
        assert_eq!(set(TEXT, &other), TEXT.replace("UUID=b", "/dev/vg0/a\\040b").replace("0 2 #", "0 0 #"));
    }

    #[test]
    fn new_entries_stand_last_and_old_ones_go_whole() {
        let other = Entry { path: "/mnt/new one".into(), ..entry("defaults") };
        let after = set(TEXT.trim_end(), &other);
        assert_eq!(after, format!("{TEXT}UUID=b /mnt/new\\040one xfs defaults 0 2\n"));
        assert_eq!((count(&after, "/mnt/new one"), count(&after, "/srv")), (1, 1));
        assert_eq!(unset(&after, "/mnt/new one"), TEXT);
    }

    #[test]
    fn missing_fields_are_added_only_where_they_are_needed() {
        let short = "UUID=b /srv xfs\n";
        assert_eq!(set(short, &Entry { pass: 0, ..entry("defaults") }), short);
        assert_eq!(set(short, &entry("defaults")), "UUID=b /srv xfs defaults 0 2\n");
        assert_eq!(set(short, &Entry { pass: 0, ..entry("noatime") }), "UUID=b /srv xfs noatime\n");
    }

    proptest! {
        #[test]
        fn other_lines_stay(lines in proptest::collection::vec("(#? ?UUID=[ab] +/(srv|mnt) +xfs( +[a-c,]{1,4}( [01]){0,2})?)|[ #a]{0,4}", 0..6), options in "[a-c]{1}") {
            let text = lines.join("\n");
            let after = set(&text, &entry(&options));
            prop_assert_eq!(set(&after, &entry(&options)), after.clone());
            prop_assert_eq!(super::options_of(&after, "/srv").map(|now| super::options::alike(&now, &options)), Some(true));
            let others = |text: &str| text.lines().filter(|line| !super::is_of(line, "/srv")).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(others(&after), others(&text));
        }
    }
}
