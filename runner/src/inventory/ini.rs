//! Inventories in the INI form: sections of hosts, of child groups and of variables.
use super::model::{GroupId, HostId, InventoryVar, Name};
use super::{Inventory, address, literal, words};
use crate::diagnostic::{Diagnostic, Problems, did_you_mean};
use crate::source::{Source, Span};
use indexmap::IndexMap;
use std::collections::HashMap;
use std::sync::Arc;

/// Reads one file into the inventory; every broken line becomes a problem, the others still count.
pub(super) fn read(source: &Arc<Source>, into: &mut Inventory, problems: &mut Problems) {
    let mut reader = Reader {
        source,
        into,
        problems,
        section: Section::Hosts(GroupId::UNGROUPED),
        section_hosts: HashMap::new(),
        awaited: IndexMap::new(),
        undeclared: IndexMap::new(),
        set_here: HashMap::new(),
    };
    let mut start = 0;
    for line in source.text.split_inclusive('\n') {
        let trimmed = line.trim();
        if !trimmed.is_empty() && !trimmed.starts_with(['#', ';']) {
            let indent = line.len() - line.trim_start().len();
            reader.line(trimmed, start + indent);
        }
        start += line.len();
    }
    reader.finish();
}

/// What the lines below a header are.
#[derive(Clone, Copy)]
enum Section {
    Hosts(GroupId),
    Children(GroupId),
    Vars(GroupId),
    /// Below a broken header: nothing can be said about these lines.
    Skipped,
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    into: &'a mut Inventory,
    problems: &'a mut Problems,
    section: Section,
    /// Hosts already named by the present section, with the place.
    section_hosts: HashMap<HostId, usize>,
    /// Children whose own section has not come yet, with the parents that want them.
    awaited: IndexMap<Name, Vec<(GroupId, Span)>>,
    /// Groups that only a `:vars` section has named.
    undeclared: IndexMap<Name, Span>,
    /// Group variables that this file has set, with the place.
    set_here: HashMap<(GroupId, Name), Span>,
}

