//! What `tunerun doc` prints of modules: from their schemas, so that it cannot be out of date.
use super::arguments::{Argument, arguments, paragraphs, summary};
use crate::inventory::reserved::RESERVED;
use crate::playbook::keywords::SHARED;
use crate::playbook::meanings::{OWNERS, meaning, owners, taken};
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

/// All keywords, by what takes them.
pub fn keywords() -> String {
    let mut out = String::new();
    for (owner, lists) in OWNERS {
        let own = if lists.len() > 1 { &lists[..1] } else { lists };
        let _ = writeln!(out, "Keywords of {owner}:\n");
        taken(own).iter().for_each(|keyword| entry(keyword.name, keyword.about, &mut out));
        out.push('\n');
    }
    out.push_str("Keywords of all of these but `loop_control`, inherited from the outside in:\n\n");
    taken(&[&SHARED]).iter().for_each(|keyword| entry(keyword.name, keyword.about, &mut out));
    out
}

/// One keyword: what it is for, and what takes it.
pub fn keyword(name: &str) -> Option<String> {
    let keyword = meaning(name)?;
    let choices = keyword.form.choices();
    let mut out = format!("{name}\n\n{}", wrapped(keyword.about, 0));
    if !choices.is_empty() {
        let _ = writeln!(out, "\nOne of: {}", choices.join(", "));
    }
    let _ = writeln!(out, "\nTaken by {}.", owners(name).join(", "));
    Some(out)
}

/// The words of a guard, from its own schema.
pub fn guard() -> String {
    let schema = crate::playbook::rollout::schema::<crate::playbook::rollout::Guard>();
    let about = schema["description"].as_str().unwrap_or_default().replace('\n', " ");
    let mut out = format!("{}\nIt stands on a play.\n\n  guard:\n", wrapped(&about, 0));
    for (name, word) in schema["properties"].as_object().into_iter().flatten() {
        entry(name, word["description"].as_str().unwrap_or_default(), &mut out);
    }
    out
}

/// Variables of the inventory that say how a host or cluster is reached.
pub fn connection() -> String {
    let mut out =
        "Variables of hosts and groups that say how a host or its cluster is reached.\n\n".to_owned();
    RESERVED.iter().for_each(|reserved| entry(reserved.name, reserved.about, &mut out));
    out
}

fn entry(name: &str, about: &str, out: &mut String) {
    let text = wrapped(&about.replace('\n', " "), 30);
    let _ = write!(out, "  {name:27} {}", text.trim_start());
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
