//! `tunerun undo`, `resume` and `close`: what the journal makes possible.
use super::booting;
use super::continuing::{Earlier, earlier_back, go_on};
use super::exit::Exit;
use super::options::{HostOptions, LinkOptions};
use super::reopened::{Kind, Reopened, Told, block_on, reopen};
use super::term;
use clap::Args;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tunerun::journal::{Journaled, Record, Store};

/// Takes back what a run changed, newest first: looks, restores the states, then does the activations they call for.
///
/// What somebody else has changed since is left alone and said. Repeating an undo does no harm.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun undo last              the newest run
  tunerun undo k7fq --limit osd1 one host of a run, by the end of its name")]
pub struct Undo {
    /// The run: its name, the end of its name, or `last`
    pub run: String,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
    /// Take this claim back though somebody else has changed it
    #[arg(long, value_name = "CLAIM")]
    pub force: Vec<String>,
    /// Boot the hosts where the way back calls for it, one after the other; the first that is lost ends that
    #[arg(long)]
    pub reboot: bool,
}

/// Takes back what a run that was cut off has left half done, on every host, then plays on.
///
/// The host's lock is taken first, so a script that still runs is waited for. Then each step of the batch that was cut
/// off is looked at: what is there is undone, what is not there is left. Batches before it stay.
///
/// Then what the run was asked for is asked for again: a plan is made anew, since the host may have moved; shown,
/// confirmed and applied, as a run of its own that is undone by itself. Where playbook, inventory, variables or sources
/// changed since the run began, they are named and nothing is played. Where nobody can be asked, the command that goes
/// on is printed. Values of -e and passwords are not recorded: they are to be said again.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun resume last                    after the controller was killed or lost its power
  tunerun resume last --yes              without the question, for CI
  tunerun resume last --no-play          only take back what is half done")]
pub struct Resume {
    /// The run: its name, the end of its name, or `last`
    pub run: String,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
    /// Play on without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Play on with playbook, inventory and variables as they are now
    #[arg(long)]
    pub changed_ok: bool,
    /// Only take back what is half done
    #[arg(long)]
    pub no_play: bool,
    /// Show what changes line by line
    #[arg(short = 'D', long)]
    pub diff: bool,
}

/// Gives up the ways back of a run: its folders on the hosts go away.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun close k7fq                     one run
  tunerun close --old                    all that are neither of the last 14 days nor of the last 10 runs
  tunerun close --old --keep-days 3 --keep-runs 1")]
pub struct Close {
    /// The run: its name, the end of its name, or `last`
    #[arg(required_unless_present = "old")]
    pub run: Option<String>,
    /// Close all runs that are over and neither new nor among the last ones
    #[arg(long, conflicts_with = "run")]
    pub old: bool,
    /// With --old: keep runs that are younger than so many days
    #[arg(long, value_name = "DAYS", default_value_t = 14, requires = "old")]
    pub keep_days: u64,
    /// With --old: keep so many of the last runs, whatever their age
    #[arg(long, value_name = "N", default_value_t = 10, requires = "old")]
    pub keep_runs: usize,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
}

impl Undo {
    /// Runs it.
    pub fn run(self) -> Exit {
        let reopened = match reopen(&self.run, &self.hosts, &self.links) {
            Ok(reopened) => Arc::new(reopened),
            Err(exit) => return exit,
        };
        if reopened.closed {
            term::say(
                "this run was closed: what only the hosts had kept is gone; the journal's own contents go back",
            );
        }
        if let Some(later) = &reopened.earlier.later {
            term::say(&format!(
                "run {later} went on with this one: what it changed goes back by `tunerun undo {later}`"
            ));
        }
        whole(&reopened, &self.force, self.reboot)
    }
}

/// Takes all back that a run changed, and records it.
pub(super) fn whole(reopened: &Arc<Reopened>, force: &[String], reboot: bool) -> Exit {
    block_on(async {
        let began = Record::Undo { undone: Vec::new(), conflicts: Vec::new(), ended: false };
        if let Err(why) = reopened.journal.decide(began).await {
            term::wrong(why.to_string(), Some("an undo that cannot be recorded is not begun"));
            return Exit::Failed;
        }
        let told = reopened.take_back(Kind::Whole, force).await;
        let Told { undone, left, boots, mut exit } = told;
        if undone.is_empty() && left.is_empty() {
            term::say("nothing to undo: the run changed nothing on these hosts");
        }
        let conflicts = left
            .into_iter()
            .flat_map(|(host, words)| words.into_iter().map(move |words| format!("{host}: {words}")));
        let ended = Record::Undo { undone, conflicts: conflicts.collect(), ended: true };
        match reopened.journal.decide(ended).await {
            Ok(()) => {}
            Err(why) => {
                term::wrong(why.to_string(), None);
                return Exit::UndoIncomplete;
            }
        }
        if reboot && exit == Exit::Done {
            exit = booting::all(reopened, boots).await;
        }
        exit
    })
}

