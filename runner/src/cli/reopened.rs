//! A run that was opened again: its journal, and the way to its hosts.
use super::continuing::Earlier;
use super::exit::Exit;
use super::load;
use super::options::{HostOptions, LinkOptions, home, user};
use super::prompting::Prompting;
use super::term;
use modules::vocabulary::Activation;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;
use tunerun::engine::batch::{Batch, base};
use tunerun::engine::carrier::{Carrier, CarrierError};
use tunerun::engine::links::Links;
use tunerun::engine::recovery::{Felt, HostPast, Undoing, UndoneOn, by_host, undo_on};
use tunerun::engine::run::{HostError, activation_words};
use tunerun::engine::target::{Acting, Target};
use tunerun::engine::undo::Past;
use tunerun::engine::walk::{Asked, Scene};
use tunerun::journal::{Journal, Record, Store};
use tunerun::transport::Script;
use tunerun::transport::endpoint::Defaults;

/// A run that was opened again.
pub struct Reopened {
    /// Its journal.
    pub journal: Journal,
    /// Whether its ways back are gone from the hosts.
    pub closed: bool,
    /// What goes on with it, as a person would type it.
    pub command: String,
    /// What it was asked for, and how it ended.
    pub earlier: Earlier,
    /// Its inventories, as they were named.
    pub inventories: Vec<String>,
    /// The folder that it was started in, where it is another one than this.
    pub dir: Option<String>,
    pub(super) hosts: BTreeMap<String, HostPast>,
    pub(super) scene: Scene,
    pub(super) links: Links,
    forks: Arc<Semaphore>,
    /// Held by the host of which something is down.
    turn: Semaphore,
}

/// How much goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All.
    Whole,
    /// The batch that was cut off or failed.
    HalfDone,
}

/// What came of it.
pub struct Told {
    /// Hosts that are wholly back.
    pub undone: Vec<String>,
    /// What was left, by host.
    pub left: BTreeMap<String, Vec<String>>,
    /// Hosts that are wholly back and whose way back calls for a boot, with the highest number of a batch.
    pub boots: Vec<(String, u32)>,
    /// The exit code.
    pub exit: Exit,
}

/// Opens a run again, with the hosts that it was made for.
pub fn reopen(run: &str, hosts: &HostOptions, links: &LinkOptions) -> Result<Reopened, Exit> {
    let store = Store::new(links.runs());
    let (journal, journaled) = store.name(run).and_then(|name| store.reopen(&name)).map_err(|why| {
        term::wrong(why.to_string(), None);
        Exit::Wrong
    })?;
    let mut options = hosts.clone();
    let began = journaled.entries.iter().find_map(|entry| match &entry.record {
        Record::Began { inventories, dir, command, .. } => Some((inventories.clone(), dir, command)),
        _ => None,
    });
    let (mut command, mut elsewhere, mut named) = (String::new(), None, Vec::new());
    if let Some((inventories, dir, typed)) = began {
        let here = std::env::current_dir().unwrap_or_default().display().to_string();
        command.clone_from(typed);
        named.clone_from(&inventories);
        if !dir.is_empty() && *dir != here {
            elsewhere = Some(dir.clone());
            command = format!("cd {} && {typed}", tunerun::transport::shell::word::quote(dir));
        }
        if options.inventory.is_empty() {
            options.inventory = inventories;
            // Its names are taken from where the run was started. Where that folder is gone, from here.
            if !dir.is_empty() && std::env::set_current_dir(dir).is_err() {
                term::say(&format!("the folder {dir} of the run is not there any more"));
            }
        }
    }
    let loaded = load::hosts(&options, None)?;
    let mut past = by_host(&journaled);
    if let Some(limit) = load::limited(&loaded, hosts.limit.as_deref())? {
        let names: Vec<&str> = limit.iter().map(|id| loaded.inventory.host_name(*id)).collect();
        past.retain(|host, _| names.contains(&host.as_str()));
    }
    let scene = scene(loaded);
    let agent = std::env::var_os("SSH_AUTH_SOCK").map(PathBuf::from);
    let (connection, becoming) = links.clone().ask();
    let lab = tunerun::lab::Lab::attach(&super::rehearsal::labs(), "lab").ok().map(Arc::new);
    let forks = Arc::new(Semaphore::new(usize::from(links.forks)));
    let links =
        Links::new(Defaults::new(home(), user(), agent), Arc::new(Prompting { connection }), lab, becoming);
    let closed = journaled.entries.iter().any(|entry| matches!(entry.record, Record::Closed { .. }));
    let earlier = Earlier::of(&journaled);
    let (inventories, dir) = (named, elsewhere);
    let turn = Semaphore::new(1);
    Ok(Reopened {
        journal,
        closed,
        command,
        earlier,
        inventories,
        dir,
        hosts: past,
        scene,
        links,
        forks,
        turn,
    })
}

