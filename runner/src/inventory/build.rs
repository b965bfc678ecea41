//! Growing an inventory: groups, hosts, edges between them, and the order that follows from them.
use super::Inventory;
use super::model::{Group, GroupId, Host, HostId, InventoryVar, Name, Written};
use crate::diagnostic::{Diagnostic, Problems};
use crate::source::{Source, Span};
use serde_json::{Value as Json, json};
use std::collections::HashMap;
use std::sync::Arc;

/// The names that mean this machine where the inventory does not name them.
pub(super) const LOCALHOST: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

impl Inventory {
    /// An inventory of nothing but `all` and `ungrouped`.
    pub(super) fn bare() -> Self {
        let mut bare = Self {
            hosts: Vec::new(),
            groups: Vec::new(),
            names: HashMap::new(),
            host_index: HashMap::new(),
            group_index: HashMap::new(),
            dirs: Arc::new(Vec::new()),
        };
        bare.ensure_group("all", None);
        bare.ensure_group("ungrouped", None);
        bare.attach(GroupId::ALL, GroupId::UNGROUPED);
        bare
    }

    pub(super) fn intern(&mut self, text: &str) -> Name {
        if let Some((name, ())) = self.names.get_key_value(text) {
            return Arc::clone(name);
        }
        let name: Name = Arc::from(text);
        self.names.insert(Arc::clone(&name), ());
        name
    }

    pub(super) fn host_mut(&mut self, host: HostId) -> &mut Host {
        Arc::make_mut(&mut self.hosts[host.index()])
    }

    pub(super) fn group_mut(&mut self, group: GroupId) -> &mut Group {
        Arc::make_mut(&mut self.groups[group.index()])
    }

    pub(super) fn ensure_group(&mut self, name: &str, origin: Option<&Span>) -> GroupId {
        if let Some(known) = self.group_index.get(name) {
            return *known;
        }
        let id = GroupId(self.groups.len() as u32);
        let name = self.intern(name);
        self.group_index.insert(Arc::clone(&name), id);
        self.groups.push(Arc::new(Group {
            name,
            origin: origin.cloned(),
            hosts: Vec::new(),
            children: Vec::new(),
            parents: Vec::new(),
            depth: 0,
            priority: 1,
            vars: Written::default(),
        }));
        id
    }

    pub(super) fn ensure_host(&mut self, name: &str, origin: &Span) -> HostId {
        if let Some(known) = self.host_index.get(name).copied() {
            if self.hosts[known.index()].implicit {
                let host = self.host_mut(known);
                host.implicit = false;
                host.origin = origin.clone();
                host.vars.inventory = super::model::Layer::default();
            }
            return known;
        }
        let id = HostId(self.hosts.len() as u32);
        let name = self.intern(name);
        self.host_index.insert(Arc::clone(&name), id);
        self.hosts.push(Arc::new(Host {
            name,
            origin: origin.clone(),
            groups: Vec::new(),
            chain: Arc::from([]),
            vars: Written::default(),
            implicit: false,
        }));
        id
    }

    /// Makes a group name a host.
    pub(super) fn join(&mut self, host: HostId, group: GroupId) {
        if !self.hosts[host.index()].groups.contains(&group) {
            self.host_mut(host).groups.push(group);
            self.group_mut(group).hosts.push(host);
        }
    }

    fn leave(&mut self, host: HostId, group: GroupId) {
        self.host_mut(host).groups.retain(|known| *known != group);
        self.group_mut(group).hosts.retain(|known| *known != host);
    }

    fn attach(&mut self, parent: GroupId, child: GroupId) {
        if !self.groups[parent.index()].children.contains(&child) {
            self.group_mut(parent).children.push(child);
            self.group_mut(child).parents.push(parent);
        }
    }

    /// Makes `child` a child of `parent`, unless that would make a loop.
    pub(super) fn link(&mut self, parent: GroupId, child: GroupId, span: &Span) -> Result<(), Problems> {
        if child == GroupId::ALL {
            let message =
                format!("`all` cannot be a child of `{}`: it holds every group", self.group_name(parent));
            return Err(vec![Diagnostic::error(message, span.clone()).help("take this line out")]);
        }
        if let Some(path) = self.path_down(child, parent) {
            let names: Vec<&str> = path.iter().map(|group| self.group_name(*group)).collect();
            let message = if names.len() == 1 {
                format!("group `{}` is made its own child", names[0])
            } else {
                format!("group `{}` becomes its own ancestor", names[0])
            };
            return Err(vec![
                Diagnostic::error(message, span.clone())
                    .label("this closes the loop")
                    .note(format!("the way round: {} > {}", names.join(" > "), names[0]))
                    .help("take one of these groups out of the other's children"),
            ]);
        }
        self.attach(parent, child);
        Ok(())
    }

    /// The groups from `from` down to `to`, if there is a way.
    fn path_down(&self, from: GroupId, to: GroupId) -> Option<Vec<GroupId>> {
        let mut came_from: HashMap<GroupId, GroupId> = HashMap::from([(from, from)]);
        let mut open = vec![from];
        while let Some(group) = open.pop() {
            if group == to {
                let mut path = vec![to];
                let mut at = to;
                while at != from {
                    at = came_from[&at];
                    path.push(at);
                }
                path.reverse();
                return Some(path);
            }
            for child in &self.groups[group.index()].children {
                came_from.entry(*child).or_insert_with(|| {
                    open.push(*child);
                    group
                });
            }
        }
        None
    }

