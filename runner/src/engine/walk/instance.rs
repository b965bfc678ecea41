//! One task on one host with one item: left out, known already, late, refused, or a change.
use super::items::{Flow, Walker, empty};
use super::outcome::{Planned, Verdict, What};
use super::replay::Replayed;
use super::scope::Scope as Variables;
use super::setting::Unknown;
use super::words::Word;
use crate::diagnostic::Diagnostic;
use crate::engine::target::{Acting, Target};
use crate::playbook::Task;
use crate::template::{Json, Var, late};
use modules::Scope;
use modules::vocabulary::{Stop, TaskId};
use serde_json::json;
use std::sync::Arc;

/// What one instance of a task came to.
pub(super) struct Inst {
    /// What `register` holds; marks stand for what is not known yet.
    pub result: Json,
    /// Whether it changes something; none where that is not known yet.
    pub changed: Option<bool>,
    /// Why it failed.
    pub failed: Option<Box<Diagnostic>>,
    /// Whether it is a mistake in what was written: so it is told with all others, and nothing is begun.
    pub mistake: bool,
    /// Whether the failure is ignored.
    pub ignored: bool,
    /// Whether it was left out.
    pub skipped: bool,
    /// Whether a secret is in it.
    pub secret: bool,
    /// The loop's item.
    pub item: Option<Json>,
    /// Variables that it set.
    pub sets: Vec<(String, Json, bool)>,
}

impl Inst {
    pub(super) fn known(result: Json, changed: bool) -> Self {
        Self {
            result,
            changed: Some(changed),
            failed: None,
            mistake: false,
            ignored: false,
            skipped: false,
            secret: false,
            item: None,
            sets: Vec::new(),
        }
    }

    pub(super) fn pending(result: Json) -> Self {
        Self { changed: None, ..Self::known(result, false) }
    }
}

/// A failure whose words hold a secret. Not even its lines in the playbook are shown: it may be written there.
pub(super) fn hidden(problem: &Diagnostic) -> Diagnostic {
    let place = problem.span.as_ref().map(|span| format!(" at {span}")).unwrap_or_default();
    Diagnostic::error(format!("the task{place} failed; its words are hidden, a secret is in it"), None)
}

/// What is said of an instance before its module is asked.
pub(super) struct Frame<'t> {
    pub task: &'t Arc<Task>,
    pub key: String,
    pub label: Option<String>,
    pub locals: Vec<(String, Var)>,
    pub target: Target,
    pub secret: bool,
    pub ignored: bool,
}

