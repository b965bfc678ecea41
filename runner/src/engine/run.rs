//! A run on one host: look, walk, act, look again, until nothing is left to do; on failure take the batch back.
use super::batch::{Batch, BatchReport, Verdict};
use super::carrier::{Carrier, CarrierError};
use super::links::{Links, Unreachable};
use super::next::{Group, Next, next};
use super::target::{Acting, HostState, Known, Target};
use super::undo::{Past, activation_step, way_back};
use super::walk::{Planned, Ran, Scene, Verdict as Judged, Walked, What, walk};
use crate::diagnostic::Diagnostic;
use crate::journal::{HostEnd, Journal, JournalError, Record};
use crate::report::event::{Counts, Event, TaskEnd};
use modules::fold::fold;
use modules::vocabulary::{Act, Activation, Change, Output, Read, Seen, TaskId, touches};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

/// How often a host may be looked at before its plan must be complete.
const ROUNDS: u32 = 10;

/// Where events go.
pub type Events = tokio::sync::mpsc::UnboundedSender<Event>;

/// How people are asked while a run goes on.
pub type Ask = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// Why a task may not be carried out though it is planned: it is not what was reviewed.
pub type Review = Arc<dyn Fn(&Planned) -> Option<Diagnostic> + Send + Sync>;

/// Why a host's part ended before its end.
#[derive(Debug)]
pub enum HostError {
    /// It cannot be reached.
    Unreachable(Unreachable),
    /// It was reached and does not answer as it should.
    Carrier(CarrierError),
    /// The plan is not complete after many looks.
    Unsettled,
    /// The journal cannot be written: the run must stop.
    Journal(JournalError),
}

impl HostError {
    /// The reason, with what to do next.
    pub fn diagnostic(&self, host: &str) -> Diagnostic {
        match self {
            Self::Unreachable(unreachable) => unreachable.diagnostic(host),
            Self::Carrier(CarrierError::Link(error)) => error.to_diagnostic(),
            Self::Carrier(error) => Diagnostic::error(format!("{host}: {error}"), None),
            Self::Unsettled => {
                Diagnostic::error(format!("{host}: the plan is not settled after {ROUNDS} looks"), None)
                    .help("a module that asks for ever new reads is at fault; please report it")
            }
            Self::Journal(error) => Diagnostic::error(error.to_string(), None)
                .help("free space or mend the folder, then `tunerun resume` or `tunerun undo` the run"),
        }
    }

    /// Whether the host could not be reached at all.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Self::Unreachable(_) => true,
            Self::Carrier(CarrierError::Link(error)) => error.is_unreachable(),
            _ => false,
        }
    }
}

/// A host that takes part in a run.
pub struct HostRun {
    scene: Arc<Scene>,
    links: Arc<Links>,
    events: Events,
    ask: Ask,
    /// What is known of it and was done there.
    pub state: HostState,
    /// Runs that were found open on it.
    pub open_runs: BTreeSet<String>,
    /// Why its part does not begin, if it does not.
    pub refused: Option<HostEnd>,
    /// What judges each task of a batch before the batch is prepared.
    pub review: Option<Review>,
    counts: Counts,
    told: HashSet<String>,
    past: HashMap<Target, Vec<Past>>,
    owed: BTreeSet<Activation>,
    recorded: HashSet<String>,
    greeted: bool,
}

/// What an applied batch was, until the next walk judges it.
struct Applied {
    target: Target,
    past: Past,
    keys: Vec<String>,
}

impl HostRun {
    /// A host of which nothing is known.
    pub fn new(scene: Arc<Scene>, links: Arc<Links>, events: Events, ask: Ask, state: HostState) -> Self {
        Self {
            scene,
            links,
            events,
            ask,
            state,
            open_runs: BTreeSet::new(),
            refused: None,
            review: None,
            counts: Counts::default(),
            told: HashSet::new(),
            past: HashMap::new(),
            owed: BTreeSet::new(),
            recorded: HashSet::new(),
            greeted: false,
        }
    }

    fn tell(&self, event: Event) {
        // Nobody may listen any more; the journal is the record.
        let _ = self.events.send(event);
    }

