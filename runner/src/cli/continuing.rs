//! Going on after a run was cut off: what it was asked for is asked for again, where nothing changed since.
use super::exit::Exit;
use super::journal::{Resume, whole};
use super::options::{HostOptions, LinkOptions};
use super::play::Play;
use super::purpose::Purpose;
use super::reopened::{Reopened, reopen};
use super::shape::Shape;
use super::term;
use std::path::PathBuf;
use std::sync::Arc;
use tunerun::diagnostic::Diagnostic;
use tunerun::journal::{Extra, Invocation, Journal, Journaled, Record, Store};
use tunerun::plan::Origin;
use tunerun::rollout::ROLLED_BACK;

/// What the journal of a run says, before the name, where another run goes on with it.
pub const GOES_ON: &str = "goes on as run ";

/// Why there is nothing to go on with after a rollback, which never ends with 0.
const WAS_ROLLED_BACK: &str = "it was rolled back";

/// The run that a play goes on with.
#[derive(Clone)]
pub struct Continuation {
    /// Its journal.
    pub journal: Journal,
    made_from: Vec<(String, String)>,
    changed_ok: bool,
    /// The command that was typed first.
    command: String,
}

impl std::fmt::Debug for Continuation {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Continuation({})", self.journal.run())
    }
}

/// What a run was asked for, and how it ended.
#[derive(Clone, Debug, Default)]
pub struct Earlier {
    /// What it was asked for; none where that cannot be asked for again by itself.
    pub asked: Option<Box<Invocation>>,
    /// Files that it was made from, with their digests.
    pub made_from: Vec<(String, String)>,
    /// Why there is nothing to go on with, if so.
    pub over: Option<&'static str>,
    /// The run that went on with it.
    pub later: Option<String>,
    /// Whether a gate found a loss for which all was to go back, and it was cut off before it was back.
    pub goes_back: bool,
    /// Whether it was decided that all goes back.
    pub rolled_back: bool,
    /// Whether it was wholly taken back by `tunerun undo`, or with the run that went on with it.
    pub undone: bool,
    /// The run that it went on with.
    pub continues: Option<String>,
}

impl Earlier {
    /// From a run's journal.
    pub fn of(journaled: &Journaled) -> Self {
        let mut earlier = Self::default();
        for entry in &journaled.entries {
            match &entry.record {
                Record::Began { asked, made_from, continues, .. } => {
                    earlier.continues.clone_from(continues);
                    earlier.asked.clone_from(asked);
                    earlier.made_from.clone_from(made_from);
                }
                Record::Decided { what, .. } if what.starts_with(ROLLED_BACK) => {
                    (earlier.goes_back, earlier.rolled_back) = (true, true);
                }
                Record::Ended { exit } if *exit == Exit::RolledBack as u8 => {
                    earlier.goes_back = false;
                    earlier.over = Some(WAS_ROLLED_BACK);
                }
                Record::Ended { exit: 0 } => earlier.over = Some("it ended in order, with all hosts proven"),
                Record::Undo { ended: true, conflicts, .. } => {
                    earlier.undone = conflicts.is_empty();
                    earlier.over = Some("it was taken back by `tunerun undo`")
                }
                Record::Decided { what, .. } => {
                    earlier.later = what.strip_prefix(GOES_ON).map(str::to_owned).or(earlier.later);
                }
                Record::Closed { .. } => earlier.over = Some("it was closed"),
                _ => {}
            }
        }
        earlier
    }
}

impl Continuation {
    /// Whether what the earlier run was made from has changed, told; none where the play may go on.
    pub fn refused(&self, now: &[Origin]) -> Option<Exit> {
        let mut changed = Vec::new();
        for (name, digest) in &self.made_from {
            match now.iter().find(|origin| origin.name == *name) {
                Some(origin) if origin.digest == *digest => {}
                Some(origin) => changed.push(format!("{} {name} has changed", origin.kind.word())),
                None => changed.push(format!("{name} is not read any more")),
            }
        }
        let known = |origin: &&Origin| self.made_from.iter().any(|(name, _)| *name == origin.name);
        let new = now.iter().filter(|origin| !known(origin));
        changed.extend(new.map(|origin| format!("{} {} is new", origin.kind.word(), origin.name)));
        if changed.is_empty() {
            return None;
        }
        if self.changed_ok {
            changed.iter().for_each(|line| term::say(&format!("since the run began: {line}")));
            return None;
        }
        let words = format!("what run {} was made from is not what is there now", self.journal.run());
        let mut problem = Diagnostic::error(words, None).help(format!(
            "to go on with what is there now, say --changed-ok; or play anew: {}",
            self.command
        ));
        problem.notes = changed;
        term::problems_only(&[problem]);
        term::say("nothing more was changed");
        Some(Exit::Stale)
    }
}

