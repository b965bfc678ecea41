//! `tunerun undo`, `resume` and `close`: what the journal makes possible.
use super::exit::Exit;
use super::load;
use super::options::{HostOptions, LinkOptions, home, user};
use super::term;
use clap::Args;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use tunerun::engine::carrier::{Carrier, CarrierError};
use tunerun::engine::links::Links;
use tunerun::engine::run::{HostError, UndoneOn, undo_on};
use tunerun::engine::target::{Acting, Target};
use tunerun::engine::undo::Past;
use tunerun::engine::walk::{Asked, Scene};
use tunerun::journal::{Journal, Journaled, Record, Store};
use tunerun::transport::endpoint::Defaults;
use tunerun::transport::{NoSecrets, Script};

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
}

/// Takes back what a run that was cut off has left half done, on every host.
///
/// Each step is looked at: what is there is undone, what is not there is left. Then play again.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun resume last            after the controller was killed or lost its power")]
pub struct Resume {
    /// The run: its name, the end of its name, or `last`
    pub run: String,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
}

/// Gives up the ways back of a run: its folders on the hosts go away.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun close last             the change has proven itself: its way back may go")]
pub struct Close {
    /// The run: its name, the end of its name, or `last`
    pub run: String,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
}

/// What the journal holds of one host.
#[derive(Default)]
pub struct HostPast {
    /// Its batches in order, those that took something back left out.
    pub past: Vec<Past>,
    /// The highest batch number.
    pub number: u32,
    /// As whom the run acted.
    pub acting: Acting,
}

/// The batches of a run by host.
pub fn by_host(journaled: &Journaled) -> BTreeMap<String, HostPast> {
    let mut hosts: BTreeMap<String, HostPast> = BTreeMap::new();
    for entry in &journaled.entries {
        match &entry.record {
            Record::Host { host, acting, .. } => {
                hosts.entry(host.clone()).or_default().acting =
                    serde_json::from_value(acting.clone()).unwrap_or_default();
            }
            Record::Prepared { batch, .. } => {
                let host = hosts.entry(batch.host.clone()).or_default();
                host.number = host.number.max(batch.number);
                if !batch.undo {
                    host.past.push(Past { batch: batch.clone(), report: None });
                }
            }
            Record::Done { host, batch, report } => {
                let past = hosts.entry(host.clone()).or_default().past.iter_mut();
                if let Some(past) = past.rev().find(|past| past.batch.number == *batch) {
                    past.report = Some(report.clone());
                }
            }
            _ => {}
        }
    }
    hosts
}

/// A run that was opened again, with the way to its hosts.
struct Reopened {
    journal: Journal,
    hosts: BTreeMap<String, HostPast>,
    scene: Scene,
    links: Links,
}

fn reopen(run: &str, hosts: &HostOptions, links: &LinkOptions) -> Result<Reopened, Exit> {
    let store = Store::new(links.runs());
    let (journal, journaled) = store.name(run).and_then(|name| store.reopen(&name)).map_err(|why| {
        term::wrong(why.to_string(), None);
        Exit::Wrong
    })?;
    let mut options = hosts.clone();
    if options.inventory.is_empty() {
        options.inventory = journaled
            .entries
            .iter()
            .find_map(|entry| match &entry.record {
                Record::Began { inventories, .. } => Some(inventories.clone()),
                _ => None,
            })
            .unwrap_or_default();
    }
    let loaded = load::hosts(&options, None)?;
    let mut past = by_host(&journaled);
    if let Some(limit) = load::limited(&loaded, hosts.limit.as_deref())? {
        let names: Vec<&str> = limit.iter().map(|id| loaded.inventory.host_name(*id)).collect();
        past.retain(|host, _| names.contains(&host.as_str()));
    }
    let asked = Asked { extra: loaded.extra, passwords: loaded.passwords, ..Asked::default() };
    let playbook =
        tunerun::playbook::Playbook { plays: Vec::new(), warnings: Vec::new(), sources: Vec::new() };
    let templates = load::templates(Vec::new());
    let scene = Scene::new(
        playbook,
        String::new(),
        super::gather::loader(),
        templates,
        loaded.inventory,
        Vec::new(),
        asked,
    );
    let agent = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
    let becoming = if links.ask_become_pass {
        term::ask_secret("BECOME password").map(tunerun::transport::Secret::new)
    } else {
        None
    };
    let lab = tunerun::lab::Lab::attach(&super::rehearsal::labs(), "lab").ok().map(Arc::new);
    let links = Links::new(Defaults::new(home(), user(), agent), Arc::new(NoSecrets), lab, becoming);
    Ok(Reopened { journal, hosts: past, scene, links })
}

