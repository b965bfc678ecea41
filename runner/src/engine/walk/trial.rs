//! Try-boot: a boot that comes after a changed kernel line boots that line once first.
//!
//! The task that changes the line is held back: it writes the default only after the boot proved the line. Before
//! that only the trial entry and the boot loader's one-shot are written, as steps of the boot itself.
use super::instance::{Frame, Inst};
use super::items::{Walker, empty};
use super::outcome::{Planned, Ran, What};
use crate::diagnostic::Diagnostic;
use crate::engine::target::Target;
use crate::playbook::{Item, Task};
use modules::kernel_args::try_boot::{self, Trial, TryBoot};
use modules::vocabulary::{Change, Diff, Effect, Goal, Risk, RiskName, Stop, TaskId, touches};

/// The module whose changes are tried first.
const LINES: &str = "kernel_args";
/// The module that boots.
const BOOTS: &str = "reboot";

impl Walker<'_> {
    /// A boot with a changed kernel line before it becomes a try-boot, or is refused. Err: it is not decided.
    pub(super) fn on_trial(&mut self, frame: &Frame<'_>, mut change: Change) -> Result<Change, Box<Inst>> {
        let boots = matches!(change.wait.as_ref().map(|wait| &wait.goal), Some(Goal::Boot { .. }));
        if !boots || self.lines(&frame.target).is_empty() {
            return Ok(change);
        }
        let trial = try_boot::trial(self.facts.get(&frame.target).unwrap_or_else(|| empty()));
        match trial {
            Ok(Trial::Possible(trial)) => {
                self.hold_back(&frame.target, &format!("`{}`", frame.task.title()));
                Ok(tried(change, trial))
            }
            Ok(Trial::Impossible(why)) => {
                self.untried(frame, &mut change, why).map_or(Ok(change), |inst| Err(Box::new(inst)))
            }
            Err(Stop::Unread(reads)) => {
                self.out.want(&frame.target.clone(), reads);
                Err(Box::new(self.late(frame, "the host is looked at")))
            }
            Err(Stop::Late(_)) => Err(Box::new(self.late(frame, "an earlier task"))),
            Err(Stop::Refused(refusal)) => {
                self.untried(frame, &mut change, refusal.why).map_or(Ok(change), |inst| Err(Box::new(inst)))
            }
        }
    }

    /// No try-boot is possible: a waiver lets the line become the default without one.
    fn untried(&mut self, frame: &Frame<'_>, change: &mut Change, why: String) -> Option<Inst> {
        let name = RiskName::NoTryBoot;
        change.risks.push(Risk { name, why: format!("try-boot is not possible here: {why}") });
        let mut problem = self.unaccepted(frame, change)?;
        problem.help = Some(format!(
            "write on this task `accept_risk: {{{}: \"why it is accepted\"}}`, or leave the boot to a person: \
             without `reboot` in the play the line is written and felt at the next boot",
            name.as_str()
        ));
        Some(self.mistaken(frame, problem))
    }

    /// The places of changed kernel lines of a host that are felt at the next boot.
    fn lines(&self, target: &Target) -> Vec<usize> {
        let changes = |planned: &Planned| match &planned.what {
            What::Change(change) => {
                planned.module == LINES
                    && planned.target.host == target.host
                    && change.effect == Effect::HostReboot
                    && !change.steps.is_empty()
            }
            _ => false,
        };
        let all = self.out.planned.iter().enumerate();
        all.filter(|(_, planned)| changes(planned)).map(|(at, _)| at).collect()
    }

    /// Changed kernel lines wait for a boot, and so does what builds on what they write.
    pub(super) fn hold_back(&mut self, target: &Target, boot: &str) {
        let mut acts = Vec::new();
        let lines = self.lines(target);
        for (at, planned) in self.out.planned.iter_mut().enumerate() {
            let What::Change(change) = &mut planned.what else { continue };
            if planned.target.host != target.host {
                continue;
            }
            let builds = change
                .steps
                .iter()
                .filter_map(|step| step.look.as_ref())
                .any(|look| acts.iter().any(|act| touches(act, look)));
            if !planned.held && !builds && !lines.contains(&at) {
                continue;
            }
            acts.extend(change.steps.iter().map(|step| step.act.clone()));
            if !planned.held {
                planned.held = true;
                change.notes.push(format!("written after {boot} has booted the line once and proved it"));
            }
        }
    }

    /// A boot that is not decided yet may still come: lines wait for it.
    pub(super) fn hold_for(&mut self, task: &Task, target: &Target) {
        if task.action.module == BOOTS {
            self.hold_back(target, &format!("`{}`", task.title()));
        }
    }

    /// A later play may boot the host: lines wait for it.
    pub(super) fn hold_for_plays(&mut self, last: usize) {
        let login = self.login();
        if self.lines(&login).is_empty() {
            return;
        }
        let chosen = self.scene.chosen();
        for (number, play) in self.scene.playbook.plays.iter().enumerate().skip(last + 1) {
            if !chosen.get(number).is_some_and(|hosts| hosts.contains(&self.state.id)) {
                continue;
            }
            let boot = play.sections().into_iter().find_map(|(_, items)| self.booting(items));
            if let Some(title) = boot.or_else(|| self.booting(&play.handlers)) {
                self.hold_back(&login, &format!("`{title}`"));
            }
        }
    }

    /// The first task among these that boots.
    fn booting(&self, items: &[Item]) -> Option<String> {
        items.iter().find_map(|item| match item {
            Item::Task(task) => {
                let taken = self.scene.selection.takes(&task.settings.tags);
                (taken && task.action.module == BOOTS).then(|| task.title())
            }
            Item::Block(block) => self
                .booting(&block.block)
                .or_else(|| self.booting(&block.rescue))
                .or_else(|| self.booting(&block.always)),
            Item::Include(_) => None,
        })
    }

    /// What takes the trial entry away, behind a boot that tried a line.
    pub(super) fn after_trial(&mut self, frame: &Frame<'_>, target: &Target) {
        let key = format!("{}/over", frame.key);
        let what = match self.state.ran.get(&key) {
            Some(Ran { error: Some(words), .. }) => {
                What::Failed(Box::new(Diagnostic::error(words.clone(), frame.task.action.span.clone())))
            }
            Some(_) => What::Done { changed: true, failed: false },
            None => match try_boot::over(self.facts.get(target).unwrap_or_else(|| empty())) {
                Ok(steps) if steps.is_empty() => return,
                Ok(steps) => What::Change(Box::new(Change { steps, ..Change::default() })),
                Err(Stop::Unread(reads)) => return self.out.want(target, reads),
                Err(_) => return,
            },
        };
        if let (What::Change(change), Some(facts)) = (&what, self.facts.get_mut(target)) {
            facts.plan(TaskId(self.order), change.steps.iter().cloned());
        }
        self.planned(frame.task, &key, frame.label.clone(), target, frame.secret, what);
        if let Some(planned) = self.out.planned.last_mut() {
            planned.title = format!("{}: the trial is over", planned.title);
        }
    }

    /// A line that failed on trial is not written, though the playbook handles the failure.
    pub(super) fn trial_failed(&mut self, target: &Target) {
        for at in self.lines(target) {
            let planned = &mut self.out.planned[at];
            planned.what = What::Skipped { why: "its line failed on trial".to_owned() };
        }
    }
}

/// The boot as a try-boot.
fn tried(mut change: Change, trial: TryBoot) -> Change {
    if let Some(Goal::Boot { trial: mark, .. }) = change.wait.as_mut().map(|wait| &mut wait.goal) {
        *mark = Some(trial.mark);
    }
    let steps = std::mem::take(&mut change.steps);
    change.steps = trial.steps.into_iter().chain(steps).collect();
    change.notes.push(format!("try-boot: {}; the default stays the old line until that worked", trial.by));
    change.diff.push(Diff::Note(format!("boots once with: {}", trial.line)));
    change
}

/// Whether a task that was done was a try-boot.
pub(super) fn was_trial(ran: &Ran) -> bool {
    ran.claims.iter().any(try_boot::is_one_shot)
}
