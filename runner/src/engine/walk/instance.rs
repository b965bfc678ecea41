//! One task on one host with one item: left out, known already, late, refused, or a change.
use super::decide::result_of;
use super::items::{Flow, Walker, empty};
use super::outcome::{Planned, Ran, Verdict, What};
use super::scope::Scope;
use super::setting::{Unknown, parts};
use super::words::Word;
use crate::diagnostic::Diagnostic;
use crate::engine::target::{Acting, Target};
use crate::playbook::Task;
use crate::template::{Json, Var, late};
use modules::vocabulary::{Act, Back, Change, Facts, Output, Read, RiskName, Row, Seen, Stop, TaskId};
use serde_json::{Map, json};
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
    fn known(result: Json, changed: bool) -> Self {
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

    fn pending(result: Json) -> Self {
        Self { changed: None, ..Self::known(result, false) }
    }
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

    fn mistaken(&mut self, frame: &Frame<'_>, problem: Diagnostic) -> Inst {
        Inst { mistake: true, ..self.failed(frame, problem) }
    }

    /// Asks for what a fact is made from, of this host or, by its mark, of another one.
    pub(super) fn want_fact(&mut self, name: &str) {
        let (target, name) = match name.split_once(super::hostvars::OF) {
            Some((host, name)) => (Target { host: host.to_owned(), user: Acting::Login }, name),
            None => (self.login(), name),
        };
        let shared = self.scene.known(&target.host);
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

    fn late(&mut self, frame: &Frame<'_>, on: &str) -> Inst {
        self.changes = true;
        self.planned_in(frame, What::Late { on: on.to_owned() });
        Inst::pending(late(&format!("`{}`", frame.task.title())))
    }

    pub(super) fn failed(&mut self, frame: &Frame<'_>, problem: Diagnostic) -> Inst {
        let problem = if frame.secret {
            // Not even its lines in the playbook: the secret may be written there.
            let place = problem.span.as_ref().map(|span| format!(" at {span}")).unwrap_or_default();
            Diagnostic::error(
                format!("the task{place} failed; its words are hidden, a secret is in it"),
                None,
            )
        } else {
            problem
        };
        let problem = Box::new(problem);
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

    /// Whom the task acts on, and as whom.
    fn target(&self, frame: &Frame<'_>) -> Result<Target, Unknown> {
        let task = frame.task;
        let scope = self.scope(Some(task), frame.locals.clone());
        let settings = &task.settings;
        let var = |name: &str| -> Option<String> {
            let rendered =
                scope.templates().value(&format!("{{{{ {name} | default('') }}}}"), &scope).ok()?;
            super::setting::text_of(&rendered.value).filter(|text| !text.is_empty())
        };
        let delegated = scope.text(settings.delegate_to.as_ref())?;
        let host = match delegated {
            None => self.state.name.clone(),
            Some(name) => {
                let inventory = self.scene.inventory();
                match inventory.host(&name) {
                    Some(id) => inventory.host_name(id).to_owned(),
                    None => {
                        return Err(Unknown::Wrong(Box::new(
                            Diagnostic::error(
                                format!(
                                    "the task is delegated to `{name}`, which the inventory does not have"
                                ),
                                task.action.span.clone(),
                            )
                            .help("add the host to the inventory, with how it is reached"),
                        )));
                    }
                }
            }
        };
        let becomes = match &settings.r#become {
            Some(setting) => scope.flag(Some(setting), false)?,
            None => var("ansible_become").is_some_and(|text| crate::playbook::boolean(&text) == Some(true)),
        };
        if !becomes {
            return Ok(Target { host, user: Acting::Login });
        }
        let text = |setting: Option<&crate::playbook::Setting<String>>,
                    name: &str|
         -> Result<Option<String>, Unknown> {
            Ok(scope.text(setting)?.or_else(|| var(name)))
        };
        let user =
            text(settings.become_user.as_ref(), "ansible_become_user")?.unwrap_or_else(|| "root".into());
        let method =
            text(settings.become_method.as_ref(), "ansible_become_method")?.unwrap_or_else(|| "sudo".into());
        let flags = text(settings.become_flags.as_ref(), "ansible_become_flags")?.unwrap_or_default();
        let exe = text(settings.become_exe.as_ref(), "ansible_become_exe")?;
        // Becoming who one is already would only cost a shell.
        let login =
            self.state.known.iter().find(|(target, _)| target.host == host && target.user == Acting::Login);
        if login.and_then(|(_, known)| known.who.as_ref()).is_some_and(|who| who.user == user) {
            return Ok(Target { host, user: Acting::Login });
        }
        let flags = shlex::split(&flags).unwrap_or_default();
        Ok(Target { host, user: Acting::Becoming { method, user, flags, exe } })
    }

    /// Asks the module.
    fn asked(&mut self, mut frame: Frame<'_>, tries: u32) -> Inst {
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
        let planned = {
            let facts = self.facts.get(&frame.target).unwrap_or_else(|| empty());
            called.planner.plan(facts)
        };
        match planned {
            Ok(change) => {
                if change.answer.is_none() && change.wait.is_none() {
                    self.keep(&frame, called.planner, Vec::new());
                }
                self.changed(frame, change, tries)
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

    /// A change that the module asks for.
    fn changed(&mut self, frame: Frame<'_>, mut change: Change, tries: u32) -> Inst {
        if never_changes(frame.task) {
            // Its author says that it changes nothing: there is nothing to take back.
            for step in change.steps.iter_mut().filter(|step| step.look.is_none()) {
                step.back = Back::Nothing;
            }
        }
        if let Some(problem) = self.unaccepted(&frame, &change) {
            return self.failed(&frame, problem);
        }
        if change.is_empty() && change.wait.is_none() {
            return self.unchanged(frame, change);
        }
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
        self.changes = true;
        let order = TaskId(self.order);
        for facts in self.facts.values_mut() {
            facts.plan(order, change.steps.iter().cloned());
        }
        self.facts.entry(frame.target.clone()).or_insert_with(|| {
            let mut facts = Facts::default();
            facts.plan(order, change.steps.iter().cloned());
            facts
        });
        let mut result = result_of(&change.result, !change.steps.is_empty(), false);
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
        self.planned_in(&frame, What::Change(Box::new(change)));
        if let Some(planned) = self.out.planned.last_mut() {
            planned.ends_batch = decides;
            planned.delay = delay;
            planned.timeout =
                timeout.and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds > 0);
        }
        Inst { secret: frame.secret, changed, ..Inst::pending(Json::Object(result)) }
    }

    /// `check_mode: true` on the task: what it would do is said and not done.
    fn only_checked(&mut self, frame: Frame<'_>, change: Change) -> Inst {
        if change.answer.is_some() {
            let (key, label, target) = (frame.key.clone(), frame.label.clone(), frame.target.clone());
            return self.skipped(frame.task, &key, label, &target, "`check_mode: true`".to_owned());
        }
        let result = Json::Object(result_of(&change.result, !change.steps.is_empty(), false));
        let mut notes = change.notes;
        notes.push("would change; `check_mode: true` keeps it as it is".to_owned());
        self.planned_in(&frame, What::Same { result: result.clone(), notes });
        Inst { secret: frame.secret, ..Inst::known(result, true) }
    }

    fn delay(&self, frame: &Frame<'_>) -> Option<f64> {
        let scope = self.scope(Some(frame.task), frame.locals.clone());
        let (fixed, template) = parts(frame.task.delay.as_ref());
        Some(scope.number(fixed, template).ok().flatten().unwrap_or(5.0))
    }

    /// Whether a change that is not made yet will count as one; none where that is not known.
    fn predicted(&self, frame: &Frame<'_>, result: &mut Map<String, Json>, change: &Change) -> Option<bool> {
        let changes = !change.steps.is_empty();
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
    fn unchanged(&mut self, frame: Frame<'_>, change: Change) -> Inst {
        let ran = Ran { result: change.result.clone(), ..Ran::default() };
        let verdict = {
            let mut scope = self.scope(Some(frame.task), frame.locals.clone());
            scope.verdict(frame.task, &ran)
        };
        match verdict {
            Err(unknown) => self.unknown_in(&frame, unknown),
            Ok(verdict) if verdict.failed => self.failed_by(&frame, verdict, None),
            Ok(verdict) => {
                let result = verdict.result.clone();
                self.planned_in(&frame, What::Same { result, notes: change.notes });
                Inst { secret: frame.secret, ..Inst::known(verdict.result, verdict.changed) }
            }
        }
    }

    /// A verdict of failure.
    fn failed_by(&mut self, frame: &Frame<'_>, verdict: Verdict, error: Option<&str>) -> Inst {
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

    /// A risk that nobody accepted.
    fn unaccepted(&self, frame: &Frame<'_>, change: &Change) -> Option<Diagnostic> {
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

    /// The row of a command that only reads, if it may be asked now.
    fn probe(&self, frame: &Frame<'_>, change: &Change) -> Option<Row> {
        let task = frame.task;
        let [step] = change.steps.as_slice() else { return None };
        let Act::Call { row, .. } = &step.act else { return None };
        if !matches!(task.action.module.as_str(), "command" | "shell")
            || self.scene.no_probes
            || !task.until.is_empty()
        {
            return None;
        }
        let never = never_changes(task);
        let fixed = |setting: &Option<crate::playbook::Setting<bool>>| {
            setting.as_ref().and_then(|setting| setting.fixed().copied())
        };
        let declared =
            fixed(&task.probe) == Some(true) || (never && fixed(&task.settings.check_mode) == Some(false));
        let harmless = never && !self.scene.check && !self.scene.declared_only && !self.changes;
        if !declared && !harmless {
            return None;
        }
        let name = if row.name == "shell" { "probe-shell" } else { "probe" };
        Some(Row { name: name.to_owned(), ..row.clone() })
    }

    /// A command that is asked while planning, and its answer once it is there.
    fn probed(&mut self, frame: Frame<'_>, row: Row, change: &Change) -> Inst {
        let read = Read::Ask(row);
        let seen = self.facts.get(&frame.target).and_then(|facts| facts.seen(&read).cloned());
        match seen {
            None => {
                self.out.want(&frame.target.clone(), [read]);
                self.late(&frame, "it is asked")
            }
            Some(Seen::Output(output)) => self.answer(frame, change, output),
            Some(other) => {
                let problem = Diagnostic::error(
                    format!("it could not be asked: {other:?}"),
                    frame.task.action.span.clone(),
                );
                self.failed(&frame, problem)
            }
        }
    }

    fn answer(&mut self, frame: Frame<'_>, change: &Change, output: Output) -> Inst {
        let ran =
            Ran { result: change.result.clone(), answer: Some(output), changed: true, ..Ran::default() };
        let verdict = {
            let mut scope = self.scope(Some(frame.task), frame.locals.clone());
            scope.verdict(frame.task, &ran)
        };
        match verdict {
            Err(unknown) => self.unknown_in(&frame, unknown),
            Ok(verdict) if verdict.failed => self.failed_by(&frame, verdict, None),
            Ok(verdict) => {
                let (result, changed) = (verdict.result.clone(), verdict.changed);
                self.state.ran.insert(
                    frame.key.clone(),
                    Ran { verdict: Some(verdict), probed: true, secret: frame.secret, ..ran },
                );
                self.planned_in(&frame, What::Probed { result: result.clone() });
                Inst { secret: frame.secret, ..Inst::known(result, changed) }
            }
        }
    }

    /// What was done already. Conditions are asked once, when the result is new.
    fn replayed(&mut self, frame: &Frame<'_>, mut ran: Ran) -> Replayed {
        if let Some(why) = &ran.skipped {
            let target = frame.target.clone();
            let inst = self.skipped(frame.task, &frame.key, frame.label.clone(), &target, why.clone());
            return Replayed::Done(Box::new(inst));
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
        let (claims, answer, undone) = (ran.claims.clone(), ran.answer.clone(), ran.undone);
        self.state.ran.insert(frame.key.clone(), ran);
        if verdict.failed {
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
        let inst = Inst { secret: frame.secret, sets, ..Inst::known(verdict.result, verdict.changed) };
        Replayed::Done(Box::new(inst))
    }

    /// Keeps a task that was done, to ask it again on what is there now. False where its arguments need a fact first.
    fn prove(&mut self, frame: &Frame<'_>, claims: Vec<modules::vocabulary::Claim>) -> bool {
        let Some(entry) = modules::find(&frame.task.action.module) else { return true };
        let Ok(target) = self.target(frame) else { return true };
        let scope = self.scope(Some(frame.task), frame.locals.clone());
        if scope.flag(frame.task.settings.check_mode.as_ref(), false).unwrap_or(true) {
            return true;
        }
        let called = self.scope(Some(frame.task), frame.locals.clone()).called(frame.task, entry);
        match called {
            Ok(called) => {
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
    fn until(&mut self, frame: &Frame<'_>, ran: &Ran, verdict: &Verdict) -> Result<bool, Box<Inst>> {
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

    pub(super) fn planned_in(&mut self, frame: &Frame<'_>, what: What) {
        self.planned(frame.task, &frame.key, frame.label.clone(), &frame.target.clone(), frame.secret, what);
    }

    fn planned(
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
            ends_batch: false,
            delay: None,
            secret,
            timeout: None,
            failure: None,
            what,
        };
        self.order += 1;
        self.push(planned);
    }

    /// The task's name with its templates evaluated, as far as that is possible.
    fn title(&self, task: &Arc<Task>) -> String {
        let written = task.title();
        if !crate::template::Templates::is_template(&written) {
            return written;
        }
        let scope: Scope<'_> = self.scope(Some(task), Vec::new());
        match scope.templates().value(&written, &scope) {
            Ok(rendered) if !rendered.secret => super::setting::text_of(&rendered.value).unwrap_or(written),
            _ => written,
        }
    }
}

/// Whether a task's author says that it never changes anything.
fn never_changes(task: &Task) -> bool {
    matches!(task.changed_when.as_slice(), [only] if only.as_bool() == Some(false))
}

enum Replayed {
    Done(Box<Inst>),
    Again(u32),
}
