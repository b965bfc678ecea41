//! Variables, handlers and roles of a document and of the files around it, with the places where they are set.
use super::outline::{Line, bare, outline};
use super::place::{Kind, kind};
use crate::playbook::{Files, files};
use std::ops::Range;

/// How many files are looked through for one answer.
const MOST_FILES: usize = 400;
/// Files longer than this are left out.
const LONGEST: usize = 1 << 20;

/// A name with the place where it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// The name.
    pub name: String,
    /// The file.
    pub path: String,
    /// The bytes of the name in it.
    pub range: Range<usize>,
    /// By what: `register`, `set_fact`, `vars`, or the file's kind.
    pub by: String,
}

/// Texts around a document, read once for an answer.
pub struct Around<'a> {
    files: &'a dyn Files,
    /// The document, and what it names.
    texts: Vec<(String, String)>,
}

impl<'a> Around<'a> {
    /// The document at a path and the files that may set what it names.
    pub fn of(files: &'a dyn Files, path: &str, text: &str) -> Self {
        let mut around = Self { files, texts: vec![(path.to_owned(), text.to_owned())] };
        let root = playbook_folder(path);
        if let Some(role) = role_folder(path) {
            for part in ["defaults", "vars", "tasks", "handlers"] {
                around.folder(&files::join(&role, part), 1);
            }
        }
        around.named(path, text, &root);
        for folder in ["group_vars", "host_vars"] {
            around.folder(&files::join(&root, folder), 2);
        }
        for inventories in [files::join(&root, "inventories"), files::join(&root, "../inventories")] {
            around.folder(&inventories, 4);
        }
        for name in files.list(&root).unwrap_or_default() {
            if name.starts_with("hosts") || name.starts_with("inventory") {
                around.add(&files::join(&root, &name));
            }
        }
        around
    }

    fn add(&mut self, path: &str) {
        if self.texts.len() >= MOST_FILES || self.texts.iter().any(|(known, _)| known == path) {
            return;
        }
        if let Ok(text) = self.files.read(path)
            && text.len() <= LONGEST
        {
            self.texts.push((path.to_owned(), text));
        }
    }

    fn folder(&mut self, folder: &str, depth: usize) {
        for name in self.files.list(folder).unwrap_or_default() {
            let path = files::join(folder, &name);
            if self.files.is_file(&path) {
                self.add(&path);
            } else if depth > 1 && self.texts.len() < MOST_FILES {
                self.folder(&path, depth - 1);
            }
        }
    }

