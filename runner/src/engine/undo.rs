//! The way back of batches: from the records, the marks on the host and a look, never from a guess.
use super::batch::{Batch, BatchReport, Undoes};
use super::marks::{Came, Logs};
use modules::fold::{Folded, fold};
use modules::recovery::{Found, found};
use modules::vocabulary::{
    Act, Activation, Back, Body, Bytes, Content, Facts, Identity, Image, Look, Match, Read, Row, Seen, Spoil,
    Step, TaskId, Writing,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A batch that was prepared, and what is recorded of it.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// The batch.
    pub batch: Batch,
    /// What came of it; none where the run ended before that was known.
    pub report: Option<BatchReport>,
    /// Its steps that are known to have gone back.
    pub undone: BTreeSet<u32>,
}

impl Past {
    /// The reads that tell its standing.
    pub fn looks(&self) -> impl Iterator<Item = &Read> {
        self.batch.steps.iter().filter_map(|folded| folded.step.look.as_ref())
    }

    /// How far the act of a step came.
    fn came(&self, index: u32, logs: &Logs) -> Came {
        match &self.report {
            None => logs.came(self.batch.number, index),
            Some(report) if report.nothing_was_written() => Came::Nowhere,
            Some(report) => match report.acts.get(index as usize) {
                Some(Some(_)) => Came::Through,
                _ => Came::Nowhere,
            },
        }
    }

    fn is_undone(&self, index: u32, logs: &Logs) -> bool {
        self.undone.contains(&index) || logs.is_undone(self.batch.number, index)
    }
}

/// What goes back, and what cannot.
#[derive(Clone, Debug, Default)]
pub struct WayBack {
    /// The steps that go back, newest first; the numbers of their tasks count [`WayBack::undoes`].
    pub steps: Vec<Folded>,
    /// Which earlier steps these are.
    pub undoes: Vec<Undoes>,
    /// The activations that the restored states call for, each once, in forward order. Reboots are owed: the engine does
    /// not make them by itself.
    pub activations: Vec<Activation>,
    /// What somebody else has changed since, with the three values: left alone.
    pub conflicts: Vec<String>,
    /// What has no way back.
    pub stuck: Vec<String>,
    /// What stays though it goes back as near as possible.
    pub stays: Vec<String>,
    /// Whether older steps can be told only after these went back: look again then.
    pub again: bool,
}

/// Finds the way back of batches, newest first, on what is seen now.
pub fn way_back(
    past: &[Past],
    logs: &Logs,
    now: BTreeMap<Read, Seen>,
    who: &Identity,
    force: &[String],
) -> WayBack {
    let mut facts = Facts::new(Arc::new(now), who.clone());
    let mut back = WayBack::default();
    let mut steps: Vec<(TaskId, Step)> = Vec::new();
    let mut first = past.len();
    'walk: for (number, past) in past.iter().enumerate().rev() {
        for (index, folded) in past.batch.steps.iter().enumerate().rev() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            let came = past.came(index, logs);
            if came == Came::Nowhere || past.is_undone(index, logs) || folded.step.back == Back::Nothing {
                continue;
            }
            let report = past.report.as_ref();
            let report = report.filter(|report| !report.is_superseded(&past.batch, index as usize));
            let one = One { step: &folded.step, report, came, facts: &facts, force };
            match one.back(&mut back) {
                Way::There => {}
                Way::Later if steps.is_empty() => {
                    back.conflicts.push(format!("{}: it could not be looked at", folded.step.claim));
                }
                Way::Later => {
                    back.again = true;
                    break 'walk;
                }
                Way::Back(step) => {
                    let id = TaskId(u32::try_from(back.undoes.len()).unwrap_or(u32::MAX));
                    back.undoes.push(Undoes { batch: past.batch.number, step: index });
                    facts.plan(id, [(*step).clone()]);
                    steps.push((id, *step));
                    first = number;
                }
            }
        }
    }
    back.activations = activations(&past[first..]);
    back.steps = fold(steps);
    back
}

/// The activations that were made from the oldest restored state on: each is called for again. Once each, by kind in
/// the order of [`Activation`], then in that of the run.
fn activations(past: &[Past]) -> Vec<Activation> {
    let mut found: Vec<Activation> = Vec::new();
    let done =
        past.iter().filter(|past| past.report.as_ref().is_none_or(|report| !report.nothing_was_written()));
    for past in done {
        let rows = past.batch.steps.iter().filter_map(|folded| match &folded.step.act {
            Act::Call { row, .. } => Activation::of_row(row),
            _ => None,
        });
        for activation in past.batch.activations.iter().cloned().chain(rows) {
            if !found.contains(&activation) {
                found.push(activation);
            }
        }
    }
    in_order(found)
}