fn block_on(work: impl Future<Output = Exit>) -> Exit {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(work),
        Err(why) => {
            term::wrong(format!("the runtime did not start: {why}"), None);
            Exit::Failed
        }
    }
}

impl Reopened {
    async fn carrier(
        &self,
        host: &str,
        acting: &Acting,
    ) -> Result<(Carrier, modules::vocabulary::Identity), HostError> {
        let target = Target { host: host.to_owned(), user: acting.clone() };
        let carrier = self.links.carrier(&self.scene, &target).await.map_err(HostError::Unreachable)?;
        let (greeting, _) = carrier.greet(&[]).await.map_err(HostError::Carrier)?;
        Ok((carrier, greeting.who))
    }

    /// Takes batches back on each host; those that `wanted` picks.
    async fn take_back(
        &self,
        wanted: impl Fn(&Past) -> bool,
        force: &[String],
    ) -> (Vec<String>, HashMap<String, Vec<String>>, Exit) {
        let (mut undone, mut left, mut exit) = (Vec::new(), HashMap::new(), Exit::Done);
        for (host, all) in &self.hosts {
            let past: Vec<Past> = all.past.iter().filter(|past| wanted(past)).cloned().collect();
            if past.is_empty() {
                continue;
            }
            let result = match self.carrier(host, &all.acting).await {
                Ok((carrier, who)) => {
                    undo_on(&carrier, &self.journal, host, &who, &past, all.number + 1, force).await
                }
                Err(error) => Err(error),
            };
            match result {
                Ok(UndoneOn { steps, left: words, stays, .. }) => {
                    term::data(&match (steps, words.is_empty()) {
                        (0, true) => format!("{host}: nothing to take back, all is as it was before the run"),
                        (0, false) => format!("{host}: nothing was taken back"),
                        (1, _) => format!("{host}: 1 step taken back"),
                        (many, _) => format!("{host}: {many} steps taken back"),
                    });
                    stays.iter().for_each(|words| term::data(&format!("{host}: stays: {words}")));
                    if words.is_empty() {
                        undone.push(host.clone());
                    } else {
                        words.iter().for_each(|words| term::data(&format!("{host}: left as it is: {words}")));
                        left.insert(host.clone(), words);
                        exit = Exit::UndoIncomplete;
                    }
                }
                Err(error) => {
                    term::problems(&[error.diagnostic(host)]);
                    left.insert(host.clone(), vec!["not reached".to_owned()]);
                    exit = Exit::UndoIncomplete;
                }
            }
        }
        (undone, left, exit)
    }
}