impl Resume {
    /// Runs it.
    pub fn run(mut self) -> Exit {
        let here = std::env::current_dir().unwrap_or_default();
        self.hosts.stay_here(&here);
        self.links.runs = self.links.runs.map(|runs| here.join(runs));
        self.ask();
        let reopened = match reopen(&self.run, &self.hosts, &self.links) {
            Ok(reopened) => Arc::new(reopened),
            Err(exit) => return exit,
        };
        let exit = block_on(async {
            let kind = if reopened.earlier.goes_back { Kind::Whole } else { Kind::HalfDone };
            let told = reopened.take_back(kind, &[]).await;
            let what = format!(
                "resumed: what was half done on {} is taken back",
                if told.undone.is_empty() { "no host".to_owned() } else { told.undone.join(", ") }
            );
            if let Err(why) =
                reopened.journal.decide(Record::Decided { what, by: super::options::user() }).await
            {
                term::wrong(why.to_string(), None);
                return Exit::Failed;
            }
            told.exit
        });
        if exit != Exit::Done {
            return exit;
        }
        if reopened.earlier.goes_back {
            let run = reopened.journal.run().to_owned();
            let (hosts, links) = (self.hosts, self.links);
            // Its sessions hold the hosts' locks.
            drop(reopened);
            let exit = earlier_back(&run, &hosts, &links).unwrap_or(Exit::RolledBack);
            if exit == Exit::RolledBack {
                term::data("rolled back: the run had decided so before it was cut off");
            }
            return exit;
        }
        go_on(self, reopened)
    }

    /// Asks for the passwords that the run was asked for, once for taking back and playing on.
    fn ask(&mut self) {
        let store = Store::new(self.links.runs());
        let journaled = store.name(&self.run).and_then(|name| store.read(&name));
        // What is wrong with the journal is told by opening it.
        if let Some(asked) = journaled.ok().and_then(|journaled| Earlier::of(&journaled).asked)
            && term::can_ask()
        {
            self.hosts.ask_vault_pass |= asked.ask_vault_pass;
            self.links.ask_pass |= asked.ask_pass;
            self.links.ask_become_pass |= asked.ask_become_pass;
        }
        self.hosts.ask();
        self.links.ask();
    }
}

impl Close {
    /// Runs it.
    pub fn run(self) -> Exit {
        if let Some(run) = &self.run {
            return self.one(run);
        }
        let store = Store::new(self.links.runs());
        let names = store.runs();
        let (mut exit, mut closed) = (Exit::Done, 0);
        let many = names.len().saturating_sub(self.keep_runs);
        for name in &names[..many] {
            let Ok(journaled) = store.read(name) else {
                term::say(&format!("{name} cannot be read and stays"));
                continue;
            };
            match standing(&journaled, Duration::from_secs(self.keep_days.saturating_mul(86_400))) {
                Standing::Old => {
                    closed += 1;
                    let one = self.one(name);
                    if exit == Exit::Done {
                        exit = one;
                    }
                }
                Standing::Open => term::say(&format!(
                    "{name} was cut off or is not wholly taken back and stays: resume, undo, or close it by its name"
                )),
                Standing::New | Standing::Closed => {}
            }
        }
        if closed == 0 {
            term::say("no run is old");
        }
        exit
    }

    fn one(&self, run: &str) -> Exit {
        let reopened = match reopen(run, &self.hosts, &self.links) {
            Ok(reopened) => Arc::new(reopened),
            Err(exit) => return exit,
        };
        block_on(async {
            let (hosts, mut exit) = reopened.close_all().await;
            let many = match hosts.len() {
                0 => "closed: it left nothing on any host".to_owned(),
                1 => "closed on 1 host".to_owned(),
                many => format!("closed on {many} hosts"),
            };
            term::data(&format!("{}: {many}", reopened.journal.run()));
            // A run that is not closed everywhere can be closed again.
            if exit != Exit::Done {
                return exit;
            }
            if let Err(why) = reopened.journal.decide(Record::Closed { hosts }).await {
                term::wrong(why.to_string(), None);
                exit = Exit::Failed;
            }
            exit
        })
    }
}

/// Whether a run may be closed by its age.
enum Standing {
    Old,
    New,
    Open,
    Closed,
}

fn standing(journaled: &Journaled, keep: Duration) -> Standing {
    let mut over = false;
    for entry in &journaled.entries {
        match &entry.record {
            Record::Closed { .. } => return Standing::Closed,
            Record::Ended { .. } => over = true,
            Record::Undo { ended, conflicts, .. } => over = *ended && conflicts.is_empty(),
            _ => {}
        }
    }
    let newest = journaled.entries.last().and_then(|entry| humantime::parse_rfc3339(&entry.at).ok());
    let age = newest.and_then(|newest| SystemTime::now().duration_since(newest).ok()).unwrap_or_default();
    match (over, age > keep) {
        (_, false) => Standing::New,
        (false, true) => Standing::Open,
        (true, true) => Standing::Old,
    }
}
