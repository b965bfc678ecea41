//! What an inventory is made of: hosts, groups, layers of variables, and the numbers that name them.
use crate::source::Span;
use serde_json::Value as Json;
use std::sync::Arc;

/// An interned name; equal names of one inventory share their bytes.
pub type Name = Arc<str>;

/// A host of one [`Inventory`](super::Inventory).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostId(pub(super) u32);

/// A group of one [`Inventory`](super::Inventory).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupId(pub(super) u32);

impl HostId {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

impl GroupId {
    /// The group that holds every host.
    pub const ALL: Self = Self(0);
    /// The group of hosts that are in no other group.
    pub const UNGROUPED: Self = Self(1);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// The value of a variable, where it was written, and whether it may hold templates.
///
/// A vaulted text is an object with the one key [`VAULT_KEY`](crate::yaml::VAULT_KEY), to be decrypted when it is used;
/// an `!unsafe` text inside of a value is one with [`UNSAFE_KEY`](crate::yaml::UNSAFE_KEY). An `!unsafe` text that is
/// the whole value stands bare and is not trusted.
#[derive(Clone, Debug, PartialEq)]
pub struct InventoryVar {
    /// The value, typed as Ansible types it.
    pub value: Json,
    /// The place of the value (for a dynamic inventory: the program).
    pub origin: Span,
    /// Whether its text may be rendered as a template.
    pub trusted: bool,
}

/// Variables of one place, in the order that was written.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    entries: Vec<(Name, InventoryVar)>,
}

impl Layer {
    /// Sets a variable; a later value wins, its place in the order stays.
    pub(super) fn set(&mut self, name: Name, var: InventoryVar) {
        match self.entries.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &name)) {
            Some((_, old)) => *old = var,
            None => self.entries.push((name, var)),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&InventoryVar> {
        self.entries.iter().find(|(known, _)| &**known == name).map(|(_, var)| var)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Name, &InventoryVar)> {
        self.entries.iter().map(|(name, var)| (name, var))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// The variables of a host or group, by where they were written.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// In the inventory itself.
    pub(super) inventory: Layer,
    /// In `group_vars/` or `host_vars/` beside the inventory.
    pub(super) beside_inventory: Layer,
    /// In `group_vars/` or `host_vars/` beside the playbook.
    pub(super) beside_playbook: Layer,
}

/// One host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) name: Name,
    /// Where it was first named.
    pub(super) origin: Span,
    /// The groups that name it directly.
    pub(super) groups: Vec<GroupId>,
    /// Its groups and all their ancestors but `all`, weakest first.
    pub(super) chain: Arc<[GroupId]>,
    pub(super) vars: Written,
    /// `localhost` that nobody wrote: addressable, in no group.
    pub(super) implicit: bool,
}

/// One group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) name: Name,
    pub(super) origin: Option<Span>,
    /// Hosts that it names itself.
    pub(super) hosts: Vec<HostId>,
    pub(super) children: Vec<GroupId>,
    pub(super) parents: Vec<GroupId>,
    /// The longest way down from `all`.
    pub(super) depth: u32,
    /// `ansible_group_priority`: among groups of one depth the greater wins.
    pub(super) priority: i64,
    pub(super) vars: Written,
}
