//! The walk itself: plays, sections, blocks, includes and handlers of one host, in order.
use super::instance::Inst;
use super::outcome::{Planned, Walked, What};
use super::scene::Scene;
use super::scope::{Live, Scope};
use super::setting::Unknown;
use crate::diagnostic::Diagnostic;
use crate::engine::target::{Acting, HostState, Target};
use crate::playbook::{Block, Body, Include, Included, Item, Play, Task};
use crate::template::{Json, Var, late};
use modules::vocabulary::Facts;
use serde_json::json;
use std::collections::BTreeMap;
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
    /// Nowhere: the host has no further part in the run.
    EndHost,
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
    /// Whether an earlier task of this host changes something or may do so.
    pub changes: bool,
    /// Variables of loops around includes.
    pub around: Vec<(String, Var)>,
    /// Handlers that were notified; true where that is not certain yet.
    pub notified: Vec<(String, bool)>,
    handlers: Vec<Arc<Body>>,
    flushes: u32,
    started: bool,
    /// The words of the last failure, for `rescue`.
    pub failure: Option<(String, Json)>,
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
        changes: false,
        around: Vec::new(),
        notified: Vec::new(),
        handlers: Vec::new(),
        flushes: 0,
        started: scene.start.is_none(),
        failure: None,
    };
    for (number, play) in scene.playbook.plays.iter().enumerate().take(last + 1) {
        if !scene.plays.get(number).is_some_and(|hosts| hosts.contains(&walker.state.id)) {
            continue;
        }
        walker.play = number;
        match walker.whole_play(play) {
            Flow::Go | Flow::EndPlay => {}
            Flow::EndHost => break,
            Flow::Failed(why) => {
                walker.out.failed = Some(*why);
                break;
            }
        }
        walker.fence += 1;
    }
    scene.publish(&walker.state.name, walker.live.made);
    walker.out
}

