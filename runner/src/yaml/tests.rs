//! Tests of the YAML tree: types, places, limits, and that no text makes it panic.
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

fn read(text: &str) -> Node {
    parse_one(&Source::new("t.yml", text)).unwrap_or_else(|problems| panic!("{text:?}: {problems:#?}"))
}

fn value(text: &str) -> Json {
    read(&format!("v: {text}")).get("v").expect("v").to_json()
}

fn fails(text: &str) -> Problems {
    parse(&Source::new("t.yml", text)).expect_err(text)
}

/// Message, marked text and help of the only problem.
fn fault(text: &str) -> (String, String, String) {
    let problems = fails(text);
    assert_eq!(problems.len(), 1, "{text:?}: {problems:#?}");
    let span = problems[0].span.clone().expect("a place");
    (problems[0].message.clone(), span.text().to_owned(), problems[0].help.clone().unwrap_or_default())
}

/// Each row as PyYAML's safe loader reads it.
fn words_and_whole_numbers() -> Vec<(&'static str, Json)> {
    vec![
        ("yes", json!(true)),
        ("On", json!(true)),
        ("off", json!(false)),
        ("NO", json!(false)),
        ("y", json!("y")),
        ("n", json!("n")),
        ("'yes'", json!("yes")),
        ("tRue", json!("tRue")),
        ("0644", json!(420)),
        ("-010", json!(-8)),
        ("00", json!(0)),
        ("0", json!(0)),
        ("-0", json!(0)),
        ("08", json!("08")),
        ("0o644", json!("0o644")),
        ("0x1F", json!(31)),
        ("0b101", json!(5)),
        ("0b", json!("0b")),
        ("1_000", json!(1000)),
        ("_1", json!("_1")),
        ("+12", json!(12)),
        ("12:30:45", json!(45045)),
        ("1:60", json!("1:60")),
        ("0:30", json!("0:30")),
        ("0000:00:1f.2", json!("0000:00:1f.2")),
    ]
}

fn others() -> Vec<(&'static str, Json)> {
    vec![
        ("1.10", json!(1.1)),
        ("1.", json!(1.0)),
        (".5", json!(0.5)),
        ("-.5", json!("-.5")),
        ("1.2.3", json!("1.2.3")),
        ("1e3", json!("1e3")),
        ("1.5e3", json!("1.5e3")),
        ("1.5e+3", json!(1500.0)),
        ("1:30.5", json!(90.5)),
        (".inf", json!("inf")),
        ("-.Inf", json!("-inf")),
        (".nan", json!("nan")),
        ("18446744073692774399", json!(18_446_744_073_692_774_399_u64)),
        ("-9223372036854775808", json!(i64::MIN)),
        ("99999999999999999999", json!("99999999999999999999")),
        ("2001-12-14", json!("2001-12-14")),
        ("8G", json!("8G")),
        ("-a", json!("-a")),
        ("+", json!("+")),
        ("~", Json::Null),
        ("", Json::Null),
        ("NULL", Json::Null),
        ("!!str 5", json!("5")),
        ("! 5", json!("5")),
        ("!!float 5", json!(5.0)),
        ("!unsafe '{{ x }}'", json!({"__ansible_unsafe": "{{ x }}"})),
        ("!unsafe [a, 1]", json!([{"__ansible_unsafe": "a"}, 1])),
        ("!vault |\n  $ANSIBLE_VAULT;1.1\n  61", json!({"__ansible_vault": "$ANSIBLE_VAULT;1.1\n61"})),
        ("|\n  a\n\n   b\n", json!("a\n\n b\n")),
        (">-\n  a\n  b\n", json!("a b")),
        ("\"a\\tb\"", json!("a\tb")),
    ]
}

#[test]
fn scalars_are_read_as_ansible_reads_them() {
    for (text, expected) in words_and_whole_numbers().into_iter().chain(others()) {
        assert_eq!(value(text), expected, "{text:?}");
    }
}

