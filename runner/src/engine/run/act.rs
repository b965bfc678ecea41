//! One batch on a host: prepared, sent, recorded, and what came of each task.
use super::back::unwritten;
use super::{Applied, HostError, HostRun};
use crate::engine::batch::{Batch, BatchReport, Verdict};
use crate::engine::carrier::Carrier;
use crate::engine::next::Group;
use crate::engine::rpc::parts;
use crate::engine::target::Target;
use crate::engine::undo::Past;
use crate::engine::walk::{Planned, Ran, What};
use crate::journal::{HostEnd, Journal, JournalError, Record};
use crate::report::event::Event;
use modules::fold::{Folded, fold};
use modules::vocabulary::{Act, Activation, Change, Goal, Output, Read, TaskId, outdates};
use std::sync::Arc;
use std::time::Duration;

impl HostRun {
    /// Prepares a batch, sends it, and records what came of it.
    pub(super) async fn act(
        &mut self,
        journal: &Journal,
        planned: &[Planned],
        group: Group,
    ) -> Result<Result<Applied, HostEnd>, JournalError> {
        let scene = Arc::clone(&self.scene);
        let _acts = scene.acts();
        let links = Arc::clone(&self.links);
        let _permit = links.permit().await;
        if let Some(delay) = group.delay {
            tokio::time::sleep(Duration::from_secs_f64(delay.clamp(0.0, 86_400.0))).await;
        }
        let carrier = match self.links.carrier(&self.scene, &group.target).await {
            Ok(carrier) => carrier,
            Err(error) => {
                return self.broken(journal, &HostError::Unreachable(error), false).await.map(Err);
            }
        };
        let batches = self.batches(&group);
        self.record_host(journal, &group.target, &carrier).await?;
        let mut done: Vec<(Batch, BatchReport)> = Vec::new();
        let mut go_on = true;
        for batch in batches {
            if !go_on || batch.steps.is_empty() {
                done.push((batch, BatchReport::default()));
                continue;
            }
            let batch = Batch { number: self.number(&group.target.host), ..batch };
            let report = match self.send(journal, planned, &group, &carrier, batch.clone()).await? {
                Ok(report) => report,
                Err(end) => return self.cut_short(journal, &group.target, &done, end).await.map(Err),
            };
            go_on = (0..batch.steps.len()).all(|index| report.verdict(&batch, index) == Verdict::Proven);
            if !report.nothing_was_written() {
                self.absorb(&batch);
            }
            self.learn(&group.target, &batch, &report);
            done.push((batch, report));
        }
        let late = self.await_goal(&group).await;
        if done.iter().all(|(_, report)| !report.nothing_was_written()) {
            self.owed.extend(group.owed.iter().cloned());
            for activation in &group.owed {
                journal
                    .note(Record::Owed { host: self.state.name.clone(), activation: activation.clone() })?;
            }
        }
        let keys = self.results(planned, &group, &done, late);
        let past: Vec<Past> = done
            .into_iter()
            .map(|(batch, report)| Past { batch, report: Some(report), ..Past::default() })
            .collect();
        self.past.entry(group.target.clone()).or_default().extend(past.iter().cloned());
        Ok(Ok(Applied { target: group.target, past, keys }))
    }

    /// A later part of a group could not be written at all: the earlier parts go back.
    async fn cut_short(
        &mut self,
        journal: &Journal,
        target: &Target,
        done: &[(Batch, BatchReport)],
        end: HostEnd,
    ) -> Result<HostEnd, JournalError> {
        let past: Vec<Past> = done
            .iter()
            .filter(|(batch, _)| !batch.steps.is_empty())
            .map(|(batch, report)| Past {
                batch: batch.clone(),
                report: Some(report.clone()),
                ..Past::default()
            })
            .collect();
        if past.is_empty() {
            return Ok(end);
        }
        match self.undo(journal, target, &past).await? {
            HostEnd::FailedHalf => Ok(HostEnd::FailedHalf),
            _ => Ok(end),
        }
    }

