//! The variables that a task sees, in Ansible's order of precedence, looked up one name at a time.
use super::layers::Layers;
use super::scene::Scene;
use crate::engine::target::{HostState, Target};
use crate::playbook::{LayerKind, Play, Role, Task};
use crate::template::{Json, Var, Vars, late, unread_fact};
use modules::vocabulary::{Facts, Stop};
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Variables that tasks made, from the highest rank to the lowest.
#[derive(Clone, Default)]
pub struct Live {
    /// `register` and `set_fact` (19).
    pub made: HashMap<String, Var>,
    /// `include_vars` (18).
    pub included: HashMap<String, Var>,
    /// What `package_facts`, `service_facts` and their kin gathered: parts of `ansible_facts`.
    pub gathered: HashMap<String, Var>,
    /// The files of `vars_files` that are found only when the play begins, by their place in the list.
    pub(super) files: HashMap<usize, super::layers::Layer>,
    /// Names may be set by this task, of which not even that is known.
    pub(super) open: Option<String>,
    /// Variables of public `include_role`s.
    pub roles: Vec<Arc<Role>>,
}

/// The variables of one task on one host.
///
/// From the highest rank: names that cannot be set, `-e`, the loop's own, include and role parameters, `register` and
/// `set_fact`, `include_vars`, task and block `vars`, role `vars`, `vars_files`, prompts, play `vars`, facts, the
/// inventory, role defaults.
pub struct Scope<'w> {
    pub(super) scene: &'w Scene,
    pub(super) play: &'w Play,
    pub(super) play_number: usize,
    pub(super) host: &'w HostState,
    pub(super) task: Option<&'w Task>,
    pub(super) locals: Vec<(String, Var)>,
    pub(super) live: &'w Live,
    pub(super) facts: &'w Facts,
    pub(super) all_facts: &'w BTreeMap<Target, Facts>,
}

impl Scope<'_> {
    fn roles(&self) -> impl Iterator<Item = &Arc<Role>> {
        let own = self.task.and_then(|task| task.place.role.as_ref());
        own.into_iter().chain(self.live.roles.iter().rev()).chain(self.play.roles.iter().rev())
    }

    fn layer(&self, kinds: &[LayerKind], name: &str) -> Option<Var> {
        let task = self.task?;
        task.settings
            .vars
            .iter()
            .rev()
            .filter(|layer| kinds.contains(&layer.kind))
            .find_map(|layer| self.layers().get(&layer.vars, name))
    }

    fn layers(&self) -> &Layers {
        &self.scene.layers
    }

    fn play_vars(&self, name: &str) -> Option<Var> {
        let files = self.play.vars_files.iter().enumerate().rev();
        files
            .filter_map(|(at, file)| match &file.loaded {
                Some((_, vars)) => self.layers().get(vars, name),
                None => self.live.files.get(&at)?.get(name).cloned(),
            })
            .next()
            .or_else(|| self.scene.prompts.get(name).cloned())
            .or_else(|| self.play.vars.as_ref().and_then(|vars| self.layers().get(vars, name)))
    }

    fn magic(&self, name: &str) -> Option<Var> {
        let scene = self.scene;
        let seen = |value: Json| Some(Var::seen(value));
        match name {
            "inventory_hostname" => seen(json!(self.host.name)),
            "inventory_hostname_short" => seen(json!(self.host.name.split('.').next())),
            "group_names" => {
                let mut groups: Vec<String> =
                    scene.inventory().groups_of(self.host.id).into_iter().map(str::to_owned).collect();
                groups.retain(|group| group != "all");
                groups.sort();
                seen(json!(groups))
            }
            "groups" => Some(Var::seen(scene.groups())),
            "hostvars" => Some(Var::scope(Arc::new(scene.hostvars(self.all_facts)))),
            "ansible_play_hosts_all" => seen(json!(scene.play_hosts(self.play_number))),
            "ansible_play_hosts" => {
                let chosen = scene.chosen();
                seen(json!(scene.living(chosen.get(self.play_number).map_or(&[], Vec::as_slice))))
            }
            "ansible_play_batch" | "play_hosts" => {
                seen(json!(scene.living(&scene.batch_of(self.play_number, self.host.id))))
            }
            "ansible_play_role_names" | "role_names" => {
                seen(json!(self.play.roles.iter().map(|role| &role.name).collect::<Vec<_>>()))
            }
            "ansible_play_name" => seen(json!(self.play.name)),
            "playbook_dir" => seen(json!(scene.playbook_dir)),
            "inventory_dir" | "inventory_file" => self.inventory_place(name),
            "ansible_check_mode" => seen(json!(scene.check)),
            "ansible_diff_mode" => seen(json!(scene.diff)),
            "ansible_verbosity" | "ansible_forks" => seen(json!(0)),
            "ansible_version" => {
                seen(json!({"full": "2.19.0", "major": 2, "minor": 19, "revision": 0, "string": "2.19.0"}))
            }
            "ansible_run_tags" => seen(json!(scene.selection.only)),
            "ansible_skip_tags" => seen(json!(scene.selection.skip)),
            "ansible_role_name" | "role_name" => {
                self.task.and_then(|task| task.place.role.as_ref()).and_then(|role| seen(json!(role.name)))
            }
            "role_path" => {
                self.task.and_then(|task| task.place.role.as_ref()).and_then(|role| seen(json!(role.path)))
            }
            "ansible_facts" => {
                let gathered = self.live.gathered.clone();
                Some(Var::scope(Arc::new(FactScope { facts: self.facts.clone(), gathered })))
            }
            "ansible_local" => seen(json!({})),
            _ => None,
        }
    }

    fn inventory_place(&self, name: &str) -> Option<Var> {
        let inventory = self.scene.inventory();
        let file = inventory.host_origin(self.host.id).source.name.clone();
        let path = std::path::Path::new(&file);
        let value = if name == "inventory_file" {
            file.clone()
        } else {
            path.parent().map_or_else(String::new, |folder| folder.display().to_string())
        };
        Some(Var::seen(json!(value)))
    }

    /// What has a value though nobody set it.
    fn fallback(&self, name: &str) -> Option<Var> {
        match name {
            "ansible_host" | "ansible_ssh_host" => Some(Var::seen(json!(self.host.name))),
            "ansible_connection" => Some(Var::seen(json!("ssh"))),
            "ansible_port" => Some(Var::seen(json!(22))),
            _ => None,
        }
    }
}

