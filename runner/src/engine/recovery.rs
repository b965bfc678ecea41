//! Taking back what a run did on a host: the lock first, then a look, then the steps, then what they call for.
use super::batch::{Batch, BatchReport, Verdict};
use super::carrier::Carrier;
use super::rpc::parts;
use super::run::{HostError, unwritten};
use super::target::Acting;
use super::undo::{Past, activation_step, acts_down, back_act, goes_down, in_order, way_back};
use crate::journal::{Journal, Journaled, Record};
use modules::fold::Folded;
use modules::vocabulary::{Activation, Identity, Read, TaskId};
use std::collections::{BTreeMap, BTreeSet};

/// What a journal holds of one host.
#[derive(Clone, Debug, Default)]
pub struct HostPast {
    /// Its batches in order, those that took something back left out.
    pub past: Vec<Past>,
    /// All batches of which it is not known what came of them.
    pub cut_off: Vec<Batch>,
    /// The highest batch number.
    pub number: u32,
    /// Activations that an earlier undo called for and did not come to.
    pub pending: Vec<(Acting, Activation)>,
    /// Activations that the run itself left owed.
    pub owed: BTreeSet<Activation>,
    /// How it was reached: `user@address:port`.
    pub address: String,
    /// As whom the run acted, where no batch says it.
    pub acting: Acting,
    /// The number of its last batch before an experiment that has not said yet that its change stays.
    pub unjudged: Option<u32>,
}

/// The batches of a run by host.
pub fn by_host(journaled: &Journaled) -> BTreeMap<String, HostPast> {
    let mut hosts: BTreeMap<String, HostPast> = BTreeMap::new();
    for entry in &journaled.entries {
        match &entry.record {
            Record::Host { host, acting, address, .. } => {
                let host = hosts.entry(host.clone()).or_default();
                host.acting = serde_json::from_value(acting.clone()).unwrap_or_default();
                host.address.clone_from(address);
            }
            Record::Prepared { batch, .. } => hosts.entry(batch.host.clone()).or_default().prepared(batch),
            Record::GateBegan { hosts: changed, .. } => {
                for (host, number) in changed {
                    hosts.entry(host.clone()).or_default().unjudged.get_or_insert(*number);
                }
            }
            Record::Gate { hosts: changed, kept: true, .. } => {
                for host in changed {
                    hosts.entry(host.clone()).or_default().unjudged = None;
                }
            }
            Record::Done { host, batch, report } => {
                hosts.entry(host.clone()).or_default().done(*batch, report);
            }
            Record::Owed { host, activation } => {
                hosts.entry(host.clone()).or_default().owed.insert(activation.clone());
            }
            Record::Activated { host, activation, .. } => {
                let host = hosts.entry(host.clone()).or_default();
                host.owed.remove(activation);
                host.pending.retain(|(_, called)| called != activation);
            }
            _ => {}
        }
    }
    hosts
}

impl HostPast {
    fn prepared(&mut self, batch: &Batch) {
        self.number = self.number.max(batch.number);
        self.cut_off.push(batch.clone());
        if batch.undo {
            for called in &batch.activations {
                let called = (batch.acting.clone(), called.clone());
                if !self.pending.contains(&called) {
                    self.pending.push(called);
                }
            }
        } else {
            self.past.push(Past { batch: batch.clone(), ..Past::default() });
        }
    }

    fn done(&mut self, number: u32, report: &BatchReport) {
        let Some(at) = self.cut_off.iter().rposition(|batch| batch.number == number) else { return };
        let batch = self.cut_off.remove(at);
        for index in 0..batch.steps.len() {
            if report.nothing_was_written() || report.verdict(&batch, index) != Verdict::Proven {
                continue;
            }
            for earlier in batch.undoes(index) {
                if let Some(past) = self.past.iter_mut().find(|past| past.batch.number == earlier.batch) {
                    past.undone.insert(earlier.step);
                }
            }
            let act = &batch.steps[index].step.act;
            self.pending.retain(|(_, called)| {
                !batch.undo || activation_step(called).is_none_or(|step| step.act != *act)
            });
        }
        if let Some(past) = self.past.iter_mut().rfind(|past| past.batch.number == number) {
            past.report = Some(report.clone());
        }
    }

