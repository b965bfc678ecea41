//! Tests of what no recorded value shows: lateness, secrets, trust, circles, places, template files.
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::source::{Source, Span};

fn templates() -> Templates {
    Templates::new(TemplateWorld::default())
}

fn scope(vars: Json) -> HashMap<String, Var> {
    let map = vars.as_object().expect("vars are a mapping").clone();
    map.into_iter().map(|(name, value)| (name, Var::written(value))).collect()
}

fn kind(text: &str, vars: &HashMap<String, Var>) -> Option<Kind> {
    templates().value(text, vars).err().map(|fault| fault.kind)
}

fn held(text: &str, vars: &HashMap<String, Var>) -> Result<bool, Kind> {
    templates().condition(text, vars).map(|(held, _)| held).map_err(|fault| fault.kind)
}

fn grub() -> HashMap<String, Var> {
    let mut vars = scope(json!({"wanted": "{{ grub.stat.size }}", "on": true}));
    let grub = json!({"changed": true, "stat": late("task 7"), "list": [1, late("task 8")]});
    vars.insert("grub".to_owned(), Var::seen(grub));
    vars.insert("ansible_os_family".to_owned(), Var::seen(unread_fact("os_family")));
    vars
}

#[test]
fn only_what_is_read_is_late() {
    let (vars, late) = (grub(), Kind::Late { on: "task 7".to_owned() });
    assert_eq!(held("grub.changed", &vars), Ok(true));
    assert_eq!(held("on or grub.stat.exists", &vars), Ok(true));
    assert_eq!(held("not on and grub.stat.exists", &vars), Ok(false));
    for text in
        ["grub.stat.exists", "grub.stat is defined", "grub.stat.x | default(1) == 1", "grub.stat is none"]
    {
        assert_eq!(held(text, &vars), Err(late.clone()), "{text}");
    }
    for text in
        ["{{ wanted }}", "{{ grub }}", "{{ [grub.stat] }}", "a{{ grub.stat }}", "{{ wanted | default(3) }}"]
    {
        assert_eq!(kind(text, &vars), Some(late.clone()), "{text}");
    }
    assert_eq!(kind("{{ grub.list | length }}", &vars), None);
    assert_eq!(kind("{{ grub.list[0] }}", &vars), None);
    assert_eq!(kind("{{ grub.list[1] }}", &vars), Some(Kind::Late { on: "task 8".to_owned() }));
    assert_eq!(kind("{{ grub.list == [1, 2] }}", &vars), Some(Kind::Late { on: "task 8".to_owned() }));
    assert_eq!(kind("{{ on | ternary('x', grub.stat) }}", &vars), None);
}

#[test]
fn unread_facts_are_named() {
    let fact = Kind::NeedFact { name: "os_family".to_owned() };
    assert_eq!(held("ansible_os_family == 'Debian'", &grub()), Err(fact.clone()));
    assert_eq!(held("ansible_os_family is defined", &grub()), Err(fact));
    assert_eq!(held("on or ansible_os_family == 'Debian'", &grub()), Ok(true));
}

#[test]
fn secrets_taint_what_reads_them() {
    let mut vars = scope(json!({"line": "key={{ key }}", "plain": "x"}));
    vars.insert("key".to_owned(), Var::written(json!("hunter2")).secret());
    let templates = templates();
    let secret = |text: &str| templates.value(text, &vars).expect("it renders").secret;
    assert!(secret("{{ key }}") && secret("{{ line }}") && secret("{{ line | length }}"));
    assert!(secret("{{ 'a' if key == 'x' else 'b' }}"));
    assert!(!secret("{{ plain }}") && !secret("{{ 'x' or key }}"));
    assert_eq!(templates.condition("line is search('hunter')", &vars), Ok((true, true)));
}

