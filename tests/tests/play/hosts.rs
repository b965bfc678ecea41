//! Several hosts: delegation, run_once, one another's variables, batches of hosts, hosts added on the way.
use crate::bed::Bed;

#[test]
fn hosts_see_one_anothers_variables_and_facts() {
    let bed = Bed::new(&["a", "b"]);
    bed.groups("g: {hosts: {b: {}}, vars: {colour: red}}");
    let done = bed.tasks(
        r#"- command: "echo of-{{ inventory_hostname }}"
  register: r
- name: t
  debug: {msg: "{{ hostvars['b'].r.stdout }} {{ hostvars.a.r.rc }} {{ hostvars['b']['colour'] }} {{ hostvars['b'].ansible_facts.system }} {{ hostvars[groups['g'][0]].ansible_kernel == ansible_kernel }}"}
- name: u
  debug: {msg: "{{ groups['all'] | map('extract', hostvars, 'inventory_hostname') | join(',') }} {{ group_names | string }} {{ groups.g | string }}"}"#,
    );
    done.ok();
    for host in ["a", "b"] {
        assert_eq!(done.said(host, "t"), ["of-b 0 red Linux True"]);
    }
    assert_eq!(done.said("b", "u"), ["a,b ['g'] ['b']"]);
}

#[test]
fn what_runs_once_runs_on_the_first_host_and_all_have_its_result() {
    let bed = Bed::new(&["a", "b", "c"]);
    let done = bed.tasks(
        r#"- shell: "echo {{ inventory_hostname }} | tee -a {{ root }}/once"
  register: r
  run_once: true
- set_fact: {from_once: "{{ inventory_hostname }}"}
  run_once: true
- name: t
  debug: {msg: "{{ r.stdout }} {{ from_once }}"}
- copy: {dest: "{{ root }}/x", content: "{{ r.stdout }}"}"#,
    );
    done.ok();
    for host in ["a", "b", "c"] {
        assert_eq!(done.said(host, "t"), ["a a"]);
        assert_eq!(bed.got(&format!("{host}/x")).as_deref(), Some("a"));
    }
    assert_eq!((bed.got("a/once").as_deref(), bed.got("b/once")), (Some("a\n"), None));
}

#[test]
fn what_runs_once_and_fails_fails_all() {
    let bed = Bed::new(&["a", "b"]);
    let done =
        bed.tasks("- command: /bin/false\n  run_once: true\n- copy: {dest: \"{{ root }}/x\", content: x}");
    assert_ne!(done.code, 0);
    assert_eq!((bed.got("a/x"), bed.got("b/x")), (None, None));
}

#[test]
fn tasks_are_delegated_to_localhost_and_to_other_hosts() {
    let bed = Bed::new(&["a", "b"]);
    let done = bed.tasks(
        r#"- shell: "echo {{ inventory_hostname }} >> {{ hostvars['b'].root }}/log"
  delegate_to: b
- command: echo local
  delegate_to: localhost
  register: l
  changed_when: false
- local_action: {module: command, cmd: echo local2}
  register: m
- set_fact: {p: "{{ inventory_hostname }}"}
  delegate_to: b
  delegate_facts: true
  run_once: true
- name: t
  debug: {msg: "{{ l.stdout }} {{ m.stdout }} {{ p | default('none') }} {{ hostvars['b'].p | default('none') }}"}"#,
    );
    done.ok();
    let mut log: Vec<String> = bed.got("b/log").unwrap().lines().map(str::to_owned).collect();
    log.sort();
    assert_eq!(log, ["a", "b"]);
    assert_eq!(done.said("a", "t"), ["local local2 none a"]);
    assert_eq!(done.said("b", "t"), ["local local2 a a"]);
    Bed::one().tasks("- command: x\n  delegate_to: nowhere").ended(1).says("nowhere");
}

#[test]
fn hosts_go_in_batches_and_stop_where_too_many_fail() {
    let bed = Bed::new(&["a", "b", "c", "d"]);
    let log = bed.dir.join("log");
    let done = bed.play(&format!("- hosts: all\n  gather_facts: false\n  serial: [1, 2]\n  tasks:\n    - name: t\n      debug: {{msg: \"{{{{ ansible_play_batch | string }}}} {{{{ ansible_play_hosts_all | length }}}}\"}}\n    - shell: echo {{{{ inventory_hostname }}}} >> {}\n", log.display()));
    done.ok();
    assert_eq!(done.said("a", "t"), ["['a'] 4"]);
    assert_eq!(done.said("c", "t"), ["['b', 'c'] 4"]);
    assert_eq!(done.said("d", "t"), ["['d'] 4"]);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text == "a\nb\nc\nd\n" || text == "a\nc\nb\nd\n", "{text}");
    for (most, wanted) in [("0", "a"), ("49", "a"), ("50", "abcd"), ("100", "abcd")] {
        let bed = Bed::new(&["a", "b", "c", "d"]);
        let done = bed.play(&format!("- hosts: all\n  gather_facts: false\n  serial: 2\n  max_fail_percentage: {most}\n  tasks:\n    - command: test {{{{ inventory_hostname }}}} != b\n    - copy: {{dest: \"{{{{ root }}}}/x\", content: x}}\n"));
        assert_ne!(done.code, 0);
        let did: String =
            ["c", "d"].into_iter().filter(|host| bed.got(&format!("{host}/x")).is_some()).collect();
        assert_eq!(did, wanted.replace(['a', 'b'], ""), "max_fail_percentage {most}");
    }
}

