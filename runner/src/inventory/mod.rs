//! Hosts, groups, their variables, and patterns over them.
//!
//! Variables come from several places. For one host, each line is weaker than the next:
//!
//! 1. `all` in the inventory
//! 2. its other groups in the inventory: by depth (parents first), then `ansible_group_priority`, then name
//! 3. `group_vars/all` beside the inventory
//! 4. `group_vars/all` beside the playbook
//! 5. `group_vars/GROUP` beside the inventory, in the order of 2
//! 6. `group_vars/GROUP` beside the playbook, in the order of 2
//! 7. the host in the inventory
//! 8. `host_vars/HOST` beside the inventory
//! 9. `host_vars/HOST` beside the playbook
//!
//! A later value replaces an earlier one as a whole; mappings are not merged.
mod address;
mod build;
mod glob;
mod growth;
mod ini;
mod listing;
mod literal;
mod load;
mod machine;
mod model;
mod order;
mod pattern;
mod precedence;
mod program;
pub mod reserved;
mod subscript;
mod text;
mod vars_files;
mod words;
mod world;
mod yaml;

pub use glob::is_like;
pub use listing::Listing;
pub use load::{InventorySource, resolve};
pub use model::{GroupId, HostId, InventoryVar, Name};
pub use order::Order;
pub use pattern::{Unselected, Unselection};
pub use world::{Disk, Kind, Output, World};

use crate::diagnostic::Diagnostic;
use crate::source::Span;
use std::collections::HashMap;
use std::sync::Arc;

/// All hosts and groups of a run. Cloning is cheap: hosts and groups are shared until one of them changes.
#[derive(Clone, Debug)]
pub struct Inventory {
    hosts: Vec<Arc<model::Host>>,
    groups: Vec<Arc<model::Group>>,
    names: HashMap<Name, ()>,
    host_index: HashMap<Name, HostId>,
    group_index: HashMap<Name, GroupId>,
    /// Folders of `group_vars` and `host_vars`, weakest first.
    dirs: Arc<Vec<vars_files::VarsDir>>,
}

impl Inventory {
    /// The host of that name; `localhost` and its addresses are known even where nobody wrote them.
    pub fn host(&self, name: &str) -> Option<HostId> {
        let known = self.host_index.get(name).copied();
        known.or_else(|| {
            let local = build::LOCALHOST.contains(&name);
            self.hosts.iter().rposition(|host| local && host.implicit).map(|at| HostId(at as u32))
        })
    }

    /// The group of that name.
    pub fn group(&self, name: &str) -> Option<GroupId> {
        self.group_index.get(name).copied()
    }

    /// The name of a host.
    pub fn host_name(&self, host: HostId) -> &str {
        &self.hosts[host.index()].name
    }

    /// The name of a group.
    pub fn group_name(&self, group: GroupId) -> &str {
        &self.groups[group.index()].name
    }

    /// Where a host was first named.
    pub fn host_origin(&self, host: HostId) -> &Span {
        &self.hosts[host.index()].origin
    }

    /// Where a group was first named; nothing for `all` and `ungrouped`.
    pub fn group_origin(&self, group: GroupId) -> Option<&Span> {
        self.groups[group.index()].origin.as_ref()
    }

    /// Whether it is the `localhost` that nobody wrote: in no group, never part of `all`.
    pub fn is_implicit(&self, host: HostId) -> bool {
        self.hosts[host.index()].implicit
    }

    /// All hosts that were written, in the order in which they were first named.
    pub fn hosts(&self) -> impl Iterator<Item = HostId> {
        let written = self.hosts.iter().enumerate().filter(|(_, host)| !host.implicit);
        written.map(|(index, _)| HostId(index as u32))
    }

    /// All groups, `all` and `ungrouped` first, then in the order in which they were first named.
    pub fn groups(&self) -> impl Iterator<Item = (&str, GroupId)> {
        self.groups.iter().enumerate().map(|(index, group)| (&*group.name, GroupId(index as u32)))
    }

    /// The hosts of a group and of all groups below it: its own first, then level by level; for `all` this is the
    /// inventory's order.
    pub fn hosts_of(&self, group: GroupId) -> Vec<HostId> {
        let mut seen_groups = vec![false; self.groups.len()];
        let mut seen_hosts = vec![false; self.hosts.len()];
        let group_asked = group;
        let mut order = vec![group];
        seen_groups[group.index()] = true;
        let mut hosts = Vec::new();
        let mut at = 0;
        while at < order.len() {
            let group = &self.groups[order[at].index()];
            at += 1;
            for host in &group.hosts {
                if group_asked == GroupId::ALL && self.is_implicit(*host) {
                    continue;
                }
                if !std::mem::replace(&mut seen_hosts[host.index()], true) {
                    hosts.push(*host);
                }
            }
            for child in &group.children {
                if !std::mem::replace(&mut seen_groups[child.index()], true) {
                    order.push(*child);
                }
            }
        }
        hosts
    }

    /// The names of all groups that a host is in, sorted, without `all`: Ansible's `group_names`.
    pub fn groups_of(&self, host: HostId) -> Vec<&str> {
        let mut names: Vec<&str> =
            self.hosts[host.index()].chain.iter().map(|group| self.group_name(*group)).collect();
        names.sort_unstable();
        names
    }
}

/// A warning for a name that no expression can use.
fn check_variable_name(name: &str, span: &Span) -> Option<Diagnostic> {
    let mut chars = name.chars();
    let good = chars.next().is_some_and(|first| first == '_' || first.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric());
    // A variable of one's own may have any name; one letter beside a word that means something is no accident.
    let near = reserved::RESERVED
        .iter()
        .map(|reserved| (strsim::damerau_levenshtein(name, reserved.name), reserved.name))
        .min()
        .filter(|(distance, _)| name.starts_with("ansible_") && matches!(distance, 1..=2));
    if let Some((_, near)) = near {
        let problem = Diagnostic::warning(format!("`{name}` means nothing here"), span.clone());
        return Some(problem.help(format!("did you mean `{near}`? `tunerun doc connection` lists them")));
    }
    (!good).then(|| {
        let better: String = name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        Diagnostic::warning(format!("no expression can name the variable `{name}`"), span.clone()).help(
            format!(
                "use letters, digits and `_` only, such as `{}`",
                better.trim_start_matches(char::is_numeric)
            ),
        )
    })
}

/// A warning for a host name that can be kept but hardly reached.
fn odd_host_name(name: &str, odd: char, span: &Span) -> Diagnostic {
    Diagnostic::warning(format!("`{odd}` in the host name `{name}`"), span.clone())
        .help("a name has letters, digits, `-`, `_` and `.`; set `ansible_host` where the address differs")
}

#[cfg(test)]
mod tests;
