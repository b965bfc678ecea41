//! The manual's pages: one for each subcommand, whole, with its examples.
use std::path::{Path, PathBuf};
use std::process::Command;

fn run(arguments: &[&str]) -> String {
    let output = Command::new(tests::program::tunerun()).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The subcommands that `--help` lists below some words.
fn subcommands(words: &[&str]) -> Vec<String> {
    let help = run(&[words, &["--help"]].concat());
    let lines =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// The sections of a page with their lines.
fn sections(page: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in page.lines() {
        match (line.strip_prefix(".SH "), found.last_mut()) {
            (Some(name), _) => found.push((name.trim_matches('"').to_owned(), Vec::new())),
            (None, Some((_, lines))) => lines.push(line.to_owned()),
            (None, None) => {}
        }
    }
    found
}

fn written() -> PathBuf {
    let folder = std::env::temp_dir().join(format!(
        "tunerun-man-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    run(&["man", "--out", folder.to_str().unwrap()]);
    folder
}

#[test]
fn every_subcommand_has_a_page_with_its_sections() {
    let folder = written();
    let mut names = vec!["tunerun".to_owned()];
    for name in subcommands(&[]) {
        names.extend(subcommands(&[&name]).into_iter().map(|inner| format!("tunerun-{name}-{inner}")));
        names.push(format!("tunerun-{name}"));
    }
    assert!(names.len() > 30, "{names:?}");
    for name in &names {
        let page = std::fs::read_to_string(folder.join(format!("{name}.1")))
            .unwrap_or_else(|_| panic!("no page {name}"));
        check(name, &page);
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), names.len(), "pages of nothing");
    let _ = std::fs::remove_dir_all(&folder);
}

fn check(name: &str, page: &str) {
    assert!(
        page.contains(&format!(".TH {}", name.to_uppercase().replace('-', "\\-")))
            || page.contains(&format!(".TH {}", name.to_uppercase())),
        "{name}: no title\n{page}"
    );
    let sections = sections(page);
    for wanted in ["NAME", "SYNOPSIS", "DESCRIPTION"] {
        assert!(sections.iter().any(|(section, _)| section == wanted), "{name} has no {wanted}");
    }
    for (section, lines) in &sections {
        let text = lines
            .iter()
            .any(|line| !line.trim().is_empty() && !line.starts_with(".nf") && !line.starts_with(".fi"));
        assert!(text, "{name}: {section} is empty");
    }
    // A line that begins with a dot is a command of roff, and one that is none is lost.
    const KNOWN: [&str; 13] =
        [".IP", ".TH", ".SH", ".TP", ".nf", ".fi", ".br", ".ie", ".el", ".PP", ".RS", ".RE", ".sp"];
    for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
        assert!(KNOWN.iter().any(|known| line.starts_with(known)), "{name}: {line}");
    }
}

#[test]
fn examples_of_help_are_on_the_pages() {
    let folder = written();
    for name in subcommands(&[]) {
        let help = run(&[&name, "--help"]);
        let page = std::fs::read_to_string(folder.join(format!("tunerun-{name}.1"))).unwrap();
        let plain = page.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\");
        let Some((_, examples)) = help.split_once("Examples:\n") else { continue };
        assert!(page.contains(".SH \"EXAMPLES\""), "{name}");
        // `--help` breaks long lines anew.
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let examples = examples.split("\n\n").next().unwrap_or_default();
        assert!(words(&plain).contains(&words(examples)), "{name} lacks:\n{examples}\n{plain}");
    }
    let first = std::fs::read_to_string(Path::new(&folder).join("tunerun.1")).unwrap();
    assert!(first.contains(".SH \"EXIT CODES\"") && first.contains("tunerun\\-plan\\fR(1)"), "{first}");
    let _ = std::fs::remove_dir_all(&folder);
}