    /// A group's steps as batches: each goes one way, by the host's shell or over a socket.
    fn batches(&self, group: &Group) -> Vec<Batch> {
        let parts = parts(fold(group.steps.clone()));
        let last = parts.len() - 1;
        let batch = |(index, steps): (usize, Vec<Folded>)| {
            let acts: Vec<&Act> = steps.iter().map(|folded| &folded.step.act).collect();
            let verify = self.touched(&group.target, &acts);
            Batch {
                number: 0,
                host: group.target.host.clone(),
                acting: group.target.user.clone(),
                activations: if index == 0 { group.activations.clone() } else { Vec::new() },
                steps,
                verify,
                // Whether it stays is decided after it: the mark of an open run does not go with it.
                last: group.last && index == last && group.dead_man.is_none() && !self.stays_open,
                undo: false,
                undoes: Vec::new(),
                timeout: group.timeout,
                dead_man: group.dead_man,
                cluster: group.cluster.clone(),
            }
        };
        parts.into_iter().enumerate().map(batch).collect()
    }

    /// Prepares and sends a batch that has steps.
    async fn send(
        &mut self,
        journal: &Journal,
        planned: &[Planned],
        group: &Group,
        carrier: &Carrier,
        batch: Batch,
    ) -> Result<Result<BatchReport, HostEnd>, JournalError> {
        let who = self.state.known.get(&group.target).and_then(|known| known.who.clone()).unwrap_or_default();
        self.tell(Event::Acting { host: self.state.name.clone(), steps: batch.steps.len() });
        let members = || group.members.iter().map(|member| &planned[*member]);
        let tasks = members().map(|task| (task.order, task.title.clone())).collect();
        let secret = members().filter(|task| task.secret).map(|task| task.order).collect();
        let (host, number) = (batch.host.clone(), batch.number);
        let prepared = journal.prepare_marked(batch.clone(), tasks, secret).await?;
        let newly = self.marked.insert(group.target.clone());
        let boot = group.wait.as_ref().filter(|wait| matches!(wait.goal, Goal::Boot { .. }));
        let carried = match (boot, batch.dead_man) {
            (Some(wait), _) => self.boot(journal, &group.target, carrier, (prepared, wait), &who).await,
            (None, Some(seconds)) => {
                self.watched(journal, &group.target, carrier, prepared, &who, seconds).await?
            }
            (None, None) => carrier.carry_out(prepared, &who).await.map_err(HostError::Carrier),
        };
        let report = match carried {
            Ok(report) => report,
            Err(error) => {
                let why = error.diagnostic(&host).message;
                journal.decide(Record::Lost { host, batch: number, why }).await?;
                self.past.entry(group.target.clone()).or_default().push(Past { batch, ..Past::default() });
                return self.broken(journal, &error, true).await.map(Err);
            }
        };
        journal.note(Record::Done { host: host.clone(), batch: number, report: report.clone() })?;
        let proven = |index: usize| report.verdict(&batch, index) == Verdict::Proven;
        if (newly && report.locked.is_some()) || (batch.last && (0..batch.steps.len()).all(proven)) {
            self.marked.remove(&group.target);
        }
        if report.unstaged_step.is_none()
            && let Some(problem) = unwritten(&report, &host)
        {
            self.trouble(Some(&planned[group.members[0]]), problem);
            return Ok(Err(match (&report.locked, &report.stale) {
                (Some(run), _) if !run.is_empty() => HostEnd::Held,
                (None, Some(_)) => HostEnd::Stale,
                _ => HostEnd::Failed,
            }));
        }
        Ok(Ok(report))
    }

    /// A task or handler that restarts a unit, or boots the host, is the activation that states asked for before.
    fn absorb(&mut self, batch: &Batch) {
        for folded in &batch.steps {
            let Act::Call { row, .. } = &folded.step.act else { continue };
            match Activation::of_row(row) {
                Some(Activation::Reboot) => self.owed.clear(),
                Some(activation) => {
                    self.owed.remove(&activation);
                }
                None => {}
            }
        }
    }

