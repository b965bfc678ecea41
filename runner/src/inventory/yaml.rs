//! Inventories in the YAML form: groups with `hosts`, `children` and `vars`.
use super::model::{GroupId, InventoryVar};
use super::{Inventory, address};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::source::Span;
use crate::yaml::{Data, Node};

const SECTIONS: [&str; 3] = ["hosts", "children", "vars"];

/// Reads one document into the inventory; every broken part becomes a problem, the others still count.
pub(super) fn read(document: &Node, into: &mut Inventory, problems: &mut Problems) {
    let Data::Map(groups) = &document.data else {
        let problem = match &document.data {
            Data::Null => Diagnostic::error("an empty inventory", document.span.clone()),
            _ => Diagnostic::error(
                format!("a YAML inventory is a mapping of groups, this is {}", document.kind()),
                first_line(&document.span),
            ),
        };
        problems.push(problem.help("begin with `all:`, and under it `hosts:` with one key a host"));
        return;
    };
    if let Some((key, value)) = document.entry("plugin") {
        problems.push(
            Diagnostic::error(
                format!("the inventory plugin `{}` cannot be run here", value.raw()),
                key.span.clone(),
            )
            .help("save what it gives: `ansible-inventory -i FILE --list > hosts.json`, and use that file"),
        );
        return;
    }
    let mut reader = Reader { into, problems };
    for (key, value) in groups {
        let name = key.key_text();
        if SECTIONS.contains(&&*name) {
            reader.problems.push(
                Diagnostic::error(format!("`{name}` stands where a group belongs"), key.span.clone())
                    .help(format!("indent it under `all:`, so that it is the `{name}` of a group")),
            );
            continue;
        }
        reader.group(key, value);
    }
}

struct Reader<'a> {
    into: &'a mut Inventory,
    problems: &'a mut Problems,
}

