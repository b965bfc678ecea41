//! Programs that print an inventory: `--list`, and `--host NAME` where the list has no `_meta`.
use super::world::{Output, World};
use super::{Inventory, machine};
use crate::diagnostic::{Diagnostic, Problems};
use crate::source::{Source, Span};
use serde_json::{Map, Value as Json};
use std::path::Path;

/// Lines of a program's standard error that a problem shows.
const LINES: usize = 5;

/// Runs a program and reads what it prints into the inventory.
pub(super) fn read(
    path: &Path,
    world: &dyn World,
    into: &mut Inventory,
    problems: &mut Problems,
) -> Result<(), Problems> {
    let list = run(path, &["--list"], world)?;
    let source = Source::new(path.display().to_string(), "");
    let origin = Span::new(&source, 0, 0);
    let mut ask = |host: &str| match run(path, &["--host", host], world)? {
        Json::Object(vars) => Ok(vars),
        Json::Null => Ok(Map::new()),
        _ => {
            let message = format!("{} --host {host} did not print an object", path.display());
            let help = "it should print the variables of that host, `{}` for none";
            Err(vec![Diagnostic::error(message, None).help(help)])
        }
    };
    machine::read(&list, &origin, into, problems, Some(&mut ask));
    Ok(())
}

/// The JSON that a program prints; nothing at all is null.
fn run(path: &Path, arguments: &[&str], world: &dyn World) -> Result<Json, Problems> {
    let command = format!("{} {}", path.display(), arguments.join(" "));
    let output = world.run(path, arguments).map_err(|error| {
        vec![
            Diagnostic::error(format!("{command} cannot be run: {error}"), None)
                .help("check its first line (`#!…`) and that the interpreter is installed"),
        ]
    })?;
    let Output { success, status, stdout, stderr } = output;
    if !success {
        let problem = Diagnostic::error(format!("{command} failed ({status})"), None);
        return Err(said(problem.help("run it by hand to see why"), &stderr));
    }
    if stdout.iter().all(u8::is_ascii_whitespace) {
        return Ok(Json::Null);
    }
    serde_json::from_slice(&stdout).map_err(|error| {
        let problem = Diagnostic::error(format!("{command} did not print JSON: {error}"), None);
        let help = "only the JSON may go to its standard output; messages belong on standard error";
        said(problem.help(help), &stderr)
    })
}

fn said(mut problem: Diagnostic, stderr: &[u8]) -> Problems {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().collect();
    for line in &lines[lines.len().saturating_sub(LINES)..] {
        problem = problem.note(format!("it said: {line}"));
    }
    vec![problem]
}
