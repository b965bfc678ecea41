//! Handlers: who is notified, when they run and in which order.
use crate::bed::Bed;

fn play(tasks: &str, handlers: &str, more: &str) -> String {
    let indent = |text: &str| text.lines().map(|line| format!("    {line}\n")).collect::<String>();
    format!(
        "- hosts: all\n  gather_facts: false\n{more}  tasks:\n{}  handlers:\n{}",
        indent(tasks),
        indent(handlers)
    )
}

/// A handler that adds its word to a file.
fn says(name: &str, more: &str) -> String {
    format!("- name: {name}\n  shell: echo {name} >> {{{{ root }}}}/log\n{more}")
}

#[test]
fn handlers_run_once_in_their_own_order_and_only_on_change() {
    let bed = Bed::one();
    let handlers = says("one", "")
        + &says("two", "  listen: both\n")
        + &says("three", "  listen: [both, other]\n")
        + &says("four", "");
    let tasks = "- copy: {dest: \"{{ root }}/x\", content: x}\n  notify: [both, one]\n- copy: {dest: \"{{ root }}/y\", content: y}\n  notify: one\n- copy: {dest: \"{{ root }}/y\", content: y}\n  notify: four";
    let text = play(tasks, &handlers, "");
    bed.play(&text).ok();
    assert_eq!(bed.got("a/log").as_deref(), Some("one\ntwo\nthree\n"));
    bed.play(&text).ok();
    assert_eq!(
        bed.got("a/log").as_deref(),
        Some("one\ntwo\nthree\n"),
        "nothing changed, so nobody is notified"
    );
}

#[test]
fn flushed_where_the_playbook_says() {
    let bed = Bed::one();
    let tasks = "- copy: {dest: \"{{ root }}/x\", content: x}\n  notify: one\n- meta: flush_handlers\n- shell: echo task >> {{ root }}/log\n- copy: {dest: \"{{ root }}/y\", content: y}\n  notify: one";
    bed.play(&play(tasks, &says("one", ""), "")).ok();
    assert_eq!(bed.got("a/log").as_deref(), Some("one\ntask\none\n"));
}

#[test]
fn templated_names_loops_and_handlers_that_notify() {
    let bed = Bed::one();
    let handlers = says("one", "  notify: two\n") + &says("two", "");
    let tasks = "- copy: {dest: \"{{ root }}/{{ item }}\", content: x}\n  loop: [p, q]\n  notify: \"{{ which }}\"\n  vars: {which: one}";
    bed.play(&play(tasks, &handlers, "")).ok();
    assert_eq!(bed.got("a/log").as_deref(), Some("one\ntwo\n"));
}

#[test]
fn a_command_notifies_when_it_ran() {
    let bed = Bed::one();
    let tasks = "- command: /bin/true\n  notify: one\n- command: /bin/true\n  changed_when: false\n  notify: two\n- shell: echo no\n  register: r\n  changed_when: r.stdout == 'yes'\n  notify: two";
    bed.play(&play(tasks, &(says("one", "") + &says("two", "")), "")).ok();
    assert_eq!(bed.got("a/log").as_deref(), Some("one\n"));
}

#[test]
fn handlers_of_a_failed_host_are_owed_unless_forced() {
    let bed = Bed::one();
    let tasks = "- copy: {dest: \"{{ root }}/x\", content: x}\n  notify: one\n- command: /bin/true\n- command: /bin/false";
    let done = bed.play(&play(tasks, &says("one", ""), ""));
    assert_ne!(done.code, 0);
    assert_eq!(bed.got("a/log"), None);
    let bed = Bed::one();
    let done = bed.play(&play(tasks, &says("one", ""), "  force_handlers: true\n"));
    assert_ne!(done.code, 0);
    assert_eq!(bed.got("a/log").as_deref(), Some("one\n"));
}

#[test]
fn of_two_handlers_with_one_name_the_later_counts() {
    let bed = Bed::one();
    let handlers = "- name: one\n  shell: echo first >> {{ root }}/log\n- name: one\n  shell: echo second >> {{ root }}/log\n";
    bed.play(&play("- copy: {dest: \"{{ root }}/x\", content: x}\n  notify: one", handlers, "")).ok();
    assert_eq!(bed.got("a/log").as_deref(), Some("second\n"));
}

#[test]
fn handlers_have_conditions_blocks_and_includes() {
    let bed = Bed::one();
    bed.file("more.yml", "- shell: echo included >> {{ root }}/log\n");
    let handlers = says("one", "  when: false\n") + "- name: two\n  include_tasks: more.yml\n";
    bed.play(&play("- copy: {dest: \"{{ root }}/x\", content: x}\n  notify: [one, two]", &handlers, "")).ok();
    assert_eq!(bed.got("a/log").as_deref(), Some("included\n"));
}

#[test]
fn handlers_run_after_each_section() {
    let bed = Bed::one();
    let text = play(
        "- shell: echo task >> {{ root }}/log\n  notify: one",
        &says("one", ""),
        "  pre_tasks:\n    - shell: echo pre >> {{ root }}/log\n      notify: one\n  post_tasks:\n    - shell: echo post >> {{ root }}/log\n",
    );
    bed.play(&text).ok();
    assert_eq!(bed.got("a/log").as_deref(), Some("pre\none\ntask\none\npost\n"));
}