impl Reader<'_> {
    fn group(&mut self, key: &Node, value: &Node) -> Option<GroupId> {
        let name = self.name(key, "group")?;
        let odd = |c: char| c.is_whitespace() || matches!(c, ':' | ',' | '&' | '!' | '[' | ']' | '*');
        if let Some(odd) = name.chars().find(|c| odd(*c)) {
            self.problems.push(
                Diagnostic::warning(format!("`{odd}` in the group name `{name}`"), key.span.clone())
                    .help("no pattern can name this group; use letters, digits, `-` and `_`"),
            );
        }
        let group = self.into.ensure_group(name, Some(&key.span));
        match &value.data {
            Data::Null => {}
            Data::Map(sections) => {
                for (section, content) in sections {
                    self.section(group, name, section, content);
                }
            }
            _ => self.problems.push(
                Diagnostic::error(
                    format!("the group `{name}` is {}, not a mapping", value.kind()),
                    value.span.clone(),
                )
                .help("a group has `hosts`, `children` and `vars`, each a mapping"),
            ),
        }
        Some(group)
    }

    fn section(&mut self, group: GroupId, of: &str, key: &Node, content: &Node) {
        let section = key.key_text();
        if !SECTIONS.contains(&&*section) {
            let help = match did_you_mean(&section, SECTIONS) {
                Some(near) => format!("did you mean `{near}`?"),
                None if matches!(content.data, Data::Map(_) | Data::Null) => {
                    format!("if `{section}` is a group, put it under `children:`; a host goes under `hosts:`")
                }
                None => format!("if `{section}` is a variable, put it under `vars:`"),
            };
            self.problems.push(
                Diagnostic::error(format!("the group `{of}` cannot hold `{section}`"), key.span.clone())
                    .help(help),
            );
            return;
        }
        let one;
        let entries: &[(Node, Node)] = match &content.data {
            Data::Null => &[],
            Data::Map(entries) => entries,
            // As Ansible has it: `hosts: web1` is one host without variables.
            Data::Str(_) if section != "vars" => {
                one = [(content.clone(), Node { data: Data::Null, span: content.span.clone(), tag: None })];
                &one
            }
            _ => {
                self.problems.push(
                    Diagnostic::error(
                        format!("`{section}` of the group `{of}` is {}, not a mapping", content.kind()),
                        first_line(&content.span),
                    )
                    .help(match &*section {
                        "vars" => "write each as `name: value`",
                        _ => "write each as a key with a colon, without the `-`: `name:`",
                    }),
                );
                return;
            }
        };
        for (key, value) in entries {
            match &*section {
                "vars" => self.group_var(group, key, value),
                "children" => self.child(group, key, value),
                _ => self.hosts(group, key, value),
            }
        }
    }

    fn name<'n>(&mut self, key: &'n Node, what: &str) -> Option<&'n str> {
        match key.as_str() {
            Some("") => {
                self.problems.push(Diagnostic::error(format!("a {what} without a name"), key.span.clone()));
                None
            }
            Some(name) => Some(name),
            None => {
                self.problems.push(
                    Diagnostic::error(
                        format!("the name of a {what} is text, this is {}", key.kind()),
                        key.span.clone(),
                    )
                    .help(format!("put it in quotes: `\"{}\":`", key.raw())),
                );
                None
            }
        }
    }

    fn group_var(&mut self, group: GroupId, key: &Node, value: &Node) {
        let name = key.key_text();
        if let Some(problem) = super::check_variable_name(&name, &key.span) {
            self.problems.push(problem);
        }
        if let Err(mut found) = self.into.set_group_var(group, &name, variable(value)) {
            self.problems.append(&mut found);
        }
    }

    fn child(&mut self, parent: GroupId, key: &Node, value: &Node) {
        let Some(child) = self.group(key, value) else { return };
        if let Err(mut found) = self.into.link(parent, child, &key.span) {
            self.problems.append(&mut found);
        }
    }

    fn hosts(&mut self, group: GroupId, key: &Node, value: &Node) {
        let Some(entry) = self.name(key, "host") else { return };
        let named = match address::parse(entry) {
            Ok(named) => named,
            Err(bad) => {
                self.problems.push(Diagnostic::error(bad.message, key.span.clone()).help(bad.help));
                return;
            }
        };
        if let Some(odd) = named.names.first().and_then(|name| address::odd_character(name)) {
            self.problems.push(super::odd_host_name(entry, odd, &key.span));
        }
        let vars: &[(Node, Node)] = match &value.data {
            Data::Null => &[],
            Data::Map(vars) => vars,
            _ => {
                self.problems.push(
                    Diagnostic::error(
                        format!("the host `{entry}` is {}, not a mapping of variables", value.kind()),
                        first_line(&value.span),
                    )
                    .help("write each variable under it as `name: value`, or nothing after the colon"),
                );
                return;
            }
        };
        for (key, _) in vars {
            if let Some(problem) = super::check_variable_name(&key.key_text(), &key.span) {
                self.problems.push(problem);
            }
        }
        for name in &named.names {
            let host = self.into.ensure_host(name, &key.span);
            self.into.join(host, group);
            if let Some(port) = named.port {
                let var = InventoryVar { value: port.into(), origin: key.span.clone(), trusted: true };
                self.into.set_host_var(host, "ansible_port", var);
            }
            for (name, value) in vars {
                let var = variable(value);
                self.problems.extend(self.into.set_otherwise(host, &name.key_text(), &var));
                self.into.set_host_var(host, &name.key_text(), var);
            }
        }
    }
}

/// The value of a node as a variable.
pub(super) fn variable(node: &Node) -> InventoryVar {
    let origin = node.span.clone();
    match &node.data {
        Data::Str(text) if node.tag.as_deref() == Some("!unsafe") => {
            InventoryVar { value: text.clone().into(), origin, trusted: false }
        }
        _ => InventoryVar { value: node.to_json(), origin, trusted: true },
    }
}

/// A span cut to its first line, so that a message does not mark half a file.
pub(super) fn first_line(span: &Span) -> Span {
    let text = span.text();
    let end = text.find('\n').unwrap_or(text.len());
    Span::new(&span.source, span.start, span.start + end)
}
