//! Measurements that cannot say which change they measured: more than one change lies between them.
use super::said::{is_command, said};
use crate::diagnostic::{Diagnostic, Problems};
use crate::playbook::tree::Task;
use std::collections::BTreeSet;

/// Programs that measure.
const MEASURES: [&str; 6] = ["fio ", "rados bench", "rbd bench", "iperf", "vdbench", "bdevperf"];

/// Warns where guests were started with more than one change between two measurements.
pub(super) fn attribution(tasks: &[&Task]) -> Problems {
    let mut problems = Problems::new();
    let (mut measured, mut last): (Option<BTreeSet<String>>, Option<BTreeSet<String>>) = (None, None);
    for task in tasks.iter().filter(|task| is_command(task)) {
        let text: String = said(task).iter().map(|said| said.text.as_str()).collect::<Vec<_>>().join(" ");
        if text.contains("qemu") && !text.contains("qemu-img") {
            let now = settings(&text);
            if let Some(before) = &measured {
                let changes: Vec<&str> =
                    before.symmetric_difference(&now).map(|setting| name(setting)).collect();
                let changes: BTreeSet<&str> = changes.into_iter().collect();
                if changes.len() > 1 {
                    let named: Vec<&str> = changes.into_iter().collect();
                    problems.push(
                        Diagnostic::warning(
                            format!(
                                "{} changes since the last measurement: {}",
                                named.len(),
                                named.join(", ")
                            ),
                            task.action.span.clone(),
                        )
                        .help("measure after each of them, or say nothing of one of them alone"),
                    );
                }
            }
            last = Some(now);
        } else if MEASURES.iter().any(|program| text.contains(program)) && last.is_some() {
            measured.clone_from(&last);
        }
    }
    problems
}

/// The settings of a command line that a guest feels. Names that only tie parts together are none.
fn settings(text: &str) -> BTreeSet<String> {
    let ties = [
        "id",
        "if",
        "drive",
        "node-name",
        "file",
        "netdev",
        "hostfwd",
        "ifname",
        "script",
        "chardev",
        "path",
    ];
    text.split([' ', ',', '\n', '\\'])
        .map(str::trim)
        .filter(|word| !word.is_empty() && !word.starts_with('-') && !word.starts_with('/'))
        .filter(|word| !ties.contains(&name(word)))
        .map(|word| if word.contains("iothread") { "iothread".to_owned() } else { word.to_owned() })
        .collect()
}

fn name(setting: &str) -> &str {
    setting.split('=').next().unwrap_or_default()
}