/// Activations by kind, each once; those of one kind keep their order.
pub fn in_order(mut found: Vec<Activation>) -> Vec<Activation> {
    let mut seen = BTreeSet::new();
    found.retain(|activation| seen.insert(activation.clone()));
    found.sort_by_key(|activation| match activation {
        Activation::DaemonReload => 0,
        Activation::Regenerate(_) => 1,
        Activation::Reload(_) => 2,
        Activation::Restart(_) => 3,
        Activation::GuestCycle(_) => 4,
        Activation::Reboot => 5,
    });
    found
}

/// Whether a daemon, a guest or the host is down while an activation is made.
pub(super) fn goes_down(activation: &Activation) -> bool {
    matches!(activation, Activation::Restart(_) | Activation::GuestCycle(_) | Activation::Reboot)
}

/// Whether a call stops or starts something that serves.
pub(super) fn acts_down(act: &Act) -> bool {
    match act {
        Act::Call { row, .. } => {
            matches!(row.name.as_str(), "systemctl-stop" | "ceph-osd-restart" | "ceph-osd-reconnect")
                || Activation::of_row(row).as_ref().is_some_and(goes_down)
        }
        _ => false,
    }
}

/// What a call starts again: an OSD by its number, or a unit.
pub fn restarted(act: &Act) -> Option<(bool, String)> {
    let Act::Call { row, .. } = act else { return None };
    match (row.name.as_str(), row.args.as_slice()) {
        ("systemctl-restart", [unit]) => Some((false, unit.clone())),
        ("ceph-osd-restart", [_, _, osd, ..]) => Some((true, osd.clone())),
        _ => None,
    }
}

/// Whether nobody but its author knows what a call does.
pub(super) fn is_command(act: &Act) -> bool {
    matches!(act, Act::Call { row, .. } if matches!(row.name.as_str(), "shell" | "command" | "script"))
}

/// The act that takes a step back.
pub(super) const fn back_act(step: &Step) -> Option<&Act> {
    match &step.back {
        Back::Exactly(act) | Back::Approximately { act, .. } => Some(act),
        Back::None { .. } | Back::Nothing => None,
    }
}

/// What becomes of one step.
enum Way {
    /// Nothing: it is there already, or is left alone.
    There,
    /// It goes back.
    Back(Box<Step>),
    /// That can be told only after newer steps went back.
    Later,
}

/// One step, and what is known of it.
struct One<'a> {
    step: &'a Step,
    /// What was seen at the end of its batch, where that is what it left.
    report: Option<&'a BatchReport>,
    came: Came,
    facts: &'a Facts,
    force: &'a [String],
}