impl Reader<'_> {
    fn span(&self, start: usize, len: usize) -> Span {
        Span::new(self.source, start, start + len)
    }

    fn line(&mut self, line: &str, start: usize) {
        if line.starts_with('[') && !is_bracketed_host(line) {
            self.header(line, start);
            return;
        }
        match self.section {
            Section::Hosts(group) => self.host_line(line, start, group),
            Section::Children(group) => self.child_line(line, start, group),
            Section::Vars(group) => self.vars_line(line, start, group),
            Section::Skipped => {}
        }
    }

    fn header(&mut self, line: &str, start: usize) {
        match parse_header(line) {
            Ok((name, kind)) => {
                let span = self.span(start + 1, name.len());
                self.section_hosts.clear();
                self.section = match kind {
                    "" | "hosts" => Section::Hosts(self.declare(name, &span)),
                    "children" => Section::Children(self.declare(name, &span)),
                    "vars" => Section::Vars(self.vars_of(name, &span)),
                    other => {
                        let span = self.span(start + 1 + name.len() + 1, other.len());
                        let help = did_you_mean(other, ["hosts", "children", "vars"]).map_or_else(
                            || "a section is `[group]`, `[group:children]` or `[group:vars]`".to_owned(),
                            |near| format!("did you mean `[{name}:{near}]`?"),
                        );
                        self.problems.push(
                            Diagnostic::error(format!("a section cannot hold `{other}`"), span).help(help),
                        );
                        Section::Skipped
                    }
                };
            }
            Err(why) => {
                self.problems.push(
                    Diagnostic::error(format!("not a section header: {why}"), self.span(start, line.len()))
                        .help("a header is `[group]`, `[group:children]` or `[group:vars]`, without blanks"),
                );
                self.section = Section::Skipped;
            }
        }
    }

    /// A group that `[name]` or `[name:children]` declares; parents that waited for it get it now.
    fn declare(&mut self, name: &str, span: &Span) -> GroupId {
        let group = self.into.ensure_group(name, Some(span));
        self.undeclared.shift_remove(name);
        if let Some(parents) = self.awaited.shift_remove(name) {
            for (parent, span) in parents {
                self.link(parent, group, &span);
            }
        }
        group
    }

    fn vars_of(&mut self, name: &str, span: &Span) -> GroupId {
        if self.into.group(name).is_none() && !self.awaited.contains_key(name) {
            let name = self.into.intern(name);
            self.undeclared.insert(name, span.clone());
        }
        self.into.ensure_group(name, Some(span))
    }

    fn link(&mut self, parent: GroupId, child: GroupId, span: &Span) {
        if let Err(mut found) = self.into.link(parent, child, span) {
            self.problems.append(&mut found);
        }
    }

    fn child_line(&mut self, line: &str, start: usize, parent: GroupId) {
        let name = line.split('#').next().unwrap_or("").trim_end();
        let span = self.span(start, name.len());
        if name.is_empty() || name.contains([':', ']', ' ', '\t', '=']) {
            let of = self.into.group_name(parent).to_owned();
            self.problems.push(
                Diagnostic::error(format!("`{name}` is not a group name"), span)
                    .help(format!("`[{of}:children]` lists groups, one a line, without variables")),
            );
            return;
        }
        let declared = self.into.group(name).filter(|_| !self.undeclared.contains_key(name));
        match declared {
            Some(child) if !self.awaited.contains_key(name) => self.link(parent, child, &span),
            _ => {
                let name = self.into.intern(name);
                self.awaited.entry(name).or_default().push((parent, span));
            }
        }
    }

    fn vars_line(&mut self, line: &str, start: usize, group: GroupId) {
        let of = self.into.group_name(group).to_owned();
        let Some((left, right)) = line.split_once('=') else {
            self.problems.push(
                Diagnostic::error(
                    format!("a variable without a value: `{line}`"),
                    self.span(start, line.len()),
                )
                .help(format!("write `name=value`; `[{of}:vars]` lists variables of `{of}`")),
            );
            return;
        };
        let name = left.trim_end();
        let span = self.span(start, name.len());
        if name.is_empty() {
            self.problems.push(Diagnostic::error("a value without a name", span).help("write `name=value`"));
            return;
        }
        self.check_name(name, &span);
        let value = right.trim_start();
        let origin = self.span(start + line.len() - value.len(), value.len());
        let key = (group, self.into.intern(name));
        if let Some(first) = self.set_here.get(&key) {
            self.problems.push(
                Diagnostic::error(format!("`{name}` of group `{of}` is set twice"), span)
                    .note(format!("first at {first}"))
                    .help("keep one of the two"),
            );
            return;
        }
        self.set_here.insert(key, span);
        let var = InventoryVar { value: literal::value(value), origin, trusted: true };
        if let (Some(at), true) = (value.find(" #"), var.value.is_string() && !value.starts_with(['\'', '"']))
        {
            let place = self.span(start + line.len() - value.len() + at + 1, value.len() - at - 1);
            self.problems.push(
                Diagnostic::warning(format!("this is part of the value of `{name}`, not a comment"), place)
                    .help("put the comment on a line of its own, or the value in quotes"),
            );
        }
        if let Err(mut found) = self.into.set_group_var(group, name, var) {
            self.problems.append(&mut found);
        }
    }

    fn check_name(&mut self, name: &str, span: &Span) {
        if let Some(problem) = super::check_variable_name(name, span) {
            self.problems.push(problem);
        }
    }

    fn host_line(&mut self, line: &str, start: usize, group: GroupId) {
        let found = match words::split(line) {
            Ok(found) => found,
            Err(open) => {
                let (what, help) = match open.mark {
                    '\\' => ("a backslash with nothing after it", "remove it, or write two"),
                    '"' => ("a double quote that nothing closes", "close it on the same line"),
                    _ => ("a single quote that nothing closes", "close it, or write it as `\\'`"),
                };
                let span = self.span(start + open.at, 1);
                self.problems.push(Diagnostic::error(what, span).label("opened here").help(help));
                return;
            }
        };
        let Some((entry, settings)) = found.words.split_first() else { return };
        if let Some(at) = found.glued_comment {
            self.problems.push(
                Diagnostic::warning("`#` begins a comment here", self.span(start + at, line.len() - at))
                    .help("put the value in quotes if the `#` belongs to it, else a blank before it"),
            );
        }
        let span = self.span(start + entry.start, entry.end - entry.start);
        if entry.text.contains('=') {
            let of = self.into.group_name(group).to_owned();
            self.problems.push(
                Diagnostic::error(format!("`{}` stands where a host belongs", entry.text), span)
                    .label("a variable?")
                    .help(format!("begin a section `[{of}:vars]` before it, or name the host first")),
            );
            return;
        }
        let named = match address::parse(&entry.text) {
            Ok(named) => named,
            Err(bad) => {
                self.problems.push(Diagnostic::error(bad.message, span).help(bad.help));
                return;
            }
        };
        if let Some(odd) = named.names.first().and_then(|name| address::odd_character(name)) {
            self.problems.push(super::odd_host_name(&entry.text, odd, &span));
        }
        let vars = self.settings(settings, start);
        self.add_hosts(&named, group, &span, &vars);
    }

    /// The `name=value` words after a host.
    fn settings<'w>(&mut self, found: &'w [words::Word<'w>], start: usize) -> Vec<(&'w str, InventoryVar)> {
        let mut vars: Vec<(&str, InventoryVar)> = Vec::with_capacity(found.len());
        for word in found {
            let span = self.span(start + word.start, word.end - word.start);
            let Some((name, value)) = word.text.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                let problem =
                    Diagnostic::error(format!("`{}` is not a `name=value` setting", word.text), span);
                self.problems.push(if word.text.starts_with(';') {
                    problem.help("after a host only `#` begins a comment")
                } else {
                    problem.help("write one host a line, its settings after it; quote values with blanks")
                });
                continue;
            };
            if let Some((_, first)) = vars.iter().find(|(known, _)| *known == name) {
                let problem = Diagnostic::error(format!("`{name}` is set twice for this host"), span)
                    .note(format!("first at {}", first.origin))
                    .help("keep one of the two");
                self.problems.push(problem);
                continue;
            }
            self.check_name(name, &span);
            vars.push((name, InventoryVar { value: literal::value(value), origin: span, trusted: true }));
        }
        vars
    }

    fn add_hosts(
        &mut self,
        named: &address::Named<'_>,
        group: GroupId,
        span: &Span,
        vars: &[(&str, InventoryVar)],
    ) {
        for name in &named.names {
            let host = self.into.ensure_host(name, span);
            if let Some(first) = self.section_hosts.insert(host, span.start) {
                let first = self.span(first, 0);
                self.problems.push(
                    Diagnostic::warning(
                        format!("host `{name}` is listed twice in one section"),
                        span.clone(),
                    )
                    .note(format!("first at {first}"))
                    .help("keep one of the two"),
                );
            }
            self.into.join(host, group);
            if let Some(port) = named.port {
                let var = InventoryVar { value: port.into(), origin: span.clone(), trusted: true };
                self.into.set_host_var(host, "ansible_port", var);
            }
            for (name, var) in vars {
                self.problems.extend(self.into.set_otherwise(host, name, var));
                self.into.set_host_var(host, name, var.clone());
            }
        }
    }

    fn finish(self) {
        let Self { into, problems, mut awaited, mut undeclared, .. } = self;
        let declared: Vec<String> = into
            .groups()
            .map(|(name, _)| name.to_owned())
            .filter(|name| !undeclared.contains_key(name.as_str()))
            .collect();
        let near = |name: &str, span: &Span| match did_you_mean(name, declared.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it in {} by a section `[{name}]`, even an empty one", span.source.name),
        };
        for (name, wanted) in awaited.drain(..) {
            for (parent, span) in wanted {
                let parent = into.group_name(parent);
                problems.push(
                    Diagnostic::error(
                        format!("`[{parent}:children]` names the group `{name}`, which is not defined"),
                        span.clone(),
                    )
                    .help(near(&name, &span)),
                );
            }
        }
        for (name, span) in undeclared.drain(..) {
            problems.push(
                Diagnostic::error(
                    format!("variables for the group `{name}`, which is not defined"),
                    span.clone(),
                )
                .help(near(&name, &span)),
            );
        }
    }
}

/// `[::1]:22` and `[a:c]-osd` begin with a bracket and are hosts.
fn is_bracketed_host(line: &str) -> bool {
    let Some((inner, after)) = line[1..].split_once(']') else { return false };
    address::is_ipv6(inner)
        || (inner.contains(':') && after.starts_with(|c: char| !c.is_whitespace() && c != '#'))
}

/// The group and the kind of a header, or what is wrong with it.
fn parse_header(line: &str) -> Result<(&str, &str), String> {
    let Some((inner, after)) = line[1..].split_once(']') else {
        return Err("the `]` is missing".to_owned());
    };
    let after = after.trim_start();
    if !after.is_empty() && !after.starts_with('#') {
        return Err(format!("`{after}` after the `]`"));
    }
    if inner.contains(char::is_whitespace) {
        return Err("there is a blank in it".to_owned());
    }
    let (name, kind) = match inner.split_once(':') {
        Some((_, "")) => return Err("nothing after the `:`".to_owned()),
        Some((_, kind)) if kind.contains(':') => return Err("there are two `:` in it".to_owned()),
        Some(parts) => parts,
        None => (inner, ""),
    };
    if name.is_empty() {
        return Err("the group has no name".to_owned());
    }
    Ok((name, kind))
}
