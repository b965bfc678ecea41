//! Roles: their parts, parameters, dependencies, and that each runs once.
use crate::bed::Bed;

fn tuned(bed: &Bed) {
    bed.file("roles/tuned/defaults/main.yml", "level: low\npath: \"{{ root }}/{{ level }}\"\n")
        .file("roles/tuned/vars/main.yml", "fixed: of-role\n")
        .file("roles/tuned/files/plain.txt", "plain\n")
        .file("roles/tuned/templates/shape.j2", "{{ level }} {{ fixed }} {{ role_name }}\n")
        .file(
            "roles/tuned/tasks/main.yml",
            "- copy: {src: plain.txt, dest: \"{{ path }}.txt\"}\n  notify: told\n- template: {src: shape.j2, dest: \"{{ path }}.conf\"}\n- include_tasks: more.yml\n",
        )
        .file("roles/tuned/tasks/more.yml", "- shell: echo {{ level }} >> {{ root }}/runs\n")
        .file("roles/tuned/tasks/other.yml", "- shell: echo other {{ level }} >> {{ root }}/runs\n")
        .file("roles/tuned/handlers/main.yml", "- name: told\n  shell: echo handler {{ fixed }} >> {{ root }}/runs\n")
        .file("roles/tuned/meta/main.yml", "dependencies: [{role: base, from: tuned}]\n")
        .file("roles/base/tasks/main.yml", "- shell: echo base {{ from }} >> {{ root }}/runs\n");
}

#[test]
fn a_role_brings_all_its_parts() {
    let bed = Bed::one();
    tuned(&bed);
    bed.play("- hosts: all\n  gather_facts: false\n  roles:\n    - role: tuned\n      level: high\n    - {role: tuned, level: high}\n    - role: base\n      vars: {from: play}\n").ok();
    assert_eq!(bed.got("a/high.txt").as_deref(), Some("plain\n"));
    assert_eq!(bed.got("a/high.conf").as_deref(), Some("high of-role tuned\n"));
    let runs = bed.got("a/runs").unwrap();
    assert_eq!(runs, "base tuned\nhigh\nbase play\nhandler of-role\n");
}

#[test]
fn roles_are_included_with_loops_and_parts() {
    let bed = Bed::one();
    tuned(&bed);
    bed.tasks(
        r#"- include_role: {name: tuned, tasks_from: other}
  vars: {level: "{{ item }}"}
  loop: [p, q]
- import_role: {name: tuned, tasks_from: other.yml}
  vars: {level: r}
- include_role: {name: "{{ which }}"}
  vars: {which: base, from: here}"#,
    )
    .ok();
    let runs = bed.got("a/runs").unwrap();
    let others: Vec<&str> = runs.lines().filter(|line| line.starts_with("other")).collect();
    assert_eq!(others, ["other p", "other q", "other r"]);
    assert!(runs.lines().any(|line| line == "base here"), "{runs}");
}

#[test]
fn variables_of_an_included_role_stay_only_where_public() {
    let bed = Bed::one();
    bed.file("roles/v/defaults/main.yml", "d: 1\n")
        .file("roles/v/vars/main.yml", "v: 2\n")
        .file("roles/v/tasks/main.yml", "- debug: {msg: \"{{ d }}\"}\n");
    let done = bed.tasks(
        "- include_role: {name: v}\n- name: t\n  debug: {msg: \"{{ d | default('none') }} {{ v | default('none') }}\"}\n- include_role: {name: v, public: true}\n- name: t\n  debug: {msg: \"{{ d | default('none') }} {{ v | default('none') }}\"}",
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["none none", "1 2"]);
}

#[test]
fn a_handler_of_a_role_is_notified_by_its_long_name_and_by_topic() {
    let bed = Bed::one();
    tuned(&bed);
    bed.play("- hosts: all\n  gather_facts: false\n  roles: [{role: tuned, level: low}]\n  tasks:\n    - command: /bin/true\n      notify: 'tuned : told'\n").ok();
    let runs = bed.got("a/runs").unwrap();
    assert_eq!(runs.lines().filter(|line| *line == "handler of-role").count(), 1, "{runs}");
}
