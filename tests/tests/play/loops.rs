//! Loops of every kind, their registers and their control.
use crate::bed::Bed;

fn items(tasks: &str) -> Vec<String> {
    let done = Bed::one().tasks(tasks);
    done.ok();
    done.said("a", "t")
}

#[test]
fn every_kind_gives_ansibles_items() {
    let cases: [(&str, &[&str]); 14] = [
        ("loop: [1, [2, 3]]", &["1", "[2, 3]"]),
        ("with_items: [1, [2, [3]]]", &["1", "2", "[3]"]),
        ("with_list: [1, [2, 3]]", &["1", "[2, 3]"]),
        ("with_flattened: [1, [2, [3, 4]]]", &["1", "2", "3", "4"]),
        ("with_indexed_items: [x, y]", &["[0, 'x']", "[1, 'y']"]),
        ("with_dict: {p: 1, q: 2}", &["{'key': 'p', 'value': 1}", "{'key': 'q', 'value': 2}"]),
        ("with_sequence: start=1 end=5 stride=2 format=d%02d", &["d01", "d03", "d05"]),
        ("with_sequence: count=2", &["1", "2"]),
        ("with_together: [[a, b], [1]]", &["['a', 1]", "['b', None]"]),
        ("with_nested: [[a], [1, 2]]", &["['a', 1]", "['a', 2]"]),
        (
            "with_subelements: [[{n: x, p: [1, 2]}, {n: y}], p, {skip_missing: true}]",
            &["[{'n': 'x', 'p': [1, 2]}, 1]", "[{'n': 'x', 'p': [1, 2]}, 2]"],
        ),
        ("loop: \"{{ {'p': 1} | dict2items }}\"", &["{'key': 'p', 'value': 1}"]),
        ("loop: \"{{ [1, 2] | product([3]) | list }}\"", &["[1, 3]", "[2, 3]"]),
        ("with_inventory_hostnames: all", &["a"]),
    ];
    for (kind, wanted) in cases {
        let tasks = format!("- name: t\n  debug: {{msg: \"{{{{ item | string }}}}\"}}\n  {kind}");
        assert_eq!(items(&tasks), wanted, "{kind}");
    }
}

#[test]
fn files_on_the_controller_are_looped_over() {
    let bed = Bed::one();
    bed.file("files/b.conf", "").file("files/a.conf", "").file("files/a.txt", "").file("vars/d.yml", "");
    let done = bed.tasks(
        "- name: t\n  debug: {msg: \"{{ item | basename }}\"}\n  with_fileglob: '*.conf'\n\
         - name: f\n  debug: {msg: \"{{ item | basename }}\"}\n  with_first_found: [none.conf, b.conf]\n\
         - name: g\n  debug: {msg: \"{{ item | basename }}\"}\n  with_first_found:\n    - files: [none.yml, d.yml]\n      paths: [vars]\n\
         - name: h\n  debug: {msg: \"{{ item }}\"}\n  with_first_found:\n    - files: [none.yml]\n      skip: true",
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["a.conf", "b.conf"]);
    assert_eq!(done.said("a", "f"), ["b.conf"]);
    assert_eq!(done.said("a", "g"), ["d.yml"]);
    assert!(done.said("a", "h").is_empty());
}

