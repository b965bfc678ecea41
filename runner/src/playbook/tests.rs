//! Tests of the language: real playbooks, the table of what people use, roles, imports, inheritance.
use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::*;
use crate::diagnostic::Problems;
use crate::yaml::Node;

mod broken;
mod frequency;
mod roles;

type Typed = (&'static str, fn() -> Json);

/// Modules as the runner may have them; those whose arguments matter to a test have some.
fn vocabulary() -> Vocabulary {
    let typed: [Typed; 6] = [
        ("copy", || {
            json!({"required": ["dest"], "properties": {
            "src": {"type": "string"}, "dest": {"type": "string"}, "content": {"type": "string"},
            "mode": {"type": ["string", "null"]}, "owner": {"type": ["string", "null"]},
            "backup": {"type": "boolean"}, "force": {"type": "boolean"}, "validate": {"type": "string"}},
            "additionalProperties": false})
        }),
        ("lineinfile", || {
            json!({"required": ["path"], "properties": {
            "path": {"type": "string"}, "line": {"type": "string"}, "regexp": {"type": "string"},
            "state": {"enum": ["present", "absent"]}, "create": {"type": "boolean"}, "mode": {"type": "string"},
            "backrefs": {"type": "boolean"}, "insertafter": {"type": "string"}}, "additionalProperties": false})
        }),
        ("sysctl", || {
            json!({"required": ["name"], "properties": {
            "name": {"type": "string"}, "value": {"type": "string"}, "state": {"enum": ["present", "absent"]},
            "reload": {"type": "boolean"}}, "additionalProperties": false})
        }),
        ("package", || {
            json!({"required": ["name"], "properties": {
            "name": {"type": "array", "items": {"type": "string"}},
            "state": {"enum": ["present", "latest", "absent"]}}, "additionalProperties": false})
        }),
        ("reboot", || {
            json!({"properties": {"boot_timeout": {"type": "integer", "minimum": 1}},
            "additionalProperties": false})
        }),
        ("command", || {
            json!({"properties": {"cmd": {"type": "string"}, "argv": {"type": "array"},
            "creates": {"type": "string"}, "removes": {"type": "string"}, "chdir": {"type": "string"}},
            "additionalProperties": false})
        }),
    ];
    let plain = "sysfs kernel_args hugepages file template blockinfile replace ini_file systemd_unit service \
        service_facts package_facts modprobe stat slurp find wait_for";
    let typed = typed.into_iter().map(|(name, schema)| {
        let aliases: &[(&str, &str)] = if name == "lineinfile" { &[("dest", "path")] } else { &[] };
        Known::typed(name, schema).aliased(aliases).free((name == "command").then_some("cmd"))
    });
    let text = ["shell", "script", "manual"];
    let text = text.into_iter().map(|name| Known::any(name).free(Some("cmd")));
    Vocabulary::new(typed.chain(plain.split_whitespace().map(Known::any)).chain(text))
}

fn data(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(path)
}

/// Loads `site.yml` from files in memory.
fn load(files: &[(&str, &str)]) -> Result<Playbook, Problems> {
    let files = Memory::new(files.iter().copied());
    Loader::new(&files, &vocabulary(), vec!["extra".to_owned()]).load("site.yml")
}

fn good(files: &[(&str, &str)]) -> Playbook {
    load(files).unwrap_or_else(|problems| panic!("{}", crate::report::diagnostic::render(&problems, false)))
}

/// The playbook of one play with these tasks.
fn tasks_of(text: &str) -> Playbook {
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    good(&[("site.yml", &format!("- hosts: all\n  tasks:\n{indented}"))])
}

fn messages(files: &[(&str, &str)]) -> Vec<String> {
    load(files).expect_err("problems").into_iter().map(|problem| problem.message).collect()
}

fn titles(playbook: &Playbook) -> Vec<String> {
    playbook.plays.iter().flat_map(|play| tags::tasks(play)).map(Task::title).collect()
}

fn words(nodes: &[std::sync::Arc<Node>]) -> Vec<String> {
    nodes.iter().map(|node| node.key_text().into_owned()).collect()
}

#[test]
fn real_playbooks_load_whole() {
    for (name, count) in [("site.yml", 20), ("site-loop.yml", 13)] {
        let path = data("playbooks/site").join(name);
        let vocabulary = vocabulary();
        let loader = Loader::new(&Disk, &vocabulary, Vec::new());
        let playbook = loader.load(&path.to_string_lossy()).expect(name);
        assert_eq!(tags::tasks(&playbook.plays[0]).len(), count, "{name}");
        assert!(playbook.warnings.is_empty());
        assert!(playbook.plays[0].vars_files[0].loaded.is_some());
        assert_eq!(playbook.plays[0].gather_facts, Some(Setting::Fixed(false)));
    }
}

#[test]
fn a_task_is_read_with_all_its_parts() {
    let playbook = tasks_of(
        "- name: one
  ansible.builtin.command: echo 'a b' creates=/y
  args: {chdir: /tmp}
  loop: [1, 2]
  loop_control: {label: \"{{ item }}\", index_var: at, extended: yes, pause: 1.5}
  register: out
  until: out is success
  retries: 5
  delay: 0.5
  changed_when: false
  failed_when: [\"'x' in out.stdout\", out.rc > 1]
  when: [a is defined, true]
  tags: [x, 'y,z']
  become: \"{{ root }}\"
  notify: h
  accept_risk: {security: it is a lab}
  spoils: [/x]
- name: h
  ansible.posix.sysctl: name=vm.swappiness value=1
- local_action: command uptime
- action: {module: ansible.builtin.copy, dest: /x}
- action: lineinfile dest=/x line=\"a {{ b }} c\"
- meta: flush_handlers
- systemd: {name: x}
- debug:"
            .replace("  notify: h\n", "")
            .as_str(),
    );
    let tasks = tags::tasks(&playbook.plays[0]);
    let one = tasks[0];
    assert_eq!(
        (one.action.module.as_str(), one.action.written.as_str()),
        ("command", "ansible.builtin.command")
    );
    assert_eq!(one.action.args.get("cmd").and_then(Node::as_str), Some("echo 'a b'"));
    assert_eq!(one.action.args.get("creates").and_then(Node::as_str), Some("/y"));
    assert_eq!(one.action.args.get("chdir").and_then(Node::as_str), Some("/tmp"));
    let repeat = one.repeat.as_ref().expect("a loop");
    assert_eq!((repeat.kind, repeat.control.index_var.as_deref()), (LoopKind::Loop, Some("at")));
    assert_eq!(repeat.control.pause, Some(Setting::Fixed(1.5)));
    assert_eq!(one.retries, Some(Setting::Fixed(5)));
    assert_eq!(one.delay, Some(Setting::Fixed(0.5)));
    assert_eq!(words(&one.changed_when), ["false"]);
    assert_eq!(one.failed_when.len(), 2);
    assert_eq!(words(&one.settings.when), ["a is defined", "true"]);
    assert_eq!(one.settings.tags.iter().map(|tag| &**tag).collect::<Vec<_>>(), ["x", "y", "z"]);
    assert!(matches!(one.settings.r#become, Some(Setting::Template(_))));
    assert_eq!(one.settings.accept_risk[0].reason, "it is a lab");
    assert_eq!(tasks[1].action.args.get("value").and_then(Node::as_str), Some("1"));
    assert_eq!(tasks[2].settings.delegate_to, Some(Setting::Fixed("localhost".to_owned())));
    assert_eq!(tasks[2].action.args.get("cmd").and_then(Node::as_str), Some("uptime"));
    assert_eq!(tasks[3].action.module, "copy");
    assert_eq!(tasks[4].action.args.get("line").and_then(Node::as_str), Some("a {{ b }} c"));
    assert_eq!(tasks[4].action.args.get("line").expect("line").raw(), "\"a {{ b }} c\"");
    assert_eq!(tasks[6].action.module, "systemd_unit");
    let ids: Vec<u32> = tasks.iter().map(|task| task.id.0).collect();
    assert_eq!(ids, (0..8).collect::<Vec<_>>());
}

/// A vault text that is whole as far as can be told without its password.
const WHOLE_VAULT: &str = "$ANSIBLE_VAULT;1.1;AES256\n36310a36323632363236323632363236323632363236323632363236323632363236323632363236\n\
3236323632363236323632363236323632363236323632363236320a363336333633363336333633\n\
3633363336333633363336333633363336333633\n";

#[test]
fn a_play_is_read_with_all_its_parts() {
    let playbook = good(&[
        (
            "site.yml",
            "- name: p
  hosts: [a, 'b:!c']
  become: yes
  become_method: community.general.su
  serial: [1, '30%', '{{ n }}']
  max_fail_percentage: 30
  max_unreachable: 2
  strategy: ansible.builtin.free
  order: sorted
  any_errors_fatal: true
  force_handlers: true
  vars: {a: 1}
  vars_files: [v.yml, [missing.yml, v.yml], '{{ x }}.yml', s.yml]
  vars_prompt: [{name: pw, prompt: Password, private: no, default: x}]
  environment: {A: b}
  collections: [x.y]
  guard: {allow: [POOL_NO_REDUNDANCY]}
  pre_tasks: [{debug: }]
  handlers: [{name: h, debug: }]
",
        ),
        ("v.yml", "b: 2\n"),
        ("s.yml", WHOLE_VAULT),
    ]);
    let play = &playbook.plays[0];
    assert_eq!(words(&play.hosts), ["a", "b:!c"]);
    assert_eq!(play.settings.r#become, Some(Setting::Fixed(true)));
    assert_eq!(play.settings.become_method, Some(Setting::Fixed("su".to_owned())));
    assert_eq!(play.serial[..2], [Batch::Hosts(1), Batch::Percent(30.0)]);
    assert_eq!(play.max_fail_percentage, Some(Setting::Fixed(30.0)));
    assert_eq!(play.max_unreachable, Some(Batch::Hosts(2)));
    assert_eq!((play.strategy.as_deref(), play.order), (Some("free"), Order::Sorted));
    assert_eq!(play.vars_files.len(), 4);
    let loaded: Vec<Json> = play
        .vars_files
        .iter()
        .filter_map(|file| file.loaded.as_ref())
        .map(|(_, vars)| vars.to_json())
        .collect();
    assert_eq!(loaded, [json!({"b": 2}), json!({"b": 2})]);
    assert!(!play.vars_prompt[0].private);
    assert_eq!(play.pre_tasks.len(), 1);
    assert_eq!(tags::tasks(play)[0].settings.environment.len(), 1);
}

#[test]
fn settings_are_inherited() {
    let playbook = good(&[(
        "site.yml",
        "- hosts: all
  become: true
  tags: [p]
  environment: {A: 1}
  tasks:
    - block:
        - debug:
          when: c
          tags: t
          become_user: x
          vars: {v: 3}
          notify: h2
        - debug:
      rescue:
        - debug:
      always:
        - block:
            - debug:
          when: d
      when: [a, b]
      tags: q
      vars: {v: 2}
      no_log: true
      environment: {A: 2}
      become_user: y
      notify: h1
  handlers:
    - {name: h1, debug: }
    - {name: other, listen: h2, debug: }
",
    )]);
    let tasks = tags::tasks(&playbook.plays[0]);
    let first = &tasks[0].settings;
    assert_eq!(words(&first.when), ["a", "b", "c"]);
    assert_eq!(first.tags.iter().map(|tag| &**tag).collect::<Vec<_>>(), ["p", "q", "t"]);
    assert_eq!(first.r#become, Some(Setting::Fixed(true)));
    assert_eq!(first.become_user, Some(Setting::Fixed("x".to_owned())));
    assert_eq!(first.no_log, Some(Setting::Fixed(true)));
    let layers: Vec<(LayerKind, Json)> =
        first.vars.iter().map(|layer| (layer.kind, layer.vars.to_json())).collect();
    assert_eq!(layers, [(LayerKind::Block, json!({"v": 2})), (LayerKind::Task, json!({"v": 3}))]);
    assert_eq!(
        first.environment.iter().map(|node| node.to_json()).collect::<Vec<_>>(),
        [json!({"A": 1}), json!({"A": 2})]
    );
    assert_eq!(words(&first.notify), ["h1", "h2"]);
    assert!(std::sync::Arc::ptr_eq(&tasks[1].settings, &tasks[2].settings), "nothing own, nothing copied");
    assert_eq!(words(&tasks[3].settings.when), ["a", "b", "d"]);
}

#[test]
fn defaults_of_modules_are_merged() {
    let playbook = good(&[(
        "site.yml",
        "- hosts: all
  module_defaults:
    ansible.builtin.lineinfile: {path: /p, create: true}
    copy: {mode: '0600'}
  tasks:
    - lineinfile: {line: a}
    - lineinfile: {dest: /own, line: b}
      module_defaults: {lineinfile: {create: false}}
",
    )]);
    let given = |at: usize| {
        let tasks = tags::tasks(&playbook.plays[0]);
        let pairs = tasks[at].action.args.given.iter();
        pairs.map(|(key, value)| format!("{}={}", key.key_text(), value.to_json())).collect::<Vec<_>>()
    };
    assert_eq!(given(0), ["line=\"a\"", "path=\"/p\"", "create=true"]);
    assert_eq!(given(1), ["dest=\"/own\"", "line=\"b\"", "create=false"]);
    let wrong =
        "- hosts: all\n  module_defaults: {copi: {}, 'group/aws': {}}\n  tasks: [{debug: }, {debug: }]\n";
    assert_eq!(messages(&[("site.yml", wrong)]).len(), 2);
}

#[test]
fn tags_and_starts_are_found() {
    let playbook = good(&[(
        "site.yml",
        "- hosts: all\n  tags: p\n  tasks:\n    - {name: one, debug: , tags: [a, b]}\n    - {name: two words, debug: }\n- hosts: b\n  tasks: [{debug: }]\n",
    )]);
    assert_eq!(tags::tags(&playbook).iter().map(|tag| &**tag).collect::<Vec<_>>(), ["a", "b", "p"]);
    assert_eq!(tags::start(&playbook, "two*"), Some(TaskId(1)));
    assert_eq!(tags::start(&playbook, "debug"), Some(TaskId(2)));
    assert_eq!(tags::start(&playbook, "three"), None);
    let selection = Selection::new(&["a,zz".to_owned()], &["all".to_owned()]);
    assert_eq!(selection.unused(&playbook), ["zz"]);
}

#[test]
fn a_thousand_tasks_share_what_they_inherit() {
    let mut text = "- hosts: all\n  become: true\n  vars: {a: 1}\n  tasks:\n".to_owned();
    for at in 0..1000 {
        text += &format!("    - name: t{at}\n      sysctl: {{name: vm.x{at}, value: \"{{{{ a }}}}\"}}\n");
    }
    let playbook = good(&[("site.yml", &text)]);
    let tasks = tags::tasks(&playbook.plays[0]);
    assert_eq!(tasks.len(), 1000);
    assert!(tasks.iter().all(|task| std::sync::Arc::ptr_eq(&task.settings, &playbook.plays[0].settings)));
}

proptest::proptest! {
    /// Lines of a real playbook moved, indented, lost and doubled: read or refused, never a panic, and places are kept.
    #[test]
    fn a_shaken_playbook_is_read_or_refused(
        edits in proptest::collection::vec((0usize..80, 0usize..80, 0usize..5), 1..6),
    ) {
        let text = "- hosts: all
  become: yes
  vars: {a: 1, b: [x, y]}
  vars_files: [v.yml]
  roles:
    - {role: r, p: 1}
  tasks:
    - name: one
      ansible.builtin.copy:
        dest: /x
        content: \"{{ a }}\"
        mode: 0644
      loop: [1, 2]
      loop_control:
        label: x
      when: a is defined
      notify: h
    - block:
        - include_tasks: t.yml
        - command: echo x creates=/y
      rescue:
        - meta: flush_handlers
      tags: [t]
    - import_role:
        name: r
  handlers:
    - name: h
      service: {name: x, state: restarted}
";
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (at, other, kind) in edits {
            let (at, other) = (at % lines.len(), other % lines.len());
            match kind {
                0 => { lines.remove(at); }
                1 => lines.swap(at, other),
                2 => lines[at].insert_str(0, "  "),
                3 => lines[at] = lines[at].replacen("  ", "", 1),
                _ => lines.insert(other, lines[at].clone()),
            }
        }
        let files = [
            ("site.yml", lines.join("\n")),
            ("v.yml", "c: 1".to_owned()),
            ("t.yml", "- debug:".to_owned()),
            ("roles/r/tasks/main.yml", "- debug:".to_owned()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        if let Err(problems) = load(&files) {
            proptest::prop_assert!(!problems.is_empty());
            crate::report::diagnostic::render(&problems, true);
        }
    }
}

/// Printed, not judged: `cargo test --release -- --ignored --nocapture speed`.
#[test]
#[ignore = "a measurement"]
fn speed_of_a_thousand_tasks() {
    let mut text = "- hosts: all\n  tasks:\n".to_owned();
    for at in 0..1000 {
        text += &format!(
            "    - name: sysctl vm.x{at}\n      ansible.builtin.lineinfile:\n        path: /etc/sysctl.d/90.conf\n        regexp: '^vm\\.x{at}\\s*='\n        line: vm.x{at} = 10\n        create: true\n        mode: \"0644\"\n      when: a is defined\n      tags: [t{at}]\n"
        );
    }
    let files = Memory::new([("site.yml", text.as_str())]);
    let vocabulary = vocabulary();
    for _ in 0..5 {
        let start = std::time::Instant::now();
        let source = crate::source::Source::new("site.yml", text.as_str());
        let tree = crate::yaml::parse_one(&source).expect("yaml");
        let parsed = start.elapsed();
        drop(tree);
        let start = std::time::Instant::now();
        let playbook = Loader::new(&files, &vocabulary, Vec::new()).load("site.yml").expect("a playbook");
        let listed: usize = tags::tasks(&playbook.plays[0]).iter().map(|task| task.title().len()).sum();
        println!("{} bytes: yaml {parsed:?}, all {:?} ({listed})", text.len(), start.elapsed());
    }
}

/// The lines of `ansible-playbook --list-tasks` (ansible-core 2.19.14) for tests/data/playbooks/listing, by option.
#[test]
fn tasks_are_listed_as_ansible_lists_them() {
    let vocabulary = vocabulary();
    let site = data("playbooks/listing/site.yml");
    let playbook =
        Loader::new(&Disk, &vocabulary, Vec::new()).load(&site.to_string_lossy()).expect("a playbook");
    let expected = std::fs::read_to_string(data("playbooks/listing/expected.txt")).expect("the lists");
    let mut sections = 0;
    for section in expected.split("## ").skip(1) {
        let (options, lines) = section.split_once('\n').expect("a section");
        let mut words = options.split_whitespace();
        let (mut only, mut skip) = (Vec::new(), Vec::new());
        while let (Some(option), Some(value)) = (words.next(), words.next()) {
            if option == "--tags" { only.push(value.to_owned()) } else { skip.push(value.to_owned()) }
        }
        let selection = Selection::new(&only, &skip);
        let found: Vec<String> = tags::tasks(&playbook.plays[0])
            .into_iter()
            // Ansible lists neither rescues nor what dynamic includes bring; here both are shown.
            .filter(|task| {
                selection.takes(&task.settings.tags)
                    && task.title() != "resc"
                    && !task.settings.tags.iter().any(|tag| &**tag == "inside")
            })
            .map(|task| {
                let mut tags: Vec<&str> = task.settings.tags.iter().map(|tag| &**tag).collect();
                tags.sort_unstable();
                format!("{}\tTAGS: [{}]", task.title(), tags.join(", "))
            })
            .collect();
        let wanted: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        assert_eq!(found, wanted, "{options}");
        sections += 1;
    }
    assert_eq!(sections, 8);
}

/// The modules that the runner has, with their own schemas.
fn real() -> Vocabulary {
    Vocabulary::new(modules::ALL.iter().map(Known::of))
}

#[test]
fn the_examples_of_all_modules_are_good_tasks() {
    let vocabulary = real();
    let mut wrong = Vec::new();
    for entry in modules::ALL {
        let example = entry.example.trim();
        let indented: String = example.lines().map(|line| format!("    {line}\n")).collect();
        let text = format!("- hosts: all\n  tasks:\n{indented}");
        let files = Memory::new([("site.yml", text.as_str())]);
        if let Err(problems) = Loader::new(&files, &vocabulary, Vec::new()).load("site.yml") {
            wrong.push(format!("{}:\n{}", entry.name, crate::report::diagnostic::render(&problems, false)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn real_playbooks_fit_the_real_modules() {
    let vocabulary = real();
    for name in ["site.yml", "site-loop.yml"] {
        let path = data("playbooks/site").join(name);
        if let Err(problems) = Loader::new(&Disk, &vocabulary, Vec::new()).load(&path.to_string_lossy()) {
            panic!("{name}: {}", crate::report::diagnostic::render(&problems, false));
        }
    }
}
