//! What a play changed on one host, taken off and put on again: the two arms of a gate, and the way back of a rollout.
use super::{HostError, HostRun};
use crate::engine::recovery::Felt;
use crate::engine::target::Target;
use crate::engine::undo::{Past, acts_down, in_order, is_command};
use crate::engine::walk::{Gated, Planned, What};
use crate::gate::{Arm, Live};
use crate::journal::{HostEnd, Journal, JournalError};
use modules::recovery::{Found, found};
use modules::vocabulary::{Activation, Back, Change, Effect, GuestCycle, Read, Seen, Step};
use std::collections::{BTreeMap, BTreeSet};

/// How many proofs are named; of more the number is told.
const NAMED: usize = 3;

/// Where a host's part stood at some moment: what comes later can be told from what was before.
#[derive(Clone, Debug, Default)]
pub struct Mark {
    batches: BTreeMap<Target, usize>,
    owed: BTreeSet<Activation>,
    /// How many restarts and power cycles were made.
    made: usize,
}

/// The states of a change on a host, by which it is told whether the change is on.
#[derive(Clone, Debug, Default)]
pub struct Arms {
    states: Vec<State>,
}

/// One state, as whoever looks at it.
#[derive(Clone, Debug)]
struct State {
    target: Target,
    step: Step,
    /// What was seen right after it was reached.
    left: Option<Seen>,
}

impl Arms {
    /// Whether there is no state to tell by: nothing was changed, or nothing that stays.
    pub const fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// These states, and those of others that are about something else: what was first before counts.
    #[must_use]
    pub fn and(mut self, others: &Self) -> Self {
        for other in &others.states {
            let same = |state: &State| state.target == other.target && state.step.look == other.step.look;
            if !self.states.iter().any(same) {
                self.states.push(other.clone());
            }
        }
        self
    }

    /// How many states tell.
    pub const fn len(&self) -> usize {
        self.states.len()
    }

    fn of(past: &[(Target, Vec<Past>)]) -> Self {
        let mut states: Vec<State> = Vec::new();
        for (target, past) in past {
            for past in past {
                for folded in &past.batch.steps {
                    let step = &folded.step;
                    let Some(look) = step.look.as_ref().filter(|_| step.back != Back::Nothing) else {
                        continue;
                    };
                    let left = past.report.as_ref().and_then(|report| report.look(look)).cloned();
                    let same = |state: &&mut State| {
                        state.target == *target && state.step.look.as_ref() == Some(look)
                    };
                    // The change as a whole: what was before the first, and what the last one left.
                    match states.iter_mut().find(same) {
                        Some(state) => {
                            state.step = Step { before: state.step.before.clone(), ..step.clone() };
                            state.left = left;
                        }
                        None => states.push(State { target: target.clone(), step: step.clone(), left }),
                    }
                }
            }
        }
        Self { states }
    }
}

impl State {
    /// Whether what is seen is what the arm asks for.
    fn is(&self, arm: Arm, now: &Seen) -> bool {
        // What programs say of themselves moves on its own.
        let moves = matches!(self.step.look, Some(Read::Ask(_)));
        match arm {
            Arm::B => {
                self.step.after.holds(now) || found(&self.step, self.left.as_ref(), now) == Found::After
            }
            Arm::A if moves => self.step.before.same_state(now) || !self.step.after.holds(now),
            Arm::A => self.step.before.same_state(now),
        }
    }
}

impl HostRun {
    /// Where its part stands now.
    pub fn mark(&self) -> Mark {
        let batches = self.past.iter().map(|(target, past)| (target.clone(), past.len())).collect();
        Mark { batches, owed: self.owed.clone(), made: self.made.len() }
    }

    /// The batches since a mark, by target.
    pub(super) fn since(&self, mark: &Mark) -> Vec<(Target, Vec<Past>)> {
        let later = |(target, past): (&Target, &Vec<Past>)| {
            let from = mark.batches.get(target).copied().unwrap_or(0).min(past.len());
            (target.clone(), past[from..].to_vec())
        };
        let mut all: Vec<_> = self.past.iter().map(later).filter(|(_, past)| !past.is_empty()).collect();
        all.sort_by(|(one, _), (two, _)| one.cmp(two));
        all
    }

    /// Whether it changed anything since a mark.
    pub fn has_changed(&self, mark: &Mark) -> bool {
        !self.since(mark).is_empty()
    }

    /// The states that were reached since a mark.
    pub fn arms(&self, mark: &Mark) -> Arms {
        Arms::of(&self.since(mark))
    }

