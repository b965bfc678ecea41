//! Which tasks a run takes: `--tags`, `--skip-tags`, `--start-at-task`, and the lists of tasks and tags.
use std::sync::Arc;

use super::tree::{Item, Play, Playbook, Task, TaskId};

/// The tags that a run takes and leaves out, by Ansible's rules for `always`, `never`, `tagged`, `untagged`, `all`.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// `--tags`; empty means all.
    pub only: Vec<String>,
    /// `--skip-tags`.
    pub skip: Vec<String>,
}

impl Selection {
    /// From the command line's words, each of which may hold several tags with commas between.
    pub fn new(only: &[String], skip: &[String]) -> Self {
        let split = |words: &[String]| {
            let tags =
                words.iter().flat_map(|word| word.split(',')).map(str::trim).filter(|tag| !tag.is_empty());
            tags.map(str::to_owned).collect()
        };
        Self { only: split(only), skip: split(skip) }
    }

    /// Whether a task with these tags is taken.
    pub fn takes(&self, tags: &[Arc<str>]) -> bool {
        let has = |tag: &str| tags.iter().any(|own| &**own == tag);
        let names = |list: &[String], word: &str| list.iter().any(|tag| tag == word);
        let shares =
            |list: &[String]| list.iter().any(|tag| has(tag)) || (tags.is_empty() && names(list, "untagged"));
        let tagged = !tags.is_empty();
        let wanted = has("always")
            || ((self.only.is_empty() || names(&self.only, "all")) && !has("never"))
            || shares(&self.only)
            || (names(&self.only, "tagged") && tagged && !has("never"));
        let skipped = if names(&self.skip, "all") {
            !has("always") || names(&self.skip, "always")
        } else {
            shares(&self.skip) || (names(&self.skip, "tagged") && tagged)
        };
        wanted && !skipped
    }

    /// Words of `--tags` and `--skip-tags` that no task of a playbook has: most likely misspelt.
    pub fn unused<'a>(&'a self, playbook: &Playbook) -> Vec<&'a str> {
        const SPECIAL: [&str; 5] = ["all", "always", "never", "tagged", "untagged"];
        let known = tags(playbook);
        let words = self.only.iter().chain(&self.skip).map(String::as_str);
        words.filter(|word| !SPECIAL.contains(word) && !known.iter().any(|tag| &**tag == *word)).collect()
    }
}

/// Every task of a play in the order it would run, handlers left out, includes opened where they are loaded.
pub fn tasks(play: &Play) -> Vec<&Task> {
    let mut found = Vec::new();
    for (_, items) in play.sections() {
        collect(items, &mut found);
    }
    found
}

fn collect<'a>(items: &'a [Item], found: &mut Vec<&'a Task>) {
    for item in items {
        match item {
            Item::Task(task) => found.push(task),
            Item::Block(block) => {
                for part in [&block.block, &block.rescue, &block.always] {
                    collect(part, found);
                }
            }
            Item::Include(include) => {
                found.push(&include.task);
                if let Some(body) = &include.body {
                    collect(&body.tasks, found);
                }
            }
        }
    }
}

/// The tasks of a play that a run takes: of an include that is not taken nothing is.
pub fn selected<'a>(play: &'a Play, selection: &Selection) -> Vec<&'a Task> {
    let mut found = Vec::new();
    for (_, items) in play.sections() {
        choose(items, selection, &mut found);
    }
    found
}

fn choose<'a>(items: &'a [Item], selection: &Selection, found: &mut Vec<&'a Task>) {
    for item in items {
        match item {
            Item::Task(task) if selection.takes(&task.settings.tags) => found.push(task),
            Item::Task(_) => {}
            Item::Block(block) => {
                for part in [&block.block, &block.rescue, &block.always] {
                    choose(part, selection, found);
                }
            }
            Item::Include(include) if selection.takes(&include.task.settings.tags) => {
                found.push(&include.task);
                if let Some(body) = &include.body {
                    choose(&body.tasks, selection, found);
                }
            }
            Item::Include(_) => {}
        }
    }
}

/// All tags of a playbook, sorted.
pub fn tags(playbook: &Playbook) -> Vec<Arc<str>> {
    let mut found: Vec<Arc<str>> = Vec::new();
    for play in &playbook.plays {
        found.extend(play.settings.tags.iter().cloned());
        for task in tasks(play) {
            found.extend(task.settings.tags.iter().cloned());
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The first task whose name or title matches `--start-at-task`, where `*` and `?` stand for any letters and any letter.
pub fn start(playbook: &Playbook, wanted: &str) -> Option<TaskId> {
    let matches = |task: &&Task| {
        let name = task.name.as_ref().and_then(|name| name.as_str()).unwrap_or(&task.action.module);
        name == wanted || glob(wanted, name) || glob(wanted, &task.title())
    };
    playbook.plays.iter().find_map(|play| tasks(play).into_iter().find(matches)).map(|task| task.id)
}

/// Whether a text matches a pattern with `*` and `?`, in time linear in their product.
fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut letter) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while letter < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, letter));
                at += 1;
            }
            Some(wanted) if *wanted == '?' || *wanted == text[letter] => {
                at += 1;
                letter += 1;
            }
            _ => match star {
                Some((back, from)) => {
                    star = Some((back, from + 1));
                    at = back + 1;
                    letter = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows checked against the rules of ansible-core's `Taggable.evaluate_tags`.
    #[test]
    fn tags_select_as_in_ansible() {
        let rows: [(&str, &str, &str, bool); 18] = [
            ("", "", "", true),
            ("a", "", "", true),
            ("never", "", "", false),
            ("a,never", "a", "", true),
            ("a,never", "all", "", false),
            ("always", "x", "", true),
            ("a", "x", "", false),
            ("", "x", "", false),
            ("", "untagged", "", true),
            ("a", "untagged", "", false),
            ("a", "tagged", "", true),
            ("a,never", "tagged", "", false),
            ("a", "", "a", false),
            ("always", "", "always", false),
            ("always", "", "all", true),
            ("a", "", "tagged", false),
            ("", "", "untagged", false),
            ("a,b", "a", "b", false),
        ];
        for (tags, only, skip, expected) in rows {
            let own: Vec<Arc<str>> = tags.split(',').filter(|tag| !tag.is_empty()).map(Arc::from).collect();
            let selection = Selection::new(&[only.to_owned()], &[skip.to_owned()]);
            assert_eq!(selection.takes(&own), expected, "tags {tags:?}, only {only:?}, skip {skip:?}");
        }
    }

    #[test]
    fn globs() {
        assert!(glob("a*c", "abbc") && glob("*", "") && glob("a?c", "abc") && glob("*x*", "axb"));
        assert!(!glob("a?c", "ac") && !glob("a*d", "abc") && !glob("", "a"));
        assert!(!glob(&"*a".repeat(40), &"a".repeat(30)));
    }
}
