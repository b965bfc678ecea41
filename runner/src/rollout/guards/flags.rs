//! Flags of a cluster while hosts are down or measured: set as journalled batches with a lease, renewed while the run
//! lives, given back.
use super::cluster::{Cluster, Reached};
use super::ground::{Ground, Way};
use super::stopped::Stopped;
use crate::engine::batch::{Batch, Verdict};
use crate::engine::carrier::{Carrier, CarrierError};
use crate::engine::recovery::{Felt, Undoing, by_host, undo_on};
use crate::engine::run::HostError;
use crate::engine::target::Target;
use crate::engine::undo::Past;
use crate::journal::{Journal, JournalError, Journaled, Record};
use modules::Module;
use modules::ceph::{CephFlag, Shell};
use modules::fold::fold;
use modules::vocabulary::{
    Act, Back, Change, Claim, Identity, Match, Output, Read, Seen, Spoil, Step, Stop, TaskId,
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Keeps OSDs in that are down for a while.
pub(super) const NOOUT: &str = "noout";
/// Pause scrubs.
pub(super) const SCRUBS: [&str; 2] = ["noscrub", "nodeep-scrub"];
/// The whole cluster, among nodes.
pub(super) const ALL: &str = ".";
/// What a look says of a flag that is this program's.
const OURS: &str = "ours";
/// What claims of guards begin with.
const GUARD: &str = "guard";
/// How many batches giving one flag back may take.
const MOST: u32 = 4;

/// A flag that stands by a guard.
struct Flag {
    fsid: String,
    name: &'static str,
    node: String,
    /// The hosts that it stands for.
    hosts: BTreeSet<String>,
    way: (Target, Identity),
    past: Past,
    armed: Instant,
}

/// The flags of a run's guards.
pub(super) struct Flags {
    lease: Duration,
    standing: Vec<Flag>,
    /// Where batches were made.
    touched: BTreeMap<Target, Identity>,
}

fn claim(fsid: &str, flag: &str, node: &str) -> Claim {
    Claim::new(GUARD, &format!("{fsid}/{flag}/{node}"))
}

/// A node as people call it.
fn shown(node: &str) -> &str {
    if node == ALL { "the cluster" } else { node }
}

/// What guards of an earlier run have left set, as its journal tells: a run that goes on with it takes that over, and
/// gives it back.
pub fn left_by(journaled: &Journaled) -> BTreeSet<String> {
    let mut left = BTreeSet::new();
    for past in by_host(journaled).into_values().flat_map(|host| host.past) {
        for (index, folded) in past.batch.steps.iter().enumerate() {
            let is_guard = folded.step.claim.as_str().starts_with("guard/");
            let is_undone = u32::try_from(index).is_ok_and(|index| past.undone.contains(&index));
            if is_guard && !is_undone && folded.step.back != Back::Nothing {
                left.insert(folded.step.claim.as_str().to_owned());
            }
        }
    }
    left
}

/// Sets the flag with a new lease, whatever it was: `before` and then ours.
fn armed(shell: &Shell, fsid: &str, (flag, node): (&str, &str), lease: Duration, back: bool) -> Step {
    let look = Read::Ask(shell.row("ceph-flag", [flag, node]));
    let ours = Seen::Output(Output::ok(format!("{OURS}\n")));
    let spoils = || {
        let answers = ["ceph-osd-dump", "ceph-health"].map(|name| Spoil::Answers(name.to_owned()));
        [Spoil::Read(look.clone())].into_iter().chain(answers).collect::<Vec<_>>()
    };
    let set = shell.row("ceph-flag-set", [lease.as_secs().to_string().as_str(), flag, node]);
    let unset = shell.row("ceph-flag-unset", [flag, node]);
    let back = match back {
        true => Back::Exactly(Act::Call { row: unset, spoils: spoils() }),
        false => Back::Nothing,
    };
    let looked = (look.clone(), ours.clone(), Match::Exactly(ours));
    Step::call_seen(claim(fsid, flag, node), set, spoils(), looked, back)
}

impl Flags {
    pub fn new(lease: Duration) -> Self {
        Self { lease, standing: Vec::new(), touched: BTreeMap::new() }
    }

    /// How long until the next lease must be renewed at the latest.
    pub fn pause(&self) -> Duration {
        self.lease / 3
    }

    /// Whether a lease of a cluster is to be renewed.
    pub fn is_due(&self, fsid: &str) -> bool {
        self.standing.iter().any(|flag| flag.fsid == fsid && flag.armed.elapsed() >= self.pause())
    }

    /// Sets a flag for nodes. Gives what is not ours, in words.
    pub async fn set(
        &mut self,
        ground: &Ground,
        journal: &Journal,
        (cluster, reached): (&Cluster, &Reached),
        (flag, nodes): (&'static str, &[String]),
        hosts: &BTreeSet<String>,
    ) -> Result<Vec<String>, Stopped> {
        let mut notes = Vec::new();
        for node in nodes {
            let is_it =
                |known: &&mut Flag| known.fsid == cluster.fsid && known.node == *node && known.name == flag;
            if let Some(standing) = self.standing.iter_mut().find(is_it) {
                standing.hosts.extend(hosts.iter().cloned());
                continue;
            }
            let (step, more) = self.step(ground, (cluster, reached), (flag, node)).await?;
            notes.extend(more);
            if let Some(step) = step {
                self.stand(ground, journal, (cluster, reached), (flag, node, step), hosts).await?;
            }
        }
        Ok(notes)
    }

    /// The step that sets the flag of a node; none where it is set by somebody else.
    async fn step(
        &self,
        ground: &Ground,
        (cluster, reached): (&Cluster, &Reached),
        (flag, node): (&str, &str),
    ) -> Result<(Option<Step>, Vec<String>), Stopped> {
        let nodes: Vec<&str> = if node == ALL { Vec::new() } else { vec![node] };
        let arguments = json!({
            "flag": flag, "nodes": nodes, "lease": self.lease.as_secs(), "cluster": cluster.reach,
        });
        let plan = |facts: &modules::vocabulary::Facts| -> Result<(Change, String), Stop> {
            let module: CephFlag =
                serde_json::from_value(arguments.clone()).map_err(|why| Stop::failed(why.to_string()))?;
            let look = reached.shell.row("ceph-flag", [flag, node]);
            Ok((module.plan(facts)?, reached.shell.text(facts, &look)?.trim().to_owned()))
        };
        let mut seen = reached.seen.clone();
        let (change, now) = ground.planned_on(&reached.way, &mut seen, plan).await?;
        let claim = claim(&cluster.fsid, flag, node);
        let step = match change.steps.into_iter().next() {
            Some(step) => Some(Step { claim, ..step }),
            // An earlier run that this one goes on with has set it: from now on it is this run's.
            None if now == OURS && ground.left.contains(claim.as_str()) => {
                Some(armed(&reached.shell, &cluster.fsid, (flag, node), self.lease, true))
            }
            None => None,
        };
        let notes = if step.is_none() && change.notes.is_empty() {
            vec![format!("{flag} of {} was set before this run: it stays as it is", shown(node))]
        } else {
            change.notes
        };
        Ok((step, notes))
    }

    async fn stand(
        &mut self,
        ground: &Ground,
        journal: &Journal,
        (cluster, reached): (&Cluster, &Reached),
        (flag, node, step): (&'static str, &str, Step),
        hosts: &BTreeSet<String>,
    ) -> Result<(), Stopped> {
        let way = &reached.way;
        let title = format!("guard: {flag} of {} for {} s", shown(node), self.lease.as_secs());
        let sent = self.send(ground, journal, way, (&cluster.fsid, step, title)).await?;
        let wrong = match &sent.report {
            Some(report) if report.nothing_was_written() => {
                return Err(self.unwritten(way, report));
            }
            Some(report) => match report.verdict(&sent.batch, 0) {
                Verdict::Proven => None,
                Verdict::NotReached => Some("it was not reached".to_owned()),
                Verdict::Failed(words) => Some(words),
            },
            None => Some("the host does not answer any more".to_owned()),
        };
        // Whatever came of it: at the end it is looked at, and taken back where it stands.
        self.standing.push(Flag {
            fsid: cluster.fsid.clone(),
            name: flag,
            node: node.to_owned(),
            hosts: hosts.clone(),
            way: (way.target.clone(), way.who.clone()),
            past: sent,
            armed: Instant::now(),
        });
        match wrong {
            None => Ok(()),
            Some(words) => Err(broken(way, format!("{flag} of {} could not be set: {words}", shown(node)))),
        }
    }

    fn unwritten(&self, way: &Way, report: &crate::engine::batch::BatchReport) -> Stopped {
        let host = way.target.host.clone();
        match (&report.locked, &report.stale, &report.unstaged) {
            (Some(run), ..) if !run.is_empty() => {
                Stopped::Broken { host, error: CarrierError::Held(run.clone()) }
            }
            (_, Some(words), _) | (_, _, Some(words)) => broken(way, words.clone()),
            _ => broken(way, "it has no folder that runs can be recorded in".to_owned()),
        }
    }

    /// Prepares a batch of one step, sends it, and records what came of it.
    async fn send(
        &mut self,
        ground: &Ground,
        journal: &Journal,
        way: &Way,
        (fsid, step, title): (&str, Step, String),
    ) -> Result<Past, Stopped> {
        let host = way.target.host.clone();
        let number = ground.scene.number_batches(&host, 1);
        let acts = vec![step.act.clone()];
        let batch = Batch {
            host: host.clone(),
            number,
            acting: way.target.user.clone(),
            steps: fold([(TaskId(0), step)]),
            cluster: Some(fsid.to_owned()),
            ..Batch::default()
        };
        if self.touched.insert(way.target.clone(), way.who.clone()).is_none() {
            record(journal, way)?;
        }
        let prepared = journal.prepare(batch.clone(), vec![(0, title)]).await?;
        let report = match way.carrier.carry_out(prepared, &way.who).await {
            Ok(report) => report,
            Err(error) => {
                ground.links.forget(&host).await;
                let why = error.to_string();
                journal.decide(Record::Lost { host, batch: number, why }).await?;
                return Ok(Past { batch, ..Past::default() });
            }
        };
        journal.note(Record::Done { host: host.clone(), batch: number, report: report.clone() })?;
        ground.scene.tell_done(GUARD, &host, true, acts);
        Ok(Past { batch, report: Some(report), ..Past::default() })
    }

    /// Renews leases of which a third is over. A flag that somebody has taken away meanwhile is set again.
    pub async fn renew(
        &mut self,
        ground: &Ground,
        journal: &Journal,
        (cluster, reached): (&Cluster, &Reached),
    ) -> Result<(), Stopped> {
        let due: Vec<(&'static str, String)> = (self.standing.iter())
            .filter(|flag| flag.fsid == cluster.fsid && flag.armed.elapsed() >= self.pause())
            .map(|flag| (flag.name, flag.node.clone()))
            .collect();
        for (name, node) in due {
            let step = armed(&reached.shell, &cluster.fsid, (name, &node), self.lease, false);
            let title = format!("guard: {name} of {} for another {} s", shown(&node), self.lease.as_secs());
            let sent = self.send(ground, journal, &reached.way, (&cluster.fsid, step, title)).await?;
            let is_it = |flag: &Flag| flag.fsid == cluster.fsid && flag.node == node && flag.name == name;
            let at = self.standing.iter().position(is_it);
            let Some(at) = at else { continue };
            match &sent.report {
                Some(report) if report.stale.is_some() => {
                    let gone = self.standing.remove(at);
                    self.set(ground, journal, (cluster, reached), (name, &[node]), &gone.hosts).await?;
                }
                Some(report) if report.verdict(&sent.batch, 0) == Verdict::Proven => {
                    self.standing[at].armed = Instant::now();
                }
                _ => {
                    let words = format!("the lease of {name} of {} is not renewed", shown(&node));
                    return Err(broken(&reached.way, words));
                }
            }
        }
        Ok(())
    }

    /// Gives back what stands for these hosts alone; all, where none are named. Gives what stays, in words.
    pub async fn give_back(
        &mut self,
        ground: &Ground,
        journal: &Journal,
        hosts: Option<&BTreeSet<String>>,
    ) -> Result<Vec<String>, JournalError> {
        let mut stays = Vec::new();
        for flag in std::mem::take(&mut self.standing) {
            let mut flag = flag;
            match hosts {
                Some(hosts) => flag.hosts.retain(|host| !hosts.contains(host)),
                None => flag.hosts.clear(),
            }
            if !flag.hosts.is_empty() {
                self.standing.push(flag);
                continue;
            }
            let words = back(ground, journal, &flag).await?;
            if words.is_empty() {
                continue;
            }
            let (node, fsid, until) = (shown(&flag.node), &flag.fsid, self.lease.as_secs());
            let name = flag.name;
            stays.push(format!(
                "{name} of {node} of cluster {fsid}: {}; its lease ends at most {until} s after it was set or renewed",
                words.join("; ")
            ));
            // It is tried again at the end.
            self.standing.push(flag);
        }
        Ok(stays)
    }

    /// Hosts that led to clusters have no open run by what guards did there.
    pub async fn unmark(&self, ground: &Ground, journal: &Journal, open: &[String]) {
        for (target, who) in &self.touched {
            let stands = self.standing.iter().any(|flag| flag.way.0 == *target);
            if stands || open.contains(&target.host) {
                continue;
            }
            if let Ok(carrier) = ground.links.carrier(&ground.scene, target).await {
                // Where it stays, the next run asks for a resume, which does no harm.
                let _ = carrier.mark(journal.run(), who, "finished").await;
            }
        }
    }
}

/// Takes one flag back by its journalled way. Gives what is left, in words.
async fn back(ground: &Ground, journal: &Journal, flag: &Flag) -> Result<Vec<String>, JournalError> {
    let (target, who) = &flag.way;
    let carrier = match ground.links.carrier(&ground.scene, target).await {
        Ok(carrier) => carrier,
        Err(why) => return Ok(vec![why.diagnostic(&target.host).message]),
    };
    let cut_off: Vec<&Batch> = flag.past.report.is_none().then_some(&flag.past.batch).into_iter().collect();
    let undoing = Undoing {
        host: &target.host,
        who,
        acting: &target.user,
        past: std::slice::from_ref(&flag.past),
        cut_off: &cut_off,
        number: ground.scene.number_batches(&target.host, MOST) - MOST,
        force: &[],
        pending: &[],
        felt: Felt::Now,
    };
    match undo_on(&carrier, journal, undoing).await {
        Ok(undone) => {
            let acts = undone.done.iter().flat_map(|(batch, _)| &batch.steps);
            let acts = acts.map(|folded| folded.step.act.clone()).collect();
            ground.scene.tell_done(GUARD, &target.host, true, acts);
            Ok(undone.left)
        }
        Err(HostError::Journal(error)) => Err(error),
        Err(error) => {
            ground.links.forget(&target.host).await;
            Ok(vec![error.diagnostic(&target.host).message])
        }
    }
}

/// The host is part of the run, so that what was set by it is found again.
fn record(journal: &Journal, way: &Way) -> Result<(), JournalError> {
    let address = match &way.carrier {
        Carrier::Shell { connection, .. } => connection.address().to_owned(),
        Carrier::Memory(_) => "memory".to_owned(),
    };
    journal.note(Record::Host {
        host: way.target.host.clone(),
        address,
        user: way.who.user.clone(),
        uid: way.who.uid,
        acting: serde_json::to_value(&way.target.user).unwrap_or_default(),
    })
}

fn broken(way: &Way, why: String) -> Stopped {
    Stopped::Broken { host: way.target.host.clone(), error: CarrierError::Value(why) }
}
