//! What a host does next: the first batch of a walk, or why there is none.
use super::target::Target;
use super::undo::activation_step;
use super::walk::{Planned, What};
use crate::diagnostic::Diagnostic;
use modules::vocabulary::{Act, Activation, Change, Effect, Goal, HostPath, Seen, Step, TaskId, Wait};
use std::collections::BTreeSet;

/// What a host does next.
#[derive(Debug)]
pub enum Next {
    /// Nothing: its part is over.
    Nothing,
    /// These tasks, in one batch.
    Batch(Box<Group>),
    /// It waits: for seconds, or for a person where none are given.
    Pause {
        /// The task.
        at: usize,
        /// Seconds.
        seconds: Option<f64>,
        /// What the person is asked.
        prompt: Option<String>,
    },
    /// A task is looked at again, and asked what that means.
    Again {
        /// The task.
        at: usize,
    },
    /// A task waits for something that no batch of this host brings.
    Stuck {
        /// The task.
        at: usize,
        /// What it waits for.
        on: String,
    },
    /// A task has failed.
    Failed {
        /// The task.
        at: usize,
        /// Why.
        problem: Box<Diagnostic>,
    },
}

/// Tasks that go in one batch.
#[derive(Debug)]
pub struct Group {
    /// Whom they act on.
    pub target: Target,
    /// Their places in the walk.
    pub members: Vec<usize>,
    /// The first place after it.
    pub end: usize,
    /// The steps in order, by the order of the tasks.
    pub steps: Vec<(TaskId, Step)>,
    /// The activations among the steps.
    pub activations: Vec<Activation>,
    /// Activations that are owed afterwards: restarts and reboots.
    pub owed: BTreeSet<Activation>,
    /// Seconds to wait before it.
    pub delay: Option<f64>,
    /// What its last task waits for afterwards.
    pub wait: Option<Wait>,
    /// How long the host may work on it, in seconds.
    pub timeout: Option<u64>,
    /// How long the host waits for a new connection before it takes the batch back by itself, in seconds.
    pub dead_man: Option<u32>,
    /// The cluster that they change, by its fsid.
    pub cluster: Option<String>,
    /// Whether every later task is decided and asks for nothing.
    pub last: bool,
}

/// The files that the tasks of a batch make.
#[derive(Default)]
struct Made<'p> {
    /// Since the last call: another put of one folds with the first.
    open: BTreeSet<&'p HostPath>,
    /// Before a call.
    closed: BTreeSet<&'p HostPath>,
}

impl<'p> Made<'p> {
    /// Takes a task along, unless it puts a file that is made before a call: contents are staged beside what is there
    /// when the batch begins, so that it needs a batch of its own.
    fn takes(&mut self, change: &'p Change) -> bool {
        let mut called = needs_activation(change);
        for step in &change.steps {
            match &step.act {
                Act::Call { .. } | Act::Rpc { .. } => called = true,
                Act::Put { path, .. }
                    if self.closed.contains(path) || (called && self.open.contains(path)) =>
                {
                    return false;
                }
                Act::Put { .. } | Act::Write { .. } => {}
            }
        }
        if needs_activation(change) {
            self.closed.append(&mut self.open);
        }
        for step in &change.steps {
            match &step.act {
                Act::Call { .. } | Act::Rpc { .. } => self.closed.append(&mut self.open),
                Act::Put { path, .. } if step.before == Seen::Absent => drop(self.open.insert(path)),
                Act::Put { .. } | Act::Write { .. } => {}
            }
        }
        true
    }
}

fn dead_man(task: &Planned) -> Option<u32> {
    match &task.what {
        What::Change(change) => change.dead_man.as_ref().map(|armed| armed.seconds),
        _ => None,
    }
}

/// The first thing that a walk asks for.
pub fn next(planned: &[Planned]) -> Next {
    let mut members: Vec<usize> = Vec::new();
    let mut end = planned.len();
    let mut made = Made::default();
    for (at, task) in planned.iter().enumerate() {
        let first = members.first().map(|first| &planned[*first]);
        match &task.what {
            // It comes when a boot has tried it.
            What::Change(_) if task.held => {}
            What::Change(change) => {
                // A boot breaks the link: nothing else shares its batch.
                let boots = matches!(change.wait.as_ref().map(|wait| &wait.goal), Some(Goal::Boot { .. }));
                let joins = first
                    .is_none_or(|first| !boots && first.target == task.target && first.fence == task.fence)
                    && first.is_none_or(|first| cluster(first) == change.cluster.as_deref());
                // What may cut the link goes alone, so that nothing else goes back with it.
                let joins = joins && first.is_none_or(|first| dead_man(first) == dead_man(task));
                if !joins || (task.delay.is_some() && first.is_some()) || !made.takes(change) {
                    end = at;
                    break;
                }
                members.push(at);
                if task.ends_batch {
                    end = at + 1;
                    break;
                }
            }
            What::Late { .. } if first.is_none() && task.again.is_some() => return Next::Again { at },
            What::Late { on } if first.is_none() => return Next::Stuck { at, on: on.clone() },
            What::Pause { seconds, prompt } if first.is_none() => {
                return Next::Pause { at, seconds: *seconds, prompt: prompt.clone() };
            }
            What::Failed(problem) if first.is_none() => return Next::Failed { at, problem: problem.clone() },
            What::Late { .. } | What::Pause { .. } | What::Failed(_) => {
                end = at;
                break;
            }
            _ => {}
        }
    }
    if members.is_empty() {
        return Next::Nothing;
    }
    Next::Batch(Box::new(group(planned, members, end)))
}