    pub(super) fn number(&mut self, host: &str) -> u32 {
        let number = self.scene.number_batches(host, 1);
        self.state.batches.insert(host.to_owned(), number);
        number
    }

    pub(super) async fn record_host(
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
    pub(super) fn touched(&self, target: &Target, acts: &[&Act]) -> Vec<Read> {
        let Some(known) = self.state.known.get(target) else { return Vec::new() };
        let seen = known.seen.iter();
        let outdated = seen.filter(|(read, seen)| acts.iter().any(|act| outdates(act, read, seen)));
        outdated.map(|(read, _)| read.clone()).collect()
    }

    /// Forgets what the acts may have changed, and takes what was seen afterwards.
    pub(super) fn learn(&mut self, target: &Target, batch: &Batch, report: &BatchReport) {
        let acts: Vec<Act> = batch.steps.iter().map(|folded| folded.step.act.clone()).collect();
        for (other, known) in &mut self.state.known {
            // What was asked of a cluster is the same whichever host asked.
            if other.host == target.host || batch.cluster.is_some() {
                known.forget(|read, seen| acts.iter().any(|act| outdates(act, read, seen)));
            }
        }
        if batch.cluster.is_some() || target.host != self.state.name {
            self.scene.tell_done(&self.state.name, &target.host, batch.cluster.is_some(), acts);
        }
        if let Some(known) = self.state.known.get_mut(target) {
            known.learn(report.seen.clone());
        }
    }

    /// What came of each task of a group.
    fn results(
        &mut self,
        planned: &[Planned],
        group: &Group,
        done: &[(Batch, BatchReport)],
        late: Option<String>,
    ) -> Vec<String> {
        let mut keys = Vec::new();
        for member in &group.members {
            let task = &planned[*member];
            let What::Change(change) = &task.what else { continue };
            let order = TaskId(task.order);
            let is_last = Some(member) == group.members.last();
            let mut error = late.clone().filter(|_| is_last);
            let mut reached = true;
            for (batch, report) in done {
                for (index, folded) in batch.steps.iter().enumerate() {
                    if !folded.tasks.contains(&order) {
                        continue;
                    }
                    match report.verdict(batch, index) {
                        _ if report.unstaged_step == Some(index) => error = error.or(report.unstaged.clone()),
                        Verdict::Proven => {}
                        Verdict::NotReached => reached = false,
                        Verdict::Failed(words) => error = error.or(Some(words)),
                    }
                }
            }
            if !reached && error.is_none() {
                continue;
            }
            let answer = change.answer.and_then(|at| answer(change, at, done));
            if answer.is_some() {
                // A program's status is judged by the task's conditions.
                error = error.filter(|_| answer.as_ref().is_some_and(|answer| answer.status == 0));
            }
            let tries = self.state.ran.get(&task.key).map_or(0, |ran| ran.tries) + 1;
            let changed = change.is_felt();
            let (result, secret) = (change.result.clone(), task.secret);
            let claims = change.steps.iter().map(|step| step.claim.clone()).collect();
            let ran = Ran { result, answer, changed, error, tries, secret, claims, ..Ran::default() };
            self.state.ran.insert(task.key.clone(), ran);
            keys.push(task.key.clone());
        }
        keys
    }
}

/// The answer of the step that a change takes its result from.
fn answer(change: &Change, at: usize, done: &[(Batch, BatchReport)]) -> Option<Output> {
    let act = &change.steps.get(at)?.act;
    let (index, report) = done.iter().find_map(|(batch, report)| {
        Some((batch.steps.iter().position(|folded| folded.step.act == *act)?, report))
    })?;
    report.acts.get(index)?.as_ref().map(|done| done.output.clone())
}