impl Walker<'_> {
    /// One instance. Err: the walk goes elsewhere at once (`meta: end_play`).
    pub(super) fn instance(
        &mut self,
        task: &Arc<Task>,
        key: &str,
        locals: Vec<(String, Var)>,
        label: Option<String>,
    ) -> Result<Inst, Flow> {
        let login = self.login();
        let mut frame =
            Frame { task, key: key.to_owned(), label, locals, target: login, secret: false, ignored: false };
        let scope = self.scope(Some(task), frame.locals.clone());
        let before = scope
            .flag(task.settings.no_log.as_ref(), false)
            .and_then(|secret| Ok((secret, scope.flag(task.settings.ignore_errors.as_ref(), false)?)));
        match before {
            Ok((secret, ignored)) => (frame.secret, frame.ignored) = (secret, ignored),
            Err(unknown) => return Ok(self.unknown_in(&frame, unknown)),
        }
        let mut tries = 0;
        if let Some(ran) = self.state.ran.get(key).cloned() {
            frame.secret |= ran.secret;
            match self.replayed(&frame, ran) {
                Replayed::Done(inst) => return Ok(*inst),
                Replayed::Again(tried) => tries = tried,
            }
        } else {
            let out = self.scope(Some(task), frame.locals.clone()).all(&task.settings.when);
            match out {
                Ok(None) => {}
                Ok(Some(why)) => {
                    let target = frame.target.clone();
                    return Ok(self.skipped(task, key, frame.label, &target, why));
                }
                Err(unknown) => return Ok(self.unknown_in(&frame, unknown)),
            }
        }
        if Word::is(&task.action.module) {
            return self.word(&frame);
        }
        match self.target(&frame) {
            Ok(target) => frame.target = target,
            Err(unknown) => return Ok(self.unknown_in(&frame, unknown)),
        }
        Ok(self.asked(frame, tries))
    }

    /// A task that is left out.
    pub(super) fn skipped(
        &mut self,
        task: &Arc<Task>,
        key: &str,
        label: Option<String>,
        target: &Target,
        why: String,
    ) -> Inst {
        let what = What::Skipped { why: why.clone() };
        self.planned(task, key, label, target, false, what);
        let result = json!({"changed": false, "failed": false, "skipped": true, "skip_reason": "Conditional result was False", "false_condition": why});
        Inst { skipped: true, ..Inst::known(result, false) }
    }

    /// A task of which something is not known, or wrong.
    pub(super) fn unknown(
        &mut self,
        task: &Arc<Task>,
        key: &str,
        label: Option<String>,
        target: &Target,
        unknown: Unknown,
    ) -> Inst {
        let frame = Frame {
            task,
            key: key.to_owned(),
            label,
            locals: Vec::new(),
            target: target.clone(),
            secret: false,
            ignored: false,
        };
        self.unknown_in(&frame, unknown)
    }

    pub(super) fn unknown_in(&mut self, frame: &Frame<'_>, unknown: Unknown) -> Inst {
        match unknown {
            Unknown::Late(on) => self.late(frame, &on),
            Unknown::Fact(name) => {
                self.want_fact(&name);
                self.late(frame, &format!("the fact `{name}`"))
            }
            Unknown::Undefined(problem) => match self.live.open.clone() {
                Some(on) => self.late(frame, &on),
                None => self.mistaken(frame, *problem),
            },
            Unknown::Wrong(problem) => self.mistaken(frame, *problem),
        }
    }

    pub(super) fn mistaken(&mut self, frame: &Frame<'_>, problem: Diagnostic) -> Inst {
        Inst { mistake: true, ..self.failed(frame, problem) }
    }

    /// Asks for what a fact is made from, of this host or, by its mark, of another one.
    pub(super) fn want_fact(&mut self, name: &str) {
        let (target, name) = match name.split_once(super::hostvars::OF) {
            Some((host, name)) => (Target { host: host.to_owned(), user: Acting::Login }, name),
            None => (self.login(), name),
        };
        let shared = self.scene.known(&target);
        if !self.state.known.contains_key(&target)
            && let Some(known) = shared
        {
            self.facts.insert(target.clone(), known.facts());
        }
        let reads = {
            let facts = self.facts.get(&target).unwrap_or_else(|| empty());
            modules::setup::fact_reads(name, facts)
        };
        self.out.want(&target, reads);
    }

    pub(super) fn late(&mut self, frame: &Frame<'_>, on: &str) -> Inst {
        self.changes = true;
        self.hold_for(frame.task, &frame.target);
        self.planned_in(frame, What::Late { on: on.to_owned() });
        Inst::pending(late(&format!("`{}`", frame.task.title())))
    }

    pub(super) fn failed(&mut self, frame: &Frame<'_>, problem: Diagnostic) -> Inst {
        let problem = Box::new(if frame.secret { hidden(&problem) } else { problem });
        let what = if frame.ignored {
            What::Done { changed: false, failed: true }
        } else {
            What::Failed(problem.clone())
        };
        self.planned_in(frame, what);
        if let Some(planned) = self.out.planned.last_mut().filter(|_| frame.ignored) {
            planned.failure = Some(problem.clone());
        }
        let result = json!({"changed": false, "failed": true, "msg": problem.message});
        Inst {
            failed: Some(problem),
            ignored: frame.ignored,
            secret: frame.secret,
            ..Inst::known(result, false)
        }
    }

    /// Asks the module.
    pub(super) fn asked(&mut self, mut frame: Frame<'_>, tries: u32) -> Inst {
        let Some(entry) = modules::find(&frame.task.action.module) else {
            let problem = Diagnostic::error(
                format!("`{}` is a word of the language that is not handled here", frame.task.action.module),
                frame.task.action.span.clone(),
            );
            return self.failed(&frame, problem);
        };
        let called = {
            let scope = self.scope(Some(frame.task), frame.locals.clone());
            scope.called(frame.task, entry)
        };
        let called = match called {
            Ok(called) => called,
            Err(unknown) => return self.unknown_in(&frame, unknown),
        };
        frame.secret |= called.secret;
        if called.planner.scope() == Scope::Cluster && frame.task.settings.delegate_to.is_none() {
            match self.via(&frame) {
                Ok(target) => frame.target = target,
                Err(unknown) => return self.unknown_in(&frame, unknown),
            }
        }
        if let Some(inst) = self.followed(&frame) {
            return inst;
        }
        let planned = {
            let facts = self.facts.get(&frame.target).unwrap_or_else(|| empty());
            called.planner.plan(facts)
        };
        match planned {
            Ok(change) => {
                let again = self.looks(&frame, &*called.planner, &change);
                if let Some(inst) = self.divided(&frame, &change) {
                    return inst;
                }
                if change.answer.is_none() && change.wait.is_none() {
                    self.keep(&frame, called.planner, Vec::new());
                }
                self.changed(frame, change, (tries, again))
            }
            Err(Stop::Unread(reads)) => {
                self.out.want(&frame.target.clone(), reads);
                self.late(&frame, "the host is looked at")
            }
            Err(Stop::Late(TaskId(order))) => {
                let on = self.out.planned.iter().find(|planned| planned.order == order);
                let on =
                    on.map_or_else(|| "an earlier task".to_owned(), |planned| format!("`{}`", planned.title));
                self.late(&frame, &on)
            }
            Err(Stop::Refused(refusal)) => {
                let node = refusal.argument.and_then(|name| frame.task.action.args.get(name));
                let span = node.map_or(&frame.task.action.span, |node| &node.span);
                let mut problem = Diagnostic::error(refusal.why, span.clone());
                problem.help = refusal.way_out;
                self.mistaken(&frame, problem)
            }
        }
    }

    /// A verdict of failure.
    pub(super) fn failed_by(&mut self, frame: &Frame<'_>, verdict: Verdict, error: Option<&str>) -> Inst {
        let by_condition = verdict.result.get("failed_when_result").is_some();
        let words = match (error, by_condition) {
            (Some(error), _) => error.to_owned(),
            (None, true) => {
                let conditions: Vec<&str> =
                    frame.task.failed_when.iter().map(|node| node.raw().trim()).collect();
                format!("`failed_when` holds: {}", conditions.join(" and "))
            }
            (None, false) => {
                let said = |name: &str| {
                    verdict.result.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
                };
                let words = [said("msg"), said("stderr"), said("stdout")];
                let status = verdict.result.get("rc").and_then(Json::as_i64);
                words.into_iter().find(|words| !words.is_empty()).unwrap_or_else(|| match status {
                    Some(status) => format!("it ended with status {status}"),
                    None => "it failed".to_owned(),
                })
            }
        };
        let mut problem = Diagnostic::error(words, frame.task.action.span.clone());
        if let (false, Some(stderr)) = (frame.secret, verdict.result.get("stderr").and_then(Json::as_str))
            && !stderr.is_empty()
            && !problem.message.ends_with(stderr.lines().last().unwrap_or_default())
        {
            problem.notes.push(format!("its last words: {}", stderr.lines().last().unwrap_or_default()));
        }
        let mut inst = self.failed(frame, problem);
        inst.changed = Some(verdict.changed);
        inst.result = verdict.result;
        inst
    }

    pub(super) fn planned_in(&mut self, frame: &Frame<'_>, what: What) {
        self.planned(frame.task, &frame.key, frame.label.clone(), &frame.target.clone(), frame.secret, what);
    }

    pub(super) fn planned(
        &mut self,
        task: &Arc<Task>,
        key: &str,
        label: Option<String>,
        target: &Target,
        secret: bool,
        what: What,
    ) {
        let title = self.title(task);
        let planned = Planned {
            key: key.to_owned(),
            task: task.id.0,
            order: self.order,
            play: self.play,
            title,
            label,
            module: task.action.module.clone(),
            span: task.action.span.clone(),
            target: target.clone(),
            fence: self.fence,
            part: self.part,
            ends_batch: false,
            delay: None,
            again: None,
            secret,
            timeout: None,
            failure: None,
            held: false,
            what,
        };
        self.order += 1;
        self.push(planned);
    }

    /// The task's name with its templates evaluated, as far as that is possible.
    pub(super) fn title(&self, task: &Arc<Task>) -> String {
        let written = task.title();
        if !crate::template::Templates::is_template(&written) {
            return written;
        }
        let scope: Variables<'_> = self.scope(Some(task), Vec::new());
        match scope.templates().value(&written, &scope) {
            Ok(rendered) if !rendered.secret => super::setting::text_of(&rendered.value).unwrap_or(written),
            _ => written,
        }
    }
}
