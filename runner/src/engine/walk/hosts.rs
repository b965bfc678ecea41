//! Which hosts a play has, in which batches, who has left, and how far each has come.
use super::scene::Scene;
use crate::inventory::{HostId, Inventory};
use crate::playbook::{Batch, Play, Setting};
use crate::template::{Json, Var, Vars};
use crate::yaml::Node;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Chooses the hosts of every play from the inventory as it is now, in order.
pub type Select = Arc<dyn Fn(&Inventory) -> Vec<Vec<HostId>> + Send + Sync>;

/// The hosts of each play, in order.
pub type Chosen = Arc<Vec<Vec<HostId>>>;

/// How far the hosts of a run have come.
#[derive(Default)]
pub(super) struct Roll {
    chosen: RwLock<Chosen>,
    left: RwLock<HashSet<String>>,
    fronts: Mutex<HashMap<String, (usize, u32)>>,
    acting: AtomicUsize,
    crossed: AtomicUsize,
    /// Who goes together in a play, where a rollout says so.
    waves: RwLock<HashMap<usize, Vec<Vec<HostId>>>>,
}

impl Roll {
    pub fn new(chosen: Vec<Vec<HostId>>) -> Self {
        Self { chosen: RwLock::new(Arc::new(chosen)), ..Self::default() }
    }

    /// A host reads what another one makes.
    pub fn cross(&self) {
        self.crossed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn has_left(&self, host: &str) -> bool {
        self.left.read().unwrap_or_else(PoisonError::into_inner).contains(host)
    }
}

/// A host that acts, until it is dropped: others that wait for it do not give up.
pub struct Acts<'s>(&'s AtomicUsize);