    /// What may not stay as it is: all of an experiment that has no answer yet, or the batch that was not brought to its
    /// end.
    pub fn unfinished(&self) -> Vec<Past> {
        match self.unjudged {
            Some(number) => self.past.iter().filter(|past| past.batch.number > number).cloned().collect(),
            None => self.half_done().cloned().into_iter().collect(),
        }
    }

    /// Whether a daemon or a guest is down while it goes back.
    pub fn is_down_back(&self) -> bool {
        let down = |past: &Past| {
            past.batch.activations.iter().any(goes_down)
                || past.batch.steps.iter().any(|folded| {
                    acts_down(&folded.step.act) || back_act(&folded.step).is_some_and(acts_down)
                })
        };
        self.past.iter().any(down) || self.pending.iter().any(|(_, called)| goes_down(called))
    }

    /// The batch that the run did not bring to its end: the last one, where it is cut off, or something in it failed.
    pub fn half_done(&self) -> Option<&Past> {
        let last = self.past.last()?;
        let Some(report) = &last.report else { return Some(last) };
        let steps = u32::try_from(last.batch.steps.len()).unwrap_or(u32::MAX);
        let bad = |index: &u32| {
            !last.undone.contains(index)
                && matches!(
                    report.verdict(&last.batch, *index as usize),
                    Verdict::Failed(_) | Verdict::NotReached
                )
        };
        (!report.nothing_was_written() && (0..steps).any(|index| bad(&index))).then_some(last)
    }
}

/// What goes back on one host, as one identity.
#[derive(Clone, Copy, Debug)]
pub struct Undoing<'a> {
    /// The host's name in the inventory.
    pub host: &'a str,
    /// Who acts there.
    pub who: &'a Identity,
    /// As whom.
    pub acting: &'a Acting,
    /// The batches, oldest first.
    pub past: &'a [Past],
    /// Batches of which it is not known what came of them.
    pub cut_off: &'a [&'a Batch],
    /// The highest number of a batch so far.
    pub number: u32,
    /// Claims that go back though somebody else has changed them.
    pub force: &'a [String],
    /// Activations that an earlier undo called for and did not come to.
    pub pending: &'a [Activation],
    /// When restarts and power cycles that restored states call for are made.
    pub felt: Felt,
}

/// When what restored states call for is made, where something is down meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Felt {
    /// With them.
    #[default]
    Now,
    /// It is owed: whoever takes many hosts back lets them be down in turns.
    Later,
}

impl Felt {
    /// Whether an activation is left to be made later.
    fn leaves(self, activation: &Activation) -> bool {
        self == Self::Later && matches!(activation, Activation::Restart(_) | Activation::GuestCycle(_))
    }
}

/// What an undo did on a host.
#[derive(Clone, Debug, Default)]
pub struct UndoneOn {
    /// How many steps went back.
    pub steps: usize,
    /// What was left alone or cannot go back, in words.
    pub left: Vec<String>,
    /// What stays though all went back as near as possible.
    pub stays: Vec<String>,
    /// Activations that are called for and that the engine does not make by itself.
    pub owed: Vec<Activation>,
    /// The highest number of a batch now.
    pub number: u32,
    /// The clusters that batches among them had changed, by fsid.
    pub clusters: BTreeSet<String>,
    /// The batches that went back, and what came of them.
    pub done: Vec<(Batch, BatchReport)>,
}

/// Takes batches of one host back, newest first: takes the lock, looks, prepares, acts, proves; again where older steps
/// can be told only then; and last the activations that the restored states call for.
///
/// # Errors
/// [`HostError`].
pub async fn undo_on(
    carrier: &Carrier,
    journal: &Journal,
    undoing: Undoing<'_>,
) -> Result<UndoneOn, HostError> {
    let Undoing { host, who, acting, past, cut_off, number, force, pending, felt: _ } = undoing;
    let us = (journal.run(), journal.holder());
    let logs = carrier.hold(us, who, cut_off).await.map_err(HostError::Carrier)?;
    let mut undone = UndoneOn { number, ..UndoneOn::default() };
    let mut past = past.to_vec();
    let mut activations = pending.to_vec();
    let cluster = one_cluster(&past);
    undone.clusters = past.iter().filter_map(|past| past.batch.cluster.clone()).collect();
    let looks: BTreeSet<Read> = past.iter().flat_map(Past::looks).cloned().collect();
    let looks: Vec<Read> = looks.into_iter().collect();
    loop {
        let now = carrier.look(&looks).await.map_err(HostError::Carrier)?;
        let back = way_back(&past, &logs, now, who, force);
        undone.stays.extend(
            back.stays.iter().filter(|words| !undone.stays.contains(words)).cloned().collect::<Vec<_>>(),
        );
        activations.extend(back.activations);
        activations = in_order(activations);
        if back.steps.is_empty() || !back.again {
            undone.left.extend(back.conflicts);
            undone.left.extend(back.stuck);
        }
        if back.steps.is_empty() {
            break;
        }
        let batch = Batch {
            host: host.to_owned(),
            acting: acting.clone(),
            steps: back.steps,
            undoes: back.undoes,
            activations: activations.clone(),
            undo: true,
            cluster: cluster.clone(),
            ..Batch::default()
        };
        if !send(carrier, journal, who, batch, &mut past, &mut undone).await? || !back.again {
            break;
        }
    }
    activate(carrier, journal, undoing, activations, &mut undone).await?;
    Ok(undone)
}