#[test]
fn faults_never_tell_values() {
    let mut vars = scope(json!({}));
    vars.insert("key".to_owned(), Var::written(json!("hunter2")).secret());
    let filters = [
        "int / 0",
        "from_json",
        "human_to_bytes",
        "b64decode",
        "dict2items",
        "combine",
        "sum",
        "abs",
        "nope",
    ];
    let texts = filters.map(|filter| format!("{{{{ key | {filter} }}}}"));
    for text in texts.iter().map(String::as_str).chain([
        "{{ key.x.y }}",
        "{{ key + 1 }}",
        "{{ [1, key] | sort }}",
        "{{ key() }}",
        "{{ {}[key] }}",
        "{{ key | extract({}) }}",
        "{{ {}.get(key).x }}",
        "{{ lookup('file', 'x' ~ key) | int / 0 }}",
    ]) {
        let fault = templates().value(text, &vars).expect_err(text);
        assert!(!format!("{fault:?} {} {:?}", fault.message(), fault.help()).contains("hunter2"), "{text}");
    }
}

#[test]
fn results_are_not_rendered_and_texts_of_people_are() {
    let mut vars =
        scope(json!({"inner": 5, "written": "{{ inner }}", "list": ["{{ inner }}", {"a": "{{ inner }}"}]}));
    vars.insert("out".to_owned(), Var::seen(json!({"stdout": "{{ inner }}"})));
    let value = |text: &str| templates().value(text, &vars).map(|done| done.value);
    assert_eq!(value("{{ out.stdout }}"), Ok(json!("{{ inner }}")));
    assert_eq!(value("{{ written }}"), Ok(json!(5)));
    assert_eq!(value("{{ list }}"), Ok(json!([5, {"a": 5}])));
    assert_eq!(value("{{ out.stdout | upper }}"), Ok(json!("{{ INNER }}")));
}

#[test]
fn circles_are_named() {
    let vars =
        scope(json!({"a": "{{ b }}", "b": "x{{ c.d }}", "c": {"d": "{{ a }}"}, "e": "{{ e | default(1) }}"}));
    let fault = templates().value("{{ a }}", &vars).expect_err("a circle");
    assert!(fault.message().contains("`a` → `b` → `c.d` → `a`"), "{}", fault.message());
    assert!(templates().value("{{ e }}", &vars).is_err());
}

#[test]
fn floods_end() {
    let vars = scope(json!({"n": 100_000}));
    for text in [
        "{{ range(n * 10) | list }}",
        "{{ 'x' * 10 ** 12 }}",
        "{% for a in range(n) %}{% for b in range(n) %}{{ b }}{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ ('a' * 40) | regex_replace('(a*)*(a*)*b(?=c)', '') ~ 1 / 0 }}",
    ] {
        assert!(templates().value(text, &vars).is_err(), "{text}");
    }
}

#[test]
fn faults_point_into_the_file() {
    let yaml = "- when: \"a.\\\"b\\\" and osds | lenght > 2\"\n  msg: 'it''s {{ oops }}'\n  raw: {{ x }}\n";
    let source = Source::new("site.yml", yaml);
    let spot = |text: &str| {
        let start = yaml.find(text).expect("it stands there");
        Span::new(&source, start, start + text.len())
    };
    let fault = templates().value("it's {{ oops }}", &scope(json!({"oop": 1}))).expect_err("undefined");
    let shown = fault.diagnostic(&spot("'it''s {{ oops }}'"));
    assert_eq!(shown.span.as_ref().map(Span::text), Some("oops"));
    assert_eq!(shown.help.as_deref(), Some("did you mean `oop`?"));
    let faults = templates().check_condition("osds | lenght > 2");
    assert!(
        faults[0].message().contains("filter `lenght`")
            && faults[0].help().is_some_and(|help| help.contains("`length`"))
    );
    assert_eq!(&"osds | lenght > 2"[faults[0].range.clone()], "lenght");
}

#[test]
fn faults_inside_variables_point_there() {
    let source = Source::new("group_vars/osds.yml", "size: '{{ discs * 2 }}'\n");
    let mut vars = scope(json!({}));
    vars.insert("size".to_owned(), Var::written(json!("{{ discs * 2 }}")).at(Span::new(&source, 6, 22)));
    let fault = templates().value("{{ size }}", &vars).expect_err("undefined");
    let at = Source::new("site.yml", "{{ size }}");
    let shown = fault.diagnostic(&Span::new(&at, 0, 10));
    assert_eq!(
        shown.span.map(|span| (span.to_string(), span.text().to_owned())),
        Some(("group_vars/osds.yml:1:11".to_owned(), "discs".to_owned()))
    );
    assert!(shown.notes.iter().any(|note| note.contains("site.yml:1:4")), "{:?}", shown.notes);
}

