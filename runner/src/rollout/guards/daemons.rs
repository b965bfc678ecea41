//! Which daemons of Ceph a host runs, as its answer tells.
use std::collections::{BTreeMap, BTreeSet};

/// A process of a daemon: the boot that it began in, its number, and when it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    boot: String,
    pid: u32,
    began: u64,
}

/// A daemon of a cluster, such as `osd` and `3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Daemon {
    /// `osd`, `mon`, `mgr`, `mds`, `rgw`.
    pub kind: String,
    /// Its name among those of its kind.
    pub id: String,
}

impl Daemon {
    /// As people name it: `osd.3`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.kind, self.id)
    }
}

/// The daemons of one cluster on one host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Daemons(pub BTreeMap<Daemon, Process>);

impl Daemons {
    /// The numbers of the OSDs among them.
    pub fn osds(&self) -> BTreeSet<i64> {
        self.of("osd").filter_map(|id| id.parse().ok()).collect()
    }

    /// The names of the mons among them.
    pub fn mons(&self) -> BTreeSet<String> {
        self.of("mon").map(str::to_owned).collect()
    }

    fn of(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.0.keys().filter(move |daemon| daemon.kind == kind).map(|daemon| daemon.id.as_str())
    }

    /// Those of these that do not run there.
    pub fn missing_in(&self, now: &Self) -> Vec<String> {
        self.0.keys().filter(|daemon| !now.0.contains_key(daemon)).map(Daemon::name).collect()
    }

    /// The OSDs that run there in another process than here.
    pub fn begun_anew(&self, now: &Self) -> BTreeSet<i64> {
        let other = |(daemon, process): &(&Daemon, &Process)| {
            daemon.kind == "osd" && now.0.get(daemon).is_some_and(|there| there != *process)
        };
        self.0.iter().filter(other).filter_map(|(daemon, _)| daemon.id.parse().ok()).collect()
    }
}

/// The daemons of a host by the fsid of their cluster; `-` where that cannot be told.
pub fn by_cluster(answer: &str) -> BTreeMap<String, Daemons> {
    let (mut clusters, mut boot) = (BTreeMap::<String, Daemons>::new(), String::new());
    for line in answer.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["boot", id] => id.clone_into(&mut boot),
            ["daemon", kind, id, fsid, pid, began] => {
                let (Ok(pid), Ok(began)) = (pid.parse(), began.parse()) else { continue };
                let daemon = Daemon { kind: kind.to_owned(), id: id.to_owned() };
                let process = Process { boot: boot.clone(), pid, began };
                clusters.entry(fsid.to_ascii_lowercase()).or_default().0.insert(daemon, process);
            }
            _ => {}
        }
    }
    clusters
}

/// Leaves only daemons that the inventory names, where hosts of the inventory share one machine.
pub fn only(clusters: &mut BTreeMap<String, Daemons>, named: &[String], fsid: Option<&str>) {
    clusters.retain(|cluster, daemons| {
        daemons.0.retain(|daemon, _| named.contains(&daemon.name()));
        !daemons.0.is_empty() && fsid.is_none_or(|fsid| cluster == "-" || cluster.eq_ignore_ascii_case(fsid))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "boot b1\ndaemon osd 3 F1 10 500\ndaemon osd 4 F1 11 501\ndaemon mon a F1 12 400\n\
                          daemon rgw rgw.x - 13 9\ndaemon osd x\n";

    #[test]
    fn daemons_are_told_by_cluster() {
        let all = by_cluster(ANSWER);
        assert_eq!(all.keys().collect::<Vec<_>>(), ["-", "f1"]);
        assert_eq!(all["f1"].osds(), BTreeSet::from([3, 4]));
        assert_eq!(all["f1"].mons(), BTreeSet::from(["a".to_owned()]));
        assert!(by_cluster("boot b1\n").is_empty());
    }

    #[test]
    fn what_is_missing_and_what_began_anew() {
        let before = by_cluster(ANSWER).remove("f1").unwrap();
        let now = "boot b1\ndaemon osd 3 F1 99 900\ndaemon mon a F1 12 400\n";
        let now = by_cluster(now).remove("f1").unwrap();
        assert_eq!(before.missing_in(&now), ["osd.4"]);
        assert_eq!(before.begun_anew(&now), BTreeSet::from([3]));
        assert_eq!(before.begun_anew(&before), BTreeSet::new());
        // After a boot the same numbers are other processes.
        let booted = by_cluster(&ANSWER.replace("b1", "b2")).remove("f1").unwrap();
        assert_eq!(before.begun_anew(&booted), BTreeSet::from([3, 4]));
    }

    #[test]
    fn hosts_of_one_machine_have_what_the_inventory_names() {
        let mut all = by_cluster(&format!("{ANSWER}daemon osd 3 F2 20 1\n"));
        only(&mut all, &["osd.3".to_owned()], Some("F1"));
        assert_eq!(all.keys().collect::<Vec<_>>(), ["f1"]);
        assert_eq!(all["f1"].osds(), BTreeSet::from([3]));
        assert!(all["f1"].mons().is_empty());
    }
}
