//! Which value of a variable a host sees.
use super::Inventory;
use super::model::{GroupId, HostId, InventoryVar, Layer, Written};
use indexmap::IndexMap;

impl Inventory {
    /// All variables of a host, the strongest value of each, in the order in which names first appear from the
    /// weakest place on. The magic variables are not among them.
    pub fn vars(&self, host: HostId) -> IndexMap<&str, &InventoryVar> {
        let mut vars = IndexMap::new();
        for layer in self.layers(host) {
            vars.extend(layer.iter().map(|(name, var)| (&**name, var)));
        }
        vars
    }

    /// One variable of a host, without merging the others.
    pub fn var(&self, host: HostId, name: &str) -> Option<&InventoryVar> {
        self.layers(host).rev().find_map(|layer| layer.get(name))
    }

    /// The variables that a group sets itself, in the inventory and in `group_vars`, the strongest value of each.
    pub fn group_vars(&self, group: GroupId) -> IndexMap<&str, &InventoryVar> {
        let Written { inventory, beside_inventory, beside_playbook } = &self.groups[group.index()].vars;
        let layers = [inventory, beside_inventory, beside_playbook];
        layers.into_iter().flat_map(Layer::iter).map(|(name, var)| (&**name, var)).collect()
    }

    /// The places of a host's variables that hold any, weakest first.
    pub(super) fn layers(&self, host: HostId) -> impl DoubleEndedIterator<Item = &Layer> {
        let host = &self.hosts[host.index()];
        let all = &self.groups[GroupId::ALL.index()].vars;
        let groups = || host.chain.iter().map(|group| &self.groups[group.index()].vars);
        let layers = std::iter::once(&all.inventory)
            .chain(groups().map(|vars| &vars.inventory))
            .chain([&all.beside_inventory, &all.beside_playbook])
            .chain(groups().map(|vars| &vars.beside_inventory))
            .chain(groups().map(|vars| &vars.beside_playbook))
            .chain([&host.vars.inventory, &host.vars.beside_inventory, &host.vars.beside_playbook]);
        layers.filter(|layer| !layer.is_empty())
    }
}
