//! Metrics of recorded runs, read by the grammar of the exposition format.
use super::{escaped, number, prometheus};
use crate::report::history::recorded::{HIDDEN, cut, recorded};
use crate::report::history::{Gate, History};
use std::collections::{BTreeMap, BTreeSet};

type Labels = BTreeMap<String, String>;

/// A sample: its name, its labels, its value.
fn sample(line: &str) -> (String, Labels, f64) {
    let is_name = |sign: char| sign.is_ascii_alphanumeric() || sign == '_' || sign == ':';
    let end = line.find(|sign| !is_name(sign)).unwrap();
    let (name, mut rest) = line.split_at(end);
    assert!(!name.is_empty() && !name.starts_with(|sign: char| sign.is_ascii_digit()), "{line}");
    let mut labels = Labels::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").unwrap();
            assert!(label.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '_'), "{line}");
            let mut value = String::new();
            let mut signs = after.char_indices();
            let end = loop {
                match signs.next().unwrap_or_else(|| panic!("a value is not closed: {line}")) {
                    (at, '"') => break at,
                    (_, '\\') => value.push(match signs.next().unwrap().1 {
                        'n' => '\n',
                        sign @ ('\\' | '"') => sign,
                        other => panic!("\\{other} is no escape: {line}"),
                    }),
                    (_, sign) => value.push(sign),
                }
            };
            assert!(labels.insert(label.to_owned(), value).is_none(), "a label twice: {line}");
            rest = &after[end + 1..];
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => break,
            }
        }
        rest = rest.strip_prefix('}').unwrap_or_else(|| panic!("{line}"));
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("{line}"));
    (name.to_owned(), labels, value.parse().unwrap_or_else(|_| panic!("{line}")))
}

/// The samples of an exposition whose every line is by the grammar.
fn samples(text: &str) -> BTreeMap<(String, Labels), f64> {
    assert!(text.ends_with('\n') && !text.contains('\r'), "{text}");
    let (mut seen, mut known, mut family) = (BTreeMap::new(), BTreeSet::new(), String::new());
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            family = help.split_once(' ').unwrap().0.to_owned();
            assert!(known.insert(family.clone()), "a family twice: {line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            assert_eq!(kind, format!("{family} gauge"));
        } else {
            let (name, labels, value) = sample(line);
            assert_eq!(name, family, "a sample beside its family");
            assert!(seen.insert((name, labels), value).is_none(), "a sample twice: {line}");
        }
    }
    seen
}

/// The one sample with this name and these labels among others.
fn one(samples: &BTreeMap<(String, Labels), f64>, name: &str, labels: &[(&str, &str)]) -> f64 {
    let is = |own: &Labels| labels.iter().all(|(name, value)| own.get(*name).is_some_and(|own| own == value));
    let found: Vec<f64> = samples
        .iter()
        .filter(|((own, labels), _)| own == name && is(labels))
        .map(|(_, value)| *value)
        .collect();
    assert_eq!(found.len(), 1, "{name} {labels:?}: {found:?}");
    found[0]
}

#[test]
fn a_run_is_its_samples() {
    let text = prometheus(&recorded("rolled_back"));
    let samples = samples(&text);
    let get = |name: &str, labels: &[(&str, &str)]| one(&samples, name, labels);
    assert_eq!(get("tunerun_run_exit_code", &[("playbook", "site.yml")]), 7.0);
    assert_eq!(get("tunerun_run_rolled_back", &[]), 1.0);
    assert_eq!(get("tunerun_run_hosts", &[("end", "rolled_back")]), 1.0);
    assert_eq!(get("tunerun_run_hosts", &[("end", "waiting")]), 2.0);
    assert_eq!(get("tunerun_run_hosts", &[("end", "lost")]), 0.0);
    assert_eq!(get("tunerun_gate_verdict", &[("verdict", "REGRESS"), ("change", "the knob")]), 1.0);
    assert_eq!(get("tunerun_gate_verdict", &[("verdict", "PASS")]), 0.0);
    assert!((get("tunerun_gate_change_ratio", &[("metric", "rate")]) + 0.5).abs() < 0.02);
    assert!(get("tunerun_run_end_time_seconds", &[]) > get("tunerun_run_start_time_seconds", &[]));
    assert!(get("tunerun_run_steps_done", &[]) >= 4.0);
    assert_eq!(get("tunerun_run_info", &[("by", "root on controller"), ("standing", "rolled-back")]), 1.0);
}

#[test]
fn every_recorded_run_is_by_the_grammar() {
    for name in ["passed", "rolled_back", "ladder", "failed"] {
        let text = prometheus(&recorded(name));
        samples(&text);
        assert!(HIDDEN.iter().all(|word| !text.contains(word)), "{name}");
    }
    let open = samples(&prometheus(&cut("passed", |length| length / 2)));
    assert_eq!(one(&open, "tunerun_run_ended", &[]), 0.0);
    assert!(!open.keys().any(|(name, _)| name == "tunerun_run_exit_code"), "no end has no code");
    let unreadable = samples(&prometheus(&History::unreadable("r", "x".to_owned(), Vec::new())));
    assert_eq!(one(&unreadable, "tunerun_run_readable", &[]), 0.0);
}

#[test]
fn labels_are_escaped() {
    let hostile = "a\"b\\c\nd\re";
    let history =
        History { gates: vec![Gate { id: hostile.to_owned(), ..Gate::default() }], ..History::default() };
    let samples = samples(&prometheus(&history));
    assert_eq!(one(&samples, "tunerun_gate_verdict", &[("gate", "a\"b\\c\nd e"), ("verdict", "NONE")]), 1.0);
    assert_eq!(escaped("\\n"), "\\\\n");
    assert_eq!([number(f64::NAN), number(f64::INFINITY), number(0.25)], ["NaN", "+Inf", "0.25"]);
}