impl Drop for Acts<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Scene {
    /// The hosts of every play, as chosen last.
    pub fn chosen(&self) -> Chosen {
        Arc::clone(&self.shared.roll.chosen.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Chooses the hosts of the plays again, since tasks may have added hosts and groups. True where that changed
    /// something.
    pub fn choose_again(&self) -> bool {
        let Some(select) = &self.select else { return false };
        let chosen = select(&self.inventory());
        let mut now = self.shared.roll.chosen.write().unwrap_or_else(PoisonError::into_inner);
        let changed = **now != chosen;
        *now = Arc::new(chosen);
        changed
    }

    /// A rollout says who is decided together in a play.
    pub fn set_waves(&self, play: usize, waves: Vec<Vec<HostId>>) {
        self.shared.roll.waves.write().unwrap_or_else(PoisonError::into_inner).insert(play, waves);
    }

    /// Whether a rollout takes the hosts of a play forward.
    pub fn is_staged(&self, play: usize) -> bool {
        self.shared.roll.waves.read().unwrap_or_else(PoisonError::into_inner).contains_key(&play)
    }

    /// Whether a rollout takes the hosts of a play forward in more than one wave.
    pub fn has_waves(&self, play: usize) -> bool {
        let waves = self.shared.roll.waves.read().unwrap_or_else(PoisonError::into_inner);
        waves.get(&play).is_some_and(|waves| waves.iter().filter(|wave| !wave.is_empty()).count() > 1)
    }

    /// `serial:` as batches of hosts, or the waves of a rollout.
    pub fn batches(&self, play: usize) -> Vec<Vec<HostId>> {
        if let Some(waves) = self.shared.roll.waves.read().unwrap_or_else(PoisonError::into_inner).get(&play)
        {
            return waves.clone();
        }
        let chosen = self.chosen();
        let members = chosen.get(play).map_or(&[][..], Vec::as_slice);
        if self.step {
            return members.iter().map(|host| vec![*host]).collect();
        }
        let Some(play) = self.playbook.plays.get(play).filter(|play| !play.serial.is_empty()) else {
            return vec![members.to_vec()];
        };
        let sizes: Vec<usize> = play.serial.iter().map(|size| self.size(play, size, members.len())).collect();
        let mut batches = Vec::new();
        let mut rest = members;
        let mut sizes = sizes.into_iter();
        let mut size = sizes.next();
        while let (false, Some(count)) = (rest.is_empty(), size) {
            let (now, later) = rest.split_at(count.clamp(1, rest.len()));
            batches.push(now.to_vec());
            rest = later;
            size = sizes.next().or(size);
        }
        batches
    }

    fn size(&self, play: &Play, size: &Batch, all: usize) -> usize {
        let share = |percent: f64| (all as f64 * percent / 100.0) as usize;
        match size {
            Batch::Hosts(count) => *count as usize,
            Batch::Percent(percent) => share(*percent),
            Batch::Template(node) => match self.of_play(play, node) {
                Some(Json::Number(count)) => count.as_u64().and_then(|count| usize::try_from(count).ok()),
                Some(Json::String(text)) => match text.trim().strip_suffix('%') {
                    Some(percent) => percent.trim().parse().ok().map(share),
                    None => text.trim().parse().ok(),
                },
                _ => None,
            }
            .unwrap_or(1),
        }
    }

    /// The batch of hosts that a host is in.
    pub fn batch_of(&self, play: usize, host: HostId) -> Vec<HostId> {
        let mut batches = self.batches(play).into_iter();
        batches.find(|batch| batch.contains(&host)).unwrap_or_default()
    }

    /// How many percent of a batch may fail before the others stop: 0 with `any_errors_fatal`. None: hosts do not
    /// wait for one another.
    pub fn bears(&self, play: usize) -> Option<f64> {
        let play = self.playbook.plays.get(play)?;
        let fatal = match &play.settings.any_errors_fatal {
            Some(Setting::Fixed(fatal)) => *fatal,
            Some(Setting::Template(node)) => {
                let value = self.of_play(play, node);
                value.is_some_and(|value| value == Json::Bool(true) || value == "true")
            }
            None => false,
        };
        if fatal {
            return Some(0.0);
        }
        match play.max_fail_percentage.as_ref()? {
            Setting::Fixed(most) => Some(*most),
            Setting::Template(node) => match self.of_play(play, node)? {
                Json::Number(most) => most.as_f64(),
                Json::String(text) => text.trim().trim_end_matches('%').parse().ok(),
                _ => None,
            },
        }
    }

    /// Whether a host has failed or cannot be reached.
    pub fn has_left(&self, host: &str) -> bool {
        self.shared.roll.has_left(host)
    }

    /// Whether so many hosts of a batch have failed that the others stop.
    pub fn is_lost(&self, play: usize, batch: &[HostId]) -> bool {
        let (failed, bears) = (self.failed_of(batch), self.bears(play));
        if self.step && bears.is_none() {
            // Each host is a batch of its own only since each is asked for.
            return false;
        }
        let most = bears.unwrap_or(100.0);
        failed > 0 && (failed as f64 * 100.0 > most * batch.len() as f64 || failed == batch.len())
    }

    fn failed_of(&self, batch: &[HostId]) -> usize {
        let inventory = self.inventory();
        batch.iter().filter(|host| self.shared.roll.has_left(inventory.host_name(**host))).count()
    }

    /// A keyword of a play, which sees `-e`, prompts and the play's own variables.
    fn of_play(&self, play: &Play, node: &Node) -> Option<Json> {
        let vars = PlayVars { scene: self, play };
        self.templates.value(node.as_str()?, &vars).ok().map(|rendered| rendered.value)
    }

    /// A value that a play says of all its hosts, with its templates evaluated.
    ///
    /// # Errors
    /// The fault of a template.
    pub fn for_play(&self, play: usize, node: &Node) -> Result<Json, Box<crate::diagnostic::Diagnostic>> {
        let value = node.to_json();
        let Some(play) = self.playbook.plays.get(play) else { return Ok(value) };
        let vars = PlayVars { scene: self, play };
        let rendered = self.templates.json(&value, &vars);
        rendered.map(|rendered| rendered.value).map_err(|fault| Box::new(fault.in_node(node)))
    }

    /// A host has failed or cannot be reached: nobody waits for it any more.
    pub fn leave(&self, host: &str) {
        self.shared.roll.left.write().unwrap_or_else(PoisonError::into_inner).insert(host.to_owned());
    }

    /// A host has come to a task of a play.
    pub fn arrive(&self, host: &str, play: usize, task: u32) {
        let mut fronts = self.shared.roll.fronts.lock().unwrap_or_else(PoisonError::into_inner);
        fronts.insert(host.to_owned(), (play, task));
    }

    /// Whether a host has left, or has done all of a play.
    pub(super) fn is_through(&self, host: &str, play: usize) -> bool {
        let fronts = self.shared.roll.fronts.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.roll.has_left(host) || fronts.get(host).is_some_and(|front| *front >= (play, u32::MAX))
    }

    /// Whether all hosts of a batch have come to a task, have ended or have left.
    pub fn have_arrived(&self, batch: &[HostId], play: usize, task: u32) -> bool {
        let inventory = self.inventory();
        let fronts = self.shared.roll.fronts.lock().unwrap_or_else(PoisonError::into_inner);
        batch.iter().all(|host| {
            let name = inventory.host_name(*host);
            self.shared.roll.has_left(name) || fronts.get(name).is_some_and(|front| *front >= (play, task))
        })
    }

    /// A host begins to act.
    pub fn acts(&self) -> Acts<'_> {
        self.shared.roll.acting.fetch_add(1, Ordering::Relaxed);
        Acts(&self.shared.roll.acting)
    }

    /// Whether some host acts now.
    pub fn is_anyone_acting(&self) -> bool {
        self.shared.roll.acting.load(Ordering::Relaxed) > 0
    }

    /// How often hosts read what others make: where that is more than before, plans are made again.
    pub fn crossings(&self) -> usize {
        self.shared.roll.crossed.load(Ordering::Relaxed)
    }

    /// The hosts of a play that take part still.
    pub(super) fn living(&self, hosts: &[HostId]) -> Vec<String> {
        let inventory = self.inventory();
        let names = hosts.iter().map(|host| inventory.host_name(*host).to_owned());
        names.filter(|name| !self.shared.roll.has_left(name)).collect()
    }

    /// The hosts of a play, those that have left too.
    pub(super) fn play_hosts(&self, play: usize) -> Vec<String> {
        let (inventory, chosen) = (self.inventory(), self.chosen());
        let hosts = chosen.get(play).map_or(&[][..], Vec::as_slice);
        hosts.iter().map(|host| inventory.host_name(*host).to_owned()).collect()
    }
}

struct PlayVars<'s> {
    scene: &'s Scene,
    play: &'s Play,
}

impl Vars for PlayVars<'_> {
    fn get(&self, name: &str) -> Option<Var> {
        let own = || self.play.vars.as_ref().and_then(|vars| self.scene.layers.get(vars, name));
        let extra = self.scene.extra.get(name).or_else(|| self.scene.prompts.get(name)).cloned();
        extra.or_else(own)
    }

    fn names(&self) -> Vec<String> {
        self.scene.extra.keys().cloned().collect()
    }
}
