//! What a module asks for, and what will be said of it.
use super::decide::result_of;
use super::instance::{Frame, Inst};
use super::items::Walker;
use super::outcome::{Ran, Verdict, What};
use super::setting::parts;
use crate::diagnostic::Diagnostic;
use crate::playbook::Task;
use crate::template::{Json, Var, late};
use modules::vocabulary::{Back, Change, DeadMan, Facts, Read, Risk, RiskName, Step, TaskId};
use serde_json::{Map, json};

impl Walker<'_> {
    /// A gate that an include brought to a play without any other: no rollout stands behind it.
    fn unjudged(&self, task: &Task) -> Option<Diagnostic> {
        let gate = task.gate.as_ref().filter(|_| !self.scene.is_staged(self.play))?;
        let words = "a gate that only an include brings is carried out by nothing, so the play is not begun";
        Some(
            Diagnostic::error(words, gate.span.clone()).help("say `rollout: {waves: [1, 100%]}` on the play"),
        )
    }

    /// Later tasks are planned on what the change will leave.
    fn foresee(&mut self, frame: &Frame<'_>, change: &Change) {
        let order = TaskId(self.order);
        for facts in self.facts.values_mut() {
            facts.plan(order, change.steps.iter().cloned());
        }
        self.facts.entry(frame.target.clone()).or_insert_with(|| {
            let mut facts = Facts::default();
            facts.plan(order, change.steps.iter().cloned());
            facts
        });
    }

    /// A change that the module asks for.
    pub(super) fn changed(
        &mut self,
        frame: Frame<'_>,
        mut change: Change,
        (tries, again): (u32, Option<Vec<Read>>),
    ) -> Inst {
        if never_changes(frame.task) {
            // Its author says that it changes nothing: there is nothing to take back.
            for step in change.steps.iter_mut().filter(|step| step.look.is_none()) {
                step.back = Back::Nothing;
            }
        }
        if !self.state.proving {
            // While the run is proven all tasks are asked again at the end, and told there.
            let (host, title) = (frame.target.host.clone(), frame.task.title());
            self.out.tell(&host, &title, frame.secret, std::mem::take(&mut change.evidence));
        }
        let mut change = match self.on_trial(&frame, change) {
            Ok(change) => self.reaching(change),
            Err(inst) => return *inst,
        };
        let unjudged = self.unjudged(frame.task);
        if let Some(problem) = self.unaccepted(&frame, &change).or(unjudged) {
            return self.failed(&frame, problem);
        }
        if change.is_empty() && change.wait.is_none() {
            return self.unchanged(frame, change, (tries, again));
        }
        change.notes.extend(frame.task.expect.iter().map(ToString::to_string));
        match self
            .scope(Some(frame.task), frame.locals.clone())
            .flag(frame.task.settings.check_mode.as_ref(), false)
        {
            Ok(false) => {}
            Ok(true) => return self.only_checked(frame, change),
            Err(unknown) => return self.unknown_in(&frame, unknown),
        }
        if let Some(row) = self.probe(&frame, &change) {
            return self.probed(frame, row, &change);
        }
        let change = watched(frame.task, change);
        self.changes = true;
        self.foresee(&frame, &change);
        let mut result = result_of(&change.result, change.is_felt(), false);
        if change.answer.is_some() {
            let mark = late(&format!("`{}`", frame.task.title()));
            for name in ["rc", "stdout", "stderr", "stdout_lines", "stderr_lines", "failed"] {
                result.insert(name.into(), mark.clone());
            }
        }
        let changed = self.predicted(&frame, &mut result, &change);
        let decides = !frame.task.until.is_empty()
            || (change.answer.is_some() && !frame.task.failed_when.is_empty())
            || change.wait.is_some();
        let delay = if tries == 0 { None } else { self.delay(&frame) };
        let timeout = frame.task.settings.timeout.as_ref().and_then(|timeout| timeout.fixed().copied());
        let tries_a_line = change.wait.as_ref().is_some_and(|wait| wait.goal.is_trial());
        self.planned_in(&frame, What::Change(Box::new(change)));
        if let Some(planned) = self.out.planned.last_mut() {
            planned.ends_batch = decides;
            planned.delay = delay;
            planned.timeout =
                timeout.and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds > 0);
        }
        if tries_a_line {
            self.after_trial(&frame, &frame.target);
        }
        Inst { secret: frame.secret, changed, ..Inst::pending(Json::Object(result)) }
    }

    /// `check_mode: true` on the task: what it would do is said and not done.
    pub(super) fn only_checked(&mut self, frame: Frame<'_>, change: Change) -> Inst {
        if change.answer.is_some() {
            let (key, label, target) = (frame.key.clone(), frame.label.clone(), frame.target.clone());
            return self.skipped(frame.task, &key, label, &target, "`check_mode: true`".to_owned());
        }
        let result = Json::Object(result_of(&change.result, change.is_felt(), false));
        let mut notes = change.notes;
        notes.push("would change; `check_mode: true` keeps it as it is".to_owned());
        self.planned_in(&frame, What::Same { result: result.clone(), notes });
        Inst { secret: frame.secret, ..Inst::known(result, true) }
    }

    pub(super) fn delay(&self, frame: &Frame<'_>) -> Option<f64> {
        let scope = self.scope(Some(frame.task), frame.locals.clone());
        let (fixed, template) = parts(frame.task.delay.as_ref());
        Some(scope.number(fixed, template).ok().flatten().unwrap_or(5.0))
    }

    /// Whether a change that is not made yet will count as one; none where that is not known.
    pub(super) fn predicted(
        &self,
        frame: &Frame<'_>,
        result: &mut Map<String, Json>,
        change: &Change,
    ) -> Option<bool> {
        let changes = change.is_felt();
        if frame.task.changed_when.is_empty() {
            return Some(changes);
        }
        let mut locals = frame.locals.clone();
        if let Some((name, _)) = &frame.task.register {
            locals.push((name.clone(), Var::seen(Json::Object(result.clone()))));
        }
        match self.scope(Some(frame.task), locals).all(&frame.task.changed_when) {
            Ok(first_false) => {
                result.insert("changed".into(), json!(first_false.is_none()));
                Some(first_false.is_none())
            }
            Err(_) => {
                result.insert("changed".into(), late(&format!("`{}`", frame.task.title())));
                None
            }
        }
    }

    /// Nothing is to be done: the conditions are asked all the same.
    pub(super) fn unchanged(
        &mut self,
        frame: Frame<'_>,
        change: Change,
        (tries, again): (u32, Option<Vec<Read>>),
    ) -> Inst {
        let counted = if again.is_some() { tries.max(1) } else { 0 };
        let ran =
            Ran { result: change.result.clone(), tries: counted, secret: frame.secret, ..Ran::default() };
        let verdict = {
            let mut scope = self.scope(Some(frame.task), frame.locals.clone());
            scope.verdict(frame.task, &ran)
        };
        match verdict {
            Err(unknown) => self.unknown_in(&frame, unknown),
            Ok(verdict) => {
                let goal = again.and_then(|again| self.goal(&frame, &ran, &verdict, (tries, again)));
                goal.unwrap_or_else(|| self.same(frame, change, verdict))
            }
        }
    }

    /// What is as it should be, and how the conditions judge that.
    fn same(&mut self, frame: Frame<'_>, change: Change, verdict: Verdict) -> Inst {
        match verdict {
            verdict if verdict.failed => self.failed_by(&frame, verdict, None),
            verdict => {
                let result = verdict.result.clone();
                let stays = change.risks.iter().map(|risk| {
                    format!("accepted risk {}, it stays as it is: {}", risk.name.as_str(), risk.why)
                });
                let notes = stays.chain(change.notes.iter().cloned()).collect();
                self.planned_in(&frame, What::Same { result, notes });
                Inst { secret: frame.secret, ..Inst::known(verdict.result, verdict.changed) }
            }
        }
    }

    /// The change with the risk that a canary would be the whole cluster: an option that all its daemons take at once, in a
    /// rollout that has more waves to come.
    fn reaching(&self, mut change: Change) -> Change {
        let name = RiskName::BlastRadiusCluster;
        if change.cluster.is_none()
            || change.risks.iter().any(|risk| risk.name == name)
            || !self.scene.has_waves(self.play)
        {
            return change;
        }
        let whom = |step: &Step| {
            let (who, option) = step.claim.as_str().split_once("/config/")?.1.rsplit_once('/')?;
            (!who.contains(['/', '.'])).then(|| (who.to_owned(), option.to_owned()))
        };
        if let Some((who, option)) = change.steps.iter().find_map(whom) {
            let why = format!(
                "{option} of `{who}` is one setting of the whole cluster: the first wave would change what the later ones have. \
                 Try it on canaries by a mask, `mask: \"host:NAME\"`, as playbooks/ceph-canary-by-mask.yaml does"
            );
            change.risks.push(Risk { name, why });
        }
        change
    }

    /// A risk that nobody accepted.
    pub(super) fn unaccepted(&self, frame: &Frame<'_>, change: &Change) -> Option<Diagnostic> {
        let accepted = |name: RiskName| {
            frame.task.settings.accept_risk.iter().any(|waiver| waiver.risk == name.as_str())
        };
        let risk = change.risks.iter().find(|risk| !accepted(risk.name))?;
        Some(
            Diagnostic::error(risk.why.clone(), frame.task.action.span.clone())
                .help(format!(
                    "if that is meant, write on the task: `accept_risk: {{{}: \"why it is accepted\"}}`",
                    risk.name.as_str()
                ))
                .note(risk.name.meaning()),
        )
    }
}

/// The change with the dead man that the task's author asks for. One that the module armed keeps its reason.
fn watched(task: &Task, mut change: Change) -> Change {
    let asked = task.settings.dead_man.as_ref().and_then(|seconds| seconds.fixed().copied());
    let Some(seconds) = asked.and_then(|seconds| u32::try_from(seconds).ok()) else { return change };
    match change.dead_man.as_ref().map(|armed| armed.why.clone()) {
        Some(why) => DeadMan::arm(&mut change, seconds, why),
        None if !change.steps.is_empty() => DeadMan::arm(&mut change, seconds, "the task says so"),
        None => {}
    }
    change
}

/// Whether a task's author says that it never changes anything.
pub(super) fn never_changes(task: &Task) -> bool {
    matches!(task.changed_when.as_slice(), [only] if only.as_bool() == Some(false))
}
