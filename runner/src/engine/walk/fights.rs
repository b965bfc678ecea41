//! Tasks asked again on the final facts: whether they fight, and whether all is as they asked for.
use super::instance::Frame;
use super::items::{Walker, empty};
use super::outcome::{Planned, What};
use crate::diagnostic::Diagnostic;
use crate::engine::target::Target;
use crate::source::Span;
use modules::Planner;
use modules::vocabulary::{Claim, Facts, Step, Stop, TaskId};
use std::sync::Arc;

/// Modules that Ansible does not have: with them a fight is an error, under Ansible's names a note.
const OWN: [&str; 17] = [
    "ceph_config",
    "ceph_msgr_mode",
    "hugepages",
    "io_scheduler",
    "kernel_args",
    "libvirt_domain",
    "lvm_conf",
    "lvm_lv",
    "lvm_pv",
    "lvm_thin_pool",
    "lvm_vg",
    "manual",
    "package_hold",
    "qemu_args",
    "read_ahead",
    "sysfs",
    "systemd_unit",
];

/// A task that asked for a state.
pub(super) struct Kept {
    planner: Arc<dyn Planner>,
    target: Target,
    order: u32,
    title: String,
    span: Span,
    module: String,
    secret: bool,
    claims: Vec<Claim>,
}

impl Walker<'_> {
    /// Keeps a task to ask it again. `claims` are the things that it has changed, where it has.
    pub(super) fn keep(&mut self, frame: &Frame<'_>, planner: Arc<dyn Planner>, claims: Vec<Claim>) {
        let (target, module) = (frame.target.clone(), frame.task.action.module.clone());
        let (title, span) = (frame.task.title(), frame.task.action.span.clone());
        let order = self.order;
        self.kept.push(Kept { planner, target, order, title, span, module, secret: frame.secret, claims });
    }

    /// Asks again, after the walk. What is not settled yet says nothing.
    pub(super) fn ask_again(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        if self.state.proving {
            let unproven = self.unproven(&kept);
            self.out.unproven = unproven;
        } else if self.out.wanted.values().all(Vec::is_empty) {
            self.fights(&kept);
        }
    }

    /// An earlier task asked again on what all tasks leave is not content, and no later task of its claim supersedes it.
    fn fights(&mut self, kept: &[Kept]) {
        for one in kept {
            let facts = self.facts.get(&one.target).unwrap_or_else(|| empty());
            let later = || facts.planned().filter(|(task, _)| task.0 > one.order);
            if later().next().is_none() {
                continue;
            }
            let Ok(change) = one.planner.plan(facts) else { continue };
            let superseded = |step: &Step| later().any(|(_, other)| other.claim == step.claim);
            let Some(step) = change.steps.iter().find(|step| is_state(step) && !superseded(step)) else {
                continue;
            };
            let by = later().rev().find(|(_, other)| touches(other, step)).map(|(task, _)| *task);
            let Some(by) = by else { continue };
            self.fight(one, by);
        }
    }

    fn fight(&mut self, one: &Kept, by: TaskId) {
        let Some(other) = self.out.planned.iter().find(|planned| planned.order == by.0) else { return };
        let words = format!("`{}` at {} undoes what this task asks for", other.title, other.span);
        let other_own = OWN.contains(&other.module.as_str());
        let Some(planned) = self.out.planned.iter_mut().find(|planned| planned.order == one.order) else {
            return;
        };
        if OWN.contains(&one.module.as_str()) && other_own {
            let problem = Diagnostic::error(words, one.span.clone())
                .help("two tasks fight over one thing: leave one of them out, or make them one");
            let problem = Box::new(problem);
            let what = What::Failed(problem.clone());
            let failed =
                Planned { key: format!("{}/fight", planned.key), order: self.order, what, ..planned.clone() };
            self.order += 1;
            self.out.failed.get_or_insert(*problem);
            self.push(failed);
            return;
        }
        let note = format!("{words}: both will change it at every run");
        match &mut planned.what {
            What::Change(change) => change.notes.push(note),
            What::Same { notes, .. } => notes.push(note),
            _ => {}
        }
    }

    /// The last task of each claim asked again on what is there now: it must plan nothing.
    fn unproven(&mut self, kept: &[Kept]) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for (number, one) in kept.iter().enumerate() {
            let facts: &Facts = self.facts.get(&one.target).unwrap_or_else(|| empty());
            let change = match one.planner.plan(facts) {
                Ok(mut change) => {
                    let evidence = std::mem::take(&mut change.evidence);
                    self.out.tell(&one.target.host, &one.title, one.secret, evidence);
                    change
                }
                Err(Stop::Unread(reads)) => {
                    self.out.want(&one.target, reads);
                    continue;
                }
                Err(_) => continue,
            };
            let later = &kept[number + 1..];
            let superseded = |step: &Step| {
                let same = |other: &Kept| {
                    other.target.host == one.target.host && overlaps(&other.claims, &step.claim)
                };
                later.iter().any(same)
            };
            let Some(step) = change.steps.iter().find(|step| is_state(step) && !superseded(step)) else {
                continue;
            };
            let (claim, span) = (&step.claim, (!one.secret).then(|| one.span.clone()));
            let words = format!("`{}` is done, and {claim} is not as it asked for", one.title);
            problems.push(
                Diagnostic::error(words, span)
                    .help("something else changed it meanwhile; play again to see what it would change"),
            );
        }
        problems
    }
}

/// Whether a step asks for a state that can be seen again; a boot or a restart asks for one more each time.
fn is_state(step: &Step) -> bool {
    !step.is_act()
}

fn touches(other: &Step, step: &Step) -> bool {
    step.look.as_ref().is_some_and(|look| modules::vocabulary::touches(&other.act, look))
}

/// Whether one of the claims is this one or another part of the same thing.
fn overlaps(claims: &[Claim], claim: &Claim) -> bool {
    let thing = |claim: &Claim| claim.as_str().split('#').next().unwrap_or_default().to_owned();
    claims.iter().any(|other| thing(other) == thing(claim))
}
