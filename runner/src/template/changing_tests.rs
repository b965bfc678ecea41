//! Tests of methods that change what a template has made itself, and of what they must leave as it is.
use std::collections::HashMap;

use serde_json::json;

use super::*;

fn vars() -> HashMap<String, Var> {
    let vars = json!({
        "hosts": [{"name": "a", "ip": "{{ base }}1"}, {"name": "b", "ip": "{{ base }}2"}],
        "base": "10.0.0.", "names": ["x"], "made": "{{ ['m'] }}", "late": [late("a task")],
    });
    let map = vars.as_object().expect("a mapping").clone();
    map.into_iter().map(|(name, value)| (name, Var::written(value))).collect()
}

fn value(text: &str) -> Result<Json, String> {
    let done = Templates::new(TemplateWorld::default()).value(text, &vars());
    done.map(|done| done.value).map_err(|fault| format!("{:?}", fault.kind))
}

#[track_caller]
fn gives(text: &str, wanted: Json) {
    assert_eq!(value(text), Ok(wanted), "{text}");
}

#[track_caller]
fn refused(text: &str, why: &str) {
    let error = value(text).expect_err(text);
    assert!(error.contains(why), "{text}: {error}");
}

#[test]
fn idioms_of_public_roles() {
    gives(
        "{% set d = {} %}{% for h in hosts %}{% set _ = d.update({h.name: h.ip}) %}{% endfor %}{{ d }}",
        json!({"a": "10.0.0.1", "b": "10.0.0.2"}),
    );
    gives(
        "{% set out = [] %}{% for h in hosts %}{{ out.append(h.name) }}{% endfor %}{{ out }}",
        json!(["a", "b"]),
    );
    gives(
        "{% set out = [] %}{% for h in hosts %}{% if out.append(h.ip) %}{% endif %}{% endfor %}{{ out }}",
        json!(["10.0.0.1", "10.0.0.2"]),
    );
    gives(
        "{% set out = [] %}{% for h in hosts %}{% do out.append(h) %}{% endfor %}{{ out | map(attribute='name') | join(',') }}",
        json!("a,b"),
    );
    gives(
        "{% set n = namespace(all=[], by={}) %}{% for h in hosts %}{% set _ = n.all.append(h.name) %}{% set _ = n.by.update({h.name: []}) %}{% set _ = n.by[h.name].append(1) %}{% endfor %}{{ [n.all, n.by] }}",
        json!([["a", "b"], {"a": [1], "b": [1]}]),
    );
    gives(
        "{% set out = [] %}{% for h in hosts %}{% set _ = h.update({'port': 1}) %}{% set _ = out.append(h) %}{% endfor %}{{ out }}",
        json!([{"name": "a", "ip": "10.0.0.1", "port": 1}, {"name": "b", "ip": "10.0.0.2", "port": 1}]),
    );
    gives("{% set _ = names.append('y') %}{{ names }}", json!(["x", "y"]));
}

#[test]
fn one_value_under_two_names() {
    gives("{% set a = [] %}{% set b = a %}{% do a.append(1) %}{{ [a, b] }}", json!([[1], [1]]));
    gives("{% set a = [] %}{% set b = a | list %}{% do a.append(1) %}{{ [a, b] }}", json!([[1], []]));
    gives("{% set a = [] %}{% set b = a.copy() %}{% do a.append(1) %}{{ [a, b] }}", json!([[1], []]));
    gives("{% set a = {} %}{% set b = dict(a) %}{% do a.update(x=1) %}{{ [a, b] }}", json!([{"x": 1}, {}]));
    gives(
        "{% set inner = {} %}{% set outer = {'i': inner, 'l': [inner]} %}{% do inner.update(x=1) %}{{ outer }}",
        json!({"i": {"x": 1}, "l": [{"x": 1}]}),
    );
    gives(
        "{% set inner = {} %}{% set outer = {'i': inner} %}{% do outer.i.update(x=1) %}{{ inner }}",
        json!({"x": 1}),
    );
    gives(
        "{% set rows = [{'n': 1}, {'n': 2}] %}{% for r in rows %}{% do r.update(m=r.n + 1) %}{% endfor %}{{ rows }}",
        json!([{"n": 1, "m": 2}, {"n": 2, "m": 3}]),
    );
}