    /// Looks and walks until the plan is complete, up to and with play number `last`.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn plan(&mut self, last: usize) -> Result<Walked, HostError> {
        for _ in 0..ROUNDS {
            let walked = walk(&self.scene, &mut self.state, last);
            if walked.wanted.values().all(Vec::is_empty) {
                return Ok(walked);
            }
            for (target, reads) in walked.wanted {
                self.look(&target, reads).await?;
            }
        }
        Err(HostError::Unsettled)
    }

    async fn look(&mut self, target: &Target, reads: Vec<Read>) -> Result<(), HostError> {
        let carrier = self.links.carrier(&self.scene, target).await.map_err(HostError::Unreachable)?;
        let known = self.state.known.entry(target.clone()).or_insert_with(Known::default);
        if known.who.is_some() {
            let seen = carrier.look(&reads).await.map_err(HostError::Carrier)?;
            known.learn(seen);
            return Ok(());
        }
        let (greeting, seen) = carrier.greet(&reads).await.map_err(HostError::Carrier)?;
        known.who = Some(greeting.who);
        known.learn(seen);
        self.greeted = true;
        if target.host == self.state.name {
            self.open_runs.extend(greeting.open_runs);
        }
        Ok(())
    }

    /// Applies everything up to and with play number `last`. Gives how the host's part ended, if it ended.
    ///
    /// # Errors
    /// [`HostError::Journal`]: the run must stop. All else is told and becomes an end.
    pub async fn apply(&mut self, journal: &Journal, last: usize) -> Result<Option<HostEnd>, JournalError> {
        let mut applied: Option<Applied> = None;
        loop {
            let walked = match self.plan(last).await {
                Ok(walked) => walked,
                Err(HostError::Journal(error)) => return Err(error),
                Err(error) => return self.broken(journal, &error, applied.is_some()).await.map(Some),
            };
            if let Some(batch) = applied.take()
                && let Some((task, problem)) = judged_bad(&walked.planned, &batch.keys)
            {
                let end = self.take_back(journal, batch, task, problem).await?;
                if end == HostEnd::FailedHalf {
                    self.counts.add(TaskEnd::Failed);
                    return Ok(Some(end));
                }
            }
            self.settle(&walked.planned);
            match next(&walked.planned) {
                Next::Nothing => {
                    self.tell_rest(&walked.planned, walked.planned.len());
                    return Ok(None);
                }
                Next::Failed { at, problem } => {
                    self.tell_rest(&walked.planned, at);
                    self.trouble(Some(&walked.planned[at]), *problem);
                    return Ok(Some(HostEnd::Failed));
                }
                Next::Stuck { at, on } => {
                    self.tell_rest(&walked.planned, at);
                    if !self.wait_for_others(&walked.planned[at], &on).await {
                        return Ok(Some(HostEnd::Failed));
                    }
                }
                Next::Pause { at, seconds, prompt } => {
                    self.tell_rest(&walked.planned, at);
                    let task = &walked.planned[at];
                    if !self.pause(task, seconds, prompt).await {
                        return Ok(Some(HostEnd::Failed));
                    }
                }
                Next::Batch(group) => {
                    if let Some((at, problem)) = self.unreviewed(&walked.planned, &group.members) {
                        self.tell_rest(&walked.planned, at);
                        self.trouble(Some(&walked.planned[at]), problem);
                        return Ok(Some(HostEnd::Stale));
                    }
                    self.freeze(&walked.planned[..group.end]);
                    self.tell_rest(&walked.planned, group.members[0]);
                    match self.act(journal, &walked.planned, *group).await? {
                        Ok(batch) => applied = Some(batch),
                        Err(end) => return Ok(Some(end)),
                    }
                }
            }
        }
    }

    /// The first task of a batch that was not reviewed like this.
    fn unreviewed(&self, planned: &[Planned], members: &[usize]) -> Option<(usize, Diagnostic)> {
        let review = self.review.as_ref()?;
        members.iter().find_map(|member| review(&planned[*member]).map(|problem| (*member, problem)))
    }

    /// What was decided before an act stays decided: it is not asked again on what the act left.
    fn freeze(&mut self, planned: &[Planned]) {
        for task in planned {
            if self.state.ran.contains_key(&task.key) {
                continue;
            }
            let ran = match &task.what {
                What::Skipped { why } => Ran { skipped: Some(why.clone()), ..Ran::default() },
                What::Same { result, .. } => {
                    let sets = match (task.module.as_str(), result.get("ansible_facts")) {
                        ("set_fact", Some(serde_json::Value::Object(facts))) => facts
                            .iter()
                            .map(|(name, value)| (name.clone(), value.clone(), task.secret))
                            .collect(),
                        _ => Vec::new(),
                    };
                    let changed = result.get("changed").and_then(serde_json::Value::as_bool).unwrap_or(false);
                    let verdict = Some(Judged { result: result.clone(), changed, failed: false });
                    Ran { result: result.clone(), sets, verdict, ..Ran::default() }
                }
                _ => continue,
            };
            if !matches!(task.module.as_str(), "include_vars" | "debug" | "add_host" | "group_by" | "meta") {
                self.state.ran.insert(task.key.clone(), ran);
            }
        }
    }

    /// Tells of tasks that need nothing done, once each.
    fn tell_rest(&mut self, planned: &[Planned], end: usize) {
        for task in &planned[..end.min(planned.len())] {
            let end = match &task.what {
                What::Skipped { .. } => TaskEnd::Skipped,
                What::Same { .. } | What::Probed { .. } => TaskEnd::Same,
                What::Said { text, .. } => {
                    if !self.told.contains(&task.key) {
                        let (host, title) = (self.state.name.clone(), task.title.clone());
                        self.tell(Event::Said { host, title, text: text.clone() });
                    }
                    TaskEnd::Same
                }
                What::Done { failed: true, .. } => TaskEnd::Ignored,
                What::Done { changed: true, .. } => TaskEnd::Changed,
                What::Done { .. } => TaskEnd::Same,
                _ => continue,
            };
            if self.told.insert(task.key.clone()) {
                self.counts.add(end);
                let (host, title, label) = (self.state.name.clone(), task.title.clone(), task.label.clone());
                self.tell(Event::Task { host, title, label, end });
            }
        }
    }

    fn settle(&mut self, planned: &[Planned]) {
        // A handler or task that restarts a unit, or boots the host, is the activation that states asked for.
        for task in planned {
            if !matches!(task.what, What::Done { .. }) {
                continue;
            }
            if task.module == "reboot" {
                self.owed.clear();
            }
        }
    }

    fn trouble(&mut self, task: Option<&Planned>, problem: Diagnostic) {
        self.counts.add(TaskEnd::Failed);
        let title = task.map(|task| task.title.clone());
        self.tell(Event::Trouble { host: self.state.name.clone(), title, problem });
    }

    async fn pause(&mut self, task: &Planned, seconds: Option<f64>, prompt: Option<String>) -> bool {
        match seconds {
            Some(seconds) => tokio::time::sleep(Duration::from_secs_f64(seconds.clamp(0.0, 86_400.0))).await,
            None => {
                let question = prompt.unwrap_or_else(|| format!("`{}` waits. Go on?", task.title));
                let ask = Arc::clone(&self.ask);
                let yes = tokio::task::spawn_blocking(move || ask(&question)).await.unwrap_or(false);
                if !yes {
                    let problem =
                        Diagnostic::error("the run was not to go on after a pause", task.span.clone());
                    self.trouble(Some(task), problem);
                    return false;
                }
            }
        }
        let result = serde_json::json!({"changed": false, "failed": false});
        let verdict = Some(Judged { result: result.clone(), changed: false, failed: false });
        self.state.ran.insert(task.key.clone(), Ran { result, verdict, ..Ran::default() });
        true
    }

    /// A task waits for another host's `run_once` result. Bounded: hosts that fail never bring it.
    async fn wait_for_others(&mut self, task: &Planned, on: &str) -> bool {
        for _ in 0..3000 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            let Ok(walked) = self.plan(task.play).await else { return false };
            if !matches!(next(&walked.planned), Next::Stuck { .. }) {
                return true;
            }
        }
        let problem =
            Diagnostic::error(format!("this cannot be decided: it waits for {on}"), task.span.clone());
        self.trouble(Some(task), problem);
        false
    }

    /// Prepares a batch, sends it, and records what came of it.
    async fn act(
        &mut self,
        journal: &Journal,
        planned: &[Planned],
        group: Group,
    ) -> Result<Result<Applied, HostEnd>, JournalError> {
        if let Some(delay) = group.delay {
            tokio::time::sleep(Duration::from_secs_f64(delay.clamp(0.0, 86_400.0))).await;
        }
        let carrier = match self.links.carrier(&self.scene, &group.target).await {
            Ok(carrier) => carrier,
            Err(error) => {
                return self.broken(journal, &HostError::Unreachable(error), false).await.map(Err);
            }
        };
        let steps = fold(group.steps.clone());
        let host = group.target.host.clone();
        let verify =
            self.touched(&group.target, &steps.iter().map(|folded| &folded.step.act).collect::<Vec<_>>());
        let batch = Batch {
            host: host.clone(),
            number: self.number(&host),
            activations: group.activations.clone(),
            steps,
            verify,
            last: group.last,
            undo: false,
            timeout: group.timeout,
        };
        let who = self.state.known.get(&group.target).and_then(|known| known.who.clone()).unwrap_or_default();
        self.record_host(journal, &group.target, &carrier).await?;
        self.tell(Event::Acting { host: self.state.name.clone(), steps: batch.steps.len() });
        let tasks = group
            .members
            .iter()
            .map(|member| (planned[*member].order, planned[*member].title.clone()))
            .collect();
        let prepared = journal.prepare(batch.clone(), tasks).await?;
        let report = match carrier.carry_out(prepared, &who).await {
            Ok(report) => report,
            Err(error) => {
                let why = error.to_string();
                journal.decide(Record::Lost { host: host.clone(), batch: batch.number, why }).await?;
                self.past.entry(group.target.clone()).or_default().push(Past { batch, report: None });
                return self.broken(journal, &HostError::Carrier(error), true).await.map(Err);
            }
        };
        journal.note(Record::Done { host, batch: batch.number, report: report.clone() })?;
        if let Some(problem) = unwritten(&report, &group.target.host) {
            let first = &planned[group.members[0]];
            self.trouble(Some(first), problem);
            return Ok(Err(match (&report.locked, &report.stale) {
                (Some(_), _) => HostEnd::Held,
                (None, Some(_)) => HostEnd::Stale,
                (None, None) => HostEnd::Failed,
            }));
        }
        self.owed.extend(group.owed.iter().cloned());
        for activation in &group.owed {
            journal.note(Record::Owed { host: self.state.name.clone(), activation: activation.clone() })?;
        }
        self.learn(&group.target, &batch, &report);
        let keys = self.results(planned, &group, &batch, &report);
        let past = Past { batch, report: Some(report) };
        self.past.entry(group.target.clone()).or_default().push(past.clone());
        Ok(Ok(Applied { target: group.target, past, keys }))
    }

    fn number(&mut self, host: &str) -> u32 {
        let number = self.state.batches.entry(host.to_owned()).or_insert(0);
        *number += 1;
        *number
    }

    async fn record_host(
        &mut self,
        journal: &Journal,
        target: &Target,
        carrier: &Carrier,
    ) -> Result<(), JournalError> {
        if !self.recorded.insert(target.host.clone()) {
            return Ok(());
        }
        let address = match carrier {
            Carrier::Shell { connection, .. } => connection.address().to_owned(),
            Carrier::Memory(_) => "memory".to_owned(),
        };
        let who = self.state.known.get(target).and_then(|known| known.who.clone()).unwrap_or_default();
        let acting = serde_json::to_value(&target.user).unwrap_or_default();
        journal.note(Record::Host {
            host: target.host.clone(),
            address,
            user: who.user,
            uid: who.uid,
            acting,
        })
    }

    /// The reads of a host that acts may have changed, to be looked at again in the same script.
    fn touched(&self, target: &Target, acts: &[&Act]) -> Vec<Read> {
        let Some(known) = self.state.known.get(target) else { return Vec::new() };
        known.seen.keys().filter(|read| acts.iter().any(|act| touches(act, read))).cloned().collect()
    }

    /// Forgets what the acts may have changed, and takes what was seen afterwards.
    fn learn(&mut self, target: &Target, batch: &Batch, report: &BatchReport) {
        for (other, known) in &mut self.state.known {
            if other.host == target.host {
                let acts = || batch.steps.iter().map(|folded| &folded.step.act);
                Arc::make_mut(&mut known.seen).retain(|read, _| !acts().any(|act| touches(act, read)));
            }
        }
        if let Some(known) = self.state.known.get_mut(target) {
            known.learn(report.seen.clone());
        }
    }

    /// What came of each task of a batch.
    fn results(
        &mut self,
        planned: &[Planned],
        group: &Group,
        batch: &Batch,
        report: &BatchReport,
    ) -> Vec<String> {
        let mut keys = Vec::new();
        for member in &group.members {
            let task = &planned[*member];
            let What::Change(change) = &task.what else { continue };
            let order = TaskId(task.order);
            let mut error = None;
            let mut reached = true;
            for (index, folded) in batch.steps.iter().enumerate() {
                if !folded.tasks.contains(&order) {
                    continue;
                }
                match report.verdict(batch, index) {
                    Verdict::Proven => {}
                    Verdict::NotReached => reached = false,
                    Verdict::Failed(words) => error = error.or(Some(words)),
                }
            }
            if !reached && error.is_none() {
                continue;
            }
            let answer = change.answer.and_then(|at| answer(change, at, batch, report));
            if answer.is_some() {
                // A program's status is judged by the task's conditions.
                error = error.filter(|_| answer.as_ref().is_some_and(|answer| answer.status == 0));
            }
            let tries = self.state.ran.get(&task.key).map_or(0, |ran| ran.tries) + 1;
            let changed = !change.steps.is_empty();
            let ran = Ran { result: change.result.clone(), answer, changed, error, tries, ..Ran::default() };
            self.state.ran.insert(task.key.clone(), ran);
            keys.push(task.key.clone());
        }
        keys
    }

    /// A batch that failed is taken back at once.
    async fn take_back(
        &mut self,
        journal: &Journal,
        applied: Applied,
        task: &Planned,
        problem: Box<Diagnostic>,
    ) -> Result<HostEnd, JournalError> {
        let title = Some(task.title.clone());
        self.tell(Event::Trouble { host: self.state.name.clone(), title, problem: *problem });
        let Applied { target, past, .. } = applied;
        let end = self.undo(journal, &target, &[past.clone()]).await?;
        if let Some(all) = self.past.get_mut(&target) {
            all.retain(|other| other.batch.number != past.batch.number);
        }
        Ok(end)
    }

    /// Takes batches back, newest first, on what is seen now.
    async fn undo(
        &mut self,
        journal: &Journal,
        target: &Target,
        past: &[Past],
    ) -> Result<HostEnd, JournalError> {
        let carrier = match self.links.carrier(&self.scene, target).await {
            Ok(carrier) => carrier,
            Err(error) => {
                let problem = error.diagnostic(&target.host);
                self.tell(Event::Trouble { host: self.state.name.clone(), title: None, problem });
                return Ok(HostEnd::FailedHalf);
            }
        };
        let who = self.state.known.get(target).and_then(|known| known.who.clone()).unwrap_or_default();
        let number = self.number(&target.host);
        let undone = undo_on(&carrier, journal, &target.host, &who, past, number, &[]).await;
        let undone = match undone {
            Ok(undone) => undone,
            Err(HostError::Journal(error)) => return Err(error),
            Err(error) => {
                let problem = error.diagnostic(&target.host);
                self.tell(Event::Trouble { host: self.state.name.clone(), title: None, problem });
                return Ok(HostEnd::FailedHalf);
            }
        };
        if let Some((batch, report)) = &undone.done {
            self.learn(target, batch, report);
        }
        let complete = undone.left.is_empty();
        self.tell(Event::Undone { host: self.state.name.clone(), steps: undone.steps, left: undone.left });
        Ok(if complete { HostEnd::Failed } else { HostEnd::FailedHalf })
    }

    /// The host went away or does not answer as it should.
    async fn broken(
        &mut self,
        journal: &Journal,
        error: &HostError,
        acted: bool,
    ) -> Result<HostEnd, JournalError> {
        let problem = error.diagnostic(&self.state.name);
        self.trouble(None, problem);
        self.links.forget(&self.state.name).await;
        if !acted && error.is_unreachable() && self.past.values().all(Vec::is_empty) {
            return Ok(HostEnd::Unreachable);
        }
        // What was sent last may be done, half done, or not: it is looked at over a new connection, and taken back.
        let lost: Vec<(Target, Vec<Past>)> = self
            .past
            .iter()
            .map(|(target, past)| {
                (target.clone(), past.iter().filter(|past| past.report.is_none()).cloned().collect())
            })
            .filter(|(_, past): &(Target, Vec<Past>)| !past.is_empty())
            .collect();
        let mut end = HostEnd::Failed;
        for (target, past) in lost {
            if self.undo(journal, &target, &past).await? == HostEnd::FailedHalf {
                end = HostEnd::FailedHalf;
            }
        }
        Ok(end)
    }

    /// Ends the host's part: restarts that are owed are done, the rest is told.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn finish(&mut self, journal: &Journal, end: Option<HostEnd>) -> Result<HostEnd, JournalError> {
        let mut end = end.unwrap_or(HostEnd::Proven);
        if end == HostEnd::Proven && !self.restarts(journal).await? {
            end = HostEnd::Failed;
        }
        let owed: Vec<String> = self.owed.iter().map(activation_words).collect();
        let why = (end != HostEnd::Proven).then(|| "see the events above".to_owned());
        let tally = self.links.tally(&self.state.name).await;
        journal.note(Record::HostEnded { host: self.state.name.clone(), end, why, tally: tally.clone() })?;
        self.tell(Event::HostEnded { host: self.state.name.clone(), end, counts: self.counts, tally, owed });
        Ok(end)
    }

    async fn restarts(&mut self, journal: &Journal) -> Result<bool, JournalError> {
        let units: Vec<Activation> =
            self.owed.iter().filter(|owed| matches!(owed, Activation::Restart(_))).cloned().collect();
        if units.is_empty() {
            return Ok(true);
        }
        let root = self.past.keys().find(|target| target.host == self.state.name).cloned();
        let target = root.unwrap_or_else(|| Target { host: self.state.name.clone(), user: Acting::Login });
        let Ok(carrier) = self.links.carrier(&self.scene, &target).await else { return Ok(false) };
        let steps = units.iter().filter_map(activation_step).map(|step| (TaskId(u32::MAX), step));
        let batch = Batch {
            host: target.host.clone(),
            number: self.number(&target.host),
            steps: fold(steps),
            activations: units.clone(),
            verify: Vec::new(),
            last: true,
            undo: false,
            timeout: None,
        };
        let who = self.state.known.get(&target).and_then(|known| known.who.clone()).unwrap_or_default();
        let prepared = journal.prepare(batch.clone(), Vec::new()).await?;
        let report = match carrier.carry_out(prepared, &who).await {
            Ok(report) => report,
            Err(error) => {
                self.trouble(None, HostError::Carrier(error).diagnostic(&target.host));
                return Ok(false);
            }
        };
        journal.note(Record::Done {
            host: target.host.clone(),
            batch: batch.number,
            report: report.clone(),
        })?;
        let mut fine = true;
        for (index, unit) in units.iter().enumerate() {
            match report.verdict(&batch, index) {
                Verdict::Proven => {
                    self.owed.remove(unit);
                    let record = Record::Activated {
                        host: self.state.name.clone(),
                        activation: unit.clone(),
                        output: None,
                    };
                    journal.note(record)?;
                }
                Verdict::NotReached => fine = false,
                Verdict::Failed(words) => {
                    fine = false;
                    self.trouble(None, Diagnostic::error(words, None));
                }
            }
        }
        Ok(fine)
    }
}