#[test]
fn places_are_exact() {
    let tree =
        read("# c\nhöst: 'ö'\nlist:\n  - x\n  - {a: 1, b: [2]}\nempty:\ntext: |\n  one\n  two\n\nlast: 1\n");
    let at = |key: &str| tree.entry(key).unwrap_or_else(|| panic!("{key}"));
    assert_eq!(at("höst").0.span.to_string(), "t.yml:2:1");
    assert_eq!(at("höst").1.raw(), "'ö'");
    assert_eq!(at("list").1.raw(), "- x\n  - {a: 1, b: [2]}");
    assert_eq!(at("list").1.as_seq().expect("list")[1].raw(), "{a: 1, b: [2]}");
    assert_eq!(at("empty").1.span.to_string(), "t.yml:6:6");
    assert_eq!(at("text").1.raw(), "one\n  two");
    assert_eq!(at("text").1.span.to_string(), "t.yml:8:3");
    assert!(tree.raw().ends_with("last: 1"));
}

#[test]
fn parts_of_a_text_are_found_in_the_file() {
    let rows = [
        ("v: a {{ b }}", "{{ b }}"),
        ("v: 'it''s {{ b }}'", "{{ b }}"),
        ("v: \"x\\n\\\"q\\\" {{ b }}\"", "{{ b }}"),
        ("v: |\n  one\n    {{ b }}\n  two\n", "{{ b }}"),
        ("v: >\n  one\n  {{ b }}\n  two\n", "{{ b }}"),
        ("v: one\n   {{ b }} x\n", "{{ b }}"),
        ("v: |\n  \"{{ b }}\"\n", "{{ b }}"),
    ];
    for (text, part) in rows {
        let tree = read(text);
        let node = tree.get("v").expect("v");
        let start = node.as_str().expect("text").find(part).expect(text);
        let span = node.part(start..start + part.len());
        assert_eq!(span.text(), part, "{text:?}");
    }
}

#[test]
fn aliases_and_merge_keys() {
    let tree = read("b: &b {x: 1, y: 2}\nl: &l\n  y: 9\n  z: 3\nc:\n  y: 5\n  <<: [*b, *l]\nd: *b\n");
    assert_eq!(tree.get("c").expect("c").to_json(), json!({"y": 5, "x": 1, "z": 3}));
    assert_eq!(tree.get("d").expect("d").span.text(), "*b");
    assert_eq!(tree.get("d").expect("d").get("x").expect("x").span.to_string(), "t.yml:1:11");
    assert_eq!(value("{'<<': 1}"), json!({"<<": 1}));
    assert!(fault("c:\n  <<: 1\n").0.contains("`<<` merges mappings"));
    assert!(fault("a: *x\n").0.contains("no anchor `&x`"));
    assert!(fault("a: &x [*x]\n").0.contains("holds itself"));
}

#[test]
fn documents() {
    let source = Source::new("t.yml", "---\na: 1\n---\n- b\n...\n");
    assert_eq!(parse(&source).expect("two").len(), 2);
    let problems = parse_one(&source).expect_err("one");
    assert_eq!(problems[0].span.as_ref().expect("place").to_string(), "t.yml:4:1");
    assert!(read("").is_null());
    assert!(parse(&Source::new("t.yml", "# only\n")).expect("none").iter().all(Node::is_null));
}

#[test]
fn faults_say_what_to_do() {
    let rows = [
        ("v: {{ x }}", "template without quotes", "{{ x }}", "quote it"),
        ("v: {{ x }}/a", "template without quotes", "{{ x }}/a", "quote it"),
        ("v:\n  - {{ x }}\n", "template without quotes", "{{ x }}", "quote it"),
        ("a: b: c", "a `:` where no key can be", "b: c", "\"b: c\""),
        ("a:\n\tb: 1", "tab", "", "spaces"),
        ("a: \"x\" == 1", "", "\"x\" == 1", "whole value in ' quotes"),
        ("a: 'x' in y\n", "", "'x' in y", "whole value in \" quotes"),
        ("- 'a\nb: 1", "quote is never closed", "", "close it"),
        ("a: [1, 2\nb: 1", "", "", ""),
        ("a:\n  b: 1\n c: 1", "", "", "indentation"),
        ("a: @x", "", "@x", "quote it"),
        ("a: 1\nb: 2\na: 2", "`a` is there twice", "a", "keep one"),
        ("a: !valt 1", "unknown YAML tag `!valt`", "!valt", "did you mean `!vault`?"),
        ("a: !!python/name:x 1", "unknown YAML tag `!!python/name:x`", "!!python/name:x", "take the tag out"),
        ("a: !!int x", "`!!int` does not fit", "x", "take the tag out"),
        ("? [a]\n: 1", "a key must be text", "[a]", ""),
        ("a: \"\\q\"", "", "", "backslash twice"),
    ];
    for (text, message, marked, help) in rows {
        let (found, at, hint) = fault(text);
        assert!(found.contains(message), "{text:?}: {found}");
        assert!(marked.is_empty() || at == marked, "{text:?}: marks {at:?}");
        assert!(hint.contains(help), "{text:?}: {hint}");
    }
}