#[test]
fn parameters_drop_what_is_omitted() {
    let vars = scope(json!({"state": "present"}));
    let given = json!({"name": "{{ state }}", "mode": "{{ mode | default(omit) }}", "list": [1, "{{ omit }}"], "{{ state }}": 1});
    let done = templates().json(&given, &vars).map(|done| done.value);
    assert_eq!(done, Ok(json!({"name": "present", "list": [1], "present": 1})));
}

#[test]
fn other_hosts_are_asked_lazily_in_their_own_scope() {
    let one: Arc<dyn Vars> = Arc::new(scope(json!({"ip": "10.0.0.{{ n }}", "n": 7})));
    let hosts = HashMap::from([("h1".to_owned(), Var::scope(one))]);
    let mut vars = scope(json!({"n": 1, "who": "h1"}));
    vars.insert("hostvars".to_owned(), Var::scope(Arc::new(hosts)));
    let value = |text: &str| templates().value(text, &vars).map(|done| done.value);
    assert_eq!(value("{{ hostvars[who].ip }}"), Ok(json!("10.0.0.7")));
    assert_eq!(value("{{ ['h1'] | map('extract', hostvars, 'ip') | join }}"), Ok(json!("10.0.0.7")));
    assert_eq!(value("{{ hostvars['h2'] is defined }} {{ 'h1' in hostvars }}"), Ok(json!("False True")));
}

#[test]
fn files_are_rendered_as_the_template_module_does() {
    let vars = scope(json!({"osds": ["a", "b"], "n": 5}));
    let file = |text: &str| templates().file(text, &vars, &FileOptions::default()).map(|done| done.value);
    assert_eq!(file("{% for o in osds %}\n{{ o }}\n{% endfor %}\nend\n"), Ok(json!("a\nb\nend\n")));
    assert_eq!(file("{{ n }}"), Ok(json!("5")));
    assert_eq!(file("{{ 'a\\tb' }}\n"), Ok(json!("a\tb\n")));
    assert_eq!(
        file("#jinja2: trim_blocks: False, newline_sequence: '\\r\\n'\n{% if n %}\nx\n{% endif %}\n"),
        Ok(json!("\r\nx\r\n\r\n"))
    );
    let options = FileOptions {
        variable_start_string: "<<".into(),
        variable_end_string: ">>".into(),
        ..FileOptions::default()
    };
    let done = templates().file("{{ n }} << n >>\n", &vars, &options).map(|done| done.value);
    assert_eq!(done, Ok(json!("{{ n }} 5\n")));
}

#[test]
fn names_are_found_without_variables() {
    let templates = templates();
    let names = templates.names_used("{% for o in osds %}{{ o.x ~ ansible_facts['os_family'] }}{% endfor %}{{ a.b.split(c)[0] | default(d) }}");
    assert_eq!(names, ["a.b", "ansible_facts.os_family", "c", "d", "osds"]);
    assert_eq!(templates.names_used_in_condition("x.y is defined and not z"), ["x.y", "z"]);
}

#[test]
fn checks_name_what_is_refused() {
    let messages = |text: &str| templates().check(text).iter().map(Fault::message).collect::<Vec<_>>();
    assert_eq!(
        messages("{{ x | ipaddr }} {{ y is exists }} {{ lookup('pipe', 'id') }} {{ lokup('env', 'A') }}"),
        [
            "not supported: filter `ipaddr`",
            "not supported: test `exists`",
            "not supported: lookup `pipe`",
            "not supported: function `lokup`",
        ]
    );
    assert_eq!(messages("{% include 'x' %}"), ["not supported: statement `include`"]);
    assert!(messages("{{ a b }}")[0].contains("cannot be read"));
    assert!(messages("plain {{ x | default('a') }}").is_empty());
}

