//! Every keyword and module that people use for this job is taken, or refused by its own name.
use super::*;
use crate::playbook::vocabulary::Meaning;

/// The first column of a table of tests/data/corpus/playbooks/FREQUENCY.md.
fn column(heading: &str) -> Vec<String> {
    let text = std::fs::read_to_string(data("corpus/playbooks/FREQUENCY.md")).expect("the table");
    let section = text.split("\n## ").find(|section| section.starts_with(heading)).expect(heading);
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    let rows = rows.filter_map(|line| line.split('|').nth(1)).map(|cell| cell.trim().to_owned());
    rows.filter(|cell| !cell.starts_with("---")).collect()
}

/// A task with the keyword, as people write it.
fn task_with(keyword: &str) -> String {
    let value = match keyword {
        "name" | "register" | "listen" => "x",
        "when" | "until" | "changed_when" | "failed_when" => "x is defined",
        "loop" | "with_items" | "with_together" | "with_first_found" => "[a]",
        "with_dict" | "vars" | "args" | "environment" => "{a: b}",
        "with_sequence" => "start=1 end=3",
        "with_fileglob" => "'*.conf'",
        "loop_control" => "{label: x}",
        "tags" | "notify" => "x",
        "delegate_to" => "localhost",
        "retries" | "delay" | "async" | "poll" => "3",
        "action" => return "- hosts: all\n  tasks:\n    - action: debug msg=x\n".to_owned(),
        "block" | "rescue" | "always" => {
            return "- hosts: all\n  tasks:\n    - block: [{debug: }]\n      rescue: [{debug: }]\n      always: [{debug: }]\n"
                .to_owned();
        }
        _ => "true",
    };
    format!(
        "- hosts: all\n  tasks:\n    - set_fact:\n      {keyword}: {value}\n  handlers: [{{name: x, debug: }}]\n"
    )
}

#[test]
fn every_task_keyword_is_taken_or_refused_by_name() {
    let keywords = column("Task keywords");
    assert!(keywords.len() > 30, "{keywords:?}");
    for keyword in keywords {
        match load(&[("site.yml", &task_with(&keyword))]) {
            Ok(_) => assert!(keywords::refused(&keyword).is_none(), "{keyword} is taken and refused"),
            Err(problems) => {
                assert!(keywords::refused(&keyword).is_some(), "{keyword}: {problems:#?}");
                assert_eq!(problems.len(), 1, "{keyword}");
                assert!(
                    problems[0].message.starts_with(&format!("`{keyword}` is not supported: ")),
                    "{problems:?}"
                );
                assert!(problems[0].help.is_some());
            }
        }
    }
}

#[test]
fn every_play_keyword_is_taken() {
    for keyword in column("Play keywords") {
        let value = match keyword.as_str() {
            "hosts" | "import_playbook" => continue,
            "tasks" | "pre_tasks" | "handlers" => "[{debug: }]",
            "roles" => "[r]",
            "vars" | "environment" => "{a: b}",
            "vars_files" => "[v.yml]",
            "vars_prompt" => "[{name: x}]",
            "max_fail_percentage" => "30",
            "connection" => "local",
            "name" | "tags" => "x",
            _ => "true",
        };
        good(&[
            ("site.yml", &format!("- hosts: all\n  {keyword}: {value}\n")),
            ("v.yml", "a: 1\n"),
            ("roles/r/tasks/main.yml", "- debug:\n"),
        ]);
    }
    let playbook = good(&[("site.yml", "- import_playbook: b.yml\n"), ("b.yml", "- hosts: x\n")]);
    assert_eq!(playbook.plays.len(), 1);
}

#[test]
fn every_module_is_known_or_refused_by_name() {
    let vocabulary = Vocabulary::new(modules::ALL.iter().map(Known::of));
    let modules = column("Modules");
    assert!(modules.len() > 50);
    for module in modules {
        let long = if module.contains('.') { module.clone() } else { format!("ansible.builtin.{module}") };
        for name in [module.clone(), long] {
            match vocabulary.meaning(&name) {
                Meaning::Module(_) => {}
                Meaning::Refused(why, instead) => assert!(!why.is_empty() && !instead.is_empty()),
                Meaning::Unknown(near) => panic!("{name} is unknown, near {near:?}"),
            }
        }
    }
}

#[test]
fn every_keyword_that_the_tables_name_is_taken() {
    for keyword in keywords::TASK.into_iter().chain(keywords::SHARED) {
        if keywords::refused(keyword).is_some()
            || matches!(
                keyword,
                "expect"
                    | "gate"
                    | "undo"
                    | "local_action"
                    | "accept_risk"
                    | "become_method"
                    | "module_defaults"
            )
        {
            continue;
        }
        let text =
            task_with(keyword).replace("port: true", "port: 22").replace("throttle: true", "throttle: 1");
        let text = text.replace("timeout: true", "timeout: 1").replace("dead_man: true", "dead_man: 30");
        let text = text
            .replace("_user: true", "_user: a")
            .replace("_flags: true", "_flags: a")
            .replace("_exe: true", "_exe: a");
        let text = text.replace("connection: true", "connection: a");
        if let Err(problems) = load(&[("site.yml", &text)]) {
            panic!("{keyword}: {}", crate::report::diagnostic::render(&problems, false));
        }
    }
}
