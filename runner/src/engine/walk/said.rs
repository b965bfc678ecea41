//! What variables say of a host without a task: `-e`, prompts, the play, the inventory.
use super::scene::Scene;
use crate::inventory::HostId;
use crate::template::{Json, Var, Vars};
use serde_json::json;
use std::collections::HashMap;

/// The variables of a host in a play, the strongest first.
struct Said<'s> {
    scene: &'s Scene,
    play: usize,
    name: String,
    inventory: HashMap<String, Var>,
}

impl Vars for Said<'_> {
    fn get(&self, name: &str) -> Option<Var> {
        if name == "inventory_hostname" {
            return Some(Var::seen(json!(self.name)));
        }
        let play = self.scene.playbook.plays.get(self.play);
        let of_play =
            || play.and_then(|play| play.vars.as_ref()).and_then(|vars| self.scene.layers.get(vars, name));
        let extra = self.scene.extra.get(name).or_else(|| self.scene.prompts.get(name)).cloned();
        extra.or_else(of_play).or_else(|| self.inventory.get(name).cloned())
    }

    fn names(&self) -> Vec<String> {
        self.scene.extra.keys().chain(self.inventory.keys()).cloned().collect()
    }
}

impl Scene {
    /// What a variable says for a host of a play, its templates evaluated; none where nobody set it, or where it follows
    /// from what only a task knows.
    pub fn said(&self, play: usize, host: HostId, name: &str) -> Option<Json> {
        let of_host = self.inventory().host_name(host).to_owned();
        let vars = Said { scene: self, play, name: of_host, inventory: self.inventory_vars(host) };
        vars.get(name)?;
        let written = format!("{{{{ {name} | default(none) }}}}");
        let value = self.templates.value(&written, &vars).ok()?.value;
        (!value.is_null()).then_some(value)
    }
}
