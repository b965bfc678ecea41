//! JUnit XML of recorded runs, read back by a parser.
use super::{escaped, junit};
use crate::report::history::recorded::{HIDDEN, cut, recorded};
use crate::report::history::{History, Standing};
use roxmltree::{Document, Node};

fn cases<'a>(document: &'a Document<'_>, suite: &str) -> Vec<Node<'a, 'a>> {
    let suites = document.root_element().children().filter(|node| node.has_tag_name("testsuite"));
    let suite = suites.into_iter().find(|node| node.attribute("name") == Some(suite)).unwrap();
    suite.children().filter(|node| node.has_tag_name("testcase")).collect()
}

fn child<'a>(case: &Node<'a, 'a>, name: &str) -> Option<Node<'a, 'a>> {
    case.children().find(|node| node.has_tag_name(name))
}

/// The counts of every suite and of the whole are those of the cases, and each case has at most one result.
fn counts_are_true(document: &Document<'_>) {
    for suite in document.descendants().filter(|node| node.tag_name().name().starts_with("testsuite")) {
        let of = |name: &str| suite.descendants().filter(|node| node.has_tag_name(name)).count();
        for (attribute, name) in
            [("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
        {
            assert_eq!(suite.attribute(attribute), Some(of(name).to_string().as_str()), "{attribute}");
        }
        let _: f64 = suite.attribute("time").unwrap().parse().unwrap();
    }
    for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
        let results = case.children().filter(|node| node.is_element() && !node.has_tag_name("system-out"));
        assert!(
            results.count() <= 1 && case.attribute("classname").is_some() && case.attribute("name").is_some()
        );
    }
}

#[test]
fn a_run_that_passed_has_no_failure() {
    let text = junit(&recorded("passed"));
    let document = Document::parse(&text).unwrap();
    counts_are_true(&document);
    assert_eq!(document.root_element().attribute("failures"), Some("0"), "{text}");
    assert_eq!(document.root_element().attribute("errors"), Some("0"), "{text}");
    let names: Vec<_> =
        cases(&document, "host odd").iter().map(|case| case.attribute("name").unwrap()).collect();
    assert_eq!(
        names,
        ["Turn the knob", "The tunings", "The password", "For the owner alone", "how the host ended"]
    );
    assert!(text.contains("[+"), "the gate's interval is told");
    for word in HIDDEN {
        assert!(!text.contains(word), "{word}");
    }
}

#[test]
fn rolled_back_is_a_failure_of_the_run_the_gate_and_the_host() {
    let text = junit(&recorded("rolled_back"));
    let document = Document::parse(&text).unwrap();
    counts_are_true(&document);
    for (suite, name, words) in [
        ("run", "how the run ended", "ROLLED BACK"),
        ("gates", "the knob (play1-wave0)", "REGRESS"),
        ("host osd1", "how the host ended", "ROLLED BACK"),
    ] {
        let cases = cases(&document, suite);
        let case = cases.iter().find(|case| case.attribute("name") == Some(name)).unwrap();
        let failure = child(case, "failure").unwrap();
        assert!(failure.text().unwrap().contains(words) && failure.attribute("message").is_some(), "{text}");
    }
    assert!(child(&cases(&document, "host osd2")[0], "skipped").is_some());
    let names: Vec<_> =
        cases(&document, "host osd1").iter().map(|case| case.attribute("name").unwrap().to_owned()).collect();
    let mut unlike = names.clone();
    unlike.sort();
    unlike.dedup();
    assert_eq!(unlike.len(), names.len(), "no two cases of a suite have one name: {names:?}");
}

#[test]
fn what_failed_says_why_and_hostile_names_stay_text() {
    let text = junit(&recorded("failed"));
    let document = Document::parse(&text).unwrap();
    counts_are_true(&document);
    let cases = cases(&document, "host bad");
    let failed = cases.iter().find(|case| case.attribute("name") == Some("Fails on one host")).unwrap();
    assert!(child(failed, "failure").unwrap().text().unwrap().contains("it broke & burnt"));
    assert!(
        cases
            .iter()
            .any(|case| case.attribute("name") == Some("<script>alert('a task')</script> & \"more\""))
    );
    assert!(document.descendants().all(|node| !node.has_tag_name("script")));
    assert_eq!(escaped("a\u{0}\u{1b}[1m]]>\n"), "a\u{fffd}\u{fffd}[1m]]&gt;&#10;");
}

#[test]
fn a_run_without_an_end_and_one_that_cannot_be_read_are_errors() {
    let open = cut("passed", |length| length / 2);
    let unreadable = History::unreadable("r", "line 3: damaged".to_owned(), Vec::new());
    assert_eq!(unreadable.standing, Standing::Unreadable);
    for (history, words) in [(open, "cut off"), (unreadable, "line 3: damaged")] {
        let text = junit(&history);
        let document = Document::parse(&text).unwrap();
        counts_are_true(&document);
        let case = cases(&document, "run")[0];
        assert!(child(&case, "error").unwrap().text().unwrap().contains(words), "{text}");
    }
}
