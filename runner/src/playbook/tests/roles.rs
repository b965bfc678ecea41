//! Roles, imports and includes.
use super::*;

#[test]
fn roles_bring_tasks_handlers_and_variables() {
    let playbook = good(&[
        (
            "site.yml",
            "- hosts: all
  become: true
  pre_tasks: [{name: pre, debug: }]
  roles:
    - base
    - {role: tune, tags: t, when: w, level: 3, vars: {x: 1}}
    - base
  tasks: [{name: own, debug: , notify: [restart, 'tune : reload']}]
  handlers: [{name: restart, debug: }]
",
        ),
        ("roles/base/tasks/main.yml", "- {name: b, debug: }\n"),
        (
            "roles/tune/tasks/main.yml",
            "- {name: t1, debug: , tags: u}\n- import_tasks: more.yml\n  when: z\n  vars: {m: 1}\n",
        ),
        ("roles/tune/tasks/more.yml", "- {name: t2, debug: }\n"),
        ("roles/tune/handlers/main.yml", "- {name: reload, debug: }\n"),
        ("roles/tune/defaults/main.yml", "d: 1\n"),
        ("roles/tune/vars/main.yaml", "v: 2\n"),
        ("roles/tune/meta/main.yml", "dependencies: [base, {role: dep, p: 1}]\ngalaxy_info: {author: me}\n"),
        ("roles/tune/meta/argument_specs.yml", "argument_specs: {main: {}}\n"),
        ("extra/dep/tasks/main.yml", "- {name: d, debug: }\n"),
    ]);
    assert_eq!(
        titles(&playbook),
        ["pre", "base : b", "base : b", "dep : d", "tune : t1", "tune : t2", "base : b", "own"]
    );
    let play = &playbook.plays[0];
    let tasks = tags::tasks(play);
    assert_eq!(words(&tasks[5].settings.when), ["w", "z"]);
    assert_eq!(tasks[4].settings.tags.iter().map(|tag| &**tag).collect::<Vec<_>>(), ["t", "u"]);
    let layers: Vec<(LayerKind, Json)> =
        tasks[5].settings.vars.iter().map(|layer| (layer.kind, layer.vars.to_json())).collect();
    assert_eq!(
        layers,
        [
            (LayerKind::RoleParams, json!({"x": 1})),
            (LayerKind::RoleParams, json!({"level": 3})),
            (LayerKind::Block, json!({"m": 1})),
        ]
    );
    assert_eq!(tasks[5].settings.r#become, Some(Setting::Fixed(true)));
    let roles: Vec<&str> = play.roles.iter().map(|role| role.name.as_str()).collect();
    assert_eq!(roles, ["base", "dep", "tune"]);
    let tune = &play.roles[2];
    assert_eq!(tune.defaults.as_ref().map(|vars| vars.to_json()), Some(json!({"d": 1})));
    assert_eq!(tune.vars.as_ref().map(|vars| vars.to_json()), Some(json!({"v": 2})));
    assert!(tune.argument_specs.is_some());
    assert_eq!(play.handlers.len(), 2);
    let search = tasks[5].place.search("templates");
    assert_eq!(search[0], "roles/tune/templates");
    assert!(
        search.contains(&"roles/tune/tasks/templates".to_owned()) && search.contains(&"templates".to_owned())
    );
}

#[test]
fn a_role_runs_once_unless_it_says_otherwise() {
    let site =
        "- hosts: all\n  roles: [a, {role: a, become: true}, {role: a, p: 1}, {role: a, tags: t}, b, b]\n";
    let playbook = good(&[
        ("site.yml", site),
        ("roles/a/tasks/main.yml", "- debug:\n"),
        ("roles/b/tasks/main.yml", "- debug:\n"),
        ("roles/b/meta/main.yml", "allow_duplicates: true\n"),
    ]);
    let keys: Vec<Option<&str>> = playbook.plays[0]
        .role_tasks
        .iter()
        .map(|item| match item {
            Item::Block(block) => block.once.as_deref(),
            _ => panic!("a block"),
        })
        .collect();
    assert_eq!(keys[0], keys[1]);
    assert!(keys[0].is_some() && keys[0] != keys[2] && keys[0] != keys[3]);
    assert_eq!(keys[4..], [None, None]);
}

/// A playbook with imports and includes of all kinds.
fn included() -> Memory {
    Memory::new([
        (
            "site.yml",
            "- hosts: all
  tasks:
    - import_role: {name: r, tasks_from: other, handlers_from: h, vars_from: v.yml}
      tags: i
    - name: inc
      include_tasks: sub/a.yml
      when: w
      tags: n
      vars: {p: 1}
    - include_tasks: \"{{ f }}.yml\"
      loop: [1]
    - include_tasks: {file: sub/a.yml, apply: {tags: [at], become: true}}
    - include_role: {name: r, public: true}
    - include_role: name=r tasks_from=other
    - import_tasks: sub/a.yml tags=old
    - {debug: , notify: restart}
",
        ),
        ("roles/r/tasks/main.yml", "- {name: main, debug: }\n"),
        ("roles/r/tasks/other.yml", "- {name: other, debug: }\n"),
        ("roles/r/handlers/h.yml", "- {name: restart, debug: }\n"),
        ("roles/r/vars/v.yml", "v: 1\n"),
        ("sub/a.yml", "- {name: a, debug: }\n- import_tasks: b.yml\n"),
        ("sub/b.yml", "- {name: b, debug: , tags: bt}\n"),
        ("later.yml", "- {name: late, debug: , become: true}\n- import_role: {name: r, handlers_from: h}\n"),
    ])
}

#[test]
fn imports_are_static_and_includes_are_kept() {
    let memory = included();
    let vocabulary = vocabulary();
    let loader = Loader::new(&memory, &vocabulary, Vec::new());
    let playbook = loader.load("site.yml").expect("a playbook");
    assert_eq!(
        titles(&playbook),
        [
            "r : other",
            "inc",
            "a",
            "b",
            "include_tasks",
            "include_tasks",
            "a",
            "b",
            "include_role",
            "r : main",
            "include_role",
            "r : other",
            "a",
            "b",
            "debug"
        ]
    );
    let play = &playbook.plays[0];
    let tasks = tags::tasks(play);
    let tags_of = |at: usize| tasks[at].settings.tags.iter().map(|tag| tag.to_string()).collect::<Vec<_>>();
    assert_eq!(tags_of(0), ["i"]);
    assert_eq!((tags_of(1), tags_of(2), tags_of(3)), (vec!["n".to_owned()], vec![], vec!["bt".to_owned()]));
    assert!(tasks[2].settings.when.is_empty() && tasks[2].settings.r#become.is_none());
    assert_eq!(tasks[2].settings.vars[0].kind, LayerKind::IncludeParams);
    assert_eq!(tags_of(6), ["at"]);
    assert_eq!(tasks[6].settings.r#become, Some(Setting::Fixed(true)));
    assert_eq!(tags_of(12), ["old"]);
    assert_eq!(play.roles.len(), 1, "an included role is not the play's");
    assert_eq!(play.handlers.len(), 1);
    let chosen = tags::selected(play, &Selection::new(&["at,i".to_owned()], &[]));
    let chosen: Vec<String> = chosen.into_iter().map(Task::title).collect();
    assert_eq!(chosen, ["r : other"], "`at` is on children of an include that is not taken itself");
}

#[test]
fn what_a_template_names_is_loaded_later() {
    let memory = included();
    let vocabulary = vocabulary();
    let loader = Loader::new(&memory, &vocabulary, Vec::new());
    let playbook = loader.load("site.yml").expect("a playbook");
    let play = &playbook.plays[0];
    let tasks = tags::tasks(play);
    let Item::Include(include) = &play.tasks[2] else { panic!("an include") };
    assert!(include.body.is_none());
    let body = loader.included_tasks(include, "later.yml").expect("later");
    let again = loader.included_tasks(include, "later.yml").expect("later");
    assert!(std::sync::Arc::ptr_eq(&body, &again));
    let Item::Task(late) = &body.tasks[0] else { panic!("a task") };
    assert!(late.id.0 >= tasks.len() as u32);
    assert_eq!((body.handlers.len(), body.roles.len()), (1, 1));
    assert_eq!(body.sources[0].name, "later.yml");
    assert!(
        loader.included_tasks(include, "none.yml").expect_err("missing")[0].message.contains("`none.yml`")
    );
    let role = loader.included_role(include, "r", ["other", "", "", "h"]).expect("a role");
    assert_eq!((role.tasks.len(), role.handlers.len(), role.roles.len()), (1, 1, 1));
}

#[test]
fn playbooks_are_imported_with_what_is_around_them() {
    let playbook = good(&[
        (
            "site.yml",
            "- import_playbook: sub/a.yml\n  when: w\n  tags: [t]\n  vars: {x: 1}\n- hosts: b\n  tasks: [{debug: }]\n",
        ),
        (
            "sub/a.yml",
            "- hosts: a\n  roles: [r]\n  vars_files: [v.yml]\n- ansible.builtin.import_playbook: b.yml\n",
        ),
        ("sub/b.yml", "- hosts: c\n"),
        ("sub/v.yml", "a: 1\n"),
        ("sub/roles/r/tasks/main.yml", "- debug:\n"),
    ]);
    assert_eq!(playbook.plays.len(), 3);
    let tasks = tags::tasks(&playbook.plays[0]);
    assert_eq!(words(&tasks[0].settings.when), ["w"]);
    assert_eq!(tasks[0].settings.vars.len(), 1);
    assert_eq!(&*playbook.plays[0].folder, "sub");
    assert!(tags::tasks(&playbook.plays[2])[0].settings.when.is_empty());
    let read: Vec<&str> = playbook.sources.iter().map(|source| source.name.as_str()).collect();
    assert_eq!(read[..2], ["site.yml", "sub/a.yml"]);
}

#[test]
fn circles_are_told() {
    assert!(messages(&[("site.yml", "- import_playbook: site.yml\n")])[0].contains("imports itself"));
    let circle = [
        ("site.yml", "- hosts: all\n  tasks: [{import_tasks: a.yml}]\n"),
        ("a.yml", "- import_tasks: a.yml\n"),
    ];
    assert_eq!(messages(&circle), ["`a.yml` imports itself"]);
    let roles = [
        ("site.yml", "- hosts: all\n  roles: [a]\n"),
        ("roles/a/meta/main.yml", "dependencies: [b]\n"),
        ("roles/b/meta/main.yml", "dependencies: [a]\n"),
    ];
    assert!(load(&roles).is_err());
    good(&[
        ("site.yml", "- hosts: all\n  tasks: [{include_tasks: a.yml}]\n"),
        ("a.yml", "- include_tasks: a.yml\n  when: n > 0\n"),
    ]);
}

#[test]
fn variables_that_are_encrypted_as_a_whole_are_refused_not_empty() {
    for kind in ["vars", "defaults"] {
        let file = format!("roles/r/{kind}/main.yml");
        let said = messages(&[
            ("site.yml", "- hosts: all\n  roles: [r]\n"),
            ("roles/r/tasks/main.yml", "- debug: {msg: x}\n"),
            (&file, "$ANSIBLE_VAULT;1.1;AES256\n6162\n"),
        ]);
        assert!(
            said.iter().any(|said| said.contains(&format!("{file} is encrypted as a whole"))),
            "{said:?}"
        );
    }
}
