//! Before hosts go down, and after: waiting until what must hold does, within the guard's time.
use super::cluster::{Cluster, Reached};
use super::daemons::Daemons;
use super::flags::NOOUT;
use super::ground::Waiting;
use super::rules::{Back, Going, Returned, Rules, Verdict, reported};
use super::sight::{About, Sight, nodes};
use super::stopped::Stopped;
use super::{Guards, command, locked};
use crate::engine::target::Target;
use crate::journal::Journal;
use crate::playbook::rollout::Noout;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to wait before it is looked again: at first, and once it takes long.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// What takes long.
const LONG: Duration = Duration::from_secs(20);

/// How often it is told what is waited for, where that stays the same.
const TOLD: Duration = Duration::from_secs(30);

/// Daemons by cluster.
type ByCluster = BTreeMap<String, Daemons>;

/// Hosts that were let go down together.
#[derive(Clone, Debug)]
pub struct Held {
    hosts: Vec<(Target, ByCluster)>,
    /// The clusters right before.
    before: BTreeMap<String, Sight>,
    going: Going,
    /// What guards met that is not theirs, in words.
    pub notes: Vec<String>,
}

impl Held {
    /// The hosts' names.
    pub fn hosts(&self) -> BTreeSet<String> {
        self.hosts.iter().map(|(target, _)| target.host.clone()).collect()
    }
}

/// How long something is waited for, and what was told of it.
struct Clock<'g> {
    guards: &'g Guards,
    hosts: Vec<String>,
    before: bool,
    began: Instant,
    told: Option<(Vec<String>, Instant)>,
}

impl<'g> Clock<'g> {
    fn new(guards: &'g Guards, hosts: &BTreeSet<String>, before: bool) -> Self {
        let hosts = hosts.iter().cloned().collect();
        Self { guards, hosts, before, began: Instant::now(), told: None }
    }

    fn left(&self) -> Duration {
        self.guards.0.guard.timeout.0.saturating_sub(self.began.elapsed())
    }

    fn tell(&mut self, why: &[String]) {
        let is_news = match &self.told {
            Some((told, at)) => told != why || at.elapsed() >= TOLD,
            None => !why.is_empty(),
        };
        if !is_news {
            return;
        }
        self.told = Some((why.to_vec(), Instant::now()));
        (self.guards.0.tell)(Waiting {
            hosts: self.hosts.clone(),
            before: self.before,
            why: why.to_vec(),
            waited: self.began.elapsed(),
            most: self.guards.0.guard.timeout.0,
        });
    }

    /// Waits a little, or ends the waiting.
    async fn wait(&mut self, why: Vec<String>, run: &str) -> Result<(), Stopped> {
        self.tell(&why);
        let left = self.left();
        if left.is_zero() {
            let way_out = format!(
                "`ceph health detail` says more; what may stand goes to `allow:` of `guard:`; once it holds, `tunerun resume {run}` goes on, or `tunerun undo {run}` takes the run back"
            );
            let (hosts, before, waited) = (self.hosts.clone(), self.before, self.began.elapsed());
            return Err(Stopped::TimedOut { hosts, before, waited, why, way_out });
        }
        let pause = PAUSES[usize::from(self.began.elapsed() > LONG)];
        tokio::time::sleep(pause.min(left)).await;
        Ok(())
    }
}

/// What a try came to: what was waited for, or what does not hold yet.
type Try<T> = Result<Result<T, Vec<String>>, Stopped>;

/// What may pass by itself is a reason to wait.
fn or_wait<T>(tried: Try<T>) -> Try<T> {
    match tried {
        Err(stopped) if stopped.may_pass() => Ok(Err(vec![stopped.words()])),
        other => other,
    }
}

impl Guards {
    /// Waits until hosts may go down together, and keeps their OSDs in meanwhile: the cluster is no worse than at the
    /// start, their OSDs may stop together with all that is down or about to be, and more than half of the mons stay.
    /// Taking changes back does not wait for health, only for what would cost service.
    ///
    /// # Errors
    /// [`Stopped::TimedOut`] after the guard's `timeout:`; daemons of which their cluster does not know; the journal.
    pub async fn before(&self, journal: &Journal, hosts: &[Target], going: Going) -> Result<Held, Stopped> {
        let names: BTreeSet<String> = hosts.iter().map(|target| target.host.clone()).collect();
        let mut clock = Clock::new(self, &names, true);
        loop {
            let mut why = self.commands(&names, clock.left()).await;
            if why.is_empty() {
                let _turn = self.0.turn.lock().await;
                match or_wait(self.let_down(journal, hosts, &names, going).await)? {
                    Ok(held) => {
                        clock.tell(&[]);
                        return Ok(held);
                    }
                    Err(not_yet) => why = not_yet,
                }
            }
            clock.wait(why, journal.run()).await?;
        }
    }

