//! The maps: CRUSH tree, OSDs, mons, managers, and what may stop.
use serde::Deserialize;
use std::collections::BTreeMap;

/// `ceph osd tree`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Crush {
    /// Buckets and OSDs.
    #[serde(default)]
    pub nodes: Vec<CrushNode>,
    /// OSDs that are in no bucket.
    #[serde(default)]
    pub stray: Vec<CrushNode>,
}

/// A bucket or an OSD.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct CrushNode {
    /// Its number; buckets have negative ones.
    pub id: i64,
    /// `h0`, `osd.3`.
    #[serde(default)]
    pub name: String,
    /// `root`, `rack`, `host`, `osd` …
    #[serde(default, rename = "type")]
    pub kind: String,
    /// What is in it.
    #[serde(default)]
    pub children: Vec<i64>,
    /// `up` or `down`, of an OSD.
    #[serde(default)]
    pub status: Option<String>,
    /// `hdd`, `ssd`, `nvme`, of an OSD.
    #[serde(default)]
    pub device_class: Option<String>,
}

impl Crush {
    fn all(&self) -> impl Iterator<Item = &CrushNode> {
        self.nodes.iter().chain(&self.stray)
    }

    /// All OSDs, once each.
    pub fn osds(&self) -> BTreeMap<i64, &CrushNode> {
        self.all().filter(|node| node.kind == "osd").map(|node| (node.id, node)).collect()
    }

    /// A bucket by type and name.
    pub fn bucket(&self, kind: &str, name: &str) -> Option<&CrushNode> {
        self.nodes.iter().find(|node| node.kind == kind && node.name == name)
    }

    /// Names of the buckets of a type, such as `host`.
    pub fn names(&self, kind: &str) -> Vec<&str> {
        self.nodes.iter().filter(|node| node.kind == kind).map(|node| node.name.as_str()).collect()
    }

    /// Types of buckets that there are.
    pub fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> =
            self.nodes.iter().map(|node| node.kind.as_str()).filter(|kind| *kind != "osd").collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Numbers of the OSDs below a bucket, in order.
    pub fn below(&self, bucket: &CrushNode) -> Vec<i64> {
        let (mut found, mut open) = (Vec::new(), bucket.children.clone());
        // A tree has no more nodes than this: a circle in a broken answer ends.
        for _ in 0..=self.nodes.len() {
            let children: Vec<i64> = std::mem::take(&mut open);
            for id in children {
                match self.nodes.iter().find(|node| node.id == id) {
                    Some(node) if node.kind == "osd" => found.push(id),
                    Some(node) => open.extend(&node.children),
                    None => {}
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// `ceph osd dump`, as far as it is used.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct OsdDump {
    /// The map's epoch.
    #[serde(default)]
    pub epoch: u64,
    /// Flags of the whole cluster, such as `noout`.
    #[serde(default)]
    pub flags_set: Vec<String>,
    /// Flags of CRUSH nodes: `{"h0": ["noout"]}`.
    #[serde(default)]
    pub crush_node_flags: BTreeMap<String, Vec<String>>,
    /// Flags of device classes.
    #[serde(default)]
    pub device_class_flags: BTreeMap<String, Vec<String>>,
    /// The OSDs.
    #[serde(default)]
    pub osds: Vec<Osd>,
}

/// One OSD of the map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Osd {
    /// Its number.
    pub osd: i64,
    /// 1 where it is up.
    #[serde(default)]
    pub up: u8,
    /// 1 where it takes part.
    #[serde(default, rename = "in")]
    pub takes_part: u8,
    /// `exists`, `up`, `noout` …
    #[serde(default)]
    pub state: Vec<String>,
    /// The map in which it came up last.
    #[serde(default)]
    pub up_from: u64,
}

/// `ceph mon dump`, as far as it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MonDump {
    /// The cluster's fsid.
    #[serde(default)]
    pub fsid: String,
    /// The mons.
    #[serde(default)]
    pub mons: Vec<Mon>,
    /// Ranks of the mons in the quorum.
    #[serde(default)]
    pub quorum: Vec<i64>,
}

/// One mon.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Mon {
    /// Its place.
    #[serde(default)]
    pub rank: i64,
    /// Its name.
    #[serde(default)]
    pub name: String,
}

/// `ceph mgr dump`, as far as it is used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct MgrDump {
    /// The manager that is active; empty where there is none.
    #[serde(default)]
    pub active_name: String,
    /// The others.
    #[serde(default)]
    pub standbys: Vec<Mon>,
}

/// `ceph osd ok-to-stop`: JSON on standard output where the answer is no, too. An OSD that does not exist is answered
/// by yes: see first whether it does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct OkToStop {
    /// The answer.
    #[serde(default)]
    pub ok_to_stop: bool,
    /// The OSDs that the answer is of.
    #[serde(default)]
    pub osds: Vec<i64>,
    /// Placement groups that would stop serving.
    #[serde(default)]
    pub bad_become_inactive: Vec<String>,
}
