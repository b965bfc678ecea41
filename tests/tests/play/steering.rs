//! Tags, where to start, meta, debug, assert, pause, waiting, environment.
use crate::bed::{Bed, on_all};

#[test]
fn tags_choose_tasks() {
    let bed = Bed::one();
    bed.file("more.yml", "- name: t\n  debug: {msg: in}\n  tags: x\n- name: t\n  debug: {msg: untagged}\n");
    bed.file("site.yml", &on_all("- name: t\n  debug: {msg: x}\n  tags: x\n- name: t\n  debug: {msg: y}\n  tags: [y, z]\n- name: t\n  debug: {msg: always}\n  tags: always\n- name: t\n  debug: {msg: never}\n  tags: [never, n]\n- include_tasks: more.yml\n  tags: x\n- import_tasks: more.yml\n  tags: w\n"));
    let said = |arguments: &[&str]| {
        let done = bed.call(&[&["--yes"][..], arguments].concat());
        done.ok();
        done.said("a", "t").join(" ")
    };
    assert_eq!(said(&["--tags", "x"]), "x always in in");
    assert_eq!(said(&["--tags", "y,n"]), "y always never");
    assert_eq!(said(&["--skip-tags", "x,w"]), "y always");
    assert_eq!(said(&["--tags", "w"]), "always in untagged");
    assert_eq!(said(&[]), "x y always in untagged in untagged");
}

#[test]
fn starts_at_a_task() {
    let bed = Bed::one();
    bed.file("site.yml", &on_all("- name: one\n  debug: {msg: 1}\n- name: two\n  debug: {msg: 2}\n- name: three\n  debug: {msg: 3}"));
    let done = bed.call(&["--yes", "--start-at-task", "two"]);
    done.ok();
    assert!(done.said("a", "one").is_empty());
    assert_eq!(
        (done.said("a", "two"), done.said("a", "three")),
        (vec!["2".to_owned()], vec!["3".to_owned()])
    );
    bed.call(&["--yes", "--start-at-task", "four"]).ended(2).says("four");
}

#[test]
fn meta_ends_a_play_or_a_host() {
    let bed = Bed::new(&["a", "b"]);
    let done = bed.play("- hosts: all\n  gather_facts: false\n  tasks:\n    - meta: end_host\n      when: inventory_hostname == 'a'\n    - name: t\n      debug: {msg: first}\n    - meta: end_play\n    - name: t\n      debug: {msg: no}\n- hosts: all\n  gather_facts: false\n  tasks:\n    - name: t\n      debug: {msg: second}\n");
    done.ok();
    assert_eq!(done.said("a", "t"), ["second"]);
    assert_eq!(done.said("b", "t"), ["first", "second"]);
}

#[test]
fn what_debug_assert_and_fail_say() {
    let done = Bed::one().tasks("- name: l\n  debug: {msg: [1, x]}\n- name: v\n  debug: {var: nope}\n- assert: {that: [1 == 1, \"'p' in ['p']\"], quiet: true}\n- name: s\n  debug: {msg: shown, verbosity: 0}\n- name: q\n  debug: {msg: hidden, verbosity: 2}\n- assert:\n    that:\n      - 1 == 1\n      - 2 == 3\n    fail_msg: \"{{ 'two' }} is not three\"");
    done.ended(1).says("two is not three").says("site.yml:1").never_says("hidden");
}

#[test]
fn commands_see_their_environment() {
    let bed = Bed::one();
    let done = bed.play("- hosts: all\n  gather_facts: false\n  environment: {P: play, Q: play}\n  tasks:\n    - shell: echo $P $Q $R\n      environment: {Q: task, R: \"{{ 1 + 1 }}\"}\n      register: r\n    - name: t\n      debug: {msg: \"{{ r.stdout }}\"}\n");
    done.ok();
    assert_eq!(done.said("a", "t"), ["play task 2"]);
}

#[test]
fn pauses_for_a_time_but_not_for_nobody() {
    Bed::one().tasks("- pause: {seconds: 0}\n- debug: {msg: x}").ok();
    let done = Bed::one().tasks("- pause: {prompt: Ready}\n- debug: {msg: x}");
    assert_ne!(done.code, 0);
}

#[test]
fn defaults_of_modules_lie_below_arguments() {
    let bed = Bed::one();
    let done = bed.play("- hosts: all\n  gather_facts: false\n  module_defaults:\n    copy: {mode: '0600', content: default}\n    ansible.builtin.file: {state: directory}\n  tasks:\n    - copy: {dest: \"{{ root }}/x\"}\n    - copy: {dest: \"{{ root }}/y\", content: own}\n    - file: {path: \"{{ root }}/d\"}\n");
    done.ok();
    assert_eq!((bed.got("a/x").as_deref(), bed.got("a/y").as_deref()), (Some("default"), Some("own")));
    assert!(bed.dir.join("roots/a/d").is_dir());
}

#[test]
fn waits_for_a_file() {
    let bed = Bed::one();
    let root = bed.dir.join("roots/a/there");
    let late = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(700));
        std::fs::write(root, "x").unwrap();
    });
    bed.tasks("- command: /bin/true\n- wait_for: {path: \"{{ root }}/there\", timeout: 20, sleep: 1}\n- copy: {dest: \"{{ root }}/after\", content: x}").ok();
    late.join().unwrap();
    assert_eq!(bed.names("a"), ["after", "there"]);
    let done = bed.tasks("- wait_for: {path: \"{{ root }}/never\", timeout: 1, sleep: 1}");
    assert_ne!(done.code, 0);
}

#[test]
fn tasks_that_fight_are_told_in_the_plan() {
    let bed = Bed::one();
    bed.file("site.yml", &on_all("- copy: {dest: \"{{ root }}/x\", content: \"one\\n\"}\n- lineinfile: {path: \"{{ root }}/x\", line: two, regexp: '^one'}\n- copy: {dest: \"{{ root }}/y\", content: y}\n- file: {path: \"{{ root }}/y\", mode: '0600'}\n- lineinfile: {path: \"{{ root }}/z\", line: p, create: true}\n- lineinfile: {path: \"{{ root }}/z\", line: q}"));
    let done = bed.call(&["--check"]);
    done.ok().says("undoes what this task asks for");
    assert_eq!(done.out.matches("undoes").count(), 1, "{}", done.out);
}

#[test]
fn what_something_else_changes_meanwhile_is_not_proven() {
    let bed = Bed::one();
    let done = bed.tasks("- copy: {dest: \"{{ root }}/x\", content: one}\n- shell: echo two > {{ root }}/x\n- copy: {dest: \"{{ root }}/y\", content: one}");
    assert_ne!(done.code, 0);
    done.says("is not what was asked for").says("site.yml:4:");
    let bed = Bed::one();
    let done = bed.tasks("- copy: {dest: \"{{ root }}/x\", content: one}\n- shell: echo two > {{ root }}/x\n  ignore_errors: true");
    done.ended(1).says("is not as it asked for").says("site.yml:4:");
    let bed = Bed::one();
    bed.tasks("- copy: {dest: \"{{ root }}/x\", content: one}\n- copy: {dest: \"{{ root }}/x\", content: two}\n- file: {path: \"{{ root }}/x\", mode: '0600'}\n- file: {path: \"{{ root }}/z\", state: touch}").ok();
}
