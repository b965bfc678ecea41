//! A cluster that guards stand around: how it is reached, and what is seen of it.
use super::ground::{Ground, Way};
use super::sight::{About, Sight};
use super::stopped::Stopped;
use crate::engine::target::Target;
use crate::template::Json;
use modules::ceph::answers::{Crush, OkToStop, Status, json};
use modules::ceph::{Cluster as Reach, Shell};
use modules::vocabulary::{Facts, Identity, Output, Read, Row, Seen, Stop};
use serde_json::Map;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// The status of a no.
const EBUSY: i32 = 16;

/// The group of hosts by which a cluster is reached where nothing is said.
const MONS: &str = "mons";

/// Fields of how a cluster is reached; each is the variable `ceph_FIELD` as well.
const FIELDS: [&str; 6] = ["fsid", "conf", "client", "keyring", "timeout", "by"];

/// A cluster.
pub(super) struct Cluster {
    /// Its fsid.
    pub fsid: String,
    /// How it is reached, as the variables say.
    pub reach: Reach,
    /// How it stood at the start.
    pub start: Sight,
    /// Hosts that lead to it, the preferred first.
    ways: Vec<Target>,
    known: Mutex<BTreeMap<Target, (Identity, Shell, Seeing)>>,
}

/// What was seen of a way, and stays as it is: each call of a cluster's command line costs.
type Seeing = BTreeMap<Read, Seen>;

/// A way to a cluster that answers.
pub(super) struct Reached {
    pub way: Way,
    pub shell: Shell,
    pub seen: Seeing,
}

/// How the cluster of a host is reached, as its variables say: the hosts, and the rest.
fn said(ground: &Ground, target: &Target) -> Result<(Vec<Target>, Reach), Stopped> {
    let host = &target.host;
    let refused = |why: String, way_out: &str| Stopped::Refused {
        host: host.clone(),
        why,
        way_out: Some(way_out.to_owned()),
    };
    let mut fields = Map::new();
    for field in FIELDS {
        if let Some(value) = ground.value(host, &format!("ceph_{field}")) {
            fields.insert(field.to_owned(), value);
        }
    }
    let reach: Reach = serde_json::from_value(Json::Object(fields)).map_err(|why| {
        refused(format!("its variables `ceph_…` cannot be used: {why}"), "`tunerun doc ceph_flag` tells them")
    })?;
    // Before the inventory is held: variables take it as well.
    let named = ground.words(host, "ceph_via");
    let inventory = ground.scene.inventory();
    let patterns = match &named {
        Some(patterns) => patterns.clone(),
        None if inventory.group(MONS).is_some() => vec![MONS.to_owned()],
        None => {
            return Err(refused(
                format!(
                    "it runs daemons of Ceph, and nothing says by which host their cluster is reached: `ceph_via` is not set, and the inventory has no group `{MONS}`"
                ),
                "set `ceph_via` to hosts or a group that have the cluster's admin keyring; without any guard: `accept_risk: {no_guard: REASON}`",
            ));
        }
    };
    let words: Vec<&str> = patterns.iter().map(String::as_str).collect();
    let chosen = inventory.select_all_of(&words, None).map_err(|unselected| {
        let why = unselected.problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
        refused(
            format!("`ceph_via` chooses no host: {why}"),
            "name hosts or groups of the inventory that have the cluster's admin keyring",
        )
    })?;
    let target = |id| Target { host: inventory.host_name(id).to_owned(), user: target.user.clone() };
    Ok((chosen.into_iter().map(target).collect(), reach))
}