impl One<'_> {
    fn is_forced(&self) -> bool {
        self.force.iter().any(|claim| claim == self.step.claim.as_str())
    }

    fn back(&self, back: &mut WayBack) -> Way {
        let step = self.step;
        let Some(look) = &step.look else { return self.by_evidence(back) };
        let now = match self.facts.look(look) {
            Look::Seen(seen) => seen,
            Look::Unread | Look::Late(_) => return Way::Later,
        };
        let recorded = self.report.and_then(|report| report.look(look));
        // What programs say of themselves moves on its own: it is judged by what was asked for. A definition does not.
        let moves = matches!(look, Read::Ask(_)) && !matches!(step.after, Match::Xml { .. });
        // What left all as it was, such as a call that failed, has nothing to go back.
        let left = recorded.filter(|left| !moves && (look.path().is_some() || !step.before.same_state(left)));
        match found(step, left, &now) {
            Found::Before => Way::There,
            Found::Conflict if !self.is_forced() && !self.is_half_written(&now) => {
                back.conflicts.push(format!(
                    "{}: somebody else has changed it since (before the run: {}; the run left: {}; now: {}); \
                     --force {} takes it back all the same",
                    step.claim,
                    shown(&step.before),
                    recorded.map_or_else(|| wanted(&step.after), shown),
                    shown(&now),
                    crate::transport::shell::word::quote(step.claim.as_str()),
                ));
                Way::There
            }
            Found::After | Found::Conflict => {
                let Some(act) = act_back(step, self.came, back) else { return Way::There };
                let after = match moves {
                    true => Match::Any,
                    false => Match::Exactly(step.before.clone()),
                };
                Way::Back(Box::new(Step {
                    claim: step.claim.clone(),
                    look: Some(look.clone()),
                    before: digested(now),
                    after,
                    act,
                    back: Back::Exactly(step.act.clone()),
                }))
            }
        }
    }

    /// A call without a look. An `undo:` is safe to run twice, so a call that was begun goes back.
    fn by_evidence(&self, back: &mut WayBack) -> Way {
        let step = self.step;
        if self.came == Came::Unknown && !self.is_forced() {
            back.conflicts.push(format!(
                "{}: whether it was done is not known, since the host has booted since; --force {} takes it back",
                step.claim,
                crate::transport::shell::word::quote(step.claim.as_str()),
            ));
            return Way::There;
        }
        match act_back(step, self.came, back) {
            Some(act) => {
                Way::Back(Box::new(Step { act, back: Back::Nothing, after: Match::Any, ..step.clone() }))
            }
            None => Way::There,
        }
    }

    /// Whether a write in place was cut off: what is there is the begin of what was to be written.
    fn is_half_written(&self, now: &Seen) -> bool {
        let (Act::Put { image: Image::File { content: Content::Bytes(new), .. }, .. }, Seen::Node(before)) =
            (&self.step.act, &self.step.before)
        else {
            return false;
        };
        let Seen::Node(now) = now else { return false };
        let begin = usize::try_from(now.size).ok().and_then(|size| new.as_slice().get(..size));
        self.came == Came::Half
            && Writing::of(before, self.facts.who()).is_in_place()
            && begin.is_some_and(|begin| now.digest() == Some(Bytes::from(begin).digest()))
    }
}

fn act_back(step: &Step, came: Came, back: &mut WayBack) -> Option<Act> {
    match &step.back {
        Back::Exactly(act) => Some(act.clone()),
        Back::Approximately { act, stays } => {
            let stays = format!("{}: {stays}", step.claim);
            if !back.stays.contains(&stays) {
                back.stays.push(stays);
            }
            Some(act.clone())
        }
        Back::None { why } => {
            let half = if came == Came::Half { "it was begun and cut off, and " } else { "" };
            back.stuck.push(format!("{}: {half}{why}", step.claim));
            None
        }
        Back::Nothing => None,
    }
}

/// What a step was to leave, in words, where nobody recorded what it left.
pub(super) fn wanted(after: &Match) -> String {
    match after {
        Match::Exactly(seen) => format!("{}, if it came so far", shown(seen)),
        Match::Alike { value, .. } => format!("`{value}`, if it came so far"),
        Match::Image(Image::Absent) => "absent, if it came so far".to_owned(),
        Match::Image(Image::File { content: Content::Bytes(bytes), .. }) => {
            format!("{}…, if it came so far", &bytes.digest().to_string()[..12])
        }
        _ => "not recorded".to_owned(),
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

/// A state in a few words.
pub(super) fn shown(seen: &Seen) -> String {
    match seen {
        Seen::Absent => "absent".to_owned(),
        Seen::Value(value) => format!("`{value}`"),
        Seen::Node(node) => match node.digest() {
            Some(digest) => {
                format!("{}… mode {:04o} {}:{}", &digest.to_string()[..12], node.mode, node.user, node.group)
            }
            None => format!("mode {:04o} {}:{}", node.mode, node.user, node.group),
        },
        Seen::Output(output) if output.status == 0 && output.text().trim().len() > 60 => {
            let text = output.text();
            let first = text.trim().lines().next().unwrap_or_default().chars().take(40).collect::<String>();
            format!("`{first}…` ({}…)", &Bytes::from(text.trim()).digest().to_string()[..12])
        }
        other => format!("{other:?}").chars().take(60).collect(),
    }
}

/// The call of an activation, if it is one that the engine makes by itself: reboots are asked for, and so are power
/// cycles that the run may not make.
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
        Activation::GuestCycle(cycle) => {
            let spoils = ["virsh-xml", "virsh-list-active", "virsh-domid", "qemu-process"];
            let spoils = spoils.iter().map(|name| Spoil::Answers((*name).to_owned())).collect();
            (format!("power cycle of {} ({})", cycle.name, cycle.uuid), cycle.row()?, spoils)
        }
        Activation::Reboot => return None,
    };
    Some(Step::call(modules::vocabulary::Claim::new("activation", &name), row, spoils, Back::Nothing))
}