/// Plays on where a run was cut off. What was half done is back at its old state by now.
pub fn go_on(resume: Resume, reopened: Arc<Reopened>) -> Exit {
    let earlier = reopened.earlier.clone();
    if let Some(why) = earlier.over {
        if why == WAS_ROLLED_BACK {
            let run = reopened.journal.run().to_owned();
            let (hosts, links) = (resume.hosts, resume.links);
            let command = reopened.command.clone();
            drop(reopened);
            let exit = earlier_back(&run, &hosts, &links).unwrap_or(Exit::RolledBack);
            term::say(&format!("there is nothing to go on with: {why}; to play it anew"));
            term::data(&command);
            return exit;
        }
        let exit = Exit::Done;
        term::say(&format!("there is nothing to go on with: {why}; to play it anew"));
        term::data(&reopened.command);
        return exit;
    }
    let by_hand = || {
        term::say("what was half done is taken back; go on with");
        term::data(&reopened.command);
        Exit::Done
    };
    let Some(asked) = earlier.asked else { return by_hand() };
    if resume.no_play || (!resume.yes && !term::can_ask()) {
        return by_hand();
    }
    let extra = match given_again(&asked.extra, &resume.hosts.extra) {
        Ok(extra) => extra,
        Err(missing) => return unrecorded(reopened.journal.run(), &missing),
    };
    if let Some(dir) = &reopened.dir
        && let Err(why) = std::env::set_current_dir(dir)
    {
        term::wrong(
            format!("the run was started in {dir}, which cannot be entered: {}", term::io_words(&why)),
            Some("play again from where the playbook is now"),
        );
        return Exit::Wrong;
    }
    again(resume, reopened, *asked, extra, earlier.made_from)
}

/// Plays what the run was asked, as its continuation.
fn again(
    resume: Resume,
    reopened: Arc<Reopened>,
    asked: Invocation,
    extra: Vec<String>,
    made_from: Vec<(String, String)>,
) -> Exit {
    let continuation = Continuation {
        journal: reopened.journal.clone(),
        made_from,
        changed_ok: resume.changed_ok,
        command: reopened.command.clone(),
    };
    let run = reopened.journal.run().to_owned();
    let over = vec![run.clone()];
    let again = (resume.hosts.clone(), resume.links.clone());
    let inventory =
        if resume.hosts.inventory.is_empty() { reopened.inventories.clone() } else { resume.hosts.inventory };
    // Its sessions hold the hosts' locks.
    drop(reopened);
    let hosts = HostOptions {
        inventory,
        limit: resume.hosts.limit.or(asked.limit),
        extra,
        vault_password_file: asked
            .vault_password_files
            .into_iter()
            .chain(resume.hosts.vault_password_file)
            .collect(),
        ..resume.hosts
    };
    let play = Play {
        playbook: PathBuf::from(asked.playbook),
        hosts,
        links: resume.links,
        diff: resume.diff,
        yes: resume.yes,
        tags: asked.tags,
        skip_tags: asked.skip_tags,
        start_at_task: asked.start_at_task,
        no_probes: asked.no_probes,
        step: asked.step,
        allow_partial: asked.allow_partial,
        over: asked.over.into_iter().chain(over).collect(),
        shape: if asked.ladder { Shape::Ladder } else { Shape::Written },
        purpose: Purpose::Continue(Arc::new(continuation)),
        ..Play::default()
    };
    let exit = play.run();
    let store = Store::new(again.1.runs());
    let later = store.read(&run).ok().and_then(|journaled| Earlier::of(&journaled).later);
    match later.and_then(|later| earlier_back(&later, &again.0, &again.1)) {
        Some(Exit::RolledBack) if exit != Exit::RolledBack => exit,
        Some(back) => back,
        None => exit,
    }
}

/// A person has interrupted a run and said that all of it goes back.
pub(super) fn interrupted_back(run: &str, hosts: &HostOptions, links: &LinkOptions) -> Exit {
    let exit = match reopen(run, hosts, links) {
        Ok(reopened) => whole(&Arc::new(reopened), &[], true),
        Err(exit) => exit,
    };
    if exit != Exit::Done {
        term::data(&format!("NOT all is rolled back: `tunerun undo {run}` takes back what stands"));
        return Exit::UndoIncomplete;
    }
    let exit = earlier_back(run, hosts, links).unwrap_or(Exit::RolledBack);
    if exit == Exit::RolledBack {
        term::data("rolled back: a person has interrupted it");
    }
    exit
}