fn group(planned: &[Planned], members: Vec<usize>, end: usize) -> Group {
    let first = &planned[members[0]];
    let mut steps = Vec::new();
    let mut pending: BTreeSet<Activation> = BTreeSet::new();
    let mut activations = Vec::new();
    let mut owed = BTreeSet::new();
    let mut last_task = TaskId(first.order);
    for member in &members {
        let task = &planned[*member];
        let What::Change(change) = &task.what else { continue };
        let order = TaskId(task.order);
        // What reads the regenerated state comes after it: units are started with the settings that were just put.
        if needs_activation(change) {
            activate(&mut pending, &mut activations, last_task, &mut steps);
        }
        steps.extend(change.steps.iter().map(|step| (order, step.clone())));
        owe(change, &mut owed, &mut pending);
        last_task = order;
    }
    activate(&mut pending, &mut activations, last_task, &mut steps);
    let rest = !planned.iter().any(|task| task.held)
        && planned[end..].iter().all(|task| {
            !matches!(task.what, What::Change(_) | What::Late { .. } | What::Pause { .. } | What::Failed(_))
        });
    Group {
        target: first.target.clone(),
        end,
        steps,
        activations,
        owed,
        delay: first.delay,
        wait: match &planned[*members.last().unwrap_or(&0)].what {
            What::Change(change) => change.wait.clone(),
            _ => None,
        },
        cluster: cluster(first).map(str::to_owned),
        timeout: members.iter().filter_map(|member| planned[*member].timeout).max(),
        dead_man: dead_man(first),
        last: rest && !planned[*members.last().unwrap_or(&0)].ends_batch,
        members,
    }
}

/// What a task leaves owed. A restart among its own steps is the one that tasks before it asked for.
fn owe(change: &Change, owed: &mut BTreeSet<Activation>, pending: &mut BTreeSet<Activation>) {
    let calls = change.steps.iter().filter_map(|step| match &step.act {
        Act::Call { row, .. } => Activation::of_row(row),
        _ => None,
    });
    for activation in calls.filter(|activation| matches!(activation, Activation::Restart(_))) {
        owed.remove(&activation);
    }
    if change.effect == Effect::HostReboot && !change.steps.is_empty() && change.wait.is_none() {
        owed.insert(Activation::Reboot);
    }
    for activation in &change.then {
        match activation {
            Activation::Restart(_) | Activation::GuestCycle(_) | Activation::Reboot => {
                owed.insert(activation.clone());
            }
            _ => {
                pending.insert(activation.clone());
            }
        }
    }
}

/// The cluster that a task changes.
fn cluster(task: &Planned) -> Option<&str> {
    match &task.what {
        What::Change(change) => change.cluster.as_deref(),
        _ => None,
    }
}

fn needs_activation(change: &Change) -> bool {
    change.steps.iter().any(|step| {
        matches!(&step.act, Act::Call { row, .. } if row.name.starts_with("systemctl-") || row.name == "reboot")
    })
}

fn activate(
    pending: &mut BTreeSet<Activation>,
    done: &mut Vec<Activation>,
    task: TaskId,
    steps: &mut Vec<(TaskId, Step)>,
) {
    for activation in std::mem::take(pending) {
        steps.extend(activation_step(&activation).map(|step| (task, step)));
        done.push(activation);
    }
}

#[cfg(test)]
mod tests {
    use super::Made;
    use modules::vocabulary::{Back, Change, Claim, HostPath, Image, Row, Seen, Step};

    fn change(words: &[&str]) -> Change {
        let steps = words.iter().map(|word| match *word {
            "call" => Step::call(
                Claim::new("a", "b"),
                Row::new("udev-settled", Vec::<String>::new()),
                Vec::new(),
                Back::Nothing,
            ),
            path => {
                let path = HostPath::new(path).unwrap();
                let image = Image::Link { target: "x".to_owned() };
                Step::put(Claim::file(&path), path, Seen::Absent, image)
            }
        });
        Change { steps: steps.collect(), ..Change::default() }
    }

    #[test]
    fn a_file_made_before_a_call_is_put_again_in_a_batch_of_its_own() {
        let taken = |tasks: &[&[&str]]| {
            let tasks: Vec<Change> = tasks.iter().map(|words| change(words)).collect();
            let mut made = Made::default();
            tasks.iter().take_while(|task| made.takes(task)).count()
        };
        assert_eq!(taken(&[&["/a"], &["/a"], &["/b"]]), 3, "they fold");
        assert_eq!(taken(&[&["call", "/a"], &["call", "/a"]]), 1);
        assert_eq!(taken(&[&["/a"], &["call", "/b"], &["/a"]]), 2);
        assert_eq!(taken(&[&["/a", "call", "/a"], &["/b"]]), 2, "one task is not parted");
    }
}