/// An activation as people call it.
pub fn activation_words(activation: &Activation) -> String {
    match activation {
        Activation::DaemonReload => "systemctl daemon-reload".to_owned(),
        Activation::Regenerate(row) | Activation::Reload(row) => row.name.clone(),
        Activation::Restart(unit) => format!("restart of {unit}"),
        Activation::GuestCycle(uuid) => format!("power cycle of guest {uuid}"),
        Activation::Reboot => "reboot".to_owned(),
    }
}

/// The answer of the step that a change takes its result from.
fn answer(change: &Change, at: usize, batch: &Batch, report: &BatchReport) -> Option<Output> {
    let act = &change.steps.get(at)?.act;
    let index = batch.steps.iter().position(|folded| folded.step.act == *act)?;
    report.acts.get(index)?.as_ref().map(|done| done.output.clone())
}

/// The failure of a task of the last batch.
fn judged_bad<'a>(planned: &'a [Planned], keys: &[String]) -> Option<(&'a Planned, Box<Diagnostic>)> {
    planned.iter().filter(|task| keys.contains(&task.key)).find_map(|task| match &task.what {
        What::Failed(problem) => Some((task, problem.clone())),
        What::Done { failed: true, .. } => Some((
            task,
            Box::new(Diagnostic::error(
                format!("`{}` failed; the playbook handles that", task.title),
                task.span.clone(),
            )),
        )),
        _ => None,
    })
}