/// Where a run was rolled back that went on with others, what those changed goes back, too: a rollout that was cut off
/// and resumed is one rollout. None where there is nothing of the kind.
pub(super) fn earlier_back(run: &str, hosts: &HostOptions, links: &LinkOptions) -> Option<Exit> {
    let store = Store::new(links.runs());
    let read = |name: &str| store.read(name).ok().map(|journaled| Earlier::of(&journaled));
    let mut later = read(run).filter(|later| later.rolled_back)?;
    let mut back = Vec::new();
    while let Some(name) = later.continues {
        later = read(&name)?;
        if later.undone {
            continue;
        }
        term::say(&format!("what run {name} changed before it was cut off goes back, too"));
        let exit = match reopen(&name, hosts, links) {
            Ok(reopened) => whole(&Arc::new(reopened), &[], true),
            Err(exit) => exit,
        };
        if exit != Exit::Done {
            term::data(&format!("NOT all is rolled back: `tunerun undo {name}` takes back what stands"));
            return Some(Exit::UndoIncomplete);
        }
        back.push(name);
    }
    if back.is_empty() {
        return None;
    }
    term::data(&format!("rolled back: with it what it went on with: {}", back.join(", ")));
    Some(Exit::RolledBack)
}

/// Refuses to go on without values that the run was given.
fn unrecorded(run: &str, missing: &[String]) -> Exit {
    let words: Vec<String> = missing.iter().map(|name| format!("-e {name}=…")).collect();
    let words = words.join(" ");
    term::wrong(
        format!("the run was given {words}, whose values are not recorded: they may be secret"),
        Some(&format!("say them again: tunerun resume {run} {words}")),
    );
    Exit::Wrong
}

/// What the run was given by `-e`, in its order: files by their names, values as they are said again now. What is said
/// besides comes last.
fn given_again(recorded: &[Extra], now: &[String]) -> Result<Vec<String>, Vec<String>> {
    let (mut words, mut missing) = (Vec::new(), Vec::new());
    let mut left: Vec<&String> = now.iter().collect();
    for extra in recorded {
        match extra {
            Extra::File(path) => words.push(format!("@{path}")),
            Extra::Values(names) => {
                for name in names {
                    let said = |word: &&String| super::load::extra_names(word).contains(name);
                    match left.iter().position(said) {
                        Some(at) => words.push(left.remove(at).clone()),
                        None if now.iter().any(|word| said(&word)) => {}
                        None => missing.push(name.clone()),
                    }
                }
            }
        }
    }
    words.extend(left.into_iter().cloned());
    if missing.is_empty() { Ok(words) } else { Err(missing) }
}

impl Play {
    /// What is recorded of a play, so that it can be asked for again: no value that may be secret.
    pub(super) fn invocation(&self) -> Option<Invocation> {
        let again = matches!(self.shape, Shape::Written | Shape::Ladder);
        if !again || !matches!(self.purpose, Purpose::Play | Purpose::Continue(_)) {
            return None;
        }
        let extra = self.hosts.extra.iter().map(|word| match word.strip_prefix('@') {
            Some(path) => Extra::File(path.to_owned()),
            None => Extra::Values(super::load::extra_names(word)),
        });
        let LinkOptions { ask_become_pass, ask_pass, forks, .. } = &self.links;
        Some(Invocation {
            playbook: self.playbook.display().to_string(),
            limit: self.hosts.limit.clone(),
            tags: self.tags.clone(),
            skip_tags: self.skip_tags.clone(),
            start_at_task: self.start_at_task.clone(),
            extra: extra.collect(),
            vault_password_files: self.hosts.vault_password_file.clone(),
            ask_vault_pass: self.hosts.ask_vault_pass,
            ask_pass: *ask_pass,
            ask_become_pass: *ask_become_pass,
            forks: *forks,
            no_probes: self.no_probes,
            step: self.step,
            allow_partial: self.allow_partial,
            over: self.over.clone(),
            ladder: self.shape == Shape::Ladder,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Extra, given_again};

    #[test]
    fn values_are_said_again_in_their_order() {
        let recorded = [
            Extra::Values(vec!["pool".into()]),
            Extra::File("f.yml".into()),
            Extra::Values(vec!["a".into(), "b".into()]),
        ];
        let now = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            given_again(&recorded, &now(&["a=1 b=2", "x=3", "pool=p"])),
            Ok(now(&["pool=p", "@f.yml", "a=1 b=2", "x=3"]))
        );
        assert_eq!(given_again(&recorded, &now(&[r#"{"a": 1}"#])), Err(now(&["pool", "b"])));
    }
}
