//! The way back of batches: from the records and a look, never from a guess.
use super::batch::{Batch, BatchReport};
use modules::fold::{Folded, fold};
use modules::recovery::{Found, found};
use modules::vocabulary::{
    Act, Activation, Back, Body, Facts, Identity, Look, Match, Read, Row, Seen, Spoil, Step, TaskId,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A batch that was prepared, and what is recorded of it.
#[derive(Clone, Debug)]
pub struct Past {
    /// The batch.
    pub batch: Batch,
    /// What came of it; none where the run ended before that was known.
    pub report: Option<BatchReport>,
}

impl Past {
    /// The reads that tell its standing.
    pub fn looks(&self) -> impl Iterator<Item = &Read> {
        self.batch.steps.iter().filter_map(|folded| folded.step.look.as_ref())
    }
}

/// What goes back, and what cannot.
#[derive(Clone, Debug, Default)]
pub struct WayBack {
    /// The steps that go back, newest first.
    pub steps: Vec<Folded>,
    /// The activations that the restored states call for.
    pub activations: Vec<Activation>,
    /// What somebody else has changed since, with the three values: left alone.
    pub conflicts: Vec<String>,
    /// What has no way back.
    pub stuck: Vec<String>,
    /// What stays though it goes back as near as possible.
    pub stays: Vec<String>,
}

/// Finds the way back of batches, newest first, on what is seen now.
pub fn way_back(past: &[Past], now: BTreeMap<Read, Seen>, who: &Identity, force: &[String]) -> WayBack {
    let mut facts = Facts::new(Arc::new(now), who.clone());
    let mut back = WayBack::default();
    let mut steps = Vec::new();
    for (number, past) in past.iter().enumerate().rev() {
        let mut any = false;
        for (index, folded) in past.batch.steps.iter().enumerate().rev() {
            let written = past.report.as_ref().is_none_or(|report| {
                !report.nothing_was_written() && report.acts.get(index).is_some_and(Option::is_some)
            });
            if !written {
                continue;
            }
            if let Some(step) = one(&folded.step, past.report.as_ref(), &facts, force, &mut back) {
                let id = TaskId(u32::try_from(number).unwrap_or(u32::MAX));
                facts.plan(id, [step.clone()]);
                steps.push((id, step));
                any = true;
            }
        }
        if any {
            for activation in &past.batch.activations {
                if !back.activations.contains(activation) {
                    back.activations.push(activation.clone());
                }
            }
        }
    }
    back.activations.sort();
    back.steps = fold(steps);
    back
}

fn one(
    step: &Step,
    report: Option<&BatchReport>,
    facts: &Facts,
    force: &[String],
    back: &mut WayBack,
) -> Option<Step> {
    let Some(look) = &step.look else { return by_evidence(step, report, back) };
    let now = match facts.look(look) {
        Look::Seen(seen) => seen,
        Look::Unread | Look::Late(_) => {
            back.conflicts.push(format!("{}: it could not be looked at", step.claim));
            return None;
        }
    };
    let left = report.and_then(|report| report.look(look));
    let forced = force.iter().any(|claim| claim == step.claim.as_str());
    match found(step, left, &now) {
        Found::Before => None,
        Found::Conflict if !forced => {
            back.conflicts.push(format!(
                "{}: somebody else has changed it since (before the run: {}; the run left: {}; now: {})",
                step.claim,
                shown(&step.before),
                left.map_or_else(|| "not recorded".to_owned(), shown),
                shown(&now)
            ));
            None
        }
        Found::After | Found::Conflict => {
            let act = act_back(step, back)?;
            // Only states are compared again: what programs say of themselves moves on its own.
            let after = match look {
                Read::Ask(_) => Match::Any,
                _ => Match::Exactly(step.before.clone()),
            };
            Some(Step {
                claim: step.claim.clone(),
                look: Some(look.clone()),
                before: digested(now),
                after,
                act,
                back: Back::Exactly(step.act.clone()),
            })
        }
    }
}

fn by_evidence(step: &Step, report: Option<&BatchReport>, back: &mut WayBack) -> Option<Step> {
    if step.back == Back::Nothing {
        return None;
    }
    let exact = matches!(step.back, Back::Exactly(_));
    if report.is_none() && !exact {
        back.conflicts.push(format!("{}: whether it was done is not known", step.claim));
        return None;
    }
    let act = act_back(step, back)?;
    Some(Step { act, back: Back::Nothing, after: Match::Any, ..step.clone() })
}

fn act_back(step: &Step, back: &mut WayBack) -> Option<Act> {
    match &step.back {
        Back::Exactly(act) => Some(act.clone()),
        Back::Approximately { act, stays } => {
            back.stays.push(format!("{}: {stays}", step.claim));
            Some(act.clone())
        }
        Back::None { why } => {
            back.stuck.push(format!("{}: {why}", step.claim));
            None
        }
        Back::Nothing => None,
    }
}

/// The comparison right before the act needs no more than the digest.
fn digested(seen: Seen) -> Seen {
    match seen {
        Seen::Node(mut node) => {
            node.body = node.body.map(|body| Body::Digest(body.digest()));
            Seen::Node(node)
        }
        other => other,
    }
}

fn shown(seen: &Seen) -> String {
    match seen {
        Seen::Absent => "absent".to_owned(),
        Seen::Value(value) => format!("`{value}`"),
        Seen::Node(node) => match node.digest() {
            Some(digest) => {
                format!("{}… mode {:04o} {}:{}", &digest.to_string()[..12], node.mode, node.user, node.group)
            }
            None => format!("mode {:04o} {}:{}", node.mode, node.user, node.group),
        },
        other => format!("{other:?}").chars().take(60).collect(),
    }
}

/// The call of an activation, if it is one that the engine makes by itself: reboots and guests are asked for.
pub fn activation_step(activation: &Activation) -> Option<Step> {
    let (name, row, spoils) = match activation {
        Activation::DaemonReload => (
            "daemon-reload".to_owned(),
            Row::new("systemctl-daemon-reload", Vec::<String>::new()),
            Vec::new(),
        ),
        Activation::Regenerate(row) => {
            let spoils = ["/boot"].iter().filter_map(|path| modules::vocabulary::HostPath::new(path).ok());
            (row.name.clone(), row.clone(), spoils.map(Spoil::Below).collect())
        }
        Activation::Reload(row) => (row.name.clone(), row.clone(), vec![Spoil::Volatile]),
        Activation::Restart(unit) => {
            (format!("restart {unit}"), Row::new("systemctl-restart", [unit.clone()]), vec![Spoil::Volatile])
        }
        Activation::GuestCycle(_) | Activation::Reboot => return None,
    };
    Some(Step::call(modules::vocabulary::Claim::new("activation", &name), row, spoils, Back::Nothing))
}