/// The hosts as an inventory has them, and nothing to play.
fn scene(loaded: load::Hosts) -> Scene {
    let asked = Asked { extra: loaded.extra, passwords: loaded.passwords, ..Asked::default() };
    let playbook =
        tunerun::playbook::Playbook { plays: Vec::new(), warnings: Vec::new(), sources: Vec::new() };
    let templates = load::templates(Vec::new());
    Scene::new(
        playbook,
        String::new(),
        super::gather::loader(),
        templates,
        loaded.inventory,
        Vec::new(),
        asked,
    )
}

/// Runs to the end on a runtime of its own.
pub fn block_on(work: impl Future<Output = Exit>) -> Exit {
    match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime.block_on(work),
        Err(why) => {
            term::wrong(format!("the runtime did not start: {why}"), None);
            Exit::Failed
        }
    }
}

/// Batches in a row that one identity made.
fn rows(past: &[Past]) -> Vec<&[Past]> {
    past.chunk_by(|one, two| one.batch.acting == two.batch.acting).collect()
}

impl Reopened {
    pub(super) async fn carrier(
        &self,
        host: &str,
        acting: &Acting,
    ) -> Result<(Carrier, modules::vocabulary::Identity), HostError> {
        let target = Target { host: host.to_owned(), user: acting.clone() };
        let carrier = self.links.carrier(&self.scene, &target).await.map_err(HostError::Unreachable)?;
        let (greeting, _) = carrier.greet(&[]).await.map_err(HostError::Carrier)?;
        Ok((carrier, greeting.who))
    }

