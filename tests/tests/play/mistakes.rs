//! What is wrong is told with its place, all of it, and before any host is changed.
use crate::bed::Bed;

#[track_caller]
fn refused(tasks: &str, words: &[&str]) {
    let bed = Bed::one();
    let done = bed.tasks(&format!("- copy: {{dest: \"{{{{ root }}}}/first\", content: x}}\n{tasks}"));
    assert_ne!(done.code, 0, "{}{}", done.out, done.err);
    for word in words {
        done.says(word);
    }
    assert_eq!(bed.names("a"), Vec::<String>::new(), "something was changed");
}

#[test]
fn undefined_variables() {
    refused(
        "- copy: {dest: \"{{ root }}/x\", content: \"{{ swapines }}\"}\n  vars: {swappiness: 1}",
        &["swapines", "swappiness", "site.yml:5:"],
    );
    refused("- debug: {msg: \"{{ a_map.missing }}\"}\n  vars: {a_map: {p: 1}}", &["missing", "site.yml:5:"]);
    refused("- debug: {msg: x}\n  when: nothing == 1", &["nothing", "site.yml:6:"]);
}

#[test]
fn wrong_kinds_of_values() {
    refused(
        "- copy: {dest: \"{{ root }}/x\", content: x, mode: \"{{ 'rwx-no' }}\"}",
        &["mode", "site.yml:5:"],
    );
    refused(
        "- file: {path: \"{{ root }}/x\", state: \"{{ 'folder' }}\"}",
        &["folder", "directory", "site.yml:5:"],
    );
    refused("- file: {path: \"{{ root }}/x\", sate: directory}", &["sate", "state", "site.yml:5:"]);
    refused("- sysctl: {name: vm.swappiness, value: \"{{ {'p': 1} }}\"}", &["value", "site.yml:5:"]);
}

#[test]
fn missing_files_and_roles() {
    refused("- copy: {src: none.txt, dest: \"{{ root }}/x\"}", &["none.txt", "site.yml:5:"]);
    refused("- template: {src: \"{{ 'none' }}.j2\", dest: \"{{ root }}/x\"}", &["none.j2", "site.yml:5:"]);
    refused("- include_vars: none.yml", &["none.yml", "site.yml:5:"]);
    refused("- include_tasks: none.yml", &["none.yml", "site.yml:5:"]);
    refused("- include_tasks: \"{{ 'none' }}.yml\"", &["none.yml", "site.yml:5:"]);
    refused("- include_role: {name: none}", &["none", "site.yml:5:"]);
}

#[test]
fn a_template_file_with_a_mistake_is_told_with_its_line() {
    let bed = Bed::one();
    bed.file("templates/t.j2", "one\n{{ swapines }}\n");
    let done = bed.tasks(
        "- copy: {dest: \"{{ root }}/x\", content: x}\n- template: {src: t.j2, dest: \"{{ root }}/y\"}",
    );
    assert_ne!(done.code, 0);
    done.says("swapines").says("t.j2:2:");
    assert_eq!(bed.names("a"), Vec::<String>::new());
}

#[test]
fn every_mistake_is_told_not_the_first() {
    let bed = Bed::one();
    let done = bed.tasks("- debug: {msg: \"{{ one_missing }}\"}\n- debug: {msg: \"{{ two_missing }}\"}\n- debug: {msg: x}\n  when: three_missing");
    assert_ne!(done.code, 0);
    done.says("one_missing").says("two_missing").says("three_missing");
}