/// The cluster that all batches have changed, where it is one.
fn one_cluster(past: &[Past]) -> Option<String> {
    let first = past.first()?.batch.cluster.clone();
    first.filter(|fsid| past.iter().all(|past| past.batch.cluster.as_ref() == Some(fsid)))
}

/// Sends a batch that takes back. False where nothing was written.
async fn send(
    carrier: &Carrier,
    journal: &Journal,
    who: &Identity,
    batch: Batch,
    past: &mut [Past],
    undone: &mut UndoneOn,
) -> Result<bool, HostError> {
    for steps in parts(batch.steps.clone()) {
        let part = Batch { steps, ..batch.clone() };
        if !send_part(carrier, journal, who, part, past, undone).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn send_part(
    carrier: &Carrier,
    journal: &Journal,
    who: &Identity,
    mut batch: Batch,
    past: &mut [Past],
    undone: &mut UndoneOn,
) -> Result<bool, HostError> {
    undone.number += 1;
    batch.number = undone.number;
    let prepared = journal.prepare(batch.clone(), Vec::new()).await.map_err(HostError::Journal)?;
    let report = carrier.carry_out(prepared, who).await.map_err(HostError::Carrier)?;
    let record = Record::Done { host: batch.host.clone(), batch: batch.number, report: report.clone() };
    journal.note(record).map_err(HostError::Journal)?;
    if let Some(problem) = unwritten(&report, &batch.host) {
        undone.left.push(problem.message);
        return Ok(false);
    }
    for index in 0..batch.steps.len() {
        let claim = &batch.steps[index].step.claim;
        match report.verdict(&batch, index) {
            Verdict::Proven => undone.steps += 1,
            Verdict::NotReached => undone.left.push(format!("{claim}: not reached")),
            Verdict::Failed(words) => undone.left.push(format!("{claim}: {words}")),
        }
        // What failed is not tried again in this undo.
        for earlier in batch.undoes(index) {
            if let Some(past) = past.iter_mut().find(|past| past.batch.number == earlier.batch) {
                past.undone.insert(earlier.step);
            }
        }
    }
    undone.done.push((batch, report));
    Ok(true)
}

/// Makes the activations that restored states call for.
async fn activate(
    carrier: &Carrier,
    journal: &Journal,
    undoing: Undoing<'_>,
    activations: Vec<Activation>,
    undone: &mut UndoneOn,
) -> Result<(), HostError> {
    let (later, activations): (Vec<_>, Vec<_>) =
        activations.into_iter().partition(|called| undoing.felt.leaves(called));
    undone.owed.extend(later);
    let steps: Vec<Folded> = activations
        .iter()
        .filter_map(activation_step)
        .map(|step| Folded { tasks: vec![TaskId(u32::MAX)], step })
        .collect();
    undone.owed.extend(activations.iter().filter(|called| activation_step(called).is_none()).cloned());
    if steps.is_empty() {
        return Ok(());
    }
    let batch = Batch {
        host: undoing.host.to_owned(),
        acting: undoing.acting.clone(),
        steps,
        activations,
        undo: true,
        ..Batch::default()
    };
    let steps = undone.steps;
    send(carrier, journal, undoing.who, batch, &mut [], undone).await?;
    // Activations are not steps that went back.
    undone.steps = steps;
    Ok(())
}
