//! Templates and conditions that cannot be read, told before any host is contacted.
use crate::diagnostic::Problems;
use crate::playbook::tags::tasks;
use crate::playbook::tree::Playbook;
use crate::template::Templates;
use crate::yaml::Node;

/// Templates and conditions that cannot be read.
pub fn template_problems(templates: &Templates, playbook: &Playbook) -> Problems {
    let mut problems = Problems::new();
    for play in &playbook.plays {
        for task in tasks(play) {
            let conditions = task
                .settings
                .when
                .iter()
                .chain(&task.until)
                .chain(&task.changed_when)
                .chain(&task.failed_when);
            for node in conditions {
                if let Some(text) = node.as_str() {
                    let faults = templates.check_condition(text);
                    problems.extend(faults.iter().map(|fault| fault.in_node(node)));
                }
            }
            for (_, value) in &task.action.args.given {
                texts(value, &mut |node, text| {
                    problems.extend(templates.check(text).iter().map(|fault| fault.in_node(node)));
                });
            }
        }
    }
    problems.dedup();
    problems.sort_by_key(|problem| {
        problem.span.as_ref().map(|span| (span.source.name.clone(), span.start, span.end))
    });
    problems
}

fn texts(node: &Node, found: &mut impl FnMut(&Node, &str)) {
    if let Some(text) = node.as_str() {
        found(node, text);
    }
    for member in node.as_seq().unwrap_or_default() {
        texts(member, found);
    }
    for (_, value) in node.as_map().unwrap_or_default() {
        texts(value, found);
    }
}
