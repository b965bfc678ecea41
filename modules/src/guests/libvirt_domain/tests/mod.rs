//! Plans on captured domains.
mod corpus;
mod knobs;
mod refusals;
mod standing;

use super::LibvirtDomain;
use super::samples::{UUID, host};
use crate::host::Host;
use crate::trial;
use crate::vocabulary::{Act, Change, Step};
use serde_json::{Value as Json, json};

/// The text that a step defines.
pub(super) fn sent(step: &Step) -> String {
    match &step.act {
        Act::Call { row, .. } => row.stdin.clone().unwrap_or_default(),
        other => panic!("{other:?}"),
    }
}

/// Plans on one domain; `args` without `domains`.
pub(super) fn plan(host: &Host, args: Json) -> Change {
    trial::planned::<LibvirtDomain>(host, with_domains(args))
}

/// Why it is refused.
pub(super) fn refusal(host: &Host, args: Json) -> String {
    trial::refusal::<LibvirtDomain>(host, with_domains(args))
}

pub(super) fn with_domains(mut args: Json) -> Json {
    if args.get("domains").is_none() {
        args["domains"] = json!(["*"]);
    }
    args
}

/// The XML of one domain after a task; the same where nothing is to be done.
pub(super) fn after(xml: &str, args: Json) -> String {
    let host = host(&[("guest", xml)]);
    let change = plan(&host, args.clone());
    let Some(step) = change.steps.first() else { return xml.to_owned() };
    let text = sent(step);
    // A second task on what the first leaves plans nothing.
    let again = super::samples::host(&[("guest", &text)]);
    assert!(plan(&again, args).steps.is_empty(), "planned again on\n{text}");
    text
}

/// Lines that went and lines that came.
pub(super) fn lines(before: &str, after: &str) -> (Vec<String>, Vec<String>) {
    let diff = similar::TextDiff::from_lines(before, after);
    let of = |tag| {
        diff.iter_all_changes()
            .filter(|change| change.tag() == tag)
            .map(|change| change.value().trim().to_owned())
            .collect()
    };
    (of(similar::ChangeTag::Delete), of(similar::ChangeTag::Insert))
}

pub(super) fn uuid() -> &'static str {
    UUID
}