    /// Waits until all daemons of the hosts are up again and the cluster is as well as at the start, then gives back what
    /// was set for them. May be called again where it timed out.
    ///
    /// # Errors
    /// As [`Guards::before`].
    pub async fn after(&self, journal: &Journal, held: &Held) -> Result<Vec<String>, Stopped> {
        let names = held.hosts();
        let mut clock = Clock::new(self, &names, false);
        loop {
            let mut why = match or_wait(self.is_back(held, &names).await)? {
                Ok(()) => Vec::new(),
                Err(not_yet) => not_yet,
            };
            if why.is_empty() {
                why = self.commands(&names, clock.left()).await;
            }
            if why.is_empty() {
                clock.tell(&[]);
                break;
            }
            clock.wait(why, journal.run()).await?;
        }
        locked(&self.0.down).retain(|host| !names.contains(host));
        let mut flags = self.0.flags.lock().await;
        Ok(flags.give_back(&self.0.ground, journal, Some(&names)).await?)
    }

    /// The guard's command, for each host.
    async fn commands(&self, hosts: &BTreeSet<String>, left: Duration) -> Vec<String> {
        let Some(words) = &self.0.guard.command else { return Vec::new() };
        let mut why = Vec::new();
        for host in hosts {
            // At the end of the time it is asked once more, and may take a moment.
            why.extend(command::fails(words, host, left.max(PAUSES[0])).await);
        }
        why
    }