    /// Why what was done since a mark cannot be taken off and put on again, task by task.
    pub fn one_way(&self, mark: &Mark) -> Vec<String> {
        let steps = self.since(mark);
        let steps = steps.iter().flat_map(|(_, past)| past).flat_map(|past| &past.batch.steps);
        steps.filter_map(|folded| one_way(&folded.step)).collect()
    }

    /// Takes off what was done since a mark. Gives how the host's part ended where not all of it went.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn take_off(
        &mut self,
        journal: &Journal,
        of: Part,
        mark: &Mark,
    ) -> Result<Result<(), HostEnd>, JournalError> {
        let keys = match self.plan_on(of.play).await {
            Ok(walked) => {
                walked.planned.iter().filter(|task| of.has(task)).map(|task| task.key.clone()).collect()
            }
            Err(HostError::Journal(error)) => return Err(error),
            Err(error) => return self.broken(journal, &error, true).await.map(Err),
        };
        if let Err(end) = self.take_since(journal, mark, Felt::Now).await? {
            return Ok(Err(end));
        }
        self.forget_tasks(&keys);
        Ok(Ok(()))
    }

    /// Puts on again what was taken off, and makes it felt.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn put_on(
        &mut self,
        journal: &Journal,
        play: usize,
    ) -> Result<Result<(), HostEnd>, JournalError> {
        if let Some(end) = self.apply(journal, play).await? {
            return Ok(Err(end));
        }
        self.make_felt(journal).await
    }

    /// Makes the restarts and power cycles that are owed, so that what is measured is what was asked for.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn make_felt(&mut self, journal: &Journal) -> Result<Result<(), HostEnd>, JournalError> {
        if self.felt_later {
            return Ok(Ok(()));
        }
        let fine = self.restarts(journal).await? && self.cycles(journal).await?;
        Ok(if fine { Ok(()) } else { Err(HostEnd::Failed) })
    }

    /// What is still owed, in words: it is not felt.
    pub fn owes(&self) -> Vec<String> {
        in_order(self.owed.iter().cloned().collect()).iter().map(super::activation_words).collect()
    }

    pub(super) async fn take_since(
        &mut self,
        journal: &Journal,
        mark: &Mark,
        felt: Felt,
    ) -> Result<Result<(), HostEnd>, JournalError> {
        let before = std::mem::replace(&mut self.owed, mark.owed.clone());
        for (target, past) in self.since(mark).into_iter().rev() {
            let end = self.undo_felt(journal, &target, &past, felt).await?;
            if end != HostEnd::Failed {
                self.owed.extend(before);
                return Ok(Err(end));
            }
            // What an activation that is made later has to do is not over.
            if felt == Felt::Now {
                past.iter().for_each(|past| self.forget_guests(&past.batch));
            }
            if let Some(all) = self.past.get_mut(&target) {
                all.truncate(mark.batches.get(&target).copied().unwrap_or(0));
            }
        }
        // What a boot has made felt is felt until the next one.
        if std::mem::take(&mut self.booted) {
            self.owed.insert(Activation::Reboot);
        }
        // What was never felt is not owed any more.
        if before.contains(&Activation::Reboot) && !mark.owed.contains(&Activation::Reboot) {
            self.owed.remove(&Activation::Reboot);
        }
        // What was made felt is to be felt no more.
        self.owed.extend(self.made.iter().skip(mark.made).cloned());
        if felt == Felt::Now {
            let fine = self.restarts(journal).await? && self.cycles_back(journal).await?;
            self.made.truncate(mark.made);
            if !fine {
                return Ok(Err(HostEnd::FailedHalf));
            }
        }
        Ok(Ok(()))
    }

    /// These tasks are asked again as if they had never run.
    fn forget_tasks(&mut self, keys: &BTreeSet<String>) {
        self.state.ran.retain(|key, _| !keys.contains(key));
    }

    /// Looks at the states of a change that was just made and proven: what is there now is what it left, also where
    /// a boot has moved it on since.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn settle(&mut self, arms: &mut Arms) -> Result<(), HostError> {
        let now = self.look_at(arms).await?;
        for state in &mut arms.states {
            let look = state.step.look.clone();
            if let Some(seen) = look.and_then(|look| now.get(&(state.target.clone(), look)))
                && !state.step.after.holds(seen)
            {
                state.left = Some(seen.clone());
            }
        }
        Ok(())
    }

    /// What is there now of each state.
    async fn look_at(&mut self, arms: &Arms) -> Result<BTreeMap<(Target, Read), Seen>, HostError> {
        let mut by_target: BTreeMap<&Target, Vec<Read>> = BTreeMap::new();
        for state in &arms.states {
            by_target.entry(&state.target).or_default().extend(state.step.look.clone());
        }
        let mut now = BTreeMap::new();
        for (target, reads) in by_target {
            let carrier = self.links.carrier(&self.scene, target).await.map_err(HostError::Unreachable)?;
            let seen = carrier.look(&reads).await.map_err(HostError::Carrier)?;
            now.extend(seen.into_iter().map(|(read, seen)| ((target.clone(), read), seen)));
        }
        Ok(now)
    }

    /// Which arm is live, by looking at each state.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn live(&mut self, arms: &Arms, arm: Arm) -> Result<Live, HostError> {
        let now = self.look_at(arms).await?;
        let mut proofs = Vec::new();
        for state in &arms.states {
            let Some(look) = &state.step.look else { continue };
            let Some(seen) = now.get(&(state.target.clone(), look.clone())) else { return Ok(Live::Unknown) };
            if !state.is(arm, seen) {
                let expected = match arm {
                    Arm::A => crate::engine::undo::shown(&state.step.before),
                    Arm::B => crate::engine::undo::wanted(&state.step.after),
                };
                return Ok(Live::Differs {
                    expected: format!("{}: {expected}", state.step.claim),
                    seen: crate::engine::undo::shown(seen),
                });
            }
            proofs.push(format!("{} is {}", state.step.claim, crate::engine::undo::shown(seen)));
        }
        let more = proofs.len().saturating_sub(NAMED);
        let mut seen = proofs[..proofs.len().min(NAMED)].join("; ");
        if more > 0 {
            seen.push_str(&format!("; and {more} more"));
        }
        Ok(if arms.is_empty() { Live::Unknown } else { Live::Proven { seen } })
    }

    /// The gates over tasks and blocks of a play, as the host meets them.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn gates(&mut self, play: usize) -> Result<Vec<Gated>, HostError> {
        let walked = self.plan_on(play).await?;
        Ok(walked.gates.into_iter().filter(|gated| gated.play == play).collect())
    }

    /// What the host has to change in a play, or may have.
    ///
    /// # Errors
    /// [`HostError`].
    pub async fn asks_for(&mut self, of: Part) -> Result<Vec<Asked>, HostError> {
        let walked = self.plan_on(of.play).await?;
        let of_play = walked.planned.iter().filter(|task| of.has(task));
        Ok(of_play.filter_map(Asked::of).collect())
    }
}

