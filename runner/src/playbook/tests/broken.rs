//! Broken playbooks with the messages that they get: tests/data/playbooks/broken/NAME.yml and NAME.txt beside it.
//!
//! To write the messages anew set TUNERUN_BLESS and read every changed one: it must be kind, true and of use.
use super::*;
use crate::report::diagnostic;

#[test]
fn broken_playbooks_are_told_kindly() {
    let folder = data("playbooks/broken");
    let mut cases: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("cases")
        .map(|entry| entry.expect("a case").path())
        .filter(|path| path.extension().is_some_and(|end| end == "yml"))
        .collect();
    cases.sort();
    assert!(cases.len() >= 25, "only {} cases", cases.len());
    let bless = std::env::var_os("TUNERUN_BLESS").is_some();
    let mut wrong = Vec::new();
    for case in cases {
        let text = std::fs::read_to_string(&case).expect("a playbook");
        let files = Memory::new([
            ("site.yml", text.as_str()),
            ("other.yml", "- name: never reached\n  copy: {dest: /x}\n"),
            ("roles/ceph_osd/tasks/main.yml", "- name: in the role\n  copy: {dest: /x}\n"),
            ("vars.yml", "a: 1\n"),
        ]);
        let vocabulary = vocabulary();
        let problems = match Loader::new(&files, &vocabulary, Vec::new()).load("site.yml") {
            Ok(playbook) => playbook.warnings,
            Err(problems) => problems,
        };
        let found = format!("{}{}\n", diagnostic::render(&problems, false), diagnostic::count(&problems));
        let expected = case.with_extension("txt");
        if bless {
            std::fs::write(&expected, &found).expect("written");
        }
        let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
        if found != wanted {
            wrong.push(format!("{}:\n{found}\ninstead of\n{wanted}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