    fn rules(&self, going: Going) -> Rules<'_> {
        let guard = &self.0.guard;
        Rules { allow: &guard.allow, ok_to_stop: guard.ok_to_stop, going }
    }

    /// The daemons of a host: as they are now, or as they were seen last where it cannot be reached.
    async fn of_host(&self, target: &Target) -> Result<ByCluster, Stopped> {
        match self.0.ground.daemons(target).await {
            Ok(daemons) => self.learn(target, daemons).await,
            Err(stopped) => {
                let known = locked(&self.0.hosts).get(&target.host).cloned();
                known.filter(|_| stopped.may_pass()).ok_or(stopped)
            }
        }
    }

    /// What is down or about to be, of one cluster.
    fn about(&self, fsid: &str, hosts: &[(Target, ByCluster)], down: &BTreeSet<String>) -> About {
        let mut about = About::default();
        let known = locked(&self.0.hosts);
        for daemons in down.iter().filter_map(|host| known.get(host)?.get(fsid)) {
            about.add(daemons, true);
        }
        for (_, daemons) in hosts {
            if let Some(daemons) = daemons.get(fsid) {
                about.add(daemons, false);
            }
        }
        about
    }

    async fn let_down(
        &self,
        journal: &Journal,
        targets: &[Target],
        names: &BTreeSet<String>,
        going: Going,
    ) -> Try<Held> {
        let mut hosts = Vec::new();
        for target in targets {
            hosts.push((target.clone(), self.of_host(target).await?));
        }
        let fsids: BTreeSet<String> = hosts.iter().flat_map(|(_, daemons)| daemons.keys().cloned()).collect();
        let down = locked(&self.0.down).clone();
        let avoid: BTreeSet<String> = names.union(&down).cloned().collect();
        let mut held = Held { hosts, before: BTreeMap::new(), going, notes: Vec::new() };
        let (mut why, mut reached) = (Vec::new(), Vec::new());
        for fsid in &fsids {
            let Some(cluster) = self.cluster(fsid) else { continue };
            let way = cluster.reached(&self.0.ground, &avoid).await?;
            let about = self.about(fsid, &held.hosts, &down);
            why.extend(self.asked(&cluster, &way, &about, going).await?.1.why());
            reached.push((cluster, way, about));
        }
        if !why.is_empty() {
            return Ok(Err(why));
        }
        for (cluster, way, about) in &reached {
            self.hold(journal, way, &avoid).await?;
            let set = self.keep_in(journal, (cluster, way), &held, names).await;
            let asked = match set {
                Ok(notes) => {
                    held.notes.extend(notes);
                    self.asked(cluster, way, about, going).await
                }
                Err(stopped) => Err(stopped),
            };
            match asked {
                Ok((sight, Verdict::Met)) => drop(held.before.insert(cluster.fsid.clone(), sight)),
                other => {
                    let mut flags = self.0.flags.lock().await;
                    flags.give_back(&self.0.ground, journal, Some(names)).await?;
                    return other.map(|(_, verdict)| Err(verdict.why()));
                }
            }
        }
        locked(&self.0.down).extend(names.iter().cloned());
        Ok(Ok(held))
    }

    /// Takes the lock of the host that leads to a cluster: other controllers that come by it wait from here on. Not where
    /// that host is on its way down itself: the lock would disarm what may have to take a batch back there.
    async fn hold(
        &self,
        journal: &Journal,
        reached: &Reached,
        going_down: &BTreeSet<String>,
    ) -> Result<(), Stopped> {
        let host = &reached.way.target.host;
        if going_down.contains(host) {
            return Ok(());
        }
        let us = (journal.run(), journal.holder());
        let held = reached.way.carrier.hold(us, &reached.way.who, &[]).await;
        held.map(drop).map_err(|error| Stopped::Broken { host: host.clone(), error })
    }

    /// How a cluster stands, and whether hosts may go down.
    async fn asked(
        &self,
        cluster: &Arc<Cluster>,
        reached: &Reached,
        about: &About,
        going: Going,
    ) -> Result<(Sight, Verdict), Stopped> {
        let ground = &self.0.ground;
        let now = cluster.seen(ground, reached).await?;
        let unknown = about.unknown(&now);
        if !unknown.is_empty() {
            return Err(Stopped::Refused {
                host: reached.way.target.host.clone(),
                why: format!("cluster {} does not know {}", cluster.fsid, unknown.join(", ")),
                way_out: Some("see whether `ceph_via` and `ceph_conf` of the hosts lead to the cluster of their daemons; a daemon that was purged and still runs is to be stopped".to_owned()),
            });
        }
        let may = match self.0.guard.ok_to_stop {
            true => cluster.may_stop(ground, reached, about, &now).await?,
            false => modules::ceph::answers::OkToStop { ok_to_stop: true, ..Default::default() },
        };
        let verdict = self.rules(going).before(&cluster.start, &now, about, &may);
        Ok((now, verdict))
    }

    /// Keeps OSDs from being marked out. Gives what is not ours, in words.
    async fn keep_in(
        &self,
        journal: &Journal,
        (cluster, reached): (&Arc<Cluster>, &Reached),
        held: &Held,
        names: &BTreeSet<String>,
    ) -> Result<Vec<String>, Stopped> {
        let osds: BTreeSet<i64> = (held.hosts.iter())
            .filter_map(|(_, daemons)| daemons.get(&cluster.fsid))
            .flat_map(Daemons::osds)
            .collect();
        if self.0.guard.noout == Noout::Off || osds.is_empty() {
            return Ok(Vec::new());
        }
        let ground = &self.0.ground;
        let nodes = nodes(&cluster.tree(ground, reached).await?, &osds);
        let mut flags = self.0.flags.lock().await;
        flags.set(ground, journal, (cluster, reached), (NOOUT, &nodes), names).await
    }

    async fn is_back(&self, held: &Held, names: &BTreeSet<String>) -> Try<()> {
        let ground = &self.0.ground;
        let mut there = Vec::new();
        for (target, before) in held.hosts.iter().filter(|(_, before)| !before.is_empty()) {
            let now = match self.0.guard.daemons_up {
                true => ground.daemons(target).await?,
                false => before.clone(),
            };
            there.push((target.host.as_str(), before, now));
        }
        let others: BTreeSet<String> = locked(&self.0.down).difference(names).cloned().collect();
        for (fsid, before) in &held.before {
            let Some(cluster) = self.cluster(fsid) else { continue };
            let reached = cluster.reached(ground, &others).await?;
            let about = self.about(fsid, &[], &others);
            let none = Daemons::default();
            let unknown = |now: &ByCluster| now.get("-").cloned();
            let found: Vec<Daemons> = there
                .iter()
                .map(|(_, _, now)| now.get(fsid).cloned().or_else(|| unknown(now)).unwrap_or_default())
                .collect();
            let hosts: Vec<Returned<'_>> = there
                .iter()
                .zip(&found)
                .map(|((host, before, _), now)| Returned {
                    host,
                    before: before.get(fsid).unwrap_or(&none),
                    now,
                })
                .collect();
            let back = Back { hosts: &hosts, before };
            let why = self.settled(&cluster, &reached, &about, &back, held.going).await?;
            if !why.is_empty() {
                return Ok(Err(why));
            }
        }
        Ok(Ok(()))
    }

    /// What does not hold yet of a cluster after hosts were down. The order counts: reports of placement groups lag behind
    /// the map, so that the status which counts is looked at after they were seen to be new.
    async fn settled(
        &self,
        cluster: &Arc<Cluster>,
        reached: &Reached,
        others: &About,
        back: &Back<'_>,
        going: Going,
    ) -> Result<Vec<String>, Stopped> {
        let ground = &self.0.ground;
        let rules = self.rules(going);
        let now = cluster.seen(ground, reached).await?;
        let why = rules.after(&cluster.start, &now, others, back).why();
        let anew: BTreeSet<i64> =
            back.hosts.iter().flat_map(|host| host.before.begun_anew(host.now)).collect();
        if !why.is_empty() || anew.is_empty() || going == Going::Back {
            return Ok(why);
        }
        let anew: BTreeSet<i64> = anew.intersection(&now.all()).copied().collect();
        let why = reported(&cluster.reported(ground, reached, &anew).await?).why();
        if !why.is_empty() {
            return Ok(why);
        }
        let now = cluster.seen(ground, reached).await?;
        Ok(rules.after(&cluster.start, &now, others, back).why())
    }
}