impl Undo {
    /// Runs it.
    pub fn run(self) -> Exit {
        let reopened = match reopen(&self.run, &self.hosts, &self.links) {
            Ok(reopened) => reopened,
            Err(exit) => return exit,
        };
        if reopened.hosts.values().all(|host| host.past.is_empty()) {
            term::say("nothing to undo: the run changed nothing on these hosts");
            return Exit::Done;
        }
        block_on(async {
            let began = Record::Undo { undone: Vec::new(), conflicts: Vec::new(), ended: false };
            if let Err(why) = reopened.journal.decide(began).await {
                term::wrong(why.to_string(), Some("an undo that cannot be recorded is not begun"));
                return Exit::Failed;
            }
            let (undone, left, exit) = reopened.take_back(|_| true, &self.force).await;
            let conflicts = left
                .into_iter()
                .flat_map(|(host, words)| words.into_iter().map(move |words| format!("{host}: {words}")));
            let ended = Record::Undo { undone, conflicts: conflicts.collect(), ended: true };
            match reopened.journal.decide(ended).await {
                Ok(()) => exit,
                Err(why) => {
                    term::wrong(why.to_string(), None);
                    Exit::UndoIncomplete
                }
            }
        })
    }
}

impl Resume {
    /// Runs it.
    pub fn run(self) -> Exit {
        let reopened = match reopen(&self.run, &self.hosts, &self.links) {
            Ok(reopened) => reopened,
            Err(exit) => return exit,
        };
        block_on(async {
            let half = reopened.hosts.values().flat_map(|host| &host.past).any(|past| past.report.is_none());
            let (_, _, exit) = reopened.take_back(|past| past.report.is_none(), &[]).await;
            if exit == Exit::Done {
                reopened.mark("finished").await;
                term::say(match half {
                    true => "what was half done is taken back; now play again",
                    false => "nothing was left half done; now play again",
                });
            }
            exit
        })
    }
}

impl Reopened {
    /// Writes the run's mark on its hosts, so that later runs do not stop at it.
    async fn mark(&self, word: &str) {
        for (host, all) in &self.hosts {
            let Ok((Carrier::Shell { connection, who, state }, identity)) =
                self.carrier(host, &all.acting).await
            else {
                continue;
            };
            let Ok(base) = tunerun::engine::batch::base(state.as_ref(), identity.uid) else { continue };
            let text =
                format!("[ ! -d {base}/{run} ] || echo {word} > {base}/{run}/mark", run = self.journal.run());
            let _ = connection.run(&who, &Script::new(text)).await;
        }
    }
}

impl Close {
    /// Runs it.
    pub fn run(self) -> Exit {
        let reopened = match reopen(&self.run, &self.hosts, &self.links) {
            Ok(reopened) => reopened,
            Err(exit) => return exit,
        };
        block_on(async {
            let mut closed = Vec::new();
            let mut exit = Exit::Done;
            for (host, all) in &reopened.hosts {
                match reopened.close(host, all).await {
                    Ok(()) => closed.push(host.clone()),
                    Err(error) => {
                        term::problems(&[error.diagnostic(host)]);
                        exit = Exit::Unreachable;
                    }
                }
            }
            match closed.as_slice() {
                [] if exit == Exit::Done => term::say("closed: the run left nothing on any host"),
                [] => {}
                _ => term::data(&format!("closed on {}", closed.join(", "))),
            }
            if let Err(why) = reopened.journal.decide(Record::Closed { hosts: closed }).await {
                term::wrong(why.to_string(), None);
                exit = Exit::Failed;
            }
            exit
        })
    }
}

impl Reopened {
    async fn close(&self, host: &str, all: &HostPast) -> Result<(), HostError> {
        let (carrier, who) = self.carrier(host, &all.acting).await?;
        if let Carrier::Shell { connection, who: identity, state } = &carrier {
            let wrong = |why| HostError::Carrier(CarrierError::Value(why));
            let base = tunerun::engine::batch::base(state.as_ref(), who.uid).map_err(wrong)?;
            // The name is checked by the store: it holds neither slash nor blank.
            let script = Script::new(format!("rm -rf -- {base}/{}", self.journal.run()));
            let answer =
                connection.run(identity, &script).await.map_err(|why| HostError::Carrier(why.into()))?;
            if answer.rc != 0 {
                return Err(wrong(answer.rest.stderr.text()));
            }
        }
        Ok(())
    }
}
