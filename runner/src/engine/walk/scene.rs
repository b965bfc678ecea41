//! What all hosts of a run share: playbook, inventory, variables, and what finished tasks made.
use super::args::Constants;
use super::clusters::Clusters;
use super::hosts::{Roll, Select};
use super::hostvars::Hostvars;
use super::layers::{Layer, Layers};
use super::sources::Sources;
use crate::engine::stopping::Stopping;
use crate::engine::target::{Acting, Known, Target};
use crate::inventory::{HostId, Inventory};
use crate::playbook::{Loader, Playbook, Selection, TaskId};
use crate::template::{Json, Templates, Var};
use crate::vault::Password;
use modules::vocabulary::{Act, Facts, Read, Seen, outdates};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

/// What was asked for when the run was started.
#[derive(Default)]
pub struct Asked {
    /// `-e`, the highest rank.
    pub extra: HashMap<String, Var>,
    /// Answers to `vars_prompt`.
    pub prompts: HashMap<String, Var>,
    /// `--tags` and `--skip-tags`.
    pub selection: Selection,
    /// `--start-at-task`.
    pub start: Option<TaskId>,
    /// `--check`: nothing is changed.
    pub check: bool,
    /// `--diff`.
    pub diff: bool,
    /// `--no-probes`: commands that only read do not run while planning.
    pub no_probes: bool,
    /// Of commands only those run while planning that their author declared as reads: the plan is for later.
    pub declared_only: bool,
    /// `--step`: hosts go one after another, and each is asked for.
    pub step: bool,
    /// Passwords of the vault.
    pub passwords: Arc<Vec<Password>>,
    /// Chooses the hosts of the plays again, where tasks may add hosts or groups.
    pub select: Option<Select>,
}

/// What all hosts of a run share.
pub struct Scene {
    /// The playbook.
    pub playbook: Playbook,
    /// Its folder.
    pub playbook_dir: String,
    pub(super) loader: Loader<'static>,
    /// Templates, compiled once for all hosts.
    pub templates: Templates,
    pub(super) layers: Layers,
    pub(super) passwords: Arc<Vec<Password>>,
    pub(super) extra: HashMap<String, Var>,
    pub(super) prompts: HashMap<String, Var>,
    pub(super) selection: Selection,
    pub(super) start: Option<TaskId>,
    /// Whether nothing may be changed.
    pub check: bool,
    pub(super) diff: bool,
    pub(super) no_probes: bool,
    pub(super) declared_only: bool,
    pub(super) step: bool,
    pub(super) files: Mutex<HashMap<String, Layer>>,
    pub(super) sources: Sources,
    pub(super) constants: Constants,
    pub(super) select: Option<Select>,
    pub(super) shared: Arc<Shared>,
}

/// What hosts see of one another.
pub struct Shared {
    inventory: RwLock<Inventory>,
    layers: Layers,
    made: RwLock<HashMap<String, HashMap<String, Var>>>,
    given: RwLock<HashMap<String, HashMap<String, Var>>>,
    known: RwLock<HashMap<Target, Known>>,
    numbers: Mutex<HashMap<String, u32>>,
    once: Mutex<HashMap<String, Once>>,
    pub(super) clusters: Mutex<Clusters>,
    pub(super) acts_now: AtomicBool,
    done: RwLock<Vec<Deed>>,
    pub(super) roll: Roll,
    stopping: Stopping,
}

/// What a host of the run has done where others may have looked: on another host, or on a cluster.
#[derive(Clone, Debug)]
struct Deed {
    by: String,
    on: String,
    cluster: bool,
    acts: Vec<Act>,
}

impl Deed {
    /// Whether an answer that was seen on a host is not known any more.
    fn spoils(&self, host: &str, read: &Read, seen: &Seen) -> bool {
        (self.cluster || self.on == host) && self.acts.iter().any(|act| outdates(act, read, seen))
    }
}

/// The result of a task that runs on one host for all.
#[derive(Clone, Debug)]
pub struct Once {
    /// The host that runs it.
    pub host: String,
    /// Its result, once known.
    pub result: Option<Json>,
    /// The variables that it sets.
    pub sets: Vec<(String, Json, bool)>,
}

impl Scene {
    /// Whether the run shall go on.
    pub fn stopping(&self) -> &Stopping {
        &self.shared.stopping
    }

