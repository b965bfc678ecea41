//! Blocks: what rescue and always see, and what is taken back.
use crate::bed::Bed;

#[test]
fn rescue_sees_what_failed_and_always_runs() {
    let bed = Bed::one();
    let done = bed.tasks(
        r#"- block:
    - copy: {dest: "{{ root }}/before", content: x}
    - name: the bad one
      command: sh -c 'echo words; exit 4'
    - copy: {dest: "{{ root }}/never", content: x}
  rescue:
    - name: t
      debug: {msg: "{{ ansible_failed_task.name }} {{ ansible_failed_result.rc }} {{ ansible_failed_result.stdout }}"}
    - copy: {dest: "{{ root }}/rescued", content: x}
  always:
    - copy: {dest: "{{ root }}/always", content: x}
- copy: {dest: "{{ root }}/after", content: x}"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["the bad one 4 words"]);
    let names = bed.names("a");
    for name in ["after", "always", "rescued"] {
        assert!(names.iter().any(|there| there == name), "{name} is not in {names:?}");
    }
    assert!(!names.iter().any(|name| name == "never"));
}

#[test]
fn a_failure_in_rescue_ends_the_host_after_always() {
    let bed = Bed::one();
    let done = bed.tasks(
        r#"- block:
    - command: /bin/false
  rescue:
    - fail: {msg: "cannot be rescued"}
  always:
    - copy: {dest: "{{ root }}/always", content: x}
- copy: {dest: "{{ root }}/after", content: x}"#,
    );
    assert_ne!(done.code, 0);
    done.says("cannot be rescued");
    assert_eq!(bed.names("a"), ["always"]);
}

#[test]
fn a_failure_without_rescue_still_runs_always() {
    let bed = Bed::one();
    let done = bed.tasks(
        "- block:\n    - command: /bin/false\n  always:\n    - copy: {dest: \"{{ root }}/always\", content: x}\n- copy: {dest: \"{{ root }}/after\", content: x}",
    );
    assert_ne!(done.code, 0);
    assert_eq!(bed.names("a"), ["always"]);
}

#[test]
fn blocks_hand_down_and_nest() {
    let bed = Bed::one();
    let done = bed.tasks(
        r#"- block:
    - block:
        - name: t
          debug: {msg: "{{ p }} {{ q }}"}
          vars: {q: 3}
        - fail: {msg: inner}
          ignore_errors: true
      vars: {q: 2}
    - name: nay
      debug: {msg: x}
      when: p == 2
    - command: /bin/false
  vars: {p: 1, q: 1}
  when: p == 1
  rescue:
    - block:
        - command: /bin/false
      rescue:
        - name: deep
          debug: {msg: "{{ ansible_failed_task.name }} {{ p }}"}"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["1 3"]);
    assert_eq!(done.said("a", "deep"), ["command 1"]);
    assert!(done.said("a", "nay").is_empty());
}

#[test]
fn a_rescued_plan_time_failure_needs_no_host_change() {
    let bed = Bed::one();
    let done = bed.tasks(
        "- block:\n    - assert: {that: false, fail_msg: told}\n  rescue:\n    - name: t\n      debug: {msg: \"{{ ansible_failed_result.msg }}\"}",
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["told"]);
}