/// Why nothing of a batch was written.
fn unwritten(report: &BatchReport, host: &str) -> Option<Diagnostic> {
    if let Some(run) = &report.locked {
        return Some(
            Diagnostic::error(format!("{host} is held by another run ({run})"), None)
                .help("wait until that run is over, then start again; nothing was written here"),
        );
    }
    if let Some(words) = &report.stale {
        return Some(
            Diagnostic::error(words.clone(), None)
                .help("plan again: somebody else has changed it; nothing was written"),
        );
    }
    report.unstaged.as_ref().map(|words| {
        Diagnostic::error(format!("the new contents could not be staged: {words}"), None)
            .help("nothing was written; mend what the host says and start again")
    })
}

/// What an undo did on a host.
#[derive(Debug, Default)]
pub struct UndoneOn {
    /// How many steps went back.
    pub steps: usize,
    /// What was left alone or cannot go back, in words.
    pub left: Vec<String>,
    /// What stays though all went back as near as possible.
    pub stays: Vec<String>,
    /// The batch that went back, and what came of it.
    pub done: Option<(Batch, BatchReport)>,
}

/// Takes batches of one host back, newest first: looks, prepares, acts, proves.
///
/// # Errors
/// [`HostError`].
pub async fn undo_on(
    carrier: &Carrier,
    journal: &Journal,
    host: &str,
    who: &modules::vocabulary::Identity,
    past: &[Past],
    number: u32,
    force: &[String],
) -> Result<UndoneOn, HostError> {
    let looks: BTreeSet<Read> = past.iter().flat_map(Past::looks).cloned().collect();
    let now: BTreeMap<Read, Seen> =
        carrier.look(&looks.into_iter().collect::<Vec<_>>()).await.map_err(HostError::Carrier)?;
    let back = way_back(past, now, who, force);
    let mut undone = UndoneOn { left: back.conflicts, stays: back.stays, ..UndoneOn::default() };
    undone.left.extend(back.stuck);
    if back.steps.is_empty() && back.activations.is_empty() {
        return Ok(undone);
    }
    let mut steps = back.steps;
    undone.steps = steps.len();
    for step in back.activations.iter().filter_map(activation_step) {
        steps.push(modules::fold::Folded { tasks: vec![TaskId(u32::MAX)], step });
    }
    let batch = Batch {
        host: host.to_owned(),
        number,
        steps,
        activations: back.activations,
        verify: Vec::new(),
        last: true,
        undo: true,
        timeout: None,
    };
    let prepared = journal.prepare(batch.clone(), Vec::new()).await.map_err(HostError::Journal)?;
    let report = carrier.carry_out(prepared, who).await.map_err(HostError::Carrier)?;
    let record = Record::Done { host: host.to_owned(), batch: number, report: report.clone() };
    journal.note(record).map_err(HostError::Journal)?;
    if let Some(problem) = unwritten(&report, host) {
        undone.left.push(problem.message);
        undone.steps = 0;
        return Ok(undone);
    }
    for index in 0..batch.steps.len() {
        match report.verdict(&batch, index) {
            Verdict::Proven => {}
            Verdict::NotReached => {
                undone.left.push(format!("{}: not reached", batch.steps[index].step.claim))
            }
            Verdict::Failed(words) => undone.left.push(words),
        }
    }
    undone.done = Some((batch, report));
    Ok(undone)
}
