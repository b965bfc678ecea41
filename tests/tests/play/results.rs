//! Registers, conditions on results, retries, late expressions, and facts that are set.
use crate::bed::{Bed, on_all};

#[test]
fn what_a_command_says_is_late_in_the_plan_and_decided_in_play() {
    let bed = Bed::one();
    let tasks = r#"- command: echo wide
  register: how
- copy: {dest: "{{ root }}/how", content: "{{ how.stdout }}"}
- set_fact: {both: "{{ how.stdout }}-{{ how.rc }}"}
- copy: {dest: "{{ root }}/both", content: "{{ both }}"}
- copy: {dest: "{{ root }}/never", content: x}
  when: how.stdout == 'narrow'
- copy: {dest: "{{ root }}/lines", content: "{{ how.stdout_lines | length }}"}
  when: "'wide' in how.stdout"
- copy: {dest: "{{ root }}/sure", content: sure}"#;
    bed.file("site.yml", &on_all(tasks));
    let check = bed.call(&["--check"]);
    check.ok().says("decided after `command`").says("~ copy");
    assert_eq!(bed.names("a"), Vec::<String>::new());
    bed.call(&["--yes"]).ok();
    assert_eq!(bed.names("a"), ["both", "how", "lines", "sure"]);
    assert_eq!(bed.got("a/both").as_deref(), Some("wide-0"));
    assert_eq!(bed.got("a/lines").as_deref(), Some("1"));
}

