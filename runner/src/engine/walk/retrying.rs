//! Tasks with `until` that only look: they are looked at and asked again until it holds.
use super::instance::{Frame, Inst};
use super::items::{Walker, empty};
use super::outcome::{Ran, Verdict, What};
use crate::template::late;
use modules::Planner;
use modules::vocabulary::{Back, Change, Claim, Facts, Read, Row, Spoil, Step, Stop, TaskId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How often a planner is asked for what it looks at: as often as a walk would.
const ROUNDS: usize = 8;

impl Walker<'_> {
    /// What is to be looked at before a task with `until` that asks for nothing is asked again.
    pub(super) fn looks(
        &self,
        frame: &Frame<'_>,
        planner: &dyn Planner,
        change: &Change,
    ) -> Option<Vec<Read>> {
        if frame.task.until.is_empty() || !change.is_empty() || change.wait.is_some() {
            return None;
        }
        let facts = self.facts.get(&frame.target).unwrap_or_else(|| empty());
        let (mut seen, mut reads) = (BTreeMap::new(), Vec::new());
        for _ in 0..ROUNDS {
            let known = Facts::new(Arc::new(seen.clone()), facts.who().clone());
            let Err(Stop::Unread(wanted)) = planner.plan(&known) else { break };
            let before = seen.len();
            for read in wanted {
                if let Some(answer) = facts.seen(&read) {
                    seen.insert(read.clone(), answer.clone());
                }
                if !reads.contains(&read) {
                    reads.push(read);
                }
            }
            if seen.len() == before {
                break;
            }
        }
        Some(reads)
    }

    /// What is waited for changes by itself meanwhile: later tasks must not rest on what is seen of it now.
    fn awaited(&mut self, frame: &Frame<'_>, again: &[Read]) {
        let spoils = again.iter().map(|read| match read.path() {
            Some(path) => Spoil::Below(path.clone()),
            None => Spoil::Read(read.clone()),
        });
        let row = Row::new("probe", ["true"]);
        let step = Step::call(Claim::new("wait", &frame.task.title()), row, spoils.collect(), Back::Nothing);
        let host = &frame.target.host;
        for (_, facts) in self.facts.iter_mut().filter(|(target, _)| target.host == *host) {
            facts.plan(TaskId(self.order), [step.clone()]);
        }
    }

    /// Whether the goal of a task that only looks is met, or given up. What was looked at in the run is kept: facts
    /// move on, and what was decided stays.
    pub(super) fn goal(
        &mut self,
        frame: &Frame<'_>,
        ran: &Ran,
        verdict: &Verdict,
        (tries, again): (u32, Vec<Read>),
    ) -> Option<Inst> {
        let tried = Ran { tries, ..ran.clone() };
        match self.until(frame, &tried, verdict) {
            Ok(true) => {
                if tries > 0 {
                    self.state.ran.insert(frame.key.clone(), Ran { verdict: Some(verdict.clone()), ..tried });
                }
                None
            }
            Ok(false) => {
                self.changes = true;
                self.awaited(frame, &again);
                let delay = if tries == 0 { None } else { self.delay(frame) };
                self.planned_in(frame, What::Late { on: "its `until` holds".to_owned() });
                if let Some(planned) = self.out.planned.last_mut() {
                    planned.again = Some(again);
                    planned.delay = delay;
                }
                let result = late(&format!("`{}`", frame.task.title()));
                Some(Inst { secret: frame.secret, ..Inst::pending(result) })
            }
            Err(inst) => {
                if tries > 0 && inst.failed.is_some() {
                    self.state.ran.insert(frame.key.clone(), tried);
                }
                Some(*inst)
            }
        }
    }
}
