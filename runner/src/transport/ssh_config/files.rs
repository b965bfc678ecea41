//! ssh_config files with their includes, and the settings that they give a host.
use super::line::{self, Line};
use super::matching::{Criteria, Subject};
use super::{NeedsSshG, Settings, keywords};
use crate::transport::known_hosts::pattern;
use std::path::{Path, PathBuf};

/// OpenSSH's own limit.
const DEPTH: usize = 16;

/// Parsed files, the user's before the machine's.
#[derive(Clone, Debug, Default)]
pub struct SshConfig {
    items: Vec<Item>,
}

#[derive(Clone, Debug)]
enum Item {
    Host(Vec<String>),
    Match(Criteria),
    /// A `Match` that only ssh can judge, or something else that we do not understand, with its place.
    Unclear(String),
    Set(Line, String),
    Included(Vec<Item>),
}

impl SshConfig {
    /// Reads the user's file (or the one of `-F`) and then the machine's. Files that are not there are empty.
    pub fn read(user: Option<&Path>, machine: Option<&Path>, home: &Path) -> Self {
        let mut items = Vec::new();
        for (path, folder) in [(user, home.join(".ssh")), (machine, PathBuf::from("/etc/ssh"))] {
            if let Some(path) = path {
                items.push(Item::Included(read_file(path, &folder, home, 0)));
            }
        }
        Self { items }
    }

    /// The settings for a host as the user names it, added to those of the command line. `local_user` is the user's
    /// name here.
    pub fn lookup(&self, host: &str, local_user: &str, given: &Settings) -> Result<Settings, NeedsSshG> {
        let mut settings = given.clone();
        let mut subject = Subject { host, local_user, last: false };
        if walk(&self.items, &subject, true, &mut settings)? {
            subject.last = true;
            walk(&self.items, &subject, true, &mut settings)?;
        }
        Ok(settings)
    }
}

/// Every `Host` line decides anew for what follows it; what an included file decides ends with it.
/// True if there is something that counts only when all is read a second time.
fn walk(
    items: &[Item],
    subject: &Subject<'_>,
    reached: bool,
    settings: &mut Settings,
) -> Result<bool, NeedsSshG> {
    let mut active = reached;
    let mut again = false;
    for item in items {
        match item {
            Item::Host(patterns) => {
                active = reached && pattern::list_matches(patterns.iter().map(String::as_str), subject.host);
            }
            Item::Match(criteria) => {
                again |= reached && criteria.is_final();
                active = reached && criteria.hold(subject, settings);
            }
            Item::Unclear(why) if reached => return Err(NeedsSshG { why: why.clone() }),
            Item::Unclear(_) => active = false,
            Item::Included(items) => again |= walk(items, subject, active, settings)?,
            Item::Set(line, place) if active => set(line, place, settings)?,
            Item::Set(..) => {}
        }
    }
    Ok(again)
}

fn set(line: &Line, place: &str, settings: &mut Settings) -> Result<(), NeedsSshG> {
    let keyword = line.keyword.as_str();
    if !keywords::is_known(keyword) {
        return Err(NeedsSshG { why: format!("{place}: `{keyword}` is not a keyword that is known here") });
    }
    let value = match keyword {
        "proxycommand" => line.raw.clone(),
        _ => line.arguments.join(" "),
    };
    if keyword == "canonicalizehostname" && value != "no" {
        return Err(NeedsSshG { why: format!("{place}: host names are made canonical") });
    }
    if value.contains("${") {
        return Err(NeedsSshG { why: format!("{place}: `{value}` names a variable of the environment") });
    }
    settings.add(keyword, value);
    Ok(())
}

fn read_file(path: &Path, folder: &Path, home: &Path, depth: usize) -> Vec<Item> {
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => return vec![Item::Unclear(format!("{}: {error}", path.display()))],
    };
    parse(&text, &path.display().to_string(), &mut |argument| {
        if depth >= DEPTH {
            return vec![Item::Unclear(format!("{}: includes go too deep", path.display()))];
        }
        let wanted = match argument.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None => folder.join(argument),
        };
        glob(&wanted).iter().map(|path| Item::Included(read_file(path, folder, home, depth + 1))).collect()
    })
}

/// Parses a text; `include` gives the items of an argument of `Include`.
fn parse(text: &str, file: &str, include: &mut dyn FnMut(&str) -> Vec<Item>) -> Vec<Item> {
    let mut items = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let place = format!("{file}:{}", index + 1);
        let line = match line::parse(text) {
            Ok(None) => continue,
            Ok(Some(line)) => line,
            Err(why) => {
                items.push(Item::Unclear(format!("{place}: {why}")));
                continue;
            }
        };
        match line.keyword.as_str() {
            "host" => items.push(Item::Host(line.arguments)),
            "match" => items.push(match Criteria::parse(&line.arguments) {
                Some(criteria) => Item::Match(criteria),
                None => Item::Unclear(format!("{place}: `Match {}`", line.raw)),
            }),
            "include" => {
                let included = line.arguments.iter().flat_map(|argument| include(argument)).collect();
                items.push(Item::Included(included));
            }
            _ => items.push(Item::Set(line, place)),
        }
    }
    items
}

#[cfg(test)]
impl SshConfig {
    /// From a text without includes.
    pub(super) fn from_text(text: &str) -> Self {
        Self { items: parse(text, "config", &mut |_| Vec::new()) }
    }
}

/// The paths that a pattern names, sorted.
fn glob(wanted: &Path) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in wanted.components() {
        let std::path::Component::Normal(part) = part else { continue };
        let name = part.to_string_lossy();
        if !name.contains(['*', '?']) {
            found = found.into_iter().map(|path| path.join(part)).collect();
            continue;
        }
        let mut next = Vec::new();
        for entry in found.iter().filter_map(|path| std::fs::read_dir(path).ok()).flatten().flatten() {
            let entry_name = entry.file_name();
            let entry_name = entry_name.to_string_lossy();
            // As in any glob, a hidden name must be asked for.
            if pattern::matches(&name, &entry_name) && (!entry_name.starts_with('.') || name.starts_with('.'))
            {
                next.push(entry.path());
            }
        }
        next.sort();
        found = next;
    }
    found
}
