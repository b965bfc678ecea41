//! A plan as one comment of a code review: a line for each class of hosts, what changes folded below it.
use super::cost::Cost;
use super::plan::Class;
use std::fmt::Write as _;

/// What GitHub takes as one comment, in characters; others take more.
pub const LIMIT: usize = 65_536;

/// How much of a class is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    /// Its line alone.
    Title,
    /// Its tasks without differences.
    Tasks,
    /// All of it.
    Differences,
}

/// The plans of a fleet, in at most `limit` characters. What does not fit is made shorter, the largest text first: without
/// its differences, then without its tasks; that is said in the text, with the command that shows all. `command` is what
/// was typed.
pub fn markdown(classes: &[Class<'_>], cost: &Cost, command: &str, limit: usize) -> String {
    let mut depths = vec![Depth::Differences; classes.len()];
    loop {
        let text = written(classes, &depths, (command, cost));
        // The classes that still have something to give up: the longest text first.
        let next = (0..classes.len())
            .filter(|at| depths[*at] > Depth::Title)
            .max_by_key(|at| shown(&classes[*at], depths[*at]).chars().count());
        match next {
            Some(at) if text.chars().count() > limit => {
                depths[at] = if depths[at] == Depth::Differences { Depth::Tasks } else { Depth::Title };
            }
            _ => return text,
        }
    }
}

fn shown(class: &Class<'_>, depth: Depth) -> String {
    match depth {
        Depth::Title => String::new(),
        Depth::Tasks => class.brief(),
        Depth::Differences => class.text.clone(),
    }
}

fn written(classes: &[Class<'_>], depths: &[Depth], (command, cost): (&str, &Cost)) -> String {
    let hosts: usize = classes.iter().map(|class| class.hosts.len()).sum();
    let sum = |of: fn(&Class<'_>) -> usize| -> usize {
        classes.iter().filter(|class| of(class) > 0).map(|class| class.hosts.len()).sum()
    };
    let mut out = String::from("## Plan\n\n");
    let _ = writeln!(out, "{} {command} {0}\n", fence(command, 1));
    out.push_str("| hosts | to change | decided later | will fail |\n| ---: | ---: | ---: | ---: |\n");
    let (changes, late, failures) =
        (sum(|class| class.sum.changes), sum(|class| class.sum.late), sum(|class| class.sum.failures));
    let _ = writeln!(out, "| {hosts} | {changes} | {late} | {failures} |\n");
    if let Some(line) = cost.line() {
        let _ = writeln!(out, "**Cost:** {}\n", escaped(&line));
    }
    for (class, depth) in classes.iter().zip(depths) {
        let (title, text) = (escaped(&class.title()), shown(class, *depth));
        if text.trim().is_empty() {
            let _ = writeln!(out, "- {title}\n");
            continue;
        }
        let fence = fence(&text, 3);
        let _ = writeln!(
            out,
            "<details><summary>{title}</summary>\n\n{fence}diff\n{}\n{fence}\n</details>\n",
            flush(&text)
        );
    }
    let count = |depth: Depth| depths.iter().filter(|own| **own == depth).count();
    let mut left = Vec::new();
    for (count, what) in [(count(Depth::Tasks), "differences"), (count(Depth::Title), "tasks")] {
        let entries = if count == 1 { "entry" } else { "entries" };
        left.extend((count > 0).then(|| format!("the {what} of {count} {entries}")));
    }
    if !left.is_empty() {
        let _ = writeln!(
            out,
            "**Left out to fit one comment: {}.** `--format text --diff` shows all.",
            left.join(", ")
        );
    }
    out
}

/// Signs of differences stand first in their lines, where reviewers' tools colour them.
fn flush(text: &str) -> String {
    let line = |line: &str| {
        let inner = line.trim_start();
        let is_diff = line.starts_with("      ") && inner.starts_with(['+', '-', '@']);
        if is_diff { inner.to_owned() } else { line.trim_end().to_owned() }
    };
    text.trim_end().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Backquotes that no text within ends.
fn fence(text: &str, least: usize) -> String {
    let longest = text.split(|sign| sign != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(least.max(longest + 1))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::walk::Walked;
    use crate::report::paint::Paint;
    use crate::report::plan::{Sum, classes};

    fn class<'a>(hosts: &[&'a str], text: &str, walked: &'a Walked) -> Class<'a> {
        let mut all = classes(hosts.iter().map(|host| (*host, walked)), true, Paint::default());
        let mut class = all.remove(0);
        class.text = text.to_owned();
        class.sum = Sum { changes: 2, ..Sum::default() };
        class
    }

    #[test]
    fn a_class_is_a_line_with_its_differences_folded() {
        let walked = Walked::default();
        let text =
            "  ~ a <file>\n      --- /etc/x\n      +++ /etc/x\n      -old\n      +```new\n      a: 1 -> 2\n";
        let all = [class(&["h1", "h2"], text, &walked)];
        let written = markdown(&all, &Cost::default(), "tunerun plan site.yaml -i prod", LIMIT);
        assert!(written.contains("| 2 | 2 | 0 | 0 |"), "{written}");
        assert!(written.contains("<summary>2 hosts alike: h1, h2: 2 to change"), "{written}");
        assert!(
            written.contains(
                "````diff\n  ~ a <file>\n--- /etc/x\n+++ /etc/x\n-old\n+```new\n      a: 1 -> 2\n````\n"
            ),
            "{written}"
        );
        assert!(!written.contains("Left out"));
    }

    #[test]
    fn what_does_not_fit_is_made_shorter_and_that_is_said() {
        let walked = Walked::default();
        let long = format!("  ~ a\n{}", "      +a line of a file that is long\n".repeat(400));
        let all = [class(&["odd"], "  ~ short\n", &walked), class(&["h1", "h2"], &long, &walked)];
        let written = markdown(&all, &Cost::default(), "tunerun plan site.yaml -i prod", 2000);
        assert!(written.chars().count() <= 2000, "{}", written.len());
        assert!(written.contains("~ short"), "the small one stays whole: {written}");
        assert!(
            written.contains("**Left out to fit one comment: the differences of 1 entry.**"),
            "{written}"
        );
        // Even a line for each is said where nothing else fits.
        let tight = markdown(&all, &Cost::default(), "tunerun plan site.yaml -i prod", 10);
        assert!(tight.contains("h1, h2") && tight.contains("the tasks of 2 entries"), "{tight}");
    }
}
