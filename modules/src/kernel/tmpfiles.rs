//! Lines of our own file in /etc/tmpfiles.d: values of the kernel that systemd-tmpfiles writes at boot.
use crate::files::place::{self, known};
use crate::files::text::{TextFile, ended};
use crate::vocabulary::{Change, Claim, Facts, Read, Stop};

/// The file; its name sorts last.
const FILE: &str = "/etc/tmpfiles.d/zz-tunerun.conf";

/// What [`persist`] reads first.
pub(crate) fn first_reads() -> Result<Vec<Read>, Stop> {
    known(FILE).map(|path| place::first_reads(&path))
}

/// Adds the step that makes values be written at boot, or no more where the value is none. All values of one task come
/// together: the file is one, so two steps from the same text would leave the last line alone.
pub(crate) fn persist(
    facts: &Facts,
    values: &[(&str, Option<String>)],
    change: &mut Change,
) -> Result<(), Stop> {
    let path = known(FILE)?;
    let file = TextFile::read(facts, &path)?;
    let mut after = file.text.clone();
    for (target, value) in values {
        let line = value.as_ref().map(|value| format!("w {} - - - - {}", quoted(target), escaped(value)));
        after = edited(&after, target, line.as_deref());
    }
    let targets: Vec<&str> = values.iter().map(|(target, _)| *target).collect();
    let claim = Claim::part(&path, &targets.join(","));
    if after.is_empty() {
        file.remove(claim, change);
    } else {
        file.put(facts, claim, &after, change)?;
    }
    Ok(())
}

/// The text with one target's line set or taken out; all other bytes stay.
fn edited(text: &str, target: &str, line: Option<&str>) -> String {
    let mut out = String::new();
    let mut left = line;
    for old in text.split_inclusive('\n') {
        if !is_line_of(old, target) {
            out.push_str(old);
        } else if let Some(line) = left.take() {
            out.push_str(&format!("{line}\n"));
        }
    }
    match left {
        Some(line) => format!("{}{line}\n", ended(&out)),
        None => out,
    }
}

fn is_line_of(line: &str, target: &str) -> bool {
    let rest = line.strip_prefix("w ").unwrap_or_default();
    rest.strip_prefix(&quoted(target)).is_some_and(|rest| rest.starts_with(' '))
}

/// See tmpfiles.d(5): `%` begins a specifier, and a path with blanks is quoted.
fn quoted(path: &str) -> String {
    let path = path.replace('%', "%%");
    if path.contains(char::is_whitespace) { format!("\"{path}\"") } else { path }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('%', "%%").replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::{edited, escaped};
    use proptest::prelude::*;

    #[test]
    fn one_line_a_target() {
        let text = "# mine\nw /sys/a - - - - 1\nw /sys/ab - - - - 2\n";
        assert_eq!(edited(text, "/sys/a", Some("w /sys/a - - - - 3")), text.replace("- 1", "- 3"));
        assert_eq!(edited(text, "/sys/a", None), "# mine\nw /sys/ab - - - - 2\n");
        assert_eq!(escaped("50%\tx"), "50%%\\tx");
    }

    proptest! {
        #[test]
        fn other_lines_stay(lines in proptest::collection::vec("[ -~]{0,12}|w /sys/[ab]{1,2} - - - - [0-9]", 0..6)) {
            let text = lines.join("\n");
            let after = edited(&text, "/sys/a", Some("w /sys/a - - - - 9"));
            let others = |text: &str| text.lines().filter(|line| !line.starts_with("w /sys/a ")).map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(others(&after), others(&text));
            prop_assert_eq!(edited(&after, "/sys/a", Some("w /sys/a - - - - 9")), after.clone());
        }
    }
}
