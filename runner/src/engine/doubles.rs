//! Names of the inventory that are one machine: two parts of a run must not act on it side by side.
use super::links::Links;
use super::run::HostRun;
use super::walk::{Planned, Scene, Walked, What};
use crate::diagnostic::Diagnostic;
use crate::report::plan::shortened;
use std::collections::BTreeMap;

/// A name with the title of its first task that changes something.
type Acting = BTreeMap<String, String>;

/// What is wrong where tasks of several names would change one machine: each name would keep its ways back in the same
/// folder there, unlocked against the other, and plan on what the other changes.
pub fn doubles(scene: &Scene, links: &Links, planned: &[(HostRun, Walked)]) -> Vec<Diagnostic> {
    let mut machines: BTreeMap<(String, String), Acting> = BTreeMap::new();
    for (run, walked) in planned.iter().filter(|(run, _)| run.refused.is_none()) {
        for task in walked.planned.iter().filter(|task| acts(task)) {
            let Some(known) = run.state.known.get(&task.target) else { continue };
            let (Some(machine), Some(who)) = (&known.machine, &known.who) else { continue };
            let folder = match (links.state(scene, &task.target.host), who.uid) {
                (Some(folder), _) => folder,
                (None, 0) => "/var/lib/tunerun".to_owned(),
                (None, _) => format!("~{}/.local/state/tunerun", who.user),
            };
            let acting = machines.entry((machine.clone(), folder)).or_default();
            acting.entry(task.target.host.clone()).or_insert_with(|| task.title.clone());
        }
    }
    let several = machines.into_iter().filter(|(_, acting)| acting.len() > 1);
    several.map(|((_, folder), acting)| problem(scene, &folder, &acting)).collect()
}

fn problem(scene: &Scene, folder: &str, acting: &Acting) -> Diagnostic {
    let names: Vec<&str> = acting.keys().map(String::as_str).collect();
    let inventory = scene.inventory();
    let span = names.last().and_then(|name| inventory.host(name)).map(|id| inventory.host_origin(id).clone());
    let words = format!("{} are one machine, and tasks of each would change it", shortened(&names));
    let mut problem = Diagnostic::error(words, span).help(
        "leave all but one out, by the play's `hosts:` or by --limit: the others may look, and must change nothing",
    );
    for (name, title) in acting {
        let place = inventory.host(name).map(|id| format!(" ({})", inventory.host_origin(id)));
        problem.notes.push(format!("`{name}`{} would do `{title}`", place.unwrap_or_default()));
    }
    problem.notes.push(format!("its machine-id, boot and state folder ({folder}) are the same"));
    problem
}

fn acts(task: &Planned) -> bool {
    match &task.what {
        What::Change(change) => !change.steps.is_empty(),
        What::Late { .. } => task.again.is_none(),
        _ => false,
    }
}
