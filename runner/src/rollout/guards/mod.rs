//! Guards: what must hold before and after hosts are touched, and what keeps a cluster calm meanwhile.
mod around;
mod calm;
mod cluster;
mod command;
mod daemons;
mod flags;
mod ground;
mod rules;
mod sight;
mod stopped;

pub use around::Held;
pub use calm::Limits;
pub use daemons::{Daemon, Daemons, Process, by_cluster, only};
pub use flags::left_by;
pub use ground::{Ground, Tell, Waiting};
pub use rules::{Back, Going, Returned, Rules, Verdict, reported};
pub use sight::{About, Sight, nodes};
pub use stopped::Stopped;

use crate::engine::target::Target;
use crate::journal::{Journal, Record};
use crate::playbook::rollout::Guard;
use cluster::{Cluster, Clusters};
use flags::Flags;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as Turn, watch};

/// The shortest and the longest lease of `noout`.
const LEASES: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(3600));

/// How often it is tried again to renew a lease where that failed.
const AGAIN: Duration = Duration::from_secs(5);

/// What stands around the hosts of one rollout. Cheap to clone; all clones are one.
#[derive(Clone)]
pub struct Guards(Arc<Inner>);

struct Inner {
    guard: Guard,
    ground: Ground,
    tell: Tell,
    /// The hosts that were looked at, with the daemons that they ran, by cluster.
    hosts: Mutex<BTreeMap<String, BTreeMap<String, Daemons>>>,
    clusters: Mutex<Clusters>,
    /// Hosts that were let go down and are not up again yet.
    down: Mutex<BTreeSet<String>>,
    /// Who decides: hosts go down one decision after another, each with what was decided before in mind.
    turn: Turn<()>,
    flags: Turn<Flags>,
}

