//! The inventory as other programs read it (`--list`, `--host`) and as people do (a tree).
use super::Inventory;
use super::model::{GroupId, HostId, InventoryVar};
use crate::yaml::UNSAFE_KEY;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value as Json, json};
use std::collections::HashSet;

impl Inventory {
    /// What `ansible-inventory --list` prints, to be serialised straight to an output.
    pub fn listing(&self) -> Listing<'_> {
        Listing(self)
    }

    /// What `ansible-inventory --list` prints, as a value.
    pub fn list_json(&self) -> Json {
        serde_json::to_value(self.listing()).unwrap_or_default()
    }

    /// What `ansible-inventory --host` prints: the variables of one host.
    pub fn host_json(&self, host: HostId) -> Json {
        serde_json::to_value(HostVars { inventory: self, host }).unwrap_or_default()
    }

    /// The groups below one, and their hosts, as the tree that `ansible-inventory --graph` draws; ends with a newline.
    pub fn graph(&self, top: GroupId) -> String {
        let mut out = String::new();
        self.draw(top, 0, &mut out);
        out
    }

    fn draw(&self, group: GroupId, depth: usize, out: &mut String) {
        let data = &self.groups[group.index()];
        graph_line(out, depth, &format!("@{}:", data.name));
        for child in &data.children {
            self.draw(*child, depth + 1, out);
        }
        if group != GroupId::ALL {
            for host in &data.hosts {
                graph_line(out, depth + 1, self.host_name(*host));
            }
        }
    }
}

fn graph_line(out: &mut String, depth: usize, text: &str) {
    out.push_str(&"  |".repeat(depth));
    out.push_str(if depth > 0 { "--" } else { "" });
    out.push_str(text);
    out.push('\n');
}

/// The whole inventory in the shape of `ansible-inventory --list`: groups, and `_meta.hostvars` with all variables of
/// every host.
#[derive(Clone, Copy, Debug)]
pub struct Listing<'a>(&'a Inventory);

impl Serialize for Listing<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inventory = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("_meta", &Meta(inventory))?;
        let mut seen = HashSet::from([GroupId::ALL]);
        let mut open = vec![GroupId::ALL];
        while let Some(group) = open.pop() {
            let shown = GroupShown { inventory, group };
            if !shown.is_empty() {
                map.serialize_entry(inventory.group_name(group), &shown)?;
            }
            let children = inventory.groups[group.index()].children.iter().rev();
            open.extend(children.filter(|child| seen.insert(**child)));
        }
        map.end()
    }
}

struct GroupShown<'a> {
    inventory: &'a Inventory,
    group: GroupId,
}

impl GroupShown<'_> {
    fn hosts(&self) -> &[HostId] {
        if self.group == GroupId::ALL { &[] } else { &self.inventory.groups[self.group.index()].hosts }
    }

    fn is_empty(&self) -> bool {
        self.hosts().is_empty() && self.inventory.groups[self.group.index()].children.is_empty()
    }
}

impl Serialize for GroupShown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let children = &self.inventory.groups[self.group.index()].children;
        if !children.is_empty() {
            let names: Vec<&str> = children.iter().map(|child| self.inventory.group_name(*child)).collect();
            map.serialize_entry("children", &names)?;
        }
        if !self.hosts().is_empty() {
            let names: Vec<&str> = self.hosts().iter().map(|host| self.inventory.host_name(*host)).collect();
            map.serialize_entry("hosts", &names)?;
        }
        map.end()
    }
}

struct Meta<'a>(&'a Inventory);

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("hostvars", &AllHostVars(self.0))?;
        // The profile under which Ansible reads this output again.
        map.serialize_entry("profile", "inventory_legacy")?;
        map.end()
    }
}

struct AllHostVars<'a>(&'a Inventory);

impl Serialize for AllHostVars<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inventory = self.0;
        let mut map = serializer.serialize_map(None)?;
        for host in inventory.hosts_of(GroupId::ALL) {
            if inventory.layers(host).next().is_some() {
                map.serialize_entry(inventory.host_name(host), &HostVars { inventory, host })?;
            }
        }
        map.end()
    }
}

struct HostVars<'a> {
    inventory: &'a Inventory,
    host: HostId,
}

impl Serialize for HostVars<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let vars = self.inventory.vars(self.host);
        let mut map = serializer.serialize_map(Some(vars.len()))?;
        for (name, var) in vars {
            match var {
                InventoryVar { value: Json::String(text), trusted: false, .. } if text.contains('{') => {
                    map.serialize_entry(name, &json!({ UNSAFE_KEY: text }))?;
                }
                var => map.serialize_entry(name, &var.value)?,
            }
        }
        map.end()
    }
}
