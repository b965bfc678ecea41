//! A cluster at one moment, and what of it a run has down or is about to take down.
use super::daemons::Daemons;
use modules::ceph::answers::{Crush, MonDump, OsdDump, Status};
use std::collections::BTreeSet;

/// A cluster at one moment.
#[derive(Clone, Debug, Default)]
pub struct Sight {
    /// `ceph status`.
    pub status: Status,
    /// `ceph osd dump`.
    pub osds: OsdDump,
    /// `ceph mon dump`.
    pub mons: MonDump,
}

impl Sight {
    /// The OSDs that are down.
    pub fn down(&self) -> BTreeSet<i64> {
        self.osds.osds.iter().filter(|osd| osd.up == 0).map(|osd| osd.osd).collect()
    }

    /// The OSDs that there are.
    pub fn all(&self) -> BTreeSet<i64> {
        self.osds.osds.iter().map(|osd| osd.osd).collect()
    }

    /// The map in which an OSD came up last; none for one that is down or not there.
    pub fn up_from(&self, id: i64) -> Option<u64> {
        self.osds.osds.iter().find(|osd| osd.osd == id && osd.up != 0).map(|osd| osd.up_from)
    }

    /// The mons in the quorum.
    pub fn quorum(&self) -> BTreeSet<&str> {
        let in_quorum = |rank: &i64| self.mons.quorum.contains(rank);
        self.mons.mons.iter().filter(|mon| in_quorum(&mon.rank)).map(|mon| mon.name.as_str()).collect()
    }

    /// Its health in a few words.
    pub fn words(&self) -> String {
        let health = &self.status.health;
        let codes: Vec<&str> = health.checks.keys().map(String::as_str).collect();
        match codes[..] {
            [] => health.status.clone(),
            _ => format!("{} ({})", health.status, codes.join(", ")),
        }
    }
}

/// What is about to be down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// OSDs that are down by this run's hand or about to be.
    pub osds: BTreeSet<i64>,
    /// Mons that are down by this run's hand or about to be.
    pub mons: BTreeSet<String>,
    /// Those of the OSDs that are of hosts which this run has taken down.
    pub down_osds: BTreeSet<i64>,
    /// Those of the mons.
    pub down_mons: BTreeSet<String>,
}

impl About {
    /// Adds daemons of a host; `down` where it was taken down already.
    pub fn add(&mut self, daemons: &Daemons, down: bool) {
        self.osds.extend(daemons.osds());
        self.mons.extend(daemons.mons());
        if down {
            self.down_osds.extend(daemons.osds());
            self.down_mons.extend(daemons.mons());
        }
    }

    /// Those of which the cluster knows nothing: it calls an OSD that does not exist fine to stop.
    pub fn unknown(&self, now: &Sight) -> Vec<String> {
        let there = now.all();
        let osds = self.osds.iter().filter(|id| !there.contains(id)).map(|id| format!("osd.{id}"));
        let is_mon = |name: &String| now.mons.mons.iter().any(|mon| mon.name == *name);
        let mons = self.mons.iter().filter(|name| !is_mon(name)).map(|name| format!("mon.{name}"));
        osds.chain(mons).collect()
    }

    /// Whether a health code says no more than that hosts of this run are down. `no_others` where no other OSD is.
    pub fn explains(&self, code: &str, no_others: bool) -> bool {
        let of_osds = (code.starts_with("OSD_") && code.ends_with("_DOWN")) || code == "PG_DEGRADED";
        (of_osds && no_others && !self.down_osds.is_empty())
            || (code == "MON_DOWN" && !self.down_mons.is_empty())
    }
}

/// The nodes that keep OSDs from being marked out: CRUSH hosts all of whose OSDs are among them, else the OSDs one by one.
pub fn nodes(tree: &Crush, osds: &BTreeSet<i64>) -> Vec<String> {
    let (mut nodes, mut left) = (Vec::new(), osds.clone());
    for host in tree.nodes.iter().filter(|node| node.kind == "host") {
        let below: BTreeSet<i64> = tree.below(host).into_iter().collect();
        if !below.is_empty() && below.is_subset(osds) {
            nodes.push(host.name.clone());
            left = left.difference(&below).copied().collect();
        }
    }
    nodes.extend(left.iter().map(|id| format!("osd.{id}")));
    nodes
}