/// Keeps what guards have set alive until it is dropped.
pub struct Alive(#[expect(dead_code, reason = "its drop ends the task")] watch::Sender<()>);

fn locked<T>(thing: &Mutex<T>) -> MutexGuard<'_, T> {
    thing.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Guards {
    /// Looks at the hosts once, side by side: which run daemons of Ceph, of which cluster, and how that stands. Hosts
    /// without Ceph need nothing but the guard's command. Hosts with Ceph are guarded though `guard` is none. A host that
    /// cannot be reached now is looked at before it is let go down.
    ///
    /// # Errors
    /// [`Stopped`]: daemons of a cluster to which nothing leads, or another cluster answers.
    pub async fn begin(
        guard: Option<Guard>,
        ground: &Ground,
        targets: &[Target],
        journal: &Journal,
        tell: Tell,
    ) -> Result<Self, Stopped> {
        let guards = Self::watching(guard, ground, targets, tell).await?;
        for cluster in locked(&guards.0.clusters).values() {
            let what =
                format!("cluster {} stands at {} as guards begin", cluster.fsid, cluster.start.words());
            journal.note(Record::Decided { what, by: "the guards".to_owned() })?;
        }
        Ok(guards)
    }

    /// The same where nothing will be set, so that there is no journal.
    ///
    /// # Errors
    /// As [`Guards::begin`].
    pub async fn watching(
        guard: Option<Guard>,
        ground: &Ground,
        targets: &[Target],
        tell: Tell,
    ) -> Result<Self, Stopped> {
        let guard = guard.unwrap_or_default();
        // A lease that ends sooner than a guard gives up would end while hosts are down.
        let lease = guard.timeout.0.clamp(LEASES.0, LEASES.1);
        let guards = Self(Arc::new(Inner {
            guard,
            ground: ground.clone(),
            tell,
            hosts: Mutex::default(),
            clusters: Mutex::default(),
            down: Mutex::default(),
            turn: Turn::new(()),
            flags: Turn::new(Flags::new(lease)),
        }));
        let mut looks = Vec::new();
        for target in targets {
            let (ground, target) = (ground.clone(), target.clone());
            looks.push(tokio::spawn(async move {
                let daemons = ground.daemons(&target).await;
                (target, daemons)
            }));
        }
        for look in looks {
            // A look that broke off is made again before the host goes down.
            let Ok((target, daemons)) = look.await else { continue };
            match daemons {
                Ok(daemons) => drop(guards.learn(&target, daemons).await?),
                Err(stopped) if stopped.may_pass() => {}
                Err(stopped) => return Err(stopped),
            }
        }
        Ok(guards)
    }

    /// Whether daemons of a cluster were seen on a host.
    pub fn is_guarded(&self, host: &str) -> bool {
        locked(&self.0.hosts).get(host).is_some_and(|daemons| !daemons.is_empty())
    }

    /// Takes what was seen of a host; its clusters are looked at where they are new.
    async fn learn(
        &self,
        target: &Target,
        seen: BTreeMap<String, Daemons>,
    ) -> Result<BTreeMap<String, Daemons>, Stopped> {
        let mut known = BTreeMap::<String, Daemons>::new();
        for (fsid, daemons) in seen {
            let there = locked(&self.0.clusters).get(&fsid).map(|cluster| cluster.fsid.clone());
            let fsid = match there {
                Some(fsid) => fsid,
                None => {
                    let cluster = Cluster::of(&self.0.ground, target, &fsid).await?;
                    let fsid = cluster.fsid.clone();
                    locked(&self.0.clusters).entry(fsid.clone()).or_insert_with(|| Arc::new(cluster));
                    fsid
                }
            };
            known.entry(fsid).or_default().0.extend(daemons.0);
        }
        let mut hosts = locked(&self.0.hosts);
        let host = hosts.entry(target.host.clone()).or_default();
        for (fsid, daemons) in &known {
            // What ran at the start must run again, in the process that was seen last.
            host.entry(fsid.clone()).or_default().0.extend(daemons.0.clone());
        }
        Ok(host.clone())
    }

    fn cluster(&self, fsid: &str) -> Option<Arc<Cluster>> {
        locked(&self.0.clusters).get(fsid).cloned()
    }

    /// Renews the leases of what guards have set until the answer is dropped. Where that fails it is tried again; the
    /// lease ends by itself where it fails for good.
    pub fn keep_alive(&self, journal: &Journal) -> Alive {
        let (alive, mut over) = watch::channel(());
        let (guards, journal) = (self.clone(), journal.clone());
        tokio::spawn(async move {
            let lease = guards.0.flags.lock().await.pause();
            let mut pause = lease;
            loop {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    _ = over.changed() => return,
                }
                // Not cut off by the end: what was sent is recorded first.
                pause = match guards.renew(&journal).await {
                    Ok(()) => lease.min(lease / 4 + AGAIN),
                    Err(_) => AGAIN,
                };
            }
        });
        Alive(alive)
    }

    async fn renew(&self, journal: &Journal) -> Result<(), Stopped> {
        let clusters: Vec<Arc<Cluster>> = locked(&self.0.clusters).values().cloned().collect();
        for cluster in clusters {
            let down = locked(&self.0.down).clone();
            let mut flags = self.0.flags.lock().await;
            if !flags.is_due(&cluster.fsid) {
                continue;
            }
            let reached = cluster.reached(&self.0.ground, &down).await?;
            flags.renew(&self.0.ground, journal, (&cluster, &reached)).await?;
        }
        Ok(())
    }

    /// Gives back everything that still stands, at the end of the run, whatever happened. `open` names hosts whose part
    /// ended with something left: the mark of an open run stays there. To be called once all parts of hosts have ended.
    /// Gives what stays, in words.
    ///
    /// # Errors
    /// [`Stopped::Journal`].
    pub async fn end(&self, journal: &Journal, open: &[String]) -> Result<Vec<String>, Stopped> {
        let mut flags = self.0.flags.lock().await;
        let stays = flags.give_back(&self.0.ground, journal, None).await?;
        flags.unmark(&self.0.ground, journal, open).await;
        Ok(stays)
    }
}
