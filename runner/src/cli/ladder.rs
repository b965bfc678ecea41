//! `tunerun ladder`: the changes of a playbook one by one, each judged by the gate of its play.
use super::exit::Exit;
use super::options::{HostOptions, LinkOptions};
use super::play::Play;
use super::shape::Shape;
use super::term;
use clap::Args;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tunerun::gate::Record;
use tunerun::journal::Store;
use tunerun::report::ladder::ladder;

/// Plays the changes of a playbook one by one on the canaries, with the gate of their play between, and tells what each is
/// worth by itself on top of those before it.
///
/// Each task and block of a play with `gate:` is a rung: it is toggled and judged before the next one begins. A rung that
/// is not decided stays and is marked; one that harms ends the ladder as the rollout's `on_regress:` says. Hosts beyond
/// the first wave are left as they are. It is a run like any other: `resume` and `undo` take its name. The order is the
/// playbook's: what a change is worth depends on those before it. For their effects in all combinations see `attribute`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun ladder site.yaml -i prod --limit osd1     one canary, each change with its own effect
  tunerun ladder --of k7fq                          the ladder of an earlier run again")]
pub struct Ladder {
    /// The playbook
    #[arg(required_unless_present = "of")]
    pub playbook: Option<PathBuf>,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
    /// Only tasks with one of these tags
    #[arg(short, long, value_delimiter = ',')]
    pub tags: Vec<String>,
    /// No tasks with one of these tags
    #[arg(long, value_delimiter = ',')]
    pub skip_tags: Vec<String>,
    /// Apply without asking
    #[arg(short, long)]
    pub yes: bool,
    /// Play nothing: show the ladder of this run
    #[arg(long, value_name = "RUN", conflicts_with = "playbook")]
    pub of: Option<String>,
}

impl Ladder {
    /// Runs it.
    pub fn run(self) -> Exit {
        let store = Store::new(self.links.runs());
        if let Some(run) = &self.of {
            return told(&store, run);
        }
        let name = Arc::new(OnceLock::new());
        let play = Play {
            playbook: self.playbook.unwrap_or_default(),
            hosts: self.hosts,
            links: self.links,
            tags: self.tags,
            skip_tags: self.skip_tags,
            yes: self.yes,
            shape: Shape::Ladder,
            name: Arc::clone(&name),
            ..Play::default()
        };
        let exit = play.run();
        if let Some(run) = name.get() {
            told(&store, run);
        }
        exit
    }
}

/// Shows the ladder of a run.
fn told(store: &Store, run: &str) -> Exit {
    let path = match store.path(run) {
        Ok(path) => path,
        Err(why) => {
            term::wrong(why.to_string(), Some("`tunerun runs` lists them"));
            return Exit::Wrong;
        }
    };
    let records = path.parent().map(Record::of_run).unwrap_or_default();
    let text = ladder(&records);
    if text.is_empty() {
        term::wrong(
            format!("no gate of run {run} has an answer"),
            Some("say `gate:` on the plays to be judged"),
        );
        return Exit::Wrong;
    }
    term::data(&text);
    Exit::Done
}