impl Vars for Scope<'_> {
    fn get(&self, name: &str) -> Option<Var> {
        self.magic(name)
            .or_else(|| self.scene.extra.get(name).cloned())
            .or_else(|| self.locals.iter().rev().find(|(local, _)| local == name).map(|(_, var)| var.clone()))
            .or_else(|| self.layer(&[LayerKind::IncludeParams], name))
            .or_else(|| self.layer(&[LayerKind::RoleParams], name))
            .or_else(|| self.live.made.get(name).cloned())
            .or_else(|| self.scene.shared.given(&self.host.name, name))
            .or_else(|| self.live.included.get(name).cloned())
            .or_else(|| self.layer(&[LayerKind::Task, LayerKind::Block], name))
            .or_else(|| {
                self.roles()
                    .filter_map(|role| role.vars.as_ref())
                    .find_map(|vars| self.layers().get(vars, name))
            })
            .or_else(|| self.play_vars(name))
            .or_else(|| fact(name, self.facts))
            .or_else(|| self.scene.inventory_var(self.host.id, name))
            .or_else(|| {
                self.roles()
                    .filter_map(|role| role.defaults.as_ref())
                    .find_map(|vars| self.layers().get(vars, name))
            })
            .or_else(|| self.fallback(name))
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.scene.extra.keys().cloned().collect();
        names.extend(self.locals.iter().map(|(name, _)| name.clone()));
        names.extend(self.live.made.keys().cloned());
        names.extend(self.live.included.keys().cloned());
        let task_layers = self.task.into_iter().flat_map(|task| &task.settings.vars).map(|layer| &layer.vars);
        let roles = self.roles().flat_map(|role| [&role.vars, &role.defaults]).flatten();
        let files = self.play.vars_files.iter().filter_map(|file| file.loaded.as_ref()).map(|(_, vars)| vars);
        for layer in task_layers.chain(roles).chain(files).chain(&self.play.vars) {
            names.extend(self.layers().names(layer));
        }
        names.extend(self.scene.inventory().vars(self.host.id).keys().map(|name| (*name).to_owned()));
        names.extend(["inventory_hostname", "group_names", "groups", "hostvars"].map(str::to_owned));
        names.sort();
        names.dedup();
        names
    }
}

/// `ansible_NAME` as a fact: its value, or a mark that it has not been read yet.
fn fact(name: &str, facts: &Facts) -> Option<Var> {
    let name = name.strip_prefix("ansible_")?;
    is_fact(name).then(|| fact_var(name, facts))?
}

/// Whether a name may be that of a fact, without `ansible_`.
pub(super) fn is_fact(name: &str) -> bool {
    // Every other name may be that of a network card; only what looks like one is, so that no connection variable is.
    const CARDS: [&str; 9] = ["eth", "en", "ib", "bond", "br", "team", "lo", "veth", "vlan"];
    let is_known = modules::setup::FACTS.iter().any(|fact| fact.name == name);
    is_known || CARDS.iter().any(|card| name.starts_with(card))
}

fn fact_var(name: &str, facts: &Facts) -> Option<Var> {
    fact_of(name, facts, name)
}

pub(super) fn fact_of(name: &str, facts: &Facts, mark: &str) -> Option<Var> {
    match modules::setup::fact_value(name, facts) {
        Ok(value) => Some(Var::seen(value)),
        Err(Stop::Unread(_)) => Some(Var::seen(unread_fact(mark))),
        Err(Stop::Late(_)) => {
            Some(Var::seen(late(&format!("an earlier task (it may change the fact `{name}`)"))))
        }
        Err(Stop::Refused(_)) => None,
    }
}

/// `ansible_facts`: each fact is read when it is named.
struct FactScope {
    facts: Facts,
    gathered: HashMap<String, Var>,
}

impl Vars for FactScope {
    fn get(&self, name: &str) -> Option<Var> {
        let gathered = self.gathered.get(name).cloned();
        gathered.or_else(|| fact_var(name.strip_prefix("ansible_").unwrap_or(name), &self.facts))
    }

    fn names(&self) -> Vec<String> {
        modules::setup::FACTS.iter().map(|fact| fact.name.to_owned()).collect()
    }
}