    /// Does something on every host, some at a time, and gives what came of it in the hosts' order.
    async fn everywhere<T, F>(
        self: &Arc<Self>,
        work: impl Fn(Arc<Self>, String) -> F,
    ) -> Vec<(String, Option<T>)>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let tasks: Vec<_> = self
            .hosts
            .keys()
            .map(|host| {
                let (forks, work) = (Arc::clone(&self.forks), work(Arc::clone(self), host.clone()));
                let task = tokio::spawn(async move {
                    let _permit = forks.acquire_owned().await;
                    work.await
                });
                (host.clone(), task)
            })
            .collect();
        let mut done = Vec::new();
        for (host, task) in tasks {
            done.push((host, task.await.ok()));
        }
        done
    }

    /// Takes batches back on each host, and tells of each as it is done.
    pub async fn take_back(self: &Arc<Self>, kind: Kind, force: &[String]) -> Told {
        let counted = Arc::new(AtomicUsize::new(0));
        let force: Arc<[String]> = force.into();
        let all = self
            .everywhere(|this, host| {
                let (counted, force) = (Arc::clone(&counted), Arc::clone(&force));
                async move {
                    // What serves is never down on two hosts at once.
                    let is_down = this.hosts.get(&host).is_some_and(HostPast::is_down_back);
                    let _turn = if is_down { Some(this.turn.acquire().await) } else { None };
                    let result = this.take_back_on(&host, kind, &force).await;
                    let number = counted.fetch_add(1, Ordering::Relaxed) + 1;
                    tell(&host, &result, (number, this.hosts.len()));
                    result
                }
            })
            .await;
        let mut told =
            Told { undone: Vec::new(), left: BTreeMap::new(), boots: Vec::new(), exit: Exit::Done };
        for (host, result) in all {
            let (words, exit) = match result {
                Some(Ok(None)) => continue,
                Some(Ok(Some(undone))) if undone.left.is_empty() => {
                    if undone.owed.contains(&Activation::Reboot) {
                        told.boots.push((host.clone(), undone.number));
                    }
                    told.undone.push(host);
                    continue;
                }
                Some(Ok(Some(undone))) => (undone.left, Exit::UndoIncomplete),
                Some(Err(HostError::Carrier(CarrierError::Held(run)))) => {
                    (vec![format!("it is held by another run ({run})")], Exit::Busy)
                }
                Some(Err(error)) => (vec![error.diagnostic(&host).message], Exit::UndoIncomplete),
                None => (vec!["its task broke off".to_owned()], Exit::UndoIncomplete),
            };
            told.left.insert(host, words);
            if told.exit != Exit::UndoIncomplete {
                told.exit = exit;
            }
        }
        told
    }

    /// Takes batches of one host back. Nothing, where there are none.
    async fn take_back_on(
        &self,
        host: &str,
        kind: Kind,
        force: &[String],
    ) -> Result<Option<UndoneOn>, HostError> {
        let Some(all) = self.hosts.get(host) else { return Ok(None) };
        let past = match kind {
            Kind::Whole => all.past.clone(),
            Kind::HalfDone => all.unfinished(),
        };
        let mut undone = UndoneOn { number: all.number, ..UndoneOn::default() };
        let mut marks: HashMap<Acting, (Carrier, modules::vocabulary::Identity)> = HashMap::new();
        for row in rows(&past).into_iter().rev() {
            let Some(acting) = row.first().map(|past| &past.batch.acting) else { continue };
            let (carrier, who) = self.carrier(host, acting).await?;
            let cut_off: Vec<&Batch> = all.cut_off.iter().filter(|batch| batch.acting == *acting).collect();
            let pending: Vec<_> = all
                .pending
                .iter()
                .filter(|(by, _)| by == acting && kind == Kind::Whole)
                .map(|(_, called)| called.clone())
                .collect();
            let undoing = Undoing {
                host,
                who: &who,
                acting,
                past: row,
                cut_off: &cut_off,
                number: undone.number,
                force,
                pending: &pending,
                felt: Felt::Now,
            };
            let part = undo_on(&carrier, &self.journal, undoing).await?;
            undone.steps += part.steps;
            undone.number = part.number;
            undone.left.extend(part.left);
            undone.stays.extend(part.stays);
            undone.owed.extend(part.owed);
            undone.clusters.extend(part.clusters);
            marks.insert(acting.clone(), (carrier, who));
        }
        if kind == Kind::HalfDone {
            for past in &all.past {
                let acting = &past.batch.acting;
                if !marks.contains_key(acting) {
                    marks.insert(acting.clone(), self.carrier(host, acting).await?);
                }
            }
        }
        if undone.left.is_empty() {
            let word = if kind == Kind::Whole { "undone" } else { "finished" };
            for (carrier, who) in marks.values() {
                carrier.mark(self.journal.run(), who, word).await.map_err(HostError::Carrier)?;
            }
        }
        if undone.steps > 0 && kind == Kind::Whole {
            undone.owed.extend(
                all.owed.iter().filter(|owed| !undone.owed.contains(owed)).cloned().collect::<Vec<_>>(),
            );
        }
        Ok((!past.is_empty()).then_some(undone))
    }

    /// Takes the run's folders away on each host. Gives the hosts where they are gone.
    pub async fn close_all(self: &Arc<Self>) -> (Vec<String>, Exit) {
        let all = self.everywhere(|this, host| async move { this.close(&host).await }).await;
        let (mut closed, mut exit) = (Vec::new(), Exit::Done);
        for (host, result) in all {
            match result {
                Some(Ok(())) => closed.push(host),
                Some(Err(error)) => {
                    term::problems(&[error.diagnostic(&host)]);
                    exit = Exit::Unreachable;
                }
                None => exit = Exit::Failed,
            }
        }
        (closed, exit)
    }

    async fn close(&self, host: &str) -> Result<(), HostError> {
        let Some(all) = self.hosts.get(host) else { return Ok(()) };
        let mut acting: Vec<&Acting> = all.past.iter().map(|past| &past.batch.acting).collect();
        acting.sort();
        acting.dedup();
        for acting in acting {
            let (carrier, who) = self.carrier(host, acting).await?;
            // A run that goes on there is not closed under it.
            let us = (self.journal.run(), self.journal.holder());
            carrier.hold(us, &who, &[]).await.map_err(HostError::Carrier)?;
            if let Carrier::Shell { connection, who: identity, state } = &carrier {
                let wrong = |why| HostError::Carrier(CarrierError::Value(why));
                let base = base(state.as_ref(), who.uid).map_err(wrong)?;
                // The name is checked by the store: it holds neither slash nor blank.
                let script = Script::new(format!("rm -rf -- {base}/{}", self.journal.run()));
                let answer =
                    connection.run(identity, &script).await.map_err(|why| HostError::Carrier(why.into()))?;
                if answer.rc != 0 {
                    return Err(wrong(answer.rest.stderr.text()));
                }
            }
        }
        Ok(())
    }
}

/// Tells what came of one host.
fn tell(host: &str, result: &Result<Option<UndoneOn>, HostError>, (number, of): (usize, usize)) {
    let count = if of > 1 { format!("[{number}/{of}] ") } else { String::new() };
    match result {
        Ok(None) => {}
        Ok(Some(undone)) => {
            let clusters: Vec<&str> = undone.clusters.iter().map(String::as_str).collect();
            let on = match clusters.as_slice() {
                [] => String::new(),
                fsids => format!(" (cluster {})", fsids.join(", ")),
            };
            term::data(&match (undone.steps, undone.left.is_empty()) {
                (0, true) => format!("{count}{host}: nothing to take back, all is as it was before the run"),
                (0, false) => format!("{count}{host}: nothing was taken back"),
                (1, _) => format!("{count}{host}: 1 step taken back{on}"),
                (many, _) => format!("{count}{host}: {many} steps taken back{on}"),
            });
            undone.stays.iter().for_each(|words| term::data(&format!("{host}: stays: {words}")));
            undone.left.iter().for_each(|words| term::data(&format!("{host}: left as it is: {words}")));
            for owed in &undone.owed {
                term::data(&format!(
                    "{host}: owed: {}: until then what was activated since the change is still felt",
                    activation_words(owed)
                ));
            }
        }
        Err(error) => {
            term::say(&format!("{count}{host}: not taken back"));
            term::problems(&[error.diagnostic(host)]);
        }
    }
}