    /// What a document names: files of variables and tasks, roles. Of those, one level on.
    fn named(&mut self, path: &str, text: &str, root: &str) {
        let beside = files::folder(path);
        for (key, word) in mentions(text) {
            match key.rsplit('.').next().unwrap_or(&key) {
                "vars_files" | "include_vars" | "import_tasks" | "include_tasks" | "import_playbook"
                | "file" => {
                    for folder in [beside.as_str(), root] {
                        self.add(&files::join(folder, &word));
                    }
                }
                "roles" | "role" | "import_role" | "include_role" | "name" => {
                    let role = files::join(root, &format!("roles/{word}"));
                    if self.files.is_folder(&role) {
                        for part in ["defaults", "vars", "handlers", "tasks"] {
                            self.folder(&files::join(&role, part), 1);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// The variables that are set anywhere.
    pub fn variables(&self) -> Vec<Set> {
        self.texts.iter().flat_map(|(path, text)| variables(path, text)).collect()
    }

    /// The handlers: by name and by what they listen to.
    pub fn handlers(&self) -> Vec<Set> {
        self.texts.iter().flat_map(|(path, text)| handlers(path, text)).collect()
    }
}

/// The folder that a role lies in, of a file in a role.
pub fn role_folder(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    let at = parts.iter().rposition(|part| *part == "roles")?;
    (parts.len() > at + 3).then(|| parts[..at + 2].join("/"))
}

/// The folder of the playbook that a document belongs to: above `roles/`, `group_vars/`, `tasks/` and their kin.
pub fn playbook_folder(path: &str) -> String {
    const INNER: [&str; 9] = [
        "roles",
        "group_vars",
        "host_vars",
        "tasks",
        "handlers",
        "vars",
        "templates",
        "defaults",
        "inventories",
    ];
    let parts: Vec<&str> = path.split('/').collect();
    let inner = parts[..parts.len().saturating_sub(1)].iter().position(|part| INNER.contains(part));
    match inner {
        Some(at) if at > 0 => parts[..at].join("/"),
        _ => files::folder(path),
    }
}

/// Keys with the words of their values, lists in one line or below each other taken apart.
fn mentions(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut owner: Option<(String, usize)> = None;
    for line in outline(text) {
        let value = line.value(text);
        match line.key(text) {
            Some(key) if value.is_empty() => owner = Some((key.to_owned(), line.column)),
            Some(key) => {
                for word in value.trim_matches(['[', ']', '{', '}']).split(',') {
                    let word = word.rsplit_once(": ").map_or(word, |(_, word)| word);
                    found.push((key.to_owned(), bare(word).to_owned()));
                }
            }
            None if !line.dashes.is_empty() => {
                if let Some((key, column)) = &owner
                    && line.column > *column
                {
                    found.push((key.clone(), value.to_owned()));
                }
            }
            None => {}
        }
    }
    found
}

fn is_name(word: &str) -> bool {
    let mut signs = word.chars();
    signs.next().is_some_and(|first| first.is_alphabetic() || first == '_')
        && signs.all(|sign| sign.is_alphanumeric() || sign == '_')
}

/// The variables that a text sets.
fn variables(path: &str, text: &str) -> Vec<Set> {
    let lines = outline(text);
    let kind = kind(path, text);
    let mut found = Vec::new();
    let mut push = |name: &str, range: Range<usize>, by: &str| {
        if is_name(name) {
            found.push(Set { name: name.to_owned(), path: path.to_owned(), range, by: by.to_owned() });
        }
    };
    if kind == Kind::Ini {
        ini(text, &mut push);
        return found;
    }
    for (at, line) in lines.iter().enumerate() {
        let Some(key) = line.key(text) else { continue };
        if kind == Kind::Vars && line.column == 0 && line.dashes.is_empty() {
            push(key, line.key.clone().unwrap_or_default(), place_of(path));
            continue;
        }
        match key.rsplit('.').next().unwrap_or(key) {
            by @ ("register" | "loop_var" | "index_var") => push(line.value(text), inner(text, line), by),
            by @ ("vars" | "set_fact" | "vars_prompt") => {
                if line.value(text).is_empty() {
                    children(text, &lines[at + 1..], line, by, &mut push);
                } else {
                    flow_keys(text, line.value.clone(), |name, range| push(name, range, by));
                }
            }
            _ if kind == Kind::Inventory => {
                let is_host = lines[..at].iter().rev().find(|above| above.column < line.column);
                if is_host.is_some_and(|above| above.key(text) == Some("hosts")) {
                    children(text, &lines[at + 1..], line, "host", &mut push);
                    flow_keys(text, line.value.clone(), |name, range| push(name, range, "host"));
                }
            }
            _ => {}
        }
    }
    found
}

/// The keys right below a line; of prompts their names.
fn children(
    text: &str,
    below: &[Line],
    line: &Line,
    by: &str,
    push: &mut impl FnMut(&str, Range<usize>, &str),
) {
    let mut column = None;
    for child in below {
        let left = child.dashes.first().copied().unwrap_or(child.column);
        if left < line.column || (left == line.column && child.dashes.is_empty()) {
            return;
        }
        let column = *column.get_or_insert(child.column);
        if child.column != column {
            continue;
        }
        let Some(key) = child.key(text) else { continue };
        if by == "vars_prompt" {
            if key == "name" {
                push(child.value(text), inner(text, child), by);
            }
        } else {
            push(key, child.key.clone().unwrap_or_default(), by);
        }
    }
}

/// The keys of `{a: 1, b: 2}`, or of `a=1 b=2`.
fn flow_keys(text: &str, range: Range<usize>, mut push: impl FnMut(&str, Range<usize>)) {
    let value = &text[range.clone()];
    let Some(inside) = value.trim_start().strip_prefix('{') else {
        for word in value.split_whitespace() {
            if let Some((name, _)) = word.split_once('=') {
                let start = range.start + (word.as_ptr() as usize - value.as_ptr() as usize);
                push(name, start..start + name.len());
            }
        }
        return;
    };
    let base = range.end - inside.len();
    let (mut depth, mut from) = (0_i32, 0);
    for (at, sign) in inside.char_indices() {
        match sign {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 0 => from = at + 1,
            ':' if depth == 0 && inside[at + 1..].starts_with(' ') => {
                let name = inside.get(from..at).unwrap_or_default();
                let start = base + from + name.len() - name.trim_start().len();
                push(name.trim(), start..start + name.trim().len());
                from = inside.len();
            }
            _ => {}
        }
    }
}

fn ini(text: &str, push: &mut impl FnMut(&str, Range<usize>, &str)) {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.split('#').next().unwrap_or(line);
        let mut from = 0;
        while let Some(equals) = content[from..].find('=') {
            let before = &content[from..from + equals];
            let name = before.trim_end().rsplit([' ', '\t']).next().unwrap_or_default();
            let end = start + from + before.trim_end().len();
            push(name, end - name.len()..end, "inventory");
            from += equals + 1;
        }
        start += line.len();
    }
}

/// The bytes of a value without its quotes.
pub fn inner(text: &str, line: &Line) -> Range<usize> {
    let value = line.value(text);
    let start = text[line.value.clone()].find(value).unwrap_or(0) + line.value.start;
    start..start + value.len()
}

fn place_of(path: &str) -> &'static str {
    let within = |folder: &str| path.contains(&format!("/{folder}/"));
    ["group_vars", "host_vars", "defaults"].into_iter().find(|folder| within(folder)).unwrap_or("vars")
}

/// The handlers of a text: tasks below `handlers:`, or all of a file of handlers.
fn handlers(path: &str, text: &str) -> Vec<Set> {
    let all = path.contains("/handlers/");
    let mut inside: Option<usize> = None;
    let mut found = Vec::new();
    for line in outline(text) {
        let left = line.dashes.first().copied().unwrap_or(line.column);
        if inside.is_some_and(|column| left < column || (left == column && line.dashes.is_empty())) {
            inside = None;
        }
        match line.key(text) {
            Some("handlers") if line.value(text).is_empty() => inside = Some(line.column),
            Some(by @ ("name" | "listen")) if all || inside.is_some() => found.push(Set {
                name: line.value(text).to_owned(),
                path: path.to_owned(),
                range: inner(text, &line),
                by: by.to_owned(),
            }),
            _ => {}
        }
    }
    found.retain(|handler| !handler.name.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::playbook::Memory;

    #[test]
    fn names_are_found_where_they_are_set() {
        let site = "- hosts: all\n  vars:\n    a: {inner: 1}\n    b: 2\n  vars_prompt:\n    - name: asked\n  roles: [tuning]\n  tasks:\n    - set_fact: {c: 1, d: {e: 2}}\n    - set_fact:\n        f: 1\n    - command: x\n      register: out\n  handlers:\n    - name: restart it\n      listen: daemons\n";
        let memory = Memory::new([
            ("/p/site.yaml", site),
            ("/p/roles/tuning/defaults/main.yaml", "swappiness: 1\n"),
            ("/p/roles/tuning/tasks/main.yaml", "- debug:\n"),
            ("/p/group_vars/all.yaml", "g: 1\nh:\n  inner: 2\n"),
            (
                "/p/inventories/prod.yaml",
                "all:\n  vars: {i: 1}\n  hosts:\n    osd1:\n      j: 1\n    osd2: {k: 2}\n",
            ),
            ("/p/hosts.ini", "[osds]\nosd1 l=1 m=2\n"),
        ]);
        let around = Around::of(&memory, "/p/site.yaml", site);
        let mut names: Vec<String> = around.variables().into_iter().map(|set| set.name).collect();
        names.sort();
        assert_eq!(
            names,
            ["a", "asked", "b", "c", "d", "f", "g", "h", "i", "j", "k", "l", "m", "out", "swappiness"]
        );
        let handlers: Vec<String> = around.handlers().into_iter().map(|set| set.name).collect();
        assert_eq!(handlers, ["restart it", "daemons"]);
        let set = around.variables().into_iter().find(|set| set.name == "d").unwrap();
        assert_eq!(&site[set.range], "d");
    }

    #[test]
    fn folders_of_documents() {
        assert_eq!(playbook_folder("/p/roles/tuning/tasks/main.yaml"), "/p");
        assert_eq!(playbook_folder("/p/site.yaml"), "/p");
        assert_eq!(role_folder("/p/roles/tuning/tasks/main.yaml").as_deref(), Some("/p/roles/tuning"));
        assert_eq!(role_folder("/p/site.yaml"), None);
    }
}