    /// Sets a variable of a group in the inventory itself; `ansible_group_priority` is an order, not a variable.
    pub(super) fn set_group_var(
        &mut self,
        group: GroupId,
        name: &str,
        var: InventoryVar,
    ) -> Result<(), Problems> {
        if name == "ansible_group_priority" {
            let number =
                var.value.as_i64().or_else(|| var.value.as_str().and_then(|text| text.trim().parse().ok()));
            let Some(number) = number else {
                return Err(vec![
                    Diagnostic::error("`ansible_group_priority` is not a whole number", var.origin)
                        .help("write a number such as 10; among groups of one depth the greater wins"),
                ]);
            };
            self.group_mut(group).priority = number;
            return Ok(());
        }
        let name = self.intern(name);
        self.group_mut(group).vars.inventory.set(name, var);
        Ok(())
    }

    /// A warning where a host's variable was set to another value before, in the same file.
    pub(super) fn set_otherwise(&self, host: HostId, name: &str, var: &InventoryVar) -> Option<Diagnostic> {
        let host = &self.hosts[host.index()];
        let before = host.vars.inventory.get(name)?;
        let same_file = Arc::ptr_eq(&before.origin.source, &var.origin.source);
        // A later inventory may well set another value; another address is another machine.
        let matters = same_file || matches!(name, "ansible_host" | "ansible_port" | "ansible_connection");
        (matters && before.value != var.value).then(|| {
            Diagnostic::warning(
                format!("`{name}` of host `{}` is set again, to another value", host.name),
                var.origin.clone(),
            )
            .note(format!("first at {}; the last one holds", before.origin))
            .help("keep one of the two")
        })
    }

    pub(super) fn set_host_var(&mut self, host: HostId, name: &str, var: InventoryVar) {
        let name = self.intern(name);
        self.host_mut(host).vars.inventory.set(name, var);
    }

    /// Brings parents, `ungrouped`, depths and the order of variables up to date; to be called after any growth.
    pub(super) fn settle(&mut self) -> Problems {
        for index in 1..self.groups.len() {
            if self.groups[index].parents.is_empty() {
                self.attach(GroupId::ALL, GroupId(index as u32));
            }
        }
        self.settle_ungrouped();
        self.settle_depths();
        self.settle_chains();
        self.ensure_localhost();
        let clash = |host: &&Arc<Host>| self.group_index.contains_key(&host.name);
        self.hosts
            .iter()
            .filter(clash)
            .map(|host| {
                Diagnostic::warning(
                    format!("`{}` names both a host and a group", host.name),
                    host.origin.clone(),
                )
                .note("as a pattern it means the host alone")
                .help("rename one of the two")
            })
            .collect()
    }

    fn settle_ungrouped(&mut self) {
        for index in 0..self.hosts.len() {
            let id = HostId(index as u32);
            let host = &self.hosts[index];
            let grouped = host.groups.iter().any(|group| group.0 > GroupId::UNGROUPED.0);
            let listed = host.groups.contains(&GroupId::UNGROUPED);
            if grouped && listed {
                self.leave(id, GroupId::UNGROUPED);
            } else if !grouped && !listed && !host.implicit {
                self.join(id, GroupId::UNGROUPED);
            }
        }
    }

    /// Depth is the longest way from `all`; there are no loops, so a group settles once all its parents have.
    fn settle_depths(&mut self) {
        let mut missing: Vec<usize> = self.groups.iter().map(|group| group.parents.len()).collect();
        let mut depths = vec![0u32; self.groups.len()];
        let mut open = vec![GroupId::ALL];
        while let Some(group) = open.pop() {
            for child in &self.groups[group.index()].children {
                let at = child.index();
                depths[at] = depths[at].max(depths[group.index()] + 1);
                missing[at] -= 1;
                if missing[at] == 0 {
                    open.push(*child);
                }
            }
        }
        for (index, depth) in depths.into_iter().enumerate() {
            if self.groups[index].depth != depth {
                Arc::make_mut(&mut self.groups[index]).depth = depth;
            }
        }
    }

    fn settle_chains(&mut self) {
        let mut known: HashMap<Vec<GroupId>, Arc<[GroupId]>> = HashMap::new();
        for index in 0..self.hosts.len() {
            let groups = &self.hosts[index].groups;
            let chain = match known.get(groups) {
                Some(chain) => Arc::clone(chain),
                None => {
                    let chain = self.chain_of(groups);
                    known.insert(groups.clone(), Arc::clone(&chain));
                    chain
                }
            };
            if self.hosts[index].chain != chain {
                Arc::make_mut(&mut self.hosts[index]).chain = chain;
            }
        }
    }

    fn chain_of(&self, direct: &[GroupId]) -> Arc<[GroupId]> {
        let mut chain: Vec<GroupId> = Vec::new();
        let mut open = direct.to_vec();
        while let Some(group) = open.pop() {
            if group != GroupId::ALL && !chain.contains(&group) {
                chain.push(group);
                open.extend(&self.groups[group.index()].parents);
            }
        }
        chain.sort_by_cached_key(|group| {
            let group = &self.groups[group.index()];
            (group.depth, group.priority, Arc::clone(&group.name))
        });
        chain.into()
    }

    fn ensure_localhost(&mut self) {
        if LOCALHOST.iter().any(|name| self.host_index.contains_key(*name)) {
            return;
        }
        let source = Source::new("<implicit localhost>", "");
        let origin = Span::new(&source, 0, 0);
        let host = self.ensure_host(LOCALHOST[0], &origin);
        self.host_mut(host).implicit = true;
        let local: Json = json!("local");
        self.set_host_var(host, "ansible_connection", InventoryVar { value: local, origin, trusted: false });
    }
}