#[test]
fn a_batch_that_fails_wholly_stops_the_play() {
    let bed = Bed::new(&["a", "b"]);
    let done = bed.play("- hosts: all\n  gather_facts: false\n  serial: 1\n  tasks:\n    - command: test {{ inventory_hostname }} != a\n    - copy: {dest: \"{{ root }}/x\", content: x}\n");
    assert_ne!(done.code, 0);
    assert_eq!(bed.got("b/x"), None);
}

#[test]
fn any_error_is_fatal_where_the_play_says_so() {
    for (fatal, wanted) in [("true", None), ("false", Some("x"))] {
        let bed = Bed::new(&["a", "b"]);
        let done = bed.play(&format!("- hosts: all\n  gather_facts: false\n  any_errors_fatal: {fatal}\n  tasks:\n    - command: test {{{{ inventory_hostname }}}} != b\n    - copy: {{dest: \"{{{{ root }}}}/x\", content: x}}\n"));
        assert_ne!(done.code, 0);
        assert_eq!(bed.got("a/x").as_deref(), wanted, "any_errors_fatal: {fatal}");
    }
}

#[test]
fn a_failed_host_has_no_part_in_later_plays() {
    let bed = Bed::new(&["a", "b"]);
    let done = bed.play("- hosts: all\n  gather_facts: false\n  tasks:\n    - command: test {{ inventory_hostname }} != b\n- hosts: all\n  gather_facts: false\n  tasks:\n    - copy: {dest: \"{{ root }}/x\", content: \"{{ ansible_play_hosts | string }}\"}\n");
    assert_ne!(done.code, 0);
    assert_eq!(bed.got("b/x"), None);
    assert_eq!(bed.got("a/x").as_deref(), Some("['a']"));
}