    /// Puts together what a run needs.
    pub fn new(
        playbook: Playbook,
        playbook_dir: String,
        loader: Loader<'static>,
        templates: Templates,
        inventory: Inventory,
        plays: Vec<Vec<HostId>>,
        asked: Asked,
    ) -> Self {
        let shared = Shared {
            inventory: RwLock::new(inventory),
            layers: Layers::new(Arc::clone(&asked.passwords)),
            made: RwLock::default(),
            given: RwLock::default(),
            known: RwLock::default(),
            numbers: Mutex::default(),
            once: Mutex::default(),
            clusters: Mutex::default(),
            acts_now: AtomicBool::new(false),
            done: RwLock::default(),
            roll: Roll::new(plays),
            stopping: Stopping::default(),
        };
        Self {
            playbook,
            playbook_dir,
            loader,
            templates,
            layers: Layers::new(Arc::clone(&asked.passwords)),
            passwords: asked.passwords,
            extra: asked.extra,
            prompts: asked.prompts,
            selection: asked.selection,
            start: asked.start,
            check: asked.check,
            diff: asked.diff,
            no_probes: asked.no_probes,
            declared_only: asked.declared_only,
            step: asked.step,
            select: asked.select,
            files: Mutex::default(),
            sources: Sources::default(),
            constants: Constants::default(),
            shared: Arc::new(shared),
        }
    }

    /// The inventory as it is now: tasks may add hosts.
    pub fn inventory(&self) -> RwLockReadGuard<'_, Inventory> {
        self.shared.inventory.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the inventory.
    pub(super) fn with_inventory<T>(&self, change: impl FnOnce(&mut Inventory) -> T) -> T {
        change(&mut self.shared.inventory.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// A variable that the inventory gives a host.
    pub fn inventory_var(&self, host: HostId, name: &str) -> Option<Var> {
        self.shared.inventory_var(host, name)
    }

    /// All variables that the inventory gives a host, vault values opened.
    pub fn inventory_vars(&self, host: HostId) -> HashMap<String, Var> {
        let inventory = self.inventory();
        inventory.vars(host).into_iter().map(|(name, var)| (name.to_owned(), self.shared.var(var))).collect()
    }

    pub(super) fn groups(&self) -> Json {
        let inventory = self.inventory();
        let names = |hosts: Vec<HostId>| -> Vec<String> {
            hosts.into_iter().map(|host| inventory.host_name(host).to_owned()).collect()
        };
        let groups =
            inventory.groups().map(|(name, id)| (name.to_owned(), json!(names(inventory.hosts_of(id)))));
        Json::Object(groups.collect())
    }

    pub(super) fn hostvars(&self, own: &BTreeMap<Target, Facts>) -> Hostvars {
        let inventory = self.inventory();
        let hosts = inventory.hosts().map(|host| (inventory.host_name(host).to_owned(), host)).collect();
        Hostvars { hosts, shared: Arc::clone(&self.shared), own: own.clone() }
    }

    /// Publishes what tasks of a host made, for `hostvars`.
    pub(super) fn publish(&self, host: &str, made: HashMap<String, Var>) {
        let mut all = self.shared.made.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(host.to_owned(), made);
    }

    /// What tasks of a host made, as it was published last.
    pub(super) fn made_by(&self, host: &str) -> HashMap<String, Var> {
        let all = self.shared.made.read().unwrap_or_else(PoisonError::into_inner);
        all.get(host).cloned().unwrap_or_default()
    }

    /// The host that runs a `run_once` task, and its result once known: the first of the batch that takes part.
    pub(super) fn once(&self, key: &str, batch: &[HostId], host: &str) -> Once {
        let mut once = self.shared.once.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = once.get(key).filter(|known| known.result.is_some()) {
            return known.clone();
        }
        let host = self.living(batch).into_iter().next().unwrap_or_else(|| host.to_owned());
        let new = Once { host, result: None, sets: Vec::new() };
        once.insert(key.to_owned(), new.clone());
        new
    }

    /// Publishes the result of a `run_once` task.
    pub(super) fn tell_once(&self, key: &str, result: &Json, sets: &[(String, Json, bool)]) {
        let mut once = self.shared.once.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(once) = once.get_mut(key) {
            once.result = Some(result.clone());
            once.sets = sets.to_vec();
        }
    }
}

impl Scene {
    /// Gives a host a variable that a task delegated to it has set (`delegate_facts`).
    pub(super) fn give(&self, host: &str, name: &str, var: Var) {
        let mut given = self.shared.given.write().unwrap_or_else(PoisonError::into_inner);
        given.entry(host.to_owned()).or_default().insert(name.to_owned(), var);
    }

    /// What was seen of a target, for other hosts.
    pub fn known(&self, target: &Target) -> Option<Known> {
        self.shared.known.read().unwrap_or_else(PoisonError::into_inner).get(target).cloned()
    }

    /// Publishes what was seen of a target.
    pub fn tell_known(&self, target: &Target, known: &Known) {
        let mut all = self.shared.known.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(target.clone(), known.clone());
    }

    /// Numbers for so many batches on a host: the last of them. Several hosts of a run may act on one.
    pub fn number_batches(&self, host: &str, count: u32) -> u32 {
        let mut numbers = self.shared.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        let last = numbers.entry(host.to_owned()).or_insert(0);
        *last += count;
        *last
    }
}

impl Scene {
    /// Tells what a host has done on a host or a cluster, for others that have looked there.
    pub fn tell_done(&self, by: &str, on: &str, cluster: bool, acts: Vec<Act>) {
        let deed = Deed { by: by.to_owned(), on: on.to_owned(), cluster, acts };
        {
            let mut all = self.shared.known.write().unwrap_or_else(PoisonError::into_inner);
            for (target, known) in all.iter_mut() {
                known.forget(|read, seen| deed.spoils(&target.host, read, seen));
            }
        }
        self.shared.done.write().unwrap_or_else(PoisonError::into_inner).push(deed);
    }

    /// Lets a host forget what others have done since it last asked: `heard` of their deeds are known to it.
    pub fn hear(&self, host: &str, heard: &mut usize, known: &mut BTreeMap<Target, Known>) {
        let done = self.shared.done.read().unwrap_or_else(PoisonError::into_inner);
        for deed in done.iter().skip(*heard).filter(|deed| deed.by != host) {
            for (target, known) in known.iter_mut() {
                known.forget(|read, seen| deed.spoils(&target.host, read, seen));
            }
        }
        *heard = done.len();
    }
}

impl Shared {
    /// What a task delegated to a host has set for it.
    pub(super) fn given(&self, host: &str, name: &str) -> Option<Var> {
        let given = self.given.read().unwrap_or_else(PoisonError::into_inner);
        given.get(host)?.get(name).cloned()
    }

    /// Facts of a host as it was seen last.
    pub(super) fn facts(&self, host: &str) -> Option<Facts> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&Target { host: host.to_owned(), user: Acting::Login }).map(Known::facts)
    }

