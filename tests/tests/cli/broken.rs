//! Broken playbooks and inventories, tests/cases/broken/NAME: what `lint` or `plan` says of each, whole.
//!
//! `why.txt` says in one line what is wrong, `expected.txt` holds the exit code and all that is said, on
//! standard output last. `command.txt` is
//! what is typed behind `tunerun`; where it is not there, a folder with an inventory is planned, another is linted.
//! UPDATE=1 writes the texts anew: read every changed one. ONLY=NAME runs one.
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn what_is_broken_is_told_kindly() {
    let cases = cases();
    assert!(cases.len() >= 60, "only {} cases", cases.len());
    let only = std::env::var("ONLY").ok();
    let update = std::env::var_os("UPDATE").is_some();
    let home = std::env::temp_dir().join(format!("tunerun-broken-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let mut wrong = Vec::new();
    for case in cases.iter().filter(|case| only.as_deref().is_none_or(|only| case.ends_with(only))) {
        let found = told(case, &home);
        let expected = case.join("expected.txt");
        if update {
            std::fs::write(&expected, &found).unwrap();
        }
        let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
        if found != wanted {
            wrong.push(format!("== {}\n{found}\ninstead of\n{wanted}", case.display()));
        }
    }
    let _ = std::fs::remove_dir_all(&home);
    assert!(wrong.is_empty(), "{} of {} cases differ:\n\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// What holds for all of them, whatever their words are.
#[test]
fn nothing_that_is_told_is_a_crash_or_names_this_machine() {
    for case in cases() {
        // A new case gets its text from UPDATE=1, perhaps at this very moment.
        let Ok(told) = std::fs::read_to_string(case.join("expected.txt")) else { continue };
        let why = std::fs::read_to_string(case.join("why.txt")).unwrap();
        assert_eq!(why.lines().count(), 1, "{}", case.display());
        assert!(!told.contains("panicked") && !told.contains("/tests/cases"), "{}", case.display());
        let warned = told.contains("warning: ") || told.contains("decided after");
        assert!(!told.starts_with("0\n") || warned, "{}: {told}", case.display());
        assert!(!told.starts_with("101\n"), "{}: {told}", case.display());
    }
}

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/broken");
    let mut cases: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

/// The exit code, then what is said.
fn told(case: &Path, home: &Path) -> String {
    let output = Command::new(tests::program::tunerun())
        .args(words(case))
        .current_dir(case)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("HOME", home)
        .env("TUNERUN_RUNS", home.join("runs"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.stdout.is_empty() {
        text = format!("{text}--- on standard output\n{}", String::from_utf8_lossy(&output.stdout));
    }
    let here = format!("{}/", case.display());
    format!("{}\n{}", output.status.code().unwrap_or(-1), text.replace(&here, ""))
}

fn words(case: &Path) -> Vec<String> {
    if let Ok(text) = std::fs::read_to_string(case.join("command.txt")) {
        // Quotes are the shell's; here they only keep words with blanks together.
        let mut words = vec![String::new()];
        let mut quote = None;
        for sign in text.trim_end().chars() {
            match (sign, quote) {
                ('"', None) => quote = Some('"'),
                ('"', Some(_)) => quote = None,
                (' ', None) => words.push(String::new()),
                (sign, _) => words.last_mut().unwrap().push(sign),
            }
        }
        return words;
    }
    let inventory = ["hosts.yaml", "hosts.ini"].into_iter().find(|name| case.join(name).exists());
    match inventory {
        Some(inventory) => ["plan", "site.yaml", "-i", inventory].map(str::to_owned).to_vec(),
        None => ["lint", "site.yaml"].map(str::to_owned).to_vec(),
    }
}