#[test]
fn each_method_as_in_python() {
    let list =
        |call: &str| value(&format!("{{% set l = [3, 1, 2] %}}{{% set r = l.{call} %}}{{{{ [l, r] }}}}"));
    assert_eq!(list("append(9)"), Ok(json!([[3, 1, 2, 9], null])));
    assert_eq!(list("extend([7, 8])"), Ok(json!([[3, 1, 2, 7, 8], null])));
    assert_eq!(list("insert(-1, 9)"), Ok(json!([[3, 1, 9, 2], null])));
    assert_eq!(list("remove(1)"), Ok(json!([[3, 2], null])));
    assert_eq!(list("pop()"), Ok(json!([[3, 1], 2])));
    assert_eq!(list("pop(0)"), Ok(json!([[1, 2], 3])));
    assert_eq!(list("sort()"), Ok(json!([[1, 2, 3], null])));
    assert_eq!(list("sort(reverse=true)"), Ok(json!([[3, 2, 1], null])));
    assert_eq!(list("reverse()"), Ok(json!([[2, 1, 3], null])));
    assert_eq!(list("clear()"), Ok(json!([[], null])));
    assert!(list("pop(7)").is_err() && list("remove(7)").is_err() && list("sort(key='x')").is_err());
    let map =
        |call: &str| value(&format!("{{% set m = {{'a': 1}} %}}{{% set r = m.{call} %}}{{{{ [m, r] }}}}"));
    assert_eq!(map("update({'b': 2}, c=3)"), Ok(json!([{"a": 1, "b": 2, "c": 3}, null])));
    assert_eq!(map("update([['a', 5]])"), Ok(json!([{"a": 5}, null])));
    assert_eq!(map("setdefault('a', 5)"), Ok(json!([{"a": 1}, 1])));
    assert_eq!(map("setdefault('b', 5)"), Ok(json!([{"a": 1, "b": 5}, 5])));
    assert_eq!(map("pop('a')"), Ok(json!([{}, 1])));
    assert_eq!(map("pop('b', 7)"), Ok(json!([{"a": 1}, 7])));
    assert!(map("pop('b')").is_err() && map("append(1)").is_err());
}

#[test]
fn what_others_hold_is_refused_and_never_changes() {
    gives("{% do [1].append(2) %}", json!(null));
    // Inside of a macro the caller's list cannot be reached.
    refused(
        "{% set l = [] %}{% macro add(x) %}{% do x.append(1) %}{% endmacro %}{{ add(l) }}{{ l }}",
        "held outside",
    );
    refused("{% set l = [1] %}{% for x in l %}{% do l.append(2) %}{% endfor %}", "held outside");
    // What a variable's own template has made is kept for its next reader.
    refused("{% set l = made %}{% do l.append(1) %}{{ l }}", "held outside");
    gives("{% set l = made | list %}{% do l.append(1) %}{{ [l, made] }}", json!([["m", 1], ["m"]]));
    // A variable whose part was changed under another name is not read again as if nothing was.
    refused(
        "{% for h in hosts %}{% do h.update(p=1) %}{% endfor %}{{ hosts }}",
        "was changed in this template",
    );
    gives(
        "{% macro mine() %}{% set l = [] %}{% do l.append(1) %}{{ l }}{% endmacro %}{{ mine() }}",
        json!([1]),
    );
}

#[test]
fn variables_stay_as_they_are() {
    let (templates, vars) = (Templates::new(TemplateWorld::default()), vars());
    for _ in 0..2 {
        let done = templates.value("{% do names.append('y') %}{{ names }}", &vars).expect("a value");
        assert_eq!(done.value, json!(["x", "y"]));
    }
    assert_eq!(templates.value("{{ names }}", &vars).expect("a value").value, json!(["x"]));
}

#[test]
fn what_is_late_stays_late() {
    let error = value("{% set l = [] %}{% do l.append(late[0]) %}{{ l }}").expect_err("late");
    assert!(error.contains("Late"), "{error}");
    refused("{% set l = [] %}{% do l.append(missing) %}{{ l }}", "missing");
}

#[test]
fn long_lists_are_made_in_time() {
    gives(
        "{% set l = [] %}{% for i in range(20000) %}{% do l.append(i) %}{% endfor %}{{ l | length }}",
        json!(20000),
    );
    gives(
        "{% set n = namespace(l=[]) %}{% for i in range(1000) %}{% do n.l.append(i) %}{% endfor %}{{ n.l | length }}",
        json!(1000),
    );
}
