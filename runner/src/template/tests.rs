//! Tests: recorded results of ansible-core's own engine, lateness, taint, faults with their places.
use std::collections::HashMap;
use std::path::Path;

use super::*;
fn data(name: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data").join(name);
    serde_json::from_str(&std::fs::read_to_string(&path).expect("test data")).expect("JSON")
}

fn templates() -> Templates {
    Templates::new(TemplateWorld::default())
}

fn scope(vars: &Json) -> HashMap<String, Var> {
    let map = vars.as_object().expect("vars are a mapping");
    map.iter().map(|(name, value)| (name.clone(), Var::written(value.clone()))).collect()
}

/// What differs between our answer and the recorded one; "not supported" is an honest answer.
fn differs(case: &Json, ours: &Result<Json, Fault>) -> Option<String> {
    match (case.get("result"), ours) {
        (Some(wanted), Ok(got)) => {
            let wanted = if wanted == "OMIT" { &omit() } else { wanted };
            (wanted != got).then(|| format!("wanted {wanted}, got {got}"))
        }
        // Ansible drops such parameters one step later.
        (None, Ok(got)) if is_omit(got) && case["message"].to_string().contains("Omit scalar") => None,
        (None, Ok(got)) => Some(format!("wanted an error ({}), got {got}", case["message"])),
        (Some(_), Err(fault)) if matches!(fault.kind, Kind::Unsupported { .. }) => None,
        (Some(wanted), Err(fault)) => Some(format!("wanted {wanted}, got the error {:?}", fault.kind)),
        (None, Err(_)) => None,
    }
}

fn recorded(name: &str) -> (usize, usize) {
    let (data, templates) = (data(name), templates());
    let vars = scope(&data["vars"]);
    let (mut wrong, mut unsupported, mut count) = (Vec::new(), 0, 0);
    let mut look = |what: &str, case: &Json, ours: Result<Json, Fault>| {
        count += 1;
        if case.get("result").is_some()
            && matches!(&ours, Err(fault) if !fault.is_missing() && matches!(fault.kind, Kind::Unsupported { .. }))
        {
            unsupported += 1;
        }
        if let Some(difference) = differs(case, &ours) {
            wrong.push(format!("{what}\n    {difference}"));
        }
    };
    for case in data["cases"].as_array().expect("cases") {
        let text = case["expr"].as_str().expect("an expression");
        look(text, case, templates.value(text, &vars).map(|done| done.value));
    }
    for case in data["conditions"].as_array().into_iter().flatten() {
        let text = case["when"].as_str().expect("a condition");
        look(text, case, templates.condition(text, &vars).map(|(held, _)| held.into()));
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    (count, unsupported)
}

#[test]
fn the_corpus_gives_the_recorded_values() {
    let (count, unsupported) = recorded("corpus/playbooks/expressions.json");
    assert!(count >= 40);
    assert_eq!(unsupported, 0);
}

#[test]
fn further_expressions_give_the_recorded_values() {
    let (count, unsupported) = recorded("expressions/more.json");
    assert!(count >= 250, "{count}");
    assert!(unsupported <= 8, "{unsupported}");
}