#[test]
fn conditions_on_results() {
    let done = Bed::one().tasks(
        r#"- command: sh -c 'echo warn; exit 3'
  register: r
  failed_when: r.rc not in [0, 3]
  changed_when: "'warn' not in r.stdout"
- command: sh -c 'echo fine'
  register: s
  failed_when: "'bad' in s.stdout"
- command: /bin/false
  register: u
  failed_when: false
  changed_when: u.rc == 0
- command: /bin/true
  register: v
  changed_when: [v.rc == 0, "v.stdout == ''"]
- name: t
  debug: {msg: "{{ item }}"}
  loop:
    - "{{ r.rc }} {{ r is changed }} {{ r is failed }} {{ r is succeeded }}"
    - "{{ s.changed }} {{ s.failed }}"
    - "{{ u.rc }} {{ u.changed }} {{ u is success }}"
    - "{{ v.changed }}""#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["3 False False True", "True False", "1 False True", "true"]);
}

#[test]
fn a_failing_command_ends_the_host_with_its_words() {
    let bed = Bed::one();
    let done = bed.tasks(
        "- shell: echo out; echo no such disk >&2; exit 7\n- copy: {dest: \"{{ root }}/after\", content: x}",
    );
    assert_ne!(done.code, 0);
    done.says("no such disk").says("site.yml:4:");
    assert_eq!(bed.got("a/after"), None);
}

#[test]
fn an_ignored_failure_goes_on() {
    let bed = Bed::one();
    let done = bed.tasks(
        r#"- command: /bin/false
  ignore_errors: true
  register: bad
- name: t
  debug: {msg: "{{ bad.rc }} {{ bad is failed }} {{ bad is success }}"}
- copy: {dest: "{{ root }}/after", content: x}
  when: bad is failed
- assert: {that: "1 == 2"}
  ignore_errors: true
- fail: {msg: no}
  ignore_errors: "{{ true }}"
- command: sh -c 'exit {{ item }}'
  loop: [0, 1, 0]
  ignore_errors: true
  register: many
- name: m
  debug: {msg: "{{ many.results | map(attribute='rc') | list | string }} {{ many is failed }}"}"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["1 True False"]);
    assert_eq!(done.said("a", "m"), ["[0, 1, 0] True"]);
    assert_eq!(bed.got("a/after").as_deref(), Some("x"));
}

#[test]
fn tries_until_it_holds() {
    let bed = Bed::one();
    let done = bed.tasks(
        r#"- shell: "echo x >> {{ root }}/count; wc -l < {{ root }}/count"
  register: n
  until: n.stdout | int >= 3
  retries: "{{ 5 }}"
  delay: 0
- name: t
  debug: {msg: "{{ n.stdout | trim }} {{ n.attempts }}"}
- command: /bin/false
  register: f
  until: f.rc == 0
  retries: 2
  delay: 0
  ignore_errors: true
- name: f
  debug: {msg: "{{ f.attempts }} {{ f is failed }}"}
- command: /bin/false
  until: false
  retries: 1
  delay: 0"#,
    );
    assert_ne!(done.code, 0);
    assert_eq!(done.said("a", "t"), ["3 3"]);
    assert_eq!(done.said("a", "f"), ["2 True"]);
    done.says("still does not hold");
    assert_eq!(bed.got("a/count").as_deref(), Some("x\nx\nx\n"));
}

#[test]
fn what_only_looks_is_tried_until_it_holds_too() {
    let bed = Bed::one();
    let tasks = r#"- copy: {dest: "{{ root }}/begun", content: x}
- stat: {path: "{{ root }}/awaited"}
  register: s
  until: s.stat.exists
  retries: 600
  delay: 0.05
- slurp: {src: "{{ root }}/awaited"}
  register: text
- find: {paths: "{{ root }}", patterns: "none*"}
  register: f
  until: f.matched > 0
  retries: 2
  delay: 0
  ignore_errors: true
- stat: {path: "{{ root }}/begun"}
  register: at_once
  until: at_once.stat.exists
- name: t
  debug: {msg: "{{ s.stat.exists }} {{ s.attempts > 0 }} {{ text.content | b64decode }} {{ f.attempts }} {{ f is failed }} {{ at_once.attempts }}"}"#;
    bed.file("site.yml", &on_all(tasks));
    // Planning does not wait: it says that it will be asked again.
    bed.call(&["--check"]).ok().says("decided after its `until` holds");
    let root = bed.dir.join("roots/a");
    let other = std::thread::spawn(move || {
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !root.join("begun").exists() && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::fs::write(root.join("awaited.new"), "here").unwrap();
        std::fs::rename(root.join("awaited.new"), root.join("awaited")).unwrap();
    });
    let done = bed.call(&["--yes"]);
    other.join().unwrap();
    done.ok();
    assert_eq!(done.said("a", "t"), ["True True here 2 True 1"]);
}

#[test]
fn what_only_looks_gives_up_and_can_be_rescued() {
    let bed = Bed::one();
    let done = bed.tasks(
        r#"- block:
    - stat: {path: "{{ root }}/awaited"}
      register: s
      until: s.stat.exists
      retries: 1
      delay: 0
  rescue:
    - copy: {dest: "{{ root }}/awaited", content: x}
- stat: {path: "{{ root }}/awaited"}
  register: s
  until: s.stat.exists
- copy: {dest: "{{ root }}/after", content: x}
- stat: {path: "{{ root }}/never"}
  register: n
  until: n.stat.exists
  retries: 1
  delay: 0"#,
    );
    assert_ne!(done.code, 0);
    done.says("still does not hold");
    assert_eq!(bed.names("a"), ["after", "awaited"]);
}

#[test]
fn facts_that_are_set_chain() {
    let done = Bed::one().tasks(
        r#"- set_fact: {one: 1, two: "{{ 1 + 1 }}", list: [p]}
- set_fact: {list: "{{ list + [item] }}"}
  loop: [q, r]
- set_fact: {three: "{{ one + two }}", cacheable: true}
- set_fact:
    by_name: "{{ by_name | default({}) | combine({item: item | upper}) }}"
  loop: [u, v]
- name: t
  debug: {msg: "{{ three }} {{ list | string }} {{ by_name | string }}"}
- name: v
  debug: {var: three}"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["3 ['p', 'q', 'r'] {'u': 'U', 'v': 'V'}"]);
    assert_eq!(done.said("a", "v"), ["three: 3"]);
}

#[test]
fn a_skipped_task_registers_that() {
    let done = Bed::one().tasks(
        "- command: /bin/true\n  register: r\n  when: false\n- name: t\n  debug: {msg: \"{{ r is skipped }} {{ r.changed }} {{ r.rc | default('none') }}\"}",
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["True False none"]);
}

#[test]
fn probes_run_while_planning_unless_told_not_to() {
    let bed = Bed::one();
    bed.file(
        "site.yml",
        &on_all(
            "- command: echo seen\n  register: r\n  changed_when: false\n  check_mode: false\n- copy: {dest: \"{{ root }}/x\", content: \"{{ r.stdout }}\\n\"}",
        ),
    );
    bed.call(&["--check", "--diff"]).ok().says("ran while planning").says("+seen");
    bed.call(&["--check", "--diff", "--no-probes"]).ok().says("decided after").never_says("+seen");
    bed.call(&["--yes", "--no-probes"]).ok();
    assert_eq!(bed.got("a/x").as_deref(), Some("seen\n"));
}

#[test]
fn a_task_in_check_mode_changes_nothing_and_says_what_it_would() {
    let bed = Bed::one();
    let done = bed.tasks(
        "- copy: {dest: \"{{ root }}/x\", content: x}\n  check_mode: true\n  register: r\n- name: t\n  debug: {msg: \"{{ r is changed }}\"}\n- copy: {dest: \"{{ root }}/y\", content: y}\n  when: r is changed",
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["true"]);
    assert_eq!(bed.names("a"), ["y"]);
}

#[test]
fn omit_drops_an_argument() {
    let bed = Bed::one();
    let tasks = "- copy: {dest: \"{{ root }}/x\", content: x, mode: \"{{ nothing | default(omit) }}\"}\n- copy: {dest: \"{{ root }}/y\", content: y, mode: \"{{ m | default(omit) }}\"}\n  vars: {m: '0600'}";
    bed.tasks(tasks).ok();
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |name: &str| {
        std::fs::metadata(bed.dir.join("roots/a").join(name)).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode("x"), mode("y")), (0o644, 0o600));
}