    pub(super) fn inventory_var(&self, host: HostId, name: &str) -> Option<Var> {
        let inventory = self.inventory.read().unwrap_or_else(PoisonError::into_inner);
        inventory.var(host, name).map(|var| self.var(var))
    }

    fn var(&self, var: &crate::inventory::InventoryVar) -> Var {
        let mut turned = self.layers.of_json(var.value.clone());
        turned.trusted &= var.trusted;
        turned.secret |= var.origin.source.secret;
        turned.at(var.origin.clone())
    }

    /// `group_names` and `groups` of a host.
    pub(super) fn group_var(&self, host: HostId, name: &str) -> Option<Var> {
        if name != "group_names" {
            return None;
        }
        let inventory = self.inventory.read().unwrap_or_else(PoisonError::into_inner);
        let mut groups: Vec<String> = inventory.groups_of(host).into_iter().map(str::to_owned).collect();
        groups.retain(|group| group != "all");
        groups.sort();
        Some(Var::seen(json!(groups)))
    }

    pub(super) fn made(&self, host: &str, name: &str) -> Option<Var> {
        self.made.read().unwrap_or_else(PoisonError::into_inner).get(host)?.get(name).cloned()
    }

    pub(super) fn names(&self, host: &str, id: HostId) -> Vec<String> {
        let inventory = self.inventory.read().unwrap_or_else(PoisonError::into_inner);
        let mut names: Vec<String> = inventory.vars(id).keys().map(|name| (*name).to_owned()).collect();
        if let Some(made) = self.made.read().unwrap_or_else(PoisonError::into_inner).get(host) {
            names.extend(made.keys().cloned());
        }
        names.sort();
        names.dedup();
        names
    }
}
