//! The walk itself: plays, sections, blocks, includes and handlers of one host, in order.
use super::outcome::{Gated, Planned, Walked, What};
use super::scene::Scene;
use super::scope::{Live, Scope};
use crate::diagnostic::Diagnostic;
use crate::engine::target::{HostState, Target};
use crate::inventory::HostId;
use crate::playbook::{Block, Body, Item, Play, Task};
use crate::template::Var;
use crate::yaml::Node;
use modules::vocabulary::Facts;
use serde_json::json;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Where the walk goes after a task.
#[derive(Debug)]
pub(super) enum Flow {
    /// On.
    Go,
    /// To `rescue`, if there is one: the task failed.
    Failed(Box<Diagnostic>),
    /// Nowhere: the host has no further part in this play.
    EndPlay,
}

/// A walk that goes on.
pub(super) struct Walker<'w> {
    pub scene: &'w Scene,
    pub state: &'w mut HostState,
    pub out: Walked,
    pub live: Live,
    pub facts: BTreeMap<Target, Facts>,
    pub play: usize,
    pub order: u32,
    pub fence: u32,
    /// The part of the play between gates.
    pub part: u32,
    /// Whether an earlier task of this host changes something or may do so.
    pub changes: bool,
    /// Variables of loops around includes.
    pub around: Vec<(String, Var)>,
    /// Handlers that were notified; true where that is not certain yet.
    pub notified: Vec<(String, bool)>,
    pub(super) handlers: Vec<Arc<Body>>,
    pub(super) flushes: u32,
    /// The hosts of this host's batch.
    pub batch: Vec<HostId>,
    /// How many blocks with `rescue` or `always` are around.
    pub guards: u32,
    /// Whether hosts wait for one another after each task.
    lockstep: bool,
    /// Tasks that are asked again at the end.
    pub(super) kept: Vec<super::fights::Kept>,
    /// Roles that ran already in this play.
    roles_run: HashSet<Arc<str>>,
    started: bool,
    /// The words of the last failure, for `rescue`.
    pub failure: Option<(String, Var)>,
}

/// Walks one host through all plays up to and with number `last`.
pub fn walk(scene: &Scene, state: &mut HostState, last: usize) -> Walked {
    let facts = state.known.iter().map(|(target, known)| (target.clone(), known.facts())).collect();
    let mut walker = Walker {
        scene,
        state,
        out: Walked::default(),
        live: Live::default(),
        facts,
        play: 0,
        order: 0,
        fence: 0,
        part: 0,
        changes: false,
        around: Vec::new(),
        notified: Vec::new(),
        handlers: Vec::new(),
        flushes: 0,
        batch: Vec::new(),
        guards: 0,
        lockstep: false,
        kept: Vec::new(),
        roles_run: HashSet::new(),
        started: scene.start.is_none(),
        failure: None,
    };
    let chosen = scene.chosen();
    for (number, play) in scene.playbook.plays.iter().enumerate().take(last + 1) {
        if !chosen.get(number).is_some_and(|hosts| hosts.contains(&walker.state.id)) {
            continue;
        }
        walker.play = number;
        match walker.whole_play(play) {
            Flow::Go | Flow::EndPlay => {}
            Flow::Failed(why) => {
                walker.out.failed = Some(*why);
                break;
            }
        }
        walker.fence += 1;
    }
    walker.hold_for_plays(last);
    walker.ask_again();
    scene.publish(&walker.state.name, walker.live.made);
    walker.out
}

