//! Every tuning of the sources is said by something that is there, and shown by a test that is there.
use modules::coverage::{Saying, Tuning, coverage};
use std::fs;
use std::path::{Path, PathBuf};

/// How many tunings the sources have.
const TUNINGS: u16 = 115;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn every_row_is_there_once() {
    let rows: Vec<u16> = coverage().iter().map(|tuning| tuning.row).collect();
    assert_eq!(rows, (1..=TUNINGS).collect::<Vec<_>>());
}

#[test]
fn every_row_is_said_by_what_is_there() {
    let wrong: Vec<String> = coverage().iter().filter_map(|tuning| said_wrong(tuning).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn said_wrong(tuning: &Tuning) -> Result<(), String> {
    let row = tuning.row;
    if tuning.what.is_empty() || tuning.inverse.is_empty() || tuning.proof.is_empty() {
        return Err(format!("row {row} has a hole"));
    }
    match tuning.said_by {
        Saying::Argument(module, argument) => {
            let entry = modules::find(module).ok_or_else(|| format!("row {row}: no module `{module}`"))?;
            let schema = (entry.schema)();
            let first = argument.split('.').next().unwrap_or_default();
            match schema["properties"].get(first) {
                Some(_) => Ok(()),
                None => Err(format!("row {row}: `{module}` has no argument `{argument}`")),
            }
        }
        Saying::Fact(name) => {
            let known = modules::FACTS.iter().any(|fact| fact.name == name);
            known.then_some(()).ok_or_else(|| format!("row {row}: no fact `{name}`"))
        }
        Saying::Task(playbook, title) => {
            let path = top().join("playbooks").join(playbook);
            let text = fs::read_to_string(&path).map_err(|why| format!("row {row}: {playbook}: {why}"))?;
            let named = |line: &str| {
                line.trim().strip_prefix("- name: ").is_some_and(|name| name.trim_matches('"') == title)
            };
            let found = text.lines().any(named);
            found.then_some(()).ok_or_else(|| format!("row {row}: {playbook} has no task `{title}`"))
        }
    }
}

#[test]
fn every_row_is_shown_by_a_test_that_is_there() {
    let wrong: Vec<String> = coverage().iter().filter_map(|tuning| shown_wrong(tuning).err()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn shown_wrong(tuning: &Tuning) -> Result<(), String> {
    let row = tuning.row;
    let (file, name) =
        tuning.test.split_once("::").ok_or_else(|| format!("row {row}: `{}` names no test", tuning.test))?;
    let text = fs::read_to_string(top().join(file)).map_err(|why| format!("row {row}: {file}: {why}"))?;
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let head = format!("fn {name}(");
    let at = lines.iter().position(|line| line.contains(&head));
    let at = at.ok_or_else(|| format!("row {row}: {file} has no `{name}`"))?;
    let marked = lines[at.saturating_sub(4)..at].iter().any(|line| line.contains("test]"));
    // Property tests are functions inside of a macro: their mark stands before the function too.
    marked.then_some(()).ok_or_else(|| format!("row {row}: `{name}` of {file} is no test"))
}
