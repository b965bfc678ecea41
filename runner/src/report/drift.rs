//! What has drifted from what is declared: hosts alike once.
use super::paint::Paint;
use super::plan::{shortened, task_text};
use crate::engine::walk::{Walked, What};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Hosts that drifted alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// As people read it.
    pub text: String,
    /// Tasks whose state is not as declared.
    pub drifted: usize,
    /// Tasks of which that cannot be told.
    pub unknown: usize,
    /// Tasks that would fail.
    pub failing: usize,
}

/// Compares hosts with their plans: what is planned has drifted. The odd host first.
pub fn drift<'a>(hosts: impl IntoIterator<Item = (&'a str, &'a Walked)>, paint: Paint) -> Vec<Drift> {
    let mut classes: BTreeMap<(String, usize, usize, usize, usize, usize), Vec<&str>> = BTreeMap::new();
    for (host, walked) in hosts {
        let (text, drifted, unknown, failing, commands, same) = one(walked, paint);
        classes.entry((text, drifted, unknown, failing, commands, same)).or_default().push(host);
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.sort_by_key(|(_, hosts)| hosts.len());
    let tell = |((text, drifted, unknown, failing, commands, same), hosts): (_, Vec<&str>)| {
        let names = match hosts.len() {
            1 => hosts[0].to_owned(),
            many => format!("{many} hosts alike: {}", shortened(&hosts)),
        };
        let mut parts = match drifted {
            0 => vec!["no drift".to_owned()],
            many => vec![format!("{many} drifted")],
        };
        parts.push(format!("{same} as declared"));
        if failing > 0 {
            parts.push(format!("{failing} would fail"));
        }
        if unknown > 0 {
            parts.push(format!("{unknown} cannot be told"));
        }
        if commands > 0 {
            parts.push(format!("{commands} without a state to compare"));
        }
        let title = paint.strong(&format!("{names}: {}", parts.join(", ")));
        Drift { text: format!("{title}\n{text}"), drifted, unknown, failing }
    };
    classes.into_iter().map(tell).collect()
}

fn one(walked: &Walked, paint: Paint) -> (String, usize, usize, usize, usize, usize) {
    let mut text = String::new();
    let (mut drifted, mut unknown, mut failing, mut commands, mut same) = (0, 0, 0, 0, 0);
    for task in &walked.planned {
        match &task.what {
            What::Change(change) => {
                let is_command = change.steps.iter().all(|step| step.look.is_none());
                if is_command && !change.steps.is_empty() {
                    commands += 1;
                    let _ = writeln!(text, "    {} — a command: it has no state to compare", name(task));
                } else {
                    drifted += 1;
                    text.push_str(&task_text(task, change, paint));
                }
            }
            What::Late { on } => {
                unknown += 1;
                let _ = writeln!(text, "  {} {} — cannot be told before {on}", paint.mark("?"), name(task));
            }
            What::Failed(problem) => {
                failing += 1;
                let _ = writeln!(text, "  {} {} — {}", paint.bad("x"), name(task), problem.message);
            }
            What::Same { .. } | What::Probed { .. } => same += 1,
            _ => {}
        }
    }
    (text, drifted, unknown, failing, commands, same)
}

fn name(task: &crate::engine::walk::Planned) -> String {
    match &task.label {
        Some(label) => format!("{} [{label}]", task.title),
        None => task.title.clone(),
    }
}