#[test]
fn hosts_and_groups_made_on_the_way_have_their_plays() {
    let bed = Bed::new(&["a", "b"]);
    std::fs::create_dir_all(bed.dir.join("roots/new")).unwrap();
    let done = bed.play(
        r#"- hosts: all
  gather_facts: false
  tasks:
    - group_by: {key: "of_{{ inventory_hostname }}"}
    - add_host: {name: new, groups: [fresh], colour: blue}
      run_once: true
- hosts: of_a
  gather_facts: false
  tasks:
    - name: t
      debug: {msg: grouped}
- hosts: fresh
  gather_facts: false
  tasks:
    - copy: {dest: "{{ root }}/x", content: "{{ colour }}"}
"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["grouped"]);
    assert!(done.said("b", "t").is_empty());
    assert_eq!(bed.got("new/x").as_deref(), Some("blue"));
}

#[test]
fn hosts_are_added_after_what_a_command_says() {
    let bed = Bed::new(&["a"]);
    std::fs::create_dir_all(bed.dir.join("roots/found")).unwrap();
    bed.play("- hosts: a\n  gather_facts: false\n  tasks:\n    - command: echo found\n      register: r\n    - add_host: {name: \"{{ r.stdout }}\", groups: fresh}\n- hosts: fresh\n  gather_facts: false\n  tasks:\n    - copy: {dest: \"{{ root }}/x\", content: x}\n").ok();
    assert_eq!(bed.got("found/x").as_deref(), Some("x"));
}

#[test]
fn facts_are_read_where_they_are_named() {
    let bed = Bed::one();
    bed.file(
        "templates/f.j2",
        "{{ ansible_facts['kernel'] }} {{ ansible_facts.system }} {{ ansible_system }}\n",
    );
    let done = bed.play("- hosts: all\n  tasks:\n    - template: {src: f.j2, dest: \"{{ root }}/f\"}\n    - name: t\n      debug: {msg: \"{{ ansible_memtotal_mb | int > 0 }} {{ ansible_facts.processor_vcpus > 0 }} {{ ansible_nope | default('none') }}\"}\n    - setup: {gather_subset: min}\n      when: ansible_facts.distribution is not defined\n");
    done.ok();
    assert_eq!(done.said("a", "t"), ["True True none"]);
    assert!(bed.got("a/f").unwrap().ends_with(" Linux Linux\n"));
}

#[test]
fn tasks_become_somebody_else() {
    if !tests::program::is_root("becoming another user") {
        return;
    }
    let bed = Bed::one();
    let state = bed.dir.join("state");
    std::fs::create_dir_all(&state).unwrap();
    std::fs::set_permissions(&state, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let done = bed.tasks(
        r#"- command: id -un
  become: true
  become_user: nobody
  become_method: su
  become_flags: -s /bin/sh
  register: who
- name: t
  debug: {msg: "{{ who.stdout }}"}"#,
    );
    done.ok();
    assert_eq!(done.said("a", "t"), ["nobody"]);
}

/// Two hosts of one bed that keep their runs in one folder: two names of one machine.
fn two_names() -> Bed {
    let bed = Bed::new(&["a", "b"]);
    bed.groups(&format!(
        "same:\n  hosts: {{a: , b: }}\n  vars: {{tunerun_state_dir: {}/state/same}}",
        bed.dir.display()
    ));
    bed
}

#[test]
fn two_names_of_one_machine_are_refused_before_anything_is_changed() {
    let bed = two_names();
    let done = bed.tasks("- copy: {dest: \"{{ root }}/x\", content: x}");
    assert_ne!(done.code, 0);
    done.says("a, b are one machine").says("hosts.yml:").says("`a`").says("`b`");
    assert!(bed.names("a").is_empty() && bed.names("b").is_empty());
    assert!(bed.runs().is_empty());
}

#[test]
fn two_names_of_one_machine_may_both_look_while_one_changes() {
    let bed = two_names();
    let tasks = "- stat: {path: \"{{ root }}\"}\n  register: s\n- copy: {dest: \"{{ root }}/x\", content: x}\n  when: inventory_hostname == 'a'";
    bed.tasks(tasks).ok();
    assert_eq!(bed.names("a"), ["x"]);
    // With folders of their own they are two hosts, as far as anybody can tell.
    let bed = Bed::new(&["a", "b"]);
    bed.tasks("- copy: {dest: \"{{ root }}/x\", content: x}").ok();
}

#[test]
fn where_no_host_can_begin_there_is_no_run() {
    let bed = Bed::new(&["a", "b"]);
    let done = bed.tasks("- copy: {dest: \"{{ root }}/x\", content: x}\n- fail: {msg: not today}");
    done.ended(1).says("not today").says("there is no run to undo");
    assert!(bed.runs().is_empty());
    // Where one can, there is one.
    let tasks = "- copy: {dest: \"{{ root }}/x\", content: x}\n- fail: {msg: not today}\n  when: inventory_hostname == 'a'";
    bed.tasks(tasks).ended(1);
    assert_eq!(bed.runs().len(), 1);
    assert!(bed.names("a").is_empty() && bed.names("b") == ["x"]);
}

#[test]
fn many_hosts_delegate_to_one_in_turn() {
    let bed = Bed::new(&["a", "b", "c", "d", "keeper"]);
    let playbook = r#"- hosts: all:!keeper
  gather_facts: false
  serial: 1
  tasks:
    - lineinfile: {path: "{{ hostvars.keeper.root }}/members", line: "member {{ inventory_hostname }}", create: true}
      delegate_to: keeper
    - copy: {dest: "{{ root }}/joined", content: "{{ ansible_play_hosts_all | length }}"}
- hosts: all:!keeper
  gather_facts: false
  serial: [1, 2]
  tasks:
    - copy: {dest: "{{ hostvars.keeper.root }}/of-{{ inventory_hostname }}", content: x}
      delegate_to: keeper
    - command: "echo {{ ansible_play_batch | join('+') }}"
      register: batch
      delegate_to: keeper
      run_once: true
      changed_when: false
    - copy: {dest: "{{ root }}/batch", content: "{{ batch.stdout }}"}
"#;
    bed.play(playbook).ok();
    assert_eq!(bed.got("keeper/members").as_deref(), Some("member a\nmember b\nmember c\nmember d\n"));
    assert_eq!(bed.names("keeper"), ["members", "of-a", "of-b", "of-c", "of-d"]);
    let batches: Vec<_> = ["a", "b", "c", "d"].map(|host| bed.got(&format!("{host}/batch")).unwrap()).into();
    assert_eq!(batches, ["a", "b+c", "b+c", "d"]);
    assert_eq!(bed.got("c/joined").as_deref(), Some("4"));
    bed.call(&["--yes"]).ok();
    let runs = bed.runs();
    bed.tunerun(&["undo", &runs[0], "-i", &bed.dir.join("hosts.yml").display().to_string()]).ok();
    for host in ["a", "b", "c", "d", "keeper"] {
        assert_eq!(bed.names(host), Vec::<String>::new(), "{host}");
    }
}