#[test]
fn the_control_of_a_loop() {
    let bed = Bed::one();
    let done = bed.tasks(
        r#"- name: t
  debug: {msg: "{{ n }}:{{ x.name }} {{ ansible_loop.index }}/{{ ansible_loop.length }} {{ ansible_loop.first }} {{ ansible_loop.last }} {{ ansible_loop.previtem.name | default('-') }} {{ ansible_loop.nextitem.name | default('-') }} {{ ansible_loop_var }}"}
  loop: [{name: p}, {name: q}]
  loop_control: {loop_var: x, index_var: n, extended: true, label: "the {{ x.name }}"}
- name: file
  copy: {dest: "{{ root }}/{{ item.name }}", content: x}
  loop: [{name: p, secretish: 1}]
  loop_control: {label: "the {{ item.name }}"}
- name: pause
  debug: {msg: "{{ item }}"}
  loop: [1, 2]
  loop_control: {pause: 0.1}"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["0:p 1/2 True False - q x", "1:q 2/2 False True p - x"]);
    bed.file("site.yml", &crate::bed::on_all("- name: file\n  copy: {dest: \"{{ root }}/new\", content: x}\n  loop: [{name: p}]\n  loop_control: {label: \"the {{ item.name }}\"}"));
    bed.call(&["--check"]).ok().says("file [the p]");
}

#[test]
fn what_a_loop_registers() {
    let bed = Bed::one();
    let done = bed.tasks(
        r#"- name: write
  copy: {dest: "{{ root }}/{{ item }}", content: "{{ item }}"}
  loop: [p, q]
  register: out
- name: ask
  command: "echo {{ item }}"
  loop: [p, q]
  register: asked
  changed_when: false
- name: some
  debug: {msg: "{{ item }}"}
  loop: [1, 2, 3]
  when: item != 2
  register: some
- name: none
  debug: {msg: "{{ item }}"}
  loop: []
  register: nil
- name: t
  debug: {msg: "{{ item }}"}
  loop:
    - "{{ out.results | map(attribute='item') | list | string }} {{ out.changed }} {{ out is changed }}"
    - "{{ asked.results | map(attribute='stdout') | list | string }} {{ asked.changed }}"
    - "{{ some.results | map(attribute='skipped', default=false) | list | string }}"
    - "{{ some.results | rejectattr('skipped', 'defined') | map(attribute='item') | list | string }}"
    - "{{ nil.results | string }} {{ nil is skipped }}""#,
    );
    done.ok();
    assert_eq!(
        done.said("a", "t"),
        ["['p', 'q'] True True", "['p', 'q'] False", "[False, True, False]", "[1, 3]", "[] True"]
    );
}

#[test]
fn a_loop_goes_over_what_an_earlier_one_registered() {
    let bed = Bed::one();
    let done = bed.tasks(
        r#"- stat: {path: "{{ root }}/{{ item }}"}
  loop: [p, q]
  register: there
- copy: {dest: "{{ root }}/{{ item.item }}", content: "{{ item.item }} {{ item.stat.exists }}"}
  loop: "{{ there.results }}"
  when: not item.stat.exists
- command: "cat {{ root }}/{{ item }}"
  loop: [p, q]
  register: read
- copy: {dest: "{{ root }}/{{ item.item }}2", content: "{{ item.stdout }}!"}
  loop: "{{ read.results }}"
  loop_control: {label: "{{ item.item }}"}"#,
    );
    done.ok();
    assert_eq!(bed.got("a/p2").as_deref(), Some("p False!"));
    assert_eq!(bed.got("a/q2").as_deref(), Some("q False!"));
}

#[test]
fn a_missing_list_does_not_matter_where_the_task_is_left_out() {
    Bed::one()
        .tasks("- debug: {msg: x}\n  loop: \"{{ nothing }}\"\n  when: false\n- debug: {msg: x}\n  loop: \"{{ nothing | default([]) }}\"")
        .ok();
    let done = Bed::one().tasks("- debug: {msg: x}\n  loop: \"{{ nothing }}\"");
    done.ended(1).says("nothing").says("site.yml:5:");
}

#[test]
fn a_loop_over_what_is_no_list_is_refused_before_anything_changes() {
    let bed = Bed::one();
    let done = bed.tasks(
        "- copy: {dest: \"{{ root }}/x\", content: x}\n- debug: {msg: x}\n  vars: {m: {p: 1}}\n  loop: \"{{ m }}\"",
    );
    done.ended(1).says("`loop` wants a list").says("dict2items");
    assert_eq!(bed.got("a/x"), None);
}
