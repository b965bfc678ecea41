//! Includes and imports of tasks and variables.
use crate::bed::Bed;

#[test]
fn includes_with_templates_loops_and_variables() {
    let bed = Bed::one();
    bed.file("one.yml", "- name: t\n  debug: {msg: \"one {{ p }} {{ item | default('-') }}\"}\n")
        .file("tasks/two.yml", "- name: t\n  debug: {msg: \"two {{ p }} {{ part }}\"}\n");
    let done = bed.tasks(
        r#"- include_tasks: "{{ which }}.yml"
  vars: {which: one, p: 1}
- include_tasks: tasks/two.yml
  vars: {p: "{{ part * 2 }}"}
  loop: [3, 4]
  loop_control: {loop_var: part}
- import_tasks: one.yml
  vars: {p: 5}
  when: root is defined
- include_tasks: one.yml
  vars: {p: 6}
  when: false
- include_tasks: {file: one.yml, apply: {vars: {p: 7}}}
  with_items: [x]"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["one 1 -", "two 6 3", "two 8 4", "one 5 -", "one 7 x"]);
}

#[test]
fn an_include_whose_condition_is_late_is_decided_in_play() {
    let bed = Bed::one();
    bed.file("one.yml", "- copy: {dest: \"{{ root }}/one\", content: x}\n");
    bed.tasks(
        "- command: echo yes\n  register: r\n- include_tasks: one.yml\n  when: r.stdout == 'yes'\n- include_tasks: \"{{ r.stdout }}.yml\"\n  when: r.stdout == 'no'",
    )
    .ok();
    assert_eq!(bed.names("a"), ["one"]);
}

#[test]
fn variables_are_included_from_files_folders_and_under_a_name() {
    let bed = Bed::one();
    bed.file("vars/one.yml", "p: 1\nq: \"{{ p + 1 }}\"\n")
        .file("vars/many/01.yml", "r: 1\n")
        .file("vars/many/02.yaml", "r: 2\n")
        .file("vars/many/no.txt", "r: 3\n");
    let done = bed.tasks(
        r#"- include_vars: one.yml
- include_vars: {dir: many}
- include_vars: {file: one.yml, name: under}
- include_vars: "{{ item }}"
  with_first_found: [none.yml, one.yml]
- name: t
  debug: {msg: "{{ p }} {{ q }} {{ r }} {{ under.p }} {{ under.q }}"}"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["1 2 2 1 2"]);
}

#[test]
fn files_of_variables_by_facts_lists_and_vault() {
    let bed = Bed::one();
    bed.file("vars/a.yml", "p: of-a\nover: first\n")
        .file("vars/default.yml", "q: of-default\n")
        .file("last.yml", "over: last\n")
        .file(
            "site.yml",
            "- hosts: all\n  gather_facts: false\n  vars: {over: play}\n  vars_files:\n    - \"vars/{{ inventory_hostname }}.yml\"\n    - [\"vars/{{ inventory_hostname }}-none.yml\", vars/default.yml]\n    - last.yml\n    - \"vars/{{ ansible_system }}.yml\"\n  tasks:\n    - name: t\n      debug: {msg: \"{{ p }} {{ q }} {{ over }} {{ s }}\"}\n",
        )
        .file("vars/Linux.yml", "s: of-linux\n");
    let done = bed.call(&["--yes"]);
    done.ok();
    assert_eq!(done.said("a", "t"), ["of-a of-default last of-linux"]);
}

#[test]
fn an_imported_playbook_brings_its_plays() {
    let bed = Bed::one();
    bed.file("more/site.yml", "- hosts: all\n  gather_facts: false\n  tasks:\n    - name: t\n      debug: {msg: \"{{ p }} {{ inventory_hostname }}\"}\n      tags: x\n");
    let done = bed.play("- import_playbook: more/site.yml\n  vars: {p: 1}\n- hosts: all\n  gather_facts: false\n  tasks:\n    - name: t\n      debug: {msg: own}\n");
    done.ok();
    assert_eq!(done.said("a", "t"), ["1 a", "own"]);
}
