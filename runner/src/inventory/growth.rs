//! Hosts and groups that come while a play runs: `add_host`, `group_by`.
use super::model::{GroupId, HostId, InventoryVar};
use super::world::World;
use super::{Inventory, address};
use crate::diagnostic::{Diagnostic, Problems, Severity};
use crate::source::Span;

impl Inventory {
    /// Adds a host while a play runs (`add_host`), or gives a known one more groups and variables. `name` may carry a
    /// port. Groups are made where they are new; variables from files of that name beside inventory and playbook are
    /// read.
    ///
    /// # Errors
    /// A malformed name, and what is wrong in files that are read for it.
    pub fn add_host(
        &mut self,
        name: &str,
        groups: &[&str],
        vars: impl IntoIterator<Item = (String, InventoryVar)>,
        origin: &Span,
        world: &dyn World,
    ) -> Result<(HostId, Problems), Problems> {
        let named = address::parse(name)
            .map_err(|bad| vec![Diagnostic::error(bad.message, origin.clone()).help(bad.help)])?;
        let [name] = &named.names[..] else {
            return Err(vec![
                Diagnostic::error(format!("`{name}` is not the name of one host"), origin.clone())
                    .help("add hosts one by one, with a loop"),
            ]);
        };
        let mut problems = Problems::new();
        let known = self.host_index.contains_key(&**name);
        let host = self.ensure_host(name, origin);
        if let Some(port) = named.port {
            let var = InventoryVar { value: port.into(), origin: origin.clone(), trusted: false };
            self.set_host_var(host, "ansible_port", var);
        }
        for (name, var) in vars {
            self.set_host_var(host, &name, var);
        }
        for group in groups {
            let group = self.run_time_group(group, origin, world, &mut problems);
            self.join(host, group);
        }
        if !known {
            self.read_host_files(host, world, &mut problems);
        }
        problems.append(&mut self.settle());
        finish(host, problems)
    }

    /// Puts hosts into a group while a play runs (`group_by`), making the group and its parents where they are new.
    ///
    /// # Errors
    /// A loop of groups, and what is wrong in files that are read for a new group.
    pub fn add_group(
        &mut self,
        name: &str,
        parents: &[&str],
        hosts: &[HostId],
        origin: &Span,
        world: &dyn World,
    ) -> Result<(GroupId, Problems), Problems> {
        let mut problems = Problems::new();
        let group = self.run_time_group(name, origin, world, &mut problems);
        for parent in parents.iter().filter(|parent| **parent != "all") {
            let parent = self.run_time_group(parent, origin, world, &mut problems);
            if let Err(mut found) = self.link(parent, group, origin) {
                problems.append(&mut found);
            }
        }
        hosts.iter().for_each(|host| self.join(*host, group));
        problems.append(&mut self.settle());
        finish(group, problems)
    }

    fn run_time_group(
        &mut self,
        name: &str,
        origin: &Span,
        world: &dyn World,
        problems: &mut Problems,
    ) -> GroupId {
        if let Some(group) = self.group(name) {
            return group;
        }
        let group = self.ensure_group(name, Some(origin));
        self.read_group_files(group, world, problems);
        group
    }
}

fn finish<T>(value: T, problems: Problems) -> Result<(T, Problems), Problems> {
    match problems.iter().any(|problem| problem.severity == Severity::Error) {
        true => Err(problems),
        false => Ok((value, problems)),
    }
}
