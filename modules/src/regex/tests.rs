//! Patterns against what Python's `re` answered.
use super::{Flags, Part, Pattern, Template, escape, narrow, widen};
use serde_json::Value as Json;

fn flags(letters: &str) -> Flags {
    Flags {
        ignore_case: letters.contains('i'),
        multiline: letters.contains('m'),
        dot_all: letters.contains('s'),
        verbose: letters.contains('x'),
        ascii: letters.contains('a'),
    }
}

/// Rows of `tests/data/modules/regex.json`: pattern, flags, text, replacement, and Python's answer to `re.subn`,
/// or null where Python refuses.
#[test]
fn python_answers_the_same() {
    let rows: Vec<Json> =
        serde_json::from_str(include_str!("../../../tests/data/modules/regex.json")).unwrap();
    assert!(rows.len() >= 100);
    let mut wrong = Vec::new();
    for row in &rows {
        let [pattern, letters, text, template] =
            [&row[0], &row[1], &row[2], &row[3]].map(|cell| cell.as_str().unwrap());
        let ours = Pattern::new(pattern, flags(letters)).and_then(|pattern| {
            let template = Template::new(template, &pattern)?;
            pattern.replace(text, &template, None)
        });
        let same = match (&ours, row[4].as_array()) {
            (Ok((text, count)), Some(theirs)) => {
                theirs[0] == text.as_str() && theirs[1] == serde_json::json!(count)
            }
            (Err(_), None) => true,
            _ => false,
        };
        if !same {
            wrong.push(format!("{row}\n   ours: {ours:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn faults_say_where() {
    for (pattern, column) in [
        ("a(b", 2),
        ("a)b", 2),
        ("*a", 1),
        ("a**", 3),
        ("[abc", 1),
        ("(?P<n>a)(?P<n>b)", 9),
        ("a\\q", 2),
        ("a(?i)b", 2),
        ("[z-a]", 2),
        ("\\1", 1),
        ("a\\", 2),
        ("(?<=a+)b", 0),
    ] {
        let fault = Pattern::new(pattern, Flags::default()).unwrap_err();
        assert_eq!(fault.column.unwrap_or(0), column, "{pattern}: {fault}");
    }
    let pattern = Pattern::new("(a)", Flags::default()).unwrap();
    assert_eq!(Template::new("x\\2", &pattern).unwrap_err().column, Some(2));
    assert_eq!(Template::new("\\g<n>", &pattern).unwrap_err().column, Some(4));
}

#[test]
fn a_pattern_that_never_ends_is_given_up() {
    let pattern = Pattern::new("(?=a)(a+)+\\1b$", Flags::default()).unwrap();
    let fault = pattern.search(&"a".repeat(60)).unwrap_err();
    assert!(fault.why.contains("steps"), "{fault}");
}

#[test]
fn bytes_are_matched_as_bytes() {
    let pattern = Pattern::of_bytes("^gr.ße\\b", Flags::default()).unwrap();
    assert!(!pattern.is_match(&widen("größe=1".as_bytes())).unwrap());
    let pattern = Pattern::of_bytes("^gr..ße\\b", Flags::default()).unwrap();
    assert!(pattern.is_match(&widen("größe=1".as_bytes())).unwrap());
    assert!(!Pattern::of_bytes("\\w", Flags::default()).unwrap().is_match(&widen(b"\xe9")).unwrap());
    let every: Vec<u8> = (0..=255).collect();
    assert_eq!(narrow(&widen(&every)), every);
}

#[test]
fn a_pattern_holds_a_part_the_start_or_the_whole() {
    let pattern = Pattern::new("b+|abc", Flags::default()).unwrap();
    let holds =
        |text: &str| [Part::Any, Part::Start, Part::Whole].map(|part| pattern.holds(text, part).unwrap());
    assert_eq!(holds("xb"), [true, false, false]);
    assert_eq!(holds("bbx"), [true, true, false]);
    assert_eq!(holds("abc"), [true, true, true]);
    assert_eq!(holds("abc\n"), [true, true, false]);
    assert_eq!(holds("c"), [false, false, false]);
    let repeated = Pattern::new("(a)\\1", Flags { ignore_case: true, ..Flags::default() }).unwrap();
    assert!(repeated.holds("aA", Part::Whole).unwrap());
}

#[test]
fn an_escaped_text_matches_itself_alone() {
    let hostile = "a.b*[c]{2}|^$\\(?P<n>) #&~-\n'\"é";
    let pattern = Pattern::new(&escape(hostile), Flags { verbose: true, ..Flags::default() }).unwrap();
    let found = pattern.search(&format!("x{hostile}y")).unwrap().unwrap();
    assert_eq!((found.start(), found.end()), (1, 1 + hostile.len()));
}