/// A play, or the part of it under a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The play's number, from 0.
    pub play: usize,
    /// The part; none for the whole play.
    pub part: Option<u32>,
}

impl Part {
    /// Whether a task belongs to it.
    pub fn has(&self, task: &Planned) -> bool {
        task.play == self.play && self.part.is_none_or(|part| task.part == part)
    }
}

/// A task that changes something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its title.
    pub title: String,
    /// Why it cannot be taken off again.
    pub one_way: Vec<String>,
    /// Whether a daemon, a guest or the host is down for a while, as far as it can be known.
    pub down: bool,
    /// Whether it is felt only after a boot, and does not boot.
    pub boot: bool,
    /// Guests that feel it after a power cycle.
    pub guests: Vec<GuestCycle>,
}

impl Asked {
    /// What a planned task asks for, if it asks for something.
    pub fn of(task: &Planned) -> Option<Self> {
        let title = task.title.clone();
        match &task.what {
            What::Change(change) => Some(Self {
                title,
                one_way: change.steps.iter().filter_map(one_way).collect(),
                down: goes_down(change),
                boot: change.effect == Effect::HostReboot && change.wait.is_none(),
                guests: guests(change),
            }),
            What::Late { .. } => {
                Some(Self { title, one_way: Vec::new(), down: true, boot: false, guests: Vec::new() })
            }
            _ => None,
        }
    }
}

/// Whether something is down for a while. Of a command nobody knows.
fn goes_down(change: &Change) -> bool {
    let acts = |step: &Step| acts_down(&step.act) || is_command(&step.act);
    change.wait.is_some()
        || change.then.iter().any(crate::engine::undo::goes_down)
        || change.steps.iter().any(acts)
}

fn guests(change: &Change) -> Vec<GuestCycle> {
    let guest = |then: &Activation| match then {
        Activation::GuestCycle(cycle) => Some(cycle.clone()),
        _ => None,
    };
    change.then.iter().filter_map(guest).collect()
}

fn one_way(step: &Step) -> Option<String> {
    match &step.back {
        Back::None { why } => Some(format!("{}: {why}", step.claim)),
        Back::Exactly(_) | Back::Approximately { .. } | Back::Nothing => None,
    }
}