impl<'w> Walker<'w> {
    pub(super) fn current(&self) -> &'w Play {
        &self.scene.playbook.plays[self.play]
    }

    fn whole_play(&mut self, play: &'w Play) -> Flow {
        self.notified.clear();
        self.handlers.clear();
        let mut flow = Flow::Go;
        for (section, items) in play.sections() {
            flow = self.items(items, "");
            if !matches!(flow, Flow::Go) {
                break;
            }
            if section != "roles" {
                flow = self.flush(play);
            }
            if !matches!(flow, Flow::Go) {
                break;
            }
        }
        // Handlers of a host that failed are owed, not run, unless the play says otherwise.
        if matches!(flow, Flow::Failed(_))
            && play.force_handlers.as_ref().and_then(|force| force.fixed().copied()).unwrap_or(false)
        {
            let _ = self.flush(play);
        }
        flow
    }

    pub(super) fn items(&mut self, items: &[Item], prefix: &str) -> Flow {
        for item in items {
            let flow = match item {
                Item::Task(task) => self.task(task, prefix),
                Item::Block(block) => self.block(block, prefix),
                Item::Include(include) => self.include(include, prefix),
            };
            if !matches!(flow, Flow::Go) {
                return flow;
            }
        }
        Flow::Go
    }

    /// Whether tags and `--start-at-task` let a task take part.
    pub(super) fn takes(&mut self, task: &Task) -> bool {
        if !self.started {
            self.started = self.scene.start == Some(task.id);
        }
        self.started && self.scene.selection.takes(&task.settings.tags)
    }

    fn block(&mut self, block: &Block, prefix: &str) -> Flow {
        let guarded = !block.rescue.is_empty() || !block.always.is_empty();
        if guarded {
            self.fence += 1;
        }
        let mut flow = self.items(&block.block, prefix);
        if !block.rescue.is_empty() && matches!(flow, Flow::Failed(_)) {
            self.fence += 1;
            if let Some((name, result)) = self.failure.take() {
                self.live.made.insert("ansible_failed_task".into(), Var::seen(json!({ "name": name })));
                self.live.made.insert("ansible_failed_result".into(), Var::seen(result));
            }
            self.rescued();
            flow = self.items(&block.rescue, prefix);
        }
        if !block.always.is_empty() {
            self.fence += 1;
            let last = self.items(&block.always, prefix);
            if !matches!(last, Flow::Go) {
                flow = last;
            }
        }
        if guarded {
            self.fence += 1;
        }
        flow
    }

    /// The newest failure is handled: it no longer ends the host.
    fn rescued(&mut self) {
        if let Some(planned) =
            self.out.planned.iter_mut().rev().find(|planned| matches!(planned.what, What::Failed(_)))
        {
            planned.what = What::Done { changed: false, failed: true };
        }
    }

    fn include(&mut self, include: &Include, prefix: &str) -> Flow {
        let task = &include.task;
        if !self.takes(task) {
            return Flow::Go;
        }
        let turns = match &task.repeat {
            None => Ok(vec![None]),
            Some(repeat) => {
                let scope = self.scope(Some(task), Vec::new());
                scope.turns(repeat, task).map(|turns| {
                    let items: Vec<Json> = turns.iter().map(|turn| turn.item.clone()).collect();
                    turns
                        .iter()
                        .map(|turn| Some((turn.index, Scope::turn_vars(repeat, turn, &items, false))))
                        .collect()
                })
            }
        };
        let turns = match turns {
            Ok(turns) => turns,
            Err(unknown) => return self.undecided(task, prefix, unknown),
        };
        for turn in turns {
            let (place, vars) = match turn {
                None => (format!("{prefix}{}/", task.id.0), Vec::new()),
                Some((index, vars)) => (format!("{prefix}{}#{index}/", task.id.0), vars),
            };
            let around = self.around.len();
            self.around.extend(vars);
            let flow = self.included(include, prefix, &place);
            self.around.truncate(around);
            if !matches!(flow, Flow::Go) {
                return flow;
            }
        }
        Flow::Go
    }

    fn included(&mut self, include: &Include, prefix: &str, place: &str) -> Flow {
        let task = &include.task;
        let body = {
            let scope = self.scope(Some(task), Vec::new());
            match scope.all(&task.settings.when) {
                Err(unknown) => Err(unknown),
                Ok(Some(_)) => return Flow::Go,
                Ok(None) => self.body(include, &scope),
            }
        };
        let body = match body {
            Ok(body) => body,
            Err(unknown) => return self.undecided(task, prefix, unknown),
        };
        let public = match &include.what {
            Included::Role(call) => call.public,
            Included::Tasks(_) => false,
        };
        let roles = self.live.roles.len();
        self.live.roles.extend(body.roles.iter().cloned());
        if !body.handlers.is_empty() && !self.handlers.iter().any(|known| Arc::ptr_eq(known, &body)) {
            self.handlers.push(Arc::clone(&body));
        }
        let flow = self.items(&body.tasks, place);
        if !public {
            self.live.roles.truncate(roles);
        }
        flow
    }

    fn body(&self, include: &Include, scope: &Scope<'_>) -> Result<Arc<Body>, Unknown> {
        if let Some(body) = &include.body {
            return Ok(Arc::clone(body));
        }
        let name = |node: &crate::yaml::Node| -> Result<String, Unknown> {
            super::setting::text_of(&scope.evaluated(node)?.0)
                .ok_or_else(|| Unknown::wrong("this must come out as a name", node))
        };
        let optional = |node: &Option<Arc<crate::yaml::Node>>| -> Result<String, Unknown> {
            node.as_ref().map_or(Ok(String::new()), |node| name(node))
        };
        let first = |mut problems: Vec<Diagnostic>| {
            let at =
                problems.iter().position(|problem| problem.severity == crate::diagnostic::Severity::Error);
            Unknown::Wrong(Box::new(problems.swap_remove(at.unwrap_or(0))))
        };
        match &include.what {
            Included::Tasks(node) => self.scene.loader.included_tasks(include, &name(node)?).map_err(first),
            Included::Role(call) => {
                let from = [&call.tasks_from, &call.vars_from, &call.defaults_from, &call.handlers_from];
                let from: Vec<String> = from.into_iter().map(optional).collect::<Result<_, _>>()?;
                let from = [&*from[0], &*from[1], &*from[2], &*from[3]];
                self.scene.loader.included_role(include, &name(&call.name)?, from).map_err(first)
            }
        }
    }

    /// A task of which not even the items are known.
    pub(super) fn undecided(&mut self, task: &Arc<Task>, prefix: &str, unknown: Unknown) -> Flow {
        let key = format!("{prefix}{}", task.id.0);
        let target = self.login();
        let inst = self.unknown(task, &key, None, &target, unknown);
        self.finish(task, &key, vec![inst], false)
    }

    fn task(&mut self, task: &Arc<Task>, prefix: &str) -> Flow {
        if !self.takes(task) {
            return Flow::Go;
        }
        let key = format!("{prefix}{}", task.id.0);
        let isolated = task.settings.ignore_errors.is_some() || !task.until.is_empty();
        if isolated {
            self.fence += 1;
        }
        let flow = match self.run_once(task, &key) {
            Some(flow) => flow,
            None => self.turns(task, &key),
        };
        if isolated {
            self.fence += 1;
        }
        flow
    }

    /// A `run_once` task that another host runs: its result, or late until it is there.
    fn run_once(&mut self, task: &Arc<Task>, key: &str) -> Option<Flow> {
        let once = self.scope(Some(task), Vec::new()).flag(task.settings.run_once.as_ref(), false);
        if !matches!(once, Ok(true)) {
            return None;
        }
        let once = self.scene.once(&format!("{}/{key}", self.play), &self.state.name.clone());
        if once.host == self.state.name {
            return None;
        }
        let (result, sets) = match once.result {
            Some(result) => (result, once.sets),
            None => (late(&format!("`{}` on {}", task.title(), once.host)), Vec::new()),
        };
        for (name, value, secret) in sets {
            let var = if secret { Var::seen(value).secret() } else { Var::seen(value) };
            self.live.made.insert(name, var);
        }
        if let Some((name, _)) = &task.register {
            self.live.made.insert(name.clone(), Var::seen(result.clone()));
        }
        if result.get("changed").and_then(Json::as_bool) == Some(true) {
            self.notify(task, false);
        }
        Some(Flow::Go)
    }

    fn turns(&mut self, task: &Arc<Task>, key: &str) -> Flow {
        let Some(repeat) = &task.repeat else {
            let inst = self.instance(task, key, Vec::new(), None);
            return match inst {
                Err(flow) => flow,
                Ok(inst) => self.finish(task, key, vec![inst], false),
            };
        };
        let turns = self.scope(Some(task), Vec::new()).turns(repeat, task);
        let turns = match turns {
            Ok(turns) => turns,
            Err(unknown) => {
                // As in Ansible: a list that cannot be made does not matter where the task is left out anyway.
                let target = self.login();
                let out = self.scope(Some(task), Vec::new()).all(&task.settings.when);
                if let (Unknown::Wrong(_), Ok(Some(why))) = (&unknown, out) {
                    let inst = self.skipped(task, key, None, &target, why);
                    return self.finish(task, key, vec![inst], false);
                }
                let inst = self.unknown(task, key, None, &target, unknown);
                return self.finish(task, key, vec![inst], false);
            }
        };
        let items: Vec<Json> = turns.iter().map(|turn| turn.item.clone()).collect();
        let extended =
            self.scope(Some(task), Vec::new()).flag(repeat.control.extended.as_ref(), false).unwrap_or(false);
        let mut insts = Vec::new();
        for turn in &turns {
            let locals = Scope::turn_vars(repeat, turn, &items, extended);
            let label = if turn.secret {
                "(secret)".to_owned()
            } else {
                let named = repeat.control.label.as_ref().and_then(|node| {
                    let scope = self.scope(Some(task), locals.clone());
                    scope.evaluated(node).ok().and_then(|(value, _)| super::setting::text_of(&value))
                });
                named.unwrap_or_else(|| super::loops::label(&turn.item))
            };
            match self.instance(task, &format!("{key}#{}", turn.index), locals, Some(label)) {
                Err(flow) => return flow,
                Ok(mut inst) => {
                    inst.item = Some(turn.item.clone());
                    let stop = inst.failed.is_some() && !inst.ignored;
                    insts.push(inst);
                    if stop {
                        break;
                    }
                }
            }
        }
        self.finish(task, key, insts, true)
    }

    /// Registers the result, notifies, and says where to go.
    pub(super) fn finish(&mut self, task: &Arc<Task>, key: &str, insts: Vec<Inst>, looped: bool) -> Flow {
        let uncertain = insts.iter().any(|inst| inst.changed.is_none());
        let changed = insts.iter().any(|inst| inst.changed == Some(true));
        if changed || uncertain {
            self.notify(task, !changed);
        }
        let failed = insts.iter().find(|inst| inst.failed.is_some());
        let (ignored, diagnostic) = match failed {
            Some(inst) => (inst.ignored, inst.failed.clone()),
            None => (false, None),
        };
        let secret = insts.iter().any(|inst| inst.secret);
        let sets: Vec<(String, Json, bool)> = insts.iter().flat_map(|inst| inst.sets.clone()).collect();
        let result = if looped {
            looped_result(insts)
        } else {
            insts.into_iter().next().map_or(Json::Null, |inst| inst.result)
        };
        if task.action.module.ends_with("_facts")
            && let Some(Json::Object(facts)) = result.get("ansible_facts")
        {
            let gathered = facts.iter().map(|(name, value)| (name.clone(), Var::seen(value.clone())));
            self.live.gathered.extend(gathered);
        }
        if let Some((name, _)) = &task.register {
            let var = Var::seen(result.clone());
            self.live.made.insert(name.clone(), if secret { var.secret() } else { var });
        }
        if task.settings.run_once.is_some() && crate::template::find_missing(&result).is_none() {
            self.scene.tell_once(&format!("{}/{key}", self.play), &result, &sets);
        }
        match diagnostic {
            Some(_) if ignored => Flow::Go,
            Some(why) => {
                self.failure = Some((task.title(), result));
                Flow::Failed(why)
            }
            None => Flow::Go,
        }
    }

    fn notify(&mut self, task: &Task, uncertain: bool) {
        for node in &task.settings.notify {
            let names = {
                let scope = self.scope(Some(task), Vec::new());
                scope.evaluated(node).map(|(value, _)| value)
            };
            let names = match names {
                Ok(Json::Array(names)) => names.iter().filter_map(super::setting::text_of).collect(),
                Ok(value) => super::setting::text_of(&value).into_iter().collect::<Vec<_>>(),
                Err(_) => continue,
            };
            for name in names {
                match self.notified.iter_mut().find(|(known, _)| *known == name) {
                    Some(known) => known.1 &= uncertain,
                    None => self.notified.push((name, uncertain)),
                }
            }
        }
    }

    /// Runs the handlers that were notified, in the order in which they are written; those they notify follow.
    pub(super) fn flush(&mut self, play: &'w Play) -> Flow {
        self.flushes += 1;
        let prefix = format!("h{}/", self.flushes);
        let bodies = self.handlers.clone();
        for _ in 0..8 {
            let notified = std::mem::take(&mut self.notified);
            if notified.is_empty() {
                return Flow::Go;
            }
            let mut run = Vec::new();
            for items in bodies.iter().map(|body| &body.handlers[..]).chain([&play.handlers[..]]) {
                self.called_for(items, &notified, &mut run);
            }
            for (task, uncertain) in run {
                if uncertain {
                    let target = self.login();
                    let key = format!("{prefix}{}", task.id.0);
                    let unknown = Unknown::Late("the tasks that notify it".to_owned());
                    let inst = self.unknown(&task, &key, None, &target, unknown);
                    let _ = self.finish(&task, &key, vec![inst], false);
                    continue;
                }
                let flow = self.task(&task, &prefix);
                if !matches!(flow, Flow::Go) {
                    return flow;
                }
            }
        }
        Flow::Go
    }

    fn called_for(&self, items: &[Item], notified: &[(String, bool)], run: &mut Vec<(Arc<Task>, bool)>) {
        for item in items {
            match item {
                Item::Task(task) => {
                    let scope = self.scope(Some(task), Vec::new());
                    let name = task.name.as_ref().and_then(|node| scope.evaluated(node).ok());
                    let name =
                        name.and_then(|(value, _)| super::setting::text_of(&value)).unwrap_or_default();
                    let long = task.place.role.as_ref().map(|role| format!("{} : {name}", role.name));
                    let called: Vec<bool> = notified
                        .iter()
                        .filter(|(word, _)| {
                            *word == name || Some(word) == long.as_ref() || task.listen.contains(word)
                        })
                        .map(|(_, uncertain)| *uncertain)
                        .collect();
                    if !called.is_empty() {
                        run.push((Arc::clone(task), called.iter().all(|uncertain| *uncertain)));
                    }
                }
                Item::Block(block) => self.called_for(&block.block, notified, run),
                Item::Include(include) => {
                    if let Some(body) = &include.body {
                        self.called_for(&body.tasks, notified, run);
                    }
                }
            }
        }
    }

    /// The host itself, as the user that logs in.
    pub(super) fn login(&self) -> Target {
        Target { host: self.state.name.clone(), user: Acting::Login }
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
            facts: self.facts.get(&self.login()).unwrap_or_else(|| empty()),
        }
    }

    pub(super) fn push(&mut self, planned: Planned) {
        self.out.planned.push(planned);
    }
}