#[test]
fn all_duplicates_are_told_at_once() {
    assert_eq!(fails("a: 1\na: 2\nb:\n  c: 1\n  c: 2\n").len(), 2);
    let many: String = (0..40).map(|at| format!("k{at}: 1\n")).collect();
    assert_eq!(fails(&format!("{many}k3: 1\nk39: 1\n")).len(), 2);
}

#[test]
fn bombs_are_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let inner = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb += &format!("a{level}: &a{level} [{inner}]\n");
    }
    assert!(fault(&bomb).0.contains("far too much"));
    assert!(fault(&"[".repeat(20_000)).0.contains("inside each other"));
    assert!(fault(&"{a: ".repeat(20_000)).0.contains("inside each other"));
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for level in 1..400 {
        chain += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
    }
    assert!(fault(&chain).0.contains("inside each other"));
    let text = "t".repeat(1 << 20);
    let wide: String = (0..40).map(|at| format!("b{at}: *a\n")).collect();
    assert!(fault(&format!("a: &a {text}\n{wide}")).0.contains("far too much"));
}

fn inside(node: &Node, length: usize) {
    assert!(node.span.start <= node.span.end && node.span.end <= length, "{:?}", node.span);
    for (key, value) in node.entries() {
        inside(key, length);
        inside(value, length);
    }
    for member in node.as_seq().unwrap_or_default() {
        inside(member, length);
    }
}

fn holds(text: &str) {
    match parse(&Source::new("p.yml", text)) {
        Ok(documents) => {
            for document in &documents {
                inside(document, text.len());
                document.to_json();
                if let Some(value) = document.as_str() {
                    document.part(0..value.len());
                }
            }
        }
        Err(problems) => assert!(!problems.is_empty()),
    }
}

#[test]
fn a_mark_behind_a_closing_quote_is_read_or_refused() {
    for text in ["''\u{feff}", "''\u{feff}*x", "'\u{feff}'", "''''\u{f6}"] {
        holds(text);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}") {
        holds(&text);
    }

    #[test]
    fn yaml_like_text_is_read_or_refused(parts in prop::collection::vec(
        prop::sample::select(vec![
            "a", "b: ", ": ", "- ", "\n", "  ", "{", "}", "[", "]", ",", "'", "\"", "|\n", ">-\n", "&x ", "*x",
            "!vault ", "!!int ", "<<: ", "{{ x }}", "ö", "0644", "---\n", "#", "\t", "? ", "%", "\u{feff}", "\r\n",
        ]), 0..40)) {
        holds(&parts.concat());
    }

    #[test]
    fn numbers_keep_their_value(number in any::<i64>()) {
        prop_assert_eq!(value(&number.to_string()), json!(number));
    }

    #[test]
    fn quoted_text_keeps_its_value(text in "[ -~]{0,40}") {
        let quoted = format!("'{}'", text.replace('\'', "''"));
        prop_assert_eq!(value(&quoted), json!(text));
    }
}

/// tests/data/yaml/scalars.json: random scalars with the values that PyYAML 6.0.3's safe loader gives (dates as text).
#[test]
fn scalars_agree_with_pyyaml() {
    let rows: Vec<(String, Json)> =
        serde_json::from_str(include_str!("../../../tests/data/yaml/scalars.json")).expect("rows");
    assert!(rows.len() > 500);
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(text, expected)| {
            let found = value(text);
            let close =
                found.as_f64().zip(expected.as_f64()).is_some_and(|(a, b)| (a - b).abs() <= b.abs() * 1e-12);
            found != *expected && !(close && found.is_f64() == expected.is_f64())
        })
        .map(|(text, expected)| format!("{text}: {} instead of {expected}", value(text)))
        .collect();
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