impl Cluster {
    /// The cluster whose daemons a host runs; `fsid` as the host tells it, `-` where it cannot.
    pub async fn of(ground: &Ground, target: &Target, fsid: &str) -> Result<Self, Stopped> {
        let (ways, reach) = said(ground, target)?;
        let fsid = if fsid == "-" { String::new() } else { fsid.to_owned() };
        let mut cluster =
            Self { fsid, reach, start: Sight::default(), ways, known: Mutex::new(BTreeMap::new()) };
        let reached = cluster.reached(ground, &BTreeSet::new()).await?;
        if cluster.fsid.is_empty() {
            let fsid = ground.planned(&reached.way, |facts| reached.shell.fsid(facts)).await?;
            cluster.fsid = fsid.to_ascii_lowercase();
        }
        cluster.start = cluster.seen(ground, &reached).await?;
        Ok(cluster)
    }

    /// The first way that can be gone, rather not by hosts that are down or about to be.
    pub async fn reached(&self, ground: &Ground, avoid: &BTreeSet<String>) -> Result<Reached, Stopped> {
        let (first, last): (Vec<&Target>, Vec<&Target>) =
            self.ways.iter().partition(|target| !avoid.contains(&target.host));
        let mut trouble = None;
        for target in first.into_iter().chain(last) {
            match self.reached_by(ground, target).await {
                Ok(reached) => return Ok(reached),
                // Who once led there may be led astray for a moment: mons elect, a host boots.
                Err(stopped) if self.start.osds.epoch > 0 => trouble = trouble.or(Some(passing(stopped))),
                Err(stopped) if stopped.may_pass() => trouble = trouble.or(Some(stopped)),
                Err(stopped) => return Err(stopped),
            }
        }
        let nobody = || Stopped::Refused {
            host: self.fsid.clone(),
            why: "no host leads to the cluster".to_owned(),
            way_out: Some("name hosts by `ceph_via`".to_owned()),
        };
        Err(trouble.unwrap_or_else(nobody))
    }

    async fn reached_by(&self, ground: &Ground, target: &Target) -> Result<Reached, Stopped> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(target).cloned();
        if let Some((who, shell, seen)) = known {
            return Ok(Reached { way: ground.way(target, Some(who)).await?, shell, seen });
        }
        let way = ground.way(target, None).await?;
        let asked = |facts: &Facts| {
            let shell = self.reach.shell(facts)?;
            let fsid = shell.fsid(facts)?;
            Ok((shell, fsid))
        };
        let mut seen = BTreeMap::new();
        let (shell, fsid) = ground.planned_on(&way, &mut seen, asked).await?;
        if !self.fsid.is_empty() && !fsid.eq_ignore_ascii_case(&self.fsid) {
            return Err(Stopped::Refused {
                host: target.host.clone(),
                why: format!("it leads to cluster {fsid}, and the daemons to be guarded are of cluster {}", self.fsid),
                way_out: Some("say by `ceph_via` and `ceph_conf` of that host how the cluster of its daemons is reached".to_owned()),
            });
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(target.clone(), (way.who.clone(), shell.clone(), seen.clone()));
        Ok(Reached { way, shell, seen })
    }

    /// The cluster as it stands now.
    pub async fn seen(&self, ground: &Ground, reached: &Reached) -> Result<Sight, Stopped> {
        let shell = &reached.shell;
        let rows = ["ceph-status", "ceph-osd-dump", "ceph-mon-dump"].map(|name| shell.plain(name));
        ground
            .planned(&reached.way, |facts| {
                shell.need(facts, &rows)?;
                let [status, osds, mons] = &rows;
                Ok(Sight {
                    status: shell.json(facts, status)?,
                    osds: shell.json(facts, osds)?,
                    mons: shell.json(facts, mons)?,
                })
            })
            .await
            .map_err(passing)
    }

    /// Its status as it stands now: a third of what [`Cluster::seen`] costs.
    pub async fn status(&self, ground: &Ground, reached: &Reached) -> Result<Status, Stopped> {
        let (shell, row) = (&reached.shell, reached.shell.plain("ceph-status"));
        ground.planned(&reached.way, |facts| shell.json(facts, &row)).await.map_err(passing)
    }

