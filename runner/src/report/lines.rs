//! The difference of two texts, line by line; at a terminal what differs within a line is underlined.
use super::paint::Paint;
use similar::{ChangeTag, TextDiff};

/// So many lines around a change are shown.
const AROUND: usize = 2;

/// The lines of a difference as `diff -u` shows them.
pub fn unified(title: &str, before: &str, after: &str, paint: Paint) -> Vec<String> {
    let lines = TextDiff::from_lines(before, after);
    let mut unified = lines.unified_diff();
    let unified = unified.context_radius(AROUND).header(title, title);
    if !paint.0 {
        return unified.to_string().lines().map(str::to_owned).collect();
    }
    let mut out = vec![paint.bad(&format!("--- {title}")), paint.good(&format!("+++ {title}"))];
    for hunk in unified.iter_hunks() {
        out.push(hunk.header().to_string());
        for change in hunk.ops().iter().flat_map(|op| lines.iter_inline_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => "-",
                ChangeTag::Insert => "+",
                ChangeTag::Equal => " ",
            };
            let mut line = sign.to_owned();
            for (emphasized, words) in change.iter_strings_lossy() {
                let words = words.trim_end_matches(['\n', '\r']);
                line.push_str(&if emphasized { paint.within(words) } else { words.to_owned() });
            }
            out.push(match change.tag() {
                ChangeTag::Delete => paint.bad(&line),
                ChangeTag::Insert => paint.good(&line),
                ChangeTag::Equal => line,
            });
            if change.missing_newline() {
                out.push("\\ No newline at end of file".to_owned());
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text without what paints it.
    fn plain(text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\x1b') {
            out.push_str(before);
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        out + rest
    }

    #[test]
    fn paint_changes_no_letter() {
        let texts = [
            ("a\nswappiness = 60\nc\n", "a\nswappiness = 10\nc\n"),
            ("one\n", "one"),
            ("", "new\nlines\n"),
            ("a\nb\nc\nd\ne\nf\ng\nh\n", "x\nb\nc\nd\ne\nf\ng\ny\n"),
        ];
        for (before, after) in texts {
            let painted = unified("f", before, after, Paint(true));
            let painted: Vec<String> = painted.iter().map(|line| plain(line)).collect();
            assert_eq!(painted, unified("f", before, after, Paint(false)));
        }
    }

    #[test]
    fn the_words_that_differ_are_marked() {
        let painted = unified("f", "vm.swappiness = 60\n", "vm.swappiness = 10\n", Paint(true)).join("\n");
        assert!(
            painted.contains("\x1b[4m60\x1b[24m") && painted.contains("\x1b[4m10\x1b[24m"),
            "{painted:?}"
        );
        assert!(!painted.contains("\x1b[4mvm"), "{painted:?}");
    }
}
