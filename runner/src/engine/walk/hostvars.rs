//! `hostvars`: what other hosts have and made, each name looked up when it is read.
use super::scene::Shared;
use super::scope::{fact_of, is_fact};
use crate::engine::target::{Acting, Target};
use crate::inventory::HostId;
use crate::template::{Held, Missing, Var, Vars, missing};
use modules::vocabulary::Facts;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Between the name of a host and that of its fact, in the mark of a fact that must be read first.
pub(super) const OF: char = '\u{1f}';

/// `hostvars`: the variables of other hosts, as far as the inventory and the finished tasks make them.
pub struct Hostvars {
    pub(super) hosts: HashMap<String, HostId>,
    pub(super) shared: Arc<Shared>,
    /// What this host has seen itself, of others too.
    pub(super) own: BTreeMap<Target, Facts>,
}

impl Vars for Hostvars {
    fn get(&self, name: &str) -> Option<Var> {
        let id = *self.hosts.get(name)?;
        let target = Target { host: name.to_owned(), user: Acting::Login };
        let facts = self.own.get(&target).cloned().or_else(|| self.shared.facts(name)).unwrap_or_default();
        let host = OtherHost { name: name.to_owned(), id, shared: Arc::clone(&self.shared), facts };
        Some(Var::scope(Arc::new(host)))
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.hosts.keys().cloned().collect();
        names.sort();
        names
    }
}

#[derive(Clone)]
struct OtherHost {
    name: String,
    id: HostId,
    shared: Arc<Shared>,
    facts: Facts,
}

impl OtherHost {
    fn fact(&self, name: &str) -> Option<Var> {
        fact_of(name, &self.facts, &format!("{}{OF}{name}", self.name))
    }

    /// What its tasks made. What a host that has left would have made later will never be.
    fn made(&self, name: &str) -> Option<Var> {
        let made = self.shared.made(&self.name, name);
        let Some(var) = made else {
            self.shared.roll.cross();
            return None;
        };
        if let Held::Data(value) = &var.held
            && matches!(missing(value), Some(Missing::Late(_)))
        {
            self.shared.roll.cross();
            return Some(var).filter(|_| !self.shared.roll.has_left(&self.name));
        }
        Some(var)
    }
}

impl Vars for OtherHost {
    fn get(&self, name: &str) -> Option<Var> {
        match name {
            "inventory_hostname" => return Some(Var::seen(json!(self.name))),
            "inventory_hostname_short" => return Some(Var::seen(json!(self.name.split('.').next()))),
            "ansible_facts" => return Some(Var::scope(Arc::new(OtherFacts(self.clone())))),
            _ => {}
        }
        self.made(name)
            .or_else(|| self.shared.given(&self.name, name))
            .or_else(|| {
                let fact = name.strip_prefix("ansible_").filter(|fact| is_fact(fact))?;
                self.fact(fact)
            })
            .or_else(|| self.shared.inventory_var(self.id, name))
            .or_else(|| matches!(name, "ansible_host").then(|| Var::seen(json!(self.name))))
            .or_else(|| self.shared.group_var(self.id, name))
    }

    fn names(&self) -> Vec<String> {
        self.shared.names(&self.name, self.id)
    }
}

/// `hostvars[…].ansible_facts`.
struct OtherFacts(OtherHost);

impl Vars for OtherFacts {
    fn get(&self, name: &str) -> Option<Var> {
        self.0.fact(name.strip_prefix("ansible_").unwrap_or(name))
    }

    fn names(&self) -> Vec<String> {
        modules::setup::FACTS.iter().map(|fact| fact.name.to_owned()).collect()
    }
}
