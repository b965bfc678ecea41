//! Inventories as programs print them: the JSON of `--list`, with `_meta` or asked host by host.
use super::Inventory;
use super::model::{HostId, InventoryVar};
use crate::diagnostic::{Diagnostic, Problems};
use crate::source::Span;
use crate::yaml::UNSAFE_KEY;
use serde_json::{Map, Value as Json};
use std::collections::HashSet;

/// Answers `--host NAME` with the variables of one host.
pub(super) type AskHost<'a> = dyn FnMut(&str) -> Result<Map<String, Json>, Problems> + 'a;

/// Reads what `--list` printed. All places are `origin`, which names the program or file.
pub(super) fn read(
    list: &Json,
    origin: &Span,
    into: &mut Inventory,
    problems: &mut Problems,
    ask: Option<&mut AskHost<'_>>,
) {
    let Some(list) = list.as_object() else {
        problems.push(bad(origin, "is not an object of groups".to_owned()));
        return;
    };
    let mut reader = Reader { origin, into, problems, hosts: Vec::new() };
    let mut hostvars = None;
    for (name, group) in list {
        if name == "_meta" {
            hostvars = match group.get("hostvars") {
                None => None,
                Some(Json::Object(vars)) => Some(vars),
                Some(_) => {
                    reader.problem("has a `_meta.hostvars` that is not an object");
                    return;
                }
            };
        } else {
            reader.group(name, group);
        }
    }
    match (hostvars, ask) {
        (Some(hostvars), _) => reader.meta(hostvars),
        (None, Some(ask)) => reader.ask(ask),
        (None, None) => {}
    }
}

fn bad(origin: &Span, what: String) -> Diagnostic {
    Diagnostic::error(format!("the inventory that {} gives {what}", origin.source.name), origin.clone())
        .help("see what it prints with `--list`; the shape is `{\"GROUP\": {\"hosts\": [], \"vars\": {}, \"children\": []}, \"_meta\": {\"hostvars\": {}}}`")
}

struct Reader<'a> {
    origin: &'a Span,
    into: &'a mut Inventory,
    problems: &'a mut Problems,
    hosts: Vec<HostId>,
}

impl Reader<'_> {
    fn problem(&mut self, what: impl Into<String>) {
        self.problems.push(bad(self.origin, what.into()));
    }

    fn group(&mut self, name: &str, data: &Json) {
        if name.is_empty() {
            return self.problem("has a group without a name");
        }
        let group = self.into.ensure_group(name, Some(self.origin));
        // The oldest form: a group is the list of its hosts.
        let parts = match data {
            Json::Object(parts) => parts,
            Json::Array(_) => &Map::from_iter([("hosts".to_owned(), data.clone())]),
            _ => return self.problem(format!("has a group `{name}` that is neither an object nor a list")),
        };
        if !parts.is_empty() && !["hosts", "vars", "children"].iter().any(|part| parts.contains_key(*part)) {
            return self.problem(format!("has a group `{name}` without `hosts`, `vars` or `children`"));
        }
        for host in self.names(name, parts, "hosts") {
            let host = self.into.ensure_host(&host, self.origin);
            self.into.join(host, group);
            self.hosts.push(host);
        }
        match parts.get("vars") {
            None | Some(Json::Null) => {}
            Some(Json::Object(vars)) => {
                for (name, value) in vars {
                    let var = self.var(value);
                    if let Err(mut found) = self.into.set_group_var(group, name, var) {
                        self.problems.append(&mut found);
                    }
                }
            }
            Some(_) => self.problem(format!("has `vars` of the group `{name}` that are not an object")),
        }
        for child in self.names(name, parts, "children") {
            let child = self.into.ensure_group(&child, Some(self.origin));
            if let Err(mut found) = self.into.link(group, child, self.origin) {
                self.problems.append(&mut found);
            }
        }
    }

    fn names(&mut self, group: &str, parts: &Map<String, Json>, part: &str) -> Vec<String> {
        let found: Option<Vec<String>> = match parts.get(part) {
            None | Some(Json::Null) => Some(Vec::new()),
            Some(Json::Array(names)) => names
                .iter()
                .map(|name| name.as_str().filter(|name| !name.is_empty()).map(str::to_owned))
                .collect(),
            Some(_) => None,
        };
        found.unwrap_or_else(|| {
            self.problem(format!("has `{part}` of the group `{group}` that are not a list of names"));
            Vec::new()
        })
    }

    fn meta(&mut self, hostvars: &Map<String, Json>) {
        let named: HashSet<HostId> = self.hosts.iter().copied().collect();
        for (name, vars) in hostvars {
            let known = self.into.host_index.get(name.as_str()).copied().filter(|host| named.contains(host));
            match (known, vars) {
                (Some(host), Json::Object(vars)) => self.host_vars(host, vars),
                (Some(_), _) => self.problem(format!("has variables of `{name}` that are not an object")),
                // Ansible passes over variables of hosts that no group names.
                (None, _) => self.problems.push(Diagnostic::warning(
                    format!("{} gives variables for `{name}`, which no group names", self.origin.source.name),
                    self.origin.clone(),
                )),
            }
        }
    }

    fn ask(&mut self, ask: &mut AskHost<'_>) {
        let mut hosts = std::mem::take(&mut self.hosts);
        hosts.sort_unstable();
        hosts.dedup();
        for host in hosts {
            match ask(self.into.host_name(host)) {
                Ok(vars) => self.host_vars(host, &vars),
                Err(mut found) => self.problems.append(&mut found),
            }
        }
    }

    fn host_vars(&mut self, host: HostId, vars: &Map<String, Json>) {
        for (name, value) in vars {
            let var = self.var(value);
            self.into.set_host_var(host, name, var);
        }
    }

    fn var(&self, value: &Json) -> InventoryVar {
        let marked = value.as_object().filter(|map| map.len() == 1).and_then(|map| map.get(UNSAFE_KEY));
        let (value, trusted) = match marked {
            Some(Json::String(_)) => (marked.unwrap_or(value), false),
            _ => (value, true),
        };
        InventoryVar { value: value.clone(), origin: self.origin.clone(), trusted }
    }
}
