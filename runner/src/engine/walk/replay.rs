//! What was done before, judged once and told at every walk.
use super::instance::{Frame, Inst};
use super::items::Walker;
use super::outcome::{Ran, Verdict, What};
use super::setting::Unknown;
use super::trial::was_trial;
use crate::diagnostic::Diagnostic;
use crate::template::Var;
use modules::Scope;
use serde_json::json;

impl Walker<'_> {
    /// What was done already. Conditions are asked once, when the result is new.
    pub(super) fn replayed(&mut self, frame: &Frame<'_>, mut ran: Ran) -> Replayed {
        if let Some(why) = &ran.skipped {
            let target = frame.target.clone();
            let inst = self.skipped(frame.task, &frame.key, frame.label.clone(), &target, why.clone());
            return Replayed::Done(Box::new(inst));
        }
        if ran.looked {
            return Replayed::Again(ran.tries);
        }
        let fresh = ran.verdict.is_none();
        let verdict = match ran.verdict.clone() {
            Some(verdict) => verdict,
            None => {
                let given = {
                    let mut scope = self.scope(Some(frame.task), frame.locals.clone());
                    scope.verdict(frame.task, &ran)
                };
                match given {
                    Ok(verdict) => verdict,
                    Err(unknown) => {
                        return Replayed::Done(Box::new(self.unknown_in(frame, unknown)));
                    }
                }
            }
        };
        if fresh && !frame.task.until.is_empty() {
            match self.until(frame, &ran, &verdict) {
                Ok(true) => {}
                Ok(false) => return Replayed::Again(ran.tries),
                Err(inst) => return Replayed::Done(inst),
            }
        }
        self.take(frame.task, &ran.sets);
        ran.verdict = Some(verdict.clone());
        let (sets, error, probed) = (ran.sets.clone(), ran.error.clone(), ran.probed);
        let was_trial = was_trial(&ran);
        let (claims, answer, undone) = (ran.claims.clone(), ran.answer.clone(), ran.undone);
        self.settled(&frame.key, &ran, verdict.failed);
        self.state.ran.insert(frame.key.clone(), ran);
        let trial = was_trial.then(|| self.target(frame).unwrap_or_else(|_| frame.target.clone()));
        if verdict.failed {
            if let Some(target) = &trial {
                self.trial_failed(target);
            }
            return Replayed::Done(Box::new(self.failed_by(frame, verdict, error.as_deref())));
        }
        if self.state.proving && !probed && !undone && answer.is_none() && !self.prove(frame, claims) {
            return Replayed::Done(Box::new(self.unknown_in(frame, Unknown::Late("its proof".to_owned()))));
        }
        if probed {
            self.planned_in(frame, What::Probed { result: verdict.result.clone() });
        } else {
            self.changes |= verdict.changed;
            self.planned_in(frame, What::Done { changed: verdict.changed, failed: false });
        }
        if let Some(target) = trial {
            self.after_trial(frame, &target);
        }
        let inst = Inst { secret: frame.secret, sets, ..Inst::known(verdict.result, verdict.changed) };
        Replayed::Done(Box::new(inst))
    }

    /// Keeps a task that was done, to ask it again on what is there now. False where its arguments need a fact first.
    pub(super) fn prove(&mut self, frame: &Frame<'_>, claims: Vec<modules::vocabulary::Claim>) -> bool {
        let Some(entry) = modules::find(&frame.task.action.module) else { return true };
        let Ok(mut target) = self.target(frame) else { return true };
        let scope = self.scope(Some(frame.task), frame.locals.clone());
        if scope.flag(frame.task.settings.check_mode.as_ref(), false).unwrap_or(true) {
            return true;
        }
        let called = self.scope(Some(frame.task), frame.locals.clone()).called(frame.task, entry);
        match called {
            Ok(called) => {
                if called.planner.scope() == Scope::Cluster && frame.task.settings.delegate_to.is_none() {
                    let Ok(via) = self.via(frame) else { return true };
                    target = via;
                }
                let frame = Frame { target, locals: Vec::new(), key: String::new(), label: None, ..*frame };
                self.keep(&frame, called.planner, claims);
                true
            }
            Err(Unknown::Fact(name)) => {
                self.want_fact(&name);
                false
            }
            // What it was asked with is gone: its own look in the batch is its proof.
            Err(_) => true,
        }
    }

    /// Whether the tries are over: the goal is met, or it is given up.
    pub(super) fn until(
        &mut self,
        frame: &Frame<'_>,
        ran: &Ran,
        verdict: &Verdict,
    ) -> Result<bool, Box<Inst>> {
        let mut locals = frame.locals.clone();
        if let Some((name, _)) = &frame.task.register {
            locals.push((name.clone(), Var::seen(verdict.result.clone())));
        }
        let (met, retries) = {
            let scope = self.scope(Some(frame.task), locals);
            let (fixed, template) = match &frame.task.retries {
                Some(crate::playbook::Setting::Fixed(count)) => (Some(*count as f64), None),
                Some(crate::playbook::Setting::Template(node)) => (None, Some(&**node)),
                None => (Some(2.0), None),
            };
            (scope.all(&frame.task.until), scope.number(fixed, template))
        };
        match (met, retries) {
            (Ok(None), _) => Ok(true),
            (Ok(Some(why)), Ok(retries)) => {
                let most = retries.unwrap_or(3.0).max(0.0);
                if f64::from(ran.tries) <= most {
                    return Ok(false);
                }
                let problem = Diagnostic::error(
                    format!("after {} tries `until` still does not hold: {why}", ran.tries),
                    frame.task.action.span.clone(),
                );
                let mut inst = self.failed(frame, problem);
                inst.result = verdict.result.clone();
                if let Some(result) = inst.result.as_object_mut() {
                    // As in Ansible: the retries, not the tries.
                    result.insert("attempts".into(), json!(ran.tries.saturating_sub(1).max(1)));
                    result.insert("failed".into(), json!(true));
                }
                Err(Box::new(inst))
            }
            (Err(unknown), _) | (_, Err(unknown)) => Err(Box::new(self.unknown_in(frame, unknown))),
        }
    }
}

pub(super) enum Replayed {
    Done(Box<Inst>),
    Again(u32),
}