    /// Whether OSDs may stop, together with those that are down and those that somebody else is about to stop.
    pub async fn may_stop(
        &self,
        ground: &Ground,
        reached: &Reached,
        about: &About,
        now: &Sight,
    ) -> Result<OkToStop, Stopped> {
        if about.osds.is_empty() {
            return Ok(OkToStop { ok_to_stop: true, ..OkToStop::default() });
        }
        let shell = &reached.shell;
        let there = now.all();
        ground
            .planned(&reached.way, |facts| {
                let stopping = shell.text(facts, &shell.plain("ceph-stopping"))?;
                let stopping = stopping.split_whitespace().filter_map(|id| id.parse().ok());
                let ids: BTreeSet<i64> =
                    about.osds.iter().copied().chain(stopping).chain(now.down()).collect();
                let ids = ids.intersection(&there).copied();
                let ids: Vec<i64> = ids.collect();
                let row = shell.row("ceph-osd-ok-to-stop", ids.iter().map(i64::to_string));
                let output = facts.output(&row)?;
                answer(&output, ids).ok_or_else(|| shell.trouble(&row, &output))
            })
            .await
            .map_err(passing)
    }

    /// Whether the reports of placement groups are newer than the starts of OSDs, as [`super::rules::reported`] reads it.
    pub async fn reported(
        &self,
        ground: &Ground,
        reached: &Reached,
        osds: &BTreeSet<i64>,
    ) -> Result<String, Stopped> {
        if osds.is_empty() {
            return Ok(String::new());
        }
        let row: Row = reached.shell.row("ceph-osd-reported", osds.iter().map(i64::to_string));
        ground.planned(&reached.way, |facts| reached.shell.text(facts, &row)).await.map_err(passing)
    }

    /// The CRUSH tree.
    pub async fn tree(&self, ground: &Ground, reached: &Reached) -> Result<Crush, Stopped> {
        let row = reached.shell.plain("ceph-osd-tree");
        ground
            .planned(&reached.way, |facts| -> Result<Crush, Stop> {
                facts.need(&[Read::Ask(row.clone())])?;
                reached.shell.json(facts, &row)
            })
            .await
            .map_err(passing)
    }
}

/// The answer of `ceph osd ok-to-stop`. Releases before 16 answer in words: then the status counts.
fn answer(output: &Output, asked: Vec<i64>) -> Option<OkToStop> {
    match (json::<OkToStop>(output), output.status) {
        (Ok(may), _) if !may.osds.is_empty() => Some(may),
        (Ok(may), _) => Some(OkToStop { osds: asked, ..may }),
        (Err(_), 0 | EBUSY) => {
            Some(OkToStop { ok_to_stop: output.status == 0, osds: asked, ..OkToStop::default() })
        }
        (Err(_), _) => None,
    }
}

/// A cluster that does not answer right now may answer later: mons elect, an active mgr changes.
fn passing(stopped: Stopped) -> Stopped {
    match stopped {
        Stopped::Refused { host, why, .. } => {
            Stopped::Broken { host, error: crate::engine::carrier::CarrierError::Answer(why) }
        }
        other => other,
    }
}

/// Clusters are shared by all that wait.
pub(super) type Clusters = BTreeMap<String, Arc<Cluster>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_releases_say_by_their_status_whether_osds_may_stop() {
        let of = |status, text: &str| {
            let output = Output { status, stdout: text.into(), stderr: "".into() };
            answer(&output, vec![0, 1]).map(|may| (may.ok_to_stop, may.osds))
        };
        let recorded = include_str!("../../../../tests/data/ceph-json/osd-ok-to-stop-0.json");
        assert_eq!(of(0, recorded), Some((true, vec![0])));
        let recorded = include_str!("../../../../tests/data/ceph-json/osd-ok-to-stop-0-1.json");
        assert_eq!(of(EBUSY, recorded), Some((false, vec![0, 1])));
        assert_eq!(of(0, ""), Some((true, vec![0, 1])));
        assert_eq!(of(EBUSY, ""), Some((false, vec![0, 1])));
        assert_eq!(of(124, ""), None, "nobody answered");
    }
}