impl<'w> Walker<'w> {
    pub(super) fn current(&self) -> &'w Play {
        &self.scene.playbook.plays[self.play]
    }

    fn whole_play(&mut self, play: &'w Play) -> Flow {
        self.notified.clear();
        self.part = 0;
        self.handlers.clear();
        self.roles_run.clear();
        self.live.roles.clear();
        self.live.files.clear();
        self.batch = self.scene.batch_of(self.play, self.state.id);
        self.lockstep = self.scene.bears(self.play).is_some();
        if let Err(problem) = self.late_files(play) {
            return Flow::Failed(problem);
        }
        let mut flow = Flow::Go;
        for (section, items) in play.sections() {
            flow = self.items(items, "");
            // Roles and tasks share one flush, as in Ansible.
            if matches!(flow, Flow::Go) && section != "roles" {
                flow = self.flush(play);
            }
            if !matches!(flow, Flow::Go) {
                break;
            }
        }
        // Handlers of a host that failed are owed, not run, unless the play says otherwise.
        let forced = self.scope(None, Vec::new()).flag(play.force_handlers.as_ref(), false).unwrap_or(false);
        if matches!(flow, Flow::Failed(_)) && forced {
            let held = self.hold();
            self.fence += 1;
            let _ = self.flush(play);
            self.release(held);
        }
        flow
    }

    pub(super) fn items(&mut self, items: &[Item], prefix: &str) -> Flow {
        for item in items {
            let flow = match item {
                Item::Task(task) => match &task.gate {
                    Some(gate) => self.gated(task.title(), gate, |walker| walker.task(task, prefix)),
                    None => self.task(task, prefix),
                },
                Item::Block(block) => match &block.gate {
                    Some(gate) => self.gated(block_title(block), gate, |walker| walker.block(block, prefix)),
                    None => self.block(block, prefix),
                },
                Item::Include(include) => self.include(include, prefix),
            };
            if !matches!(flow, Flow::Go) {
                return flow;
            }
        }
        Flow::Go
    }

    /// A part of a play under a gate. The handlers that it notifies belong to it: what is judged must be felt.
    fn gated(&mut self, title: String, gate: &Arc<Node>, walk: impl FnOnce(&mut Self) -> Flow) -> Flow {
        let scene = self.scene;
        let mut flow = self.flush(&scene.playbook.plays[self.play]);
        self.part += 1;
        self.fence += 1;
        let (play, part) = (self.play, self.part);
        self.out.gates.push(Gated { play, part, title, gate: Arc::clone(gate) });
        if matches!(flow, Flow::Go) {
            flow = walk(self);
        }
        if matches!(flow, Flow::Go) {
            flow = self.flush(&scene.playbook.plays[self.play]);
        }
        self.part += 1;
        self.fence += 1;
        flow
    }

    /// Hosts that wait for one another, and tasks whose failure is handled, have a batch of their own.
    pub(super) fn alone(&mut self, task: &Task) {
        if self.lockstep || task.settings.ignore_errors.is_some() || !task.until.is_empty() {
            self.fence += 1;
        }
    }

    /// Whether tags and `--start-at-task` let a task take part.
    pub(super) fn takes(&mut self, task: &Task) -> bool {
        if !self.started {
            self.started = self.scene.start == Some(task.id);
        }
        self.started && self.scene.selection.takes(&task.settings.tags)
    }

    fn block(&mut self, block: &Block, prefix: &str) -> Flow {
        let Some(once) = &block.once else { return self.tried(block, prefix) };
        if self.roles_run.contains(once) {
            return Flow::Go;
        }
        let before = self.out.planned.len();
        let flow = self.tried(block, prefix);
        let ran = |planned: &Planned| !matches!(planned.what, What::Skipped { .. });
        if self.out.planned[before..].iter().any(ran) {
            self.roles_run.insert(Arc::clone(once));
        }
        flow
    }

    fn tried(&mut self, block: &Block, prefix: &str) -> Flow {
        let guarded = !block.rescue.is_empty() || !block.always.is_empty();
        if !guarded {
            return self.items(&block.block, prefix);
        }
        self.fence += 1;
        self.guards += 1;
        let mut flow = self.items(&block.block, prefix);
        self.guards -= 1;
        if !block.rescue.is_empty() && matches!(flow, Flow::Failed(_)) {
            self.fence += 1;
            if let Some((name, result)) = self.failure.take() {
                self.live.made.insert("ansible_failed_task".into(), Var::seen(json!({ "name": name })));
                self.live.made.insert("ansible_failed_result".into(), result);
            }
            self.hold();
            self.guards += u32::from(!block.always.is_empty());
            flow = self.items(&block.rescue, prefix);
            self.guards -= u32::from(!block.always.is_empty());
        }
        if !block.always.is_empty() {
            self.fence += 1;
            let held = if matches!(flow, Flow::Failed(_)) { self.hold() } else { None };
            let last = self.items(&block.always, prefix);
            if matches!(last, Flow::Go) {
                self.release(held);
            } else {
                flow = last;
            }
        }
        self.fence += 1;
        flow
    }

    /// The newest failure does not end the host here: something handles it, or comes first.
    fn hold(&mut self) -> Option<Planned> {
        let newest =
            self.out.planned.iter_mut().rev().find(|planned| matches!(planned.what, What::Failed(_)))?;
        let held = newest.clone();
        let What::Failed(why) =
            std::mem::replace(&mut newest.what, What::Done { changed: false, failed: true })
        else {
            return None;
        };
        newest.failure = Some(why);
        Some(held)
    }

    /// What came first is over: the failure that was held ends the host after all.
    fn release(&mut self, held: Option<Planned>) {
        let Some(mut held) = held else { return };
        held.key.push('!');
        held.order = self.order;
        held.fence = self.fence;
        self.order += 1;
        self.push(held);
    }

    /// The host itself, as the user that logs in.
    pub(super) fn login(&self) -> Target {
        self.state.login.clone()
    }

    pub(super) fn scope<'a>(&'a self, task: Option<&'a Task>, locals: Vec<(String, Var)>) -> Scope<'a> {
        let mut all = self.around.clone();
        all.extend(locals);
        Scope {
            scene: self.scene,
            play: self.current(),
            play_number: self.play,
            host: self.state,
            task,
            locals: all,
            live: &self.live,
            facts: self.facts.get(&self.state.login).unwrap_or_else(|| empty()),
            all_facts: &self.facts,
        }
    }

    pub(super) fn push(&mut self, planned: Planned) {
        self.out.planned.push(planned);
    }
}

/// What people call a block.
fn block_title(block: &Block) -> String {
    match &block.name {
        Some(name) => name.as_str().map_or_else(|| name.raw().to_owned(), str::to_owned),
        None => format!("the block at {}", block.span),
    }
}

/// Facts of a host that nobody has looked at.
pub(super) fn empty() -> &'static Facts {
    static EMPTY: std::sync::OnceLock<Facts> = std::sync::OnceLock::new();
    EMPTY.get_or_init(Facts::default)
}
