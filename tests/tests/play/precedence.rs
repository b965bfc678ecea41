//! Every level of variables against Ansible's order: what ansible-core 2.19 gave for this very playbook.
use crate::bed::Bed;
use std::fmt::Write as _;

/// From the lowest rank to the highest.
const LEVELS: [&str; 19] = [
    "role_default",
    "inv_file_group_all",
    "inv_gv_all",
    "pb_gv_all",
    "inv_gv_group",
    "pb_gv_group",
    "inv_file_host",
    "inv_hv",
    "pb_hv",
    "play_vars",
    "vars_files",
    "role_vars",
    "block_vars",
    "task_vars",
    "include_vars",
    "set_fact",
    "role_params",
    "include_params",
    "extra",
];

/// Variable `p_X` is set on every level up to X, each with the level's name: so the level that wins is read off.
fn vars(level: &str, indent: usize) -> String {
    let from = LEVELS.iter().position(|known| *known == level).unwrap();
    LEVELS[from..].iter().fold(String::new(), |mut text, name| {
        let _ = writeln!(text, "{:indent$}p_{name}: {level}", "");
        text
    })
}

fn bed() -> Bed {
    let bed = Bed::new(&[]);
    let show: Vec<String> = LEVELS.iter().map(|level| format!("{{{{ p_{level} }}}}")).collect();
    let show = show.join(" ");
    let own = bed.dir.display().to_string();
    bed.file(
        "inv/hosts.yml",
        &format!(
            "all:\n  vars:\n    ansible_connection: local\n    tunerun_state_dir: {own}/state\n{}  children:\n    g:\n      hosts:\n        a:\n{}",
            vars("inv_file_group_all", 4),
            vars("inv_file_host", 10)
        ),
    )
    .file("inv/group_vars/all.yml", &vars("inv_gv_all", 0))
    .file("group_vars/all.yml", &vars("pb_gv_all", 0))
    .file("inv/group_vars/g.yml", &vars("inv_gv_group", 0))
    .file("group_vars/g.yml", &vars("pb_gv_group", 0))
    .file("inv/host_vars/a.yml", &vars("inv_hv", 0))
    .file("host_vars/a.yml", &vars("pb_hv", 0))
    .file("vars/files.yml", &vars("vars_files", 0))
    .file("vars/included.yml", &vars("include_vars", 0))
    .file("extra.yml", &vars("extra", 0))
    .file("roles/r/defaults/main.yml", &vars("role_default", 0))
    .file("roles/r/vars/main.yml", &vars("role_vars", 0))
    .file(
        "roles/r/tasks/main.yml",
        &format!(
            "- vars:\n{}  block:\n    - name: t\n      debug: {{msg: \"{show}\"}}\n      vars:\n{}- include_tasks: more.yml\n  vars:\n{}",
            vars("block_vars", 4),
            vars("task_vars", 8),
            vars("include_params", 4)
        ),
    )
    .file(
        "roles/r/tasks/more.yml",
        &format!("- name: u\n  debug: {{msg: \"{show}\"}}\n  vars:\n{}", vars("task_vars", 4)),
    )
    .file(
        "site.yml",
        &format!(
            "- hosts: a\n  gather_facts: false\n  vars:\n{}  vars_files: [vars/files.yml]\n  pre_tasks:\n    - include_vars: vars/included.yml\n    - set_fact:\n{}    - name: pre\n      debug: {{msg: \"{show}\"}}\n      vars:\n{}  roles:\n    - role: r\n{}",
            vars("play_vars", 4),
            vars("set_fact", 8),
            vars("task_vars", 8),
            vars("role_params", 6)
        ),
    );
    bed
}

/// The levels that win; those that are not set in a place fall back to the next lower one that is.
fn wanted(absent: &[&str]) -> String {
    let mut won = Vec::new();
    let mut last = "";
    for level in LEVELS {
        if !absent.contains(&level) {
            last = level;
        }
        won.push(last);
    }
    won.join(" ")
}

#[test]
fn every_level_has_ansibles_rank() {
    let bed = bed();
    let done = bed.call_on("inv", &["--yes"]);
    done.ok();
    assert_eq!(done.said("a", "pre"), [wanted(&["block_vars", "role_params", "include_params", "extra"])]);
    assert_eq!(done.said("a", "r : t"), [wanted(&["include_params", "extra"])]);
    assert_eq!(done.said("a", "r : u"), [wanted(&["block_vars", "extra"])]);
    let done = bed.call_on("inv", &["--yes", "-e", "@extra.yml"]);
    done.ok();
    assert_eq!(done.said("a", "r : t"), [wanted(&["include_params"])]);
}
