//! What has drifted from what is declared: hosts alike once.
use super::paint::Paint;
use super::plan::{shortened, task_text};
use crate::engine::walk::{Planned, Walked, What};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How hosts stand that stand alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Drift {
    /// As people read it.
    pub text: String,
    /// Tasks whose state is not as declared.
    pub drifted: usize,
    /// Tasks of which that cannot be told.
    pub unknown: usize,
    /// Tasks that would fail.
    pub failing: usize,
    /// Commands: they have no state to compare.
    pub commands: usize,
    /// Tasks whose state is as declared.
    pub same: usize,
}

/// Compares hosts with their plans: what is planned has drifted. The odd host first.
pub fn drift<'a>(hosts: impl IntoIterator<Item = (&'a str, &'a Walked)>, paint: Paint) -> Vec<Drift> {
    let mut classes: BTreeMap<Drift, Vec<&str>> = BTreeMap::new();
    for (host, walked) in hosts {
        classes.entry(of(walked, paint)).or_default().push(host);
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|(_, hosts)| hosts.len());
    let titled = |(drift, hosts): (Drift, Vec<&str>)| {
        let title = paint.strong(&title(&drift, &hosts));
        Drift { text: format!("{title}\n{}", drift.text), ..drift }
    };
    classes.into_iter().map(titled).collect()
}

fn title(drift: &Drift, hosts: &[&str]) -> String {
    let names = match hosts.len() {
        1 => hosts[0].to_owned(),
        many => format!("{many} hosts alike: {}", shortened(hosts)),
    };
    let mut parts = match drift.drifted {
        0 => vec!["no drift".to_owned()],
        many => vec![format!("{many} drifted")],
    };
    parts.push(format!("{} as declared", drift.same));
    let further = [
        (drift.failing, "would fail"),
        (drift.unknown, "cannot be told"),
        (drift.commands, "without a state to compare"),
    ];
    parts.extend(
        further.iter().filter(|(count, _)| *count > 0).map(|(count, words)| format!("{count} {words}")),
    );
    format!("{names}: {}", parts.join(", "))
}

fn of(walked: &Walked, paint: Paint) -> Drift {
    let mut drift = Drift::default();
    for task in &walked.planned {
        match &task.what {
            What::Change(change) => {
                let is_command = change.steps.iter().all(|step| step.look.is_none());
                if is_command && !change.steps.is_empty() {
                    drift.commands += 1;
                    let _ =
                        writeln!(drift.text, "    {} — a command: it has no state to compare", name(task));
                } else {
                    drift.drifted += 1;
                    drift.text.push_str(&task_text(task, change, paint));
                }
            }
            What::Late { on } => {
                drift.unknown += 1;
                let _ =
                    writeln!(drift.text, "  {} {} — cannot be told before {on}", paint.mark("?"), name(task));
            }
            What::Failed(problem) => {
                drift.failing += 1;
                let _ = writeln!(drift.text, "  {} {} — {}", paint.bad("x"), name(task), problem.message);
            }
            What::Same { .. } | What::Probed { .. } => drift.same += 1,
            _ => {}
        }
    }
    drift
}

fn name(task: &Planned) -> String {
    match &task.label {
        Some(label) => format!("{} [{label}]", task.title),
        None => task.title.clone(),
    }
}