/// Facts of a host that nobody has looked at.
pub(super) fn empty() -> &'static Facts {
    static EMPTY: std::sync::OnceLock<Facts> = std::sync::OnceLock::new();
    EMPTY.get_or_init(Facts::default)
}

fn looped_result(insts: Vec<Inst>) -> Json {
    let any = |truth: &dyn Fn(&Inst) -> bool| insts.iter().any(truth);
    let changed = if insts.iter().any(|inst| inst.changed.is_none()) {
        late("its items")
    } else {
        json!(any(&|inst| inst.changed == Some(true)))
    };
    let failed = any(&|inst| inst.failed.is_some());
    let skipped = !insts.is_empty() && insts.iter().all(|inst| inst.skipped);
    let results: Vec<Json> = insts
        .into_iter()
        .map(|inst| {
            let mut result = inst.result;
            if let (Json::Object(map), Some(item)) = (&mut result, inst.item)
                && crate::template::missing(&Json::Object(map.clone())).is_none()
            {
                map.insert("item".into(), item);
                map.insert("ansible_loop_var".into(), json!("item"));
            }
            result
        })
        .collect();
    let mut whole =
        json!({"results": results, "changed": changed, "failed": failed, "msg": "All items completed"});
    if let (true, Some(map)) = (skipped, whole.as_object_mut()) {
        map.insert("skipped".into(), json!(true));
    }
    whole
}