#[test]
fn lookups_see_only_what_they_are_given() {
    struct Given;
    impl Files for Given {
        fn file(&self, path: &str) -> Result<String, String> {
            if path == "key.pub" {
                Ok("ssh-ed25519 AAA\n".to_owned())
            } else {
                Err(format!("there is no file `{path}`"))
            }
        }
        fn template(&self, _: &str) -> Result<String, String> {
            Ok("n={{ n }}\n".to_owned())
        }
        fn find(&self, path: &str) -> Option<String> {
            (path == "vars/Debian.yml").then(|| path.to_owned())
        }
        fn glob(&self, _: &str) -> Result<Vec<String>, String> {
            Ok(vec!["a".to_owned(), "b".to_owned()])
        }
        fn env(&self, name: &str) -> Option<String> {
            (name == "HOME").then(|| "/root".to_owned())
        }
    }
    let templates = Templates::new(TemplateWorld { files: Arc::new(Given), now: Some(0) });
    let vars = scope(json!({"n": 1}));
    let value = |text: &str| templates.value(text, &vars).map(|done| done.value);
    assert_eq!(value("{{ lookup('file', 'key.pub') }}"), Ok(json!("ssh-ed25519 AAA")));
    assert_eq!(value("{{ lookup('env', 'HOME') }}{{ lookup('env', 'NOPE') }}"), Ok(json!("/root")));
    assert_eq!(value("{{ lookup('template', 'x.j2') }}"), Ok(json!("n=1\n")));
    assert_eq!(
        value("{{ lookup('first_found', {'files': ['RedHat.yml', 'Debian.yml'], 'paths': ['vars']}) }}"),
        Ok(json!("vars/Debian.yml"))
    );
    assert_eq!(value("{{ query('fileglob', '*') }}"), Ok(json!(["a", "b"])));
    assert_eq!(value("{{ now(utc=true, fmt='%F') }}"), Ok(json!("1970-01-01")));
    assert!(value("{{ lookup('file', 'none') }}").is_err());
    assert_eq!(value("{{ lookup('file', 'none', errors='ignore') }}"), Ok(json!([])));
}

#[test]
fn templates_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Templates>();
    shared::<Fault>();
    shared::<Var>();
}

#[test]
fn deep_texts_are_refused_and_do_not_overflow() {
    let vars = scope(json!({"a": 1}));
    for text in [
        format!("{{{{ a{} }}}}", " ~ a".repeat(5_000)),
        format!("{{{{ a{} }}}}", " ~ a".repeat(1_000)),
        format!("{{{{ {}a }}}}", "not ".repeat(2_000)),
        format!("{{{{ {}a{} }}}}", "[".repeat(2_000), "]".repeat(2_000)),
        format!("{{{{ a{} }}}}", ".b".repeat(2_000)),
        format!("{}{}", "{% if a %}".repeat(2_000), "{% endif %}".repeat(2_000)),
    ] {
        assert!(templates().value(&text, &vars).is_err());
    }
    let wide = format!("{{{{ a{} }}}}", " ~ a".repeat(80));
    assert!(templates().value(&wide, &vars).is_ok());
    let chain = (0..300).map(|n| {
        (format!("v{n}"), json!(format!("{{{{ (((v{}))) ~ [x] | map('string') | first }}}}", n + 1)))
    });
    let chain = scope(Json::Object(chain.collect()));
    assert!(templates().value("{{ v0 | default('x') }}", &chain).is_err());
}

#[test]
fn what_people_use_is_offered_or_refused_with_a_reason() {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/corpus/playbooks/FREQUENCY.md");
    let text = std::fs::read_to_string(path).expect("test data");
    let mut part = "";
    let (mut offered, mut refused) = (0, Vec::new());
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            part = title;
        }
        let Some(name) = line.strip_prefix("| ").and_then(|row| row.split(" |").next()) else { continue };
        if ["filter", "test", "lookup", "---"].contains(&name) {
            continue;
        }
        let faults = match part.split(' ').next() {
            Some("Filters") => templates().check(&format!("{{{{ x | {name} }}}}")),
            Some("Tests") => templates().check(&format!("{{{{ x is {name}('x') }}}}")),
            Some("Lookups") => templates().check(&format!("{{{{ {name} }}}}")),
            _ => continue,
        };
        match faults.first() {
            None => offered += 1,
            Some(fault) => {
                let why = fault.help().expect("a reason");
                refused.push((name.to_owned(), why));
            }
        }
    }
    assert!(offered >= 55, "{offered}");
    let names: Vec<&str> = refused.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["failed", "search", "json_query", "running"], "{refused:?}");
}
