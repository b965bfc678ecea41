//! What all hosts of a run share: playbook, inventory, variables, and what finished tasks made.
use super::layers::Layers;
use super::scope::Hostvars;
use crate::inventory::{HostId, Inventory};
use crate::playbook::{Loader, Playbook, Selection, TaskId};
use crate::template::{Json, Templates, Var};
use crate::vault::Password;
use serde_json::json;
use std::collections::HashMap;
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
    /// Passwords of the vault.
    pub passwords: Arc<Vec<Password>>,
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
    /// The hosts of each play, in order.
    pub plays: Vec<Vec<HostId>>,
    pub(super) shared: Arc<Shared>,
}

/// What hosts see of one another.
pub struct Shared {
    inventory: RwLock<Inventory>,
    layers: Layers,
    made: RwLock<HashMap<String, HashMap<String, Var>>>,
    once: Mutex<HashMap<String, Once>>,
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
            once: Mutex::default(),
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
            plays,
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

    pub(super) fn play_hosts(&self, play: usize) -> Vec<String> {
        let inventory = self.inventory();
        let hosts = self.plays.get(play).map_or(&[][..], Vec::as_slice);
        hosts.iter().map(|host| inventory.host_name(*host).to_owned()).collect()
    }

    pub(super) fn hostvars(&self, _play: usize) -> Hostvars {
        let inventory = self.inventory();
        let hosts = inventory.hosts().map(|host| (inventory.host_name(host).to_owned(), host)).collect();
        Hostvars { hosts, shared: Arc::clone(&self.shared) }
    }

    /// Variables of `vars_files` whose names are templates: loaded when a host's play begins.
    pub(super) fn late_vars_files(&self, _play: usize, _host: &str, _name: &str) -> Option<Var> {
        None
    }

    /// Publishes what tasks of a host made, for `hostvars`.
    pub(super) fn publish(&self, host: &str, made: HashMap<String, Var>) {
        let mut all = self.shared.made.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(host.to_owned(), made);
    }

    /// The host that runs a `run_once` task, and its result once known. The first that asks runs it.
    pub(super) fn once(&self, key: &str, host: &str) -> Once {
        let mut once = self.shared.once.lock().unwrap_or_else(PoisonError::into_inner);
        once.entry(key.to_owned())
            .or_insert_with(|| Once { host: host.to_owned(), result: None, sets: Vec::new() })
            .clone()
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

impl Shared {
    pub(super) fn inventory_var(&self, host: HostId, name: &str) -> Option<Var> {
        let inventory = self.inventory.read().unwrap_or_else(PoisonError::into_inner);
        inventory.var(host, name).map(|var| self.var(var))
    }

    fn var(&self, var: &crate::inventory::InventoryVar) -> Var {
        let mut turned = self.layers.of_json(var.value.clone());
        turned.trusted &= var.trusted;
        turned.at(var.origin.clone())
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
