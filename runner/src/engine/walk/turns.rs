//! The turns of one task: alone or looped, once for all hosts, its result registered.
use super::instance::Inst;
use super::items::{Flow, Walker};
use super::loops::Turn;
use super::scope::Scope;
use super::setting::Unknown;
use crate::diagnostic::Diagnostic;
use crate::playbook::{Loop, Task};
use crate::template::{Json, Var, late};
use serde_json::json;
use std::sync::Arc;

impl Walker<'_> {
    pub(super) fn task(&mut self, task: &Arc<Task>, prefix: &str) -> Flow {
        if !self.takes(task) {
            return Flow::Go;
        }
        let key = format!("{prefix}{}", task.id.0);
        self.alone(task);
        let flow = match self.run_once(task, &key) {
            Some(flow) => flow,
            None => self.turns(task, &key),
        };
        self.alone(task);
        flow
    }

    /// A `run_once` task that another host runs: its result, or late until it is there.
    fn run_once(&mut self, task: &Arc<Task>, key: &str) -> Option<Flow> {
        let once = self.scope(Some(task), Vec::new()).flag(task.settings.run_once.as_ref(), false);
        if !matches!(once, Ok(true)) {
            return None;
        }
        let once = self.scene.once(&self.once_key(key), &self.batch, &self.state.name);
        if once.host == self.state.name {
            return None;
        }
        self.scene.shared.roll.cross();
        let Some(result) = once.result else {
            let unknown = Unknown::Late(format!("`{}` on {}", task.title(), once.host));
            return Some(self.undecided_once(task, key, unknown));
        };
        self.take(task, &once.sets);
        if let Some((name, _)) = &task.register {
            self.live.made.insert(name.clone(), Var::seen(result.clone()));
        }
        if result.get("changed").and_then(Json::as_bool) == Some(true) {
            self.notify(task, false);
        }
        let ignored = self.scope(Some(task), Vec::new()).flag(task.settings.ignore_errors.as_ref(), false);
        if result.get("failed").and_then(Json::as_bool) == Some(true) && !matches!(ignored, Ok(true)) {
            let words = format!("`{}` runs once for all hosts, and failed on {}", task.title(), once.host);
            let unknown = Unknown::Wrong(Box::new(Diagnostic::error(words, task.action.span.clone())));
            let target = self.login();
            let mut inst = self.unknown(task, key, None, &target, unknown);
            inst.mistake = false;
            return Some(self.finish(task, key, vec![inst], false));
        }
        Some(Flow::Go)
    }

    /// What another host runs for this one is late here, but nothing that this one waits for by itself.
    fn undecided_once(&mut self, task: &Arc<Task>, key: &str, unknown: Unknown) -> Flow {
        let target = self.login();
        let inst = self.unknown(task, key, None, &target, unknown);
        self.finish(task, key, vec![inst], false)
    }

    fn once_key(&self, key: &str) -> String {
        let first = self.batch.first();
        format!("{}/{first:?}/{key}", self.play)
    }

    /// Sets variables, for this host or with `delegate_facts` for the one that the task is delegated to.
    pub(super) fn take(&mut self, task: &Task, sets: &[(String, Json, bool)]) {
        if sets.is_empty() {
            return;
        }
        let other = {
            let scope = self.scope(Some(task), Vec::new());
            let delegated = scope.flag(task.settings.delegate_facts.as_ref(), false).unwrap_or(false);
            let host = scope.text(task.settings.delegate_to.as_ref()).ok().flatten();
            host.filter(|host| delegated && *host != self.state.name)
        };
        for (name, value, secret) in sets {
            let var = Var::seen(value.clone());
            let var = if *secret { var.secret() } else { var };
            match &other {
                Some(host) => self.scene.give(host, name, var),
                None => drop(self.live.made.insert(name.clone(), var)),
            }
        }
    }

    /// Marks the variables that a task would set as not known yet.
    pub(super) fn take_late(&mut self, task: &Task) {
        let mark = || Var::seen(late(&format!("`{}`", task.title())));
        match task.action.module.as_str() {
            "set_fact" => {
                for (key, _) in &task.action.args.given {
                    self.live.made.insert(key.key_text().into_owned(), mark());
                }
            }
            "include_vars" => self.live.open = Some(format!("`{}`", task.title())),
            _ => {}
        }
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
                if let (Unknown::Wrong(_) | Unknown::Undefined(_), Ok(Some(why))) = (&unknown, out) {
                    let inst = self.skipped(task, key, None, &target, why);
                    return self.finish(task, key, vec![inst], false);
                }
                let inst = self.unknown(task, key, None, &target, unknown);
                return self.finish(task, key, vec![inst], false);
            }
        };
        let items: Vec<Json> = turns.iter().map(|turn| turn.item.clone()).collect();
        let (extended, hidden) = {
            let scope = self.scope(Some(task), Vec::new());
            let extended = scope.flag(repeat.control.extended.as_ref(), false).unwrap_or(false);
            (extended, scope.flag(task.settings.no_log.as_ref(), false).unwrap_or(true))
        };
        let pause = {
            let (fixed, template) = super::setting::parts(repeat.control.pause.as_ref());
            self.scope(Some(task), Vec::new()).number(fixed, template).ok().flatten()
        };
        let mut insts = Vec::new();
        for turn in &turns {
            let locals = Scope::turn_vars(repeat, turn, &items, extended);
            let label = self.label(task, repeat, turn, &locals, hidden);
            self.alone(task);
            let before = self.out.planned.len();
            match self.instance(task, &format!("{key}#{}", turn.index), locals, Some(label)) {
                Err(flow) => return flow,
                Ok(mut inst) => {
                    inst.item = Some(turn.item.clone());
                    if let (Some(pause), true) = (pause, turn.index > 0)
                        && let Some(planned) = self.out.planned.get_mut(before)
                    {
                        planned.delay = planned.delay.or(Some(pause));
                    }
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

    fn label(
        &self,
        task: &Task,
        repeat: &Loop,
        turn: &Turn,
        locals: &[(String, Var)],
        hidden: bool,
    ) -> String {
        if turn.secret || hidden {
            return "(secret)".to_owned();
        }
        let Some(node) = &repeat.control.label else { return super::loops::label(&turn.item) };
        let scope = self.scope(Some(task), locals.to_vec());
        match scope.evaluated(node) {
            Ok((_, true)) => "(secret)".to_owned(),
            Ok((value, false)) => super::setting::text_of(&value).unwrap_or_default(),
            Err(_) => super::loops::label(&turn.item),
        }
    }

    /// Registers the result, notifies, and says where to go.
    pub(super) fn finish(&mut self, task: &Arc<Task>, key: &str, insts: Vec<Inst>, looped: bool) -> Flow {
        let uncertain = insts.iter().any(|inst| inst.changed.is_none());
        let changed = insts.iter().any(|inst| inst.changed == Some(true));
        if changed || uncertain {
            self.notify(task, !changed);
        }
        let failed = insts.iter().find(|inst| inst.failed.is_some() && !inst.ignored);
        let mistake = failed.is_some_and(|inst| inst.mistake);
        let diagnostic = failed.and_then(|inst| inst.failed.clone());
        if uncertain || mistake {
            self.take_late(task);
        }
        let secret = insts.iter().any(|inst| inst.secret);
        let sets: Vec<(String, Json, bool)> = insts.iter().flat_map(|inst| inst.sets.clone()).collect();
        let result = if looped {
            looped_result(task, insts)
        } else {
            insts.into_iter().next().map_or(Json::Null, |inst| inst.result)
        };
        if task.action.module.ends_with("_facts")
            && let Some(Json::Object(facts)) = result.get("ansible_facts")
        {
            let gathered = facts.iter().map(|(name, value)| (name.clone(), Var::seen(value.clone())));
            self.live.gathered.extend(gathered);
        }
        let hidden = |value: Json| if secret { Var::seen(value).secret() } else { Var::seen(value) };
        if let Some((name, _)) = &task.register {
            let value = if mistake { late(&format!("`{}`", task.title())) } else { result.clone() };
            self.live.made.insert(name.clone(), hidden(value));
        }
        if task.settings.run_once.is_some() && crate::template::find_missing(&result).is_none() {
            self.scene.tell_once(&self.once_key(key), &result, &sets);
        }
        let Some(why) = diagnostic else { return Flow::Go };
        if mistake && self.guards == 0 && self.state.batches.is_empty() {
            // Nothing is begun where something is wrong: so the walk goes on, to tell every mistake at once.
            self.out.failed.get_or_insert(*why);
            return Flow::Go;
        }
        self.failure = Some((task.title(), hidden(result)));
        Flow::Failed(why)
    }
}

fn looped_result(task: &Task, insts: Vec<Inst>) -> Json {
    let any = |truth: &dyn Fn(&Inst) -> bool| insts.iter().any(truth);
    let changed = if insts.iter().any(|inst| inst.changed.is_none()) {
        late("its items")
    } else {
        json!(any(&|inst| inst.changed == Some(true)))
    };
    let failed = any(&|inst| inst.failed.is_some());
    // A loop over nothing counts as left out, as in Ansible.
    let skipped = insts.iter().all(|inst| inst.skipped);
    let control = task.repeat.as_ref().map(|repeat| &repeat.control);
    let name = control.and_then(|control| control.loop_var.clone()).unwrap_or_else(|| "item".to_owned());
    let results: Vec<Json> = insts
        .into_iter()
        .map(|inst| {
            let mut result = inst.result;
            if let (Json::Object(map), Some(item)) = (&mut result, inst.item)
                && crate::template::missing(&Json::Object(map.clone())).is_none()
            {
                map.insert(name.clone(), item);
                map.insert("ansible_loop_var".into(), json!(name));
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
