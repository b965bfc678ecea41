//! What `tunerun doc` prints of modules: from their schemas, so that it cannot be out of date.
use super::arguments::{Argument, arguments, paragraphs, summary};
use modules::Entry;
use std::fmt::Write as _;

/// Columns of a line of text.
const WIDTH: usize = 100;

/// All modules, one line each.
pub fn list() -> String {
    let width = modules::ALL.iter().map(|entry| entry.name.len()).max().unwrap_or(0);
    modules::ALL.iter().fold(String::new(), |mut out, entry| {
        let words = wrapped(summary(entry).trim_end_matches('.'), width + 2);
        let _ = write!(out, "{:width$}  {}", entry.name, words.trim_start());
        out
    })
}

/// One module: what it is for, its arguments, an example.
pub fn module(entry: &Entry) -> String {
    let mut out = format!("{}\n\n", entry.name);
    for paragraph in paragraphs(entry) {
        out.push_str(&wrapped(&paragraph, 0));
        out.push('\n');
    }
    out.push_str("Arguments (= is needed):\n");
    arguments(entry).iter().for_each(|argument| self::argument(argument, &mut out));
    if let Some(free) = entry.free_form {
        let _ = writeln!(out, "\nText without a name is `{free}`.");
    }
    let _ = write!(out, "\nExample:\n{}", indented(entry.example, 2));
    out
}

fn argument(argument: &Argument, out: &mut String) {
    let mut facts = vec![argument.value.clone()];
    facts.extend(argument.default.as_ref().map(|default| format!("default {default}")));
    if !argument.also.is_empty() {
        facts.push(format!("also {}", argument.also.join(", ")));
    }
    let mark = if argument.needed { '=' } else { '-' };
    let _ = writeln!(out, "{mark} {}  ({})", argument.name, facts.join("; "));
    if !argument.words.is_empty() {
        out.push_str(&wrapped(&argument.words, 6));
    }
}

/// Words in lines of at most `WIDTH` columns.
pub fn wrapped(words: &str, indent: usize) -> String {
    let mut out = String::new();
    let mut line = " ".repeat(indent);
    let mut empty = true;
    for word in words.split_whitespace() {
        if !empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{line}");
            line = " ".repeat(indent);
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    let _ = writeln!(out, "{line}");
    out
}

fn indented(text: &str, columns: usize) -> String {
    text.lines().map(|line| format!("{}{line}\n", " ".repeat(columns))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_is_documented_in_lines_that_fit() {
        for entry in modules::ALL {
            let text = module(entry);
            assert!(text.contains("Example:"), "{text}");
            let long =
                text.lines().filter(|line| !line.starts_with("  ")).find(|line| line.chars().count() > 160);
            assert_eq!(long, None, "{}", entry.name);
            assert!(!text.contains("()"), "an argument without a type: {text}");
        }
        assert!(list().lines().count() >= modules::ALL.len());
    }
}
