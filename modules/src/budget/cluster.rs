//! What the OSDs of a cluster may use on each of its hosts, by what they say of themselves.
use super::{Budget, Part, WAY_OUT, about, reserve};
use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

/// One OSD, by `ceph osd metadata`: tolerant of what other releases write.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct OsdMetadata {
    /// Its number.
    #[serde(default)]
    id: Json,
    /// The host that it runs on.
    #[serde(default)]
    hostname: String,
    /// That host's memory in KiB.
    #[serde(default)]
    mem_total_kb: Json,
}

fn number(value: &Json) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Hosts with their OSDs and memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OsdHosts {
    /// Bytes of memory and OSDs, by host.
    hosts: BTreeMap<String, (u64, BTreeSet<u64>)>,
    /// OSDs that do not say where they run.
    silent: usize,
}

impl OsdHosts {
    /// Makes them from what OSDs say.
    pub fn of(all: &[OsdMetadata]) -> Self {
        let mut found = Self::default();
        for osd in all {
            match (number(&osd.id), number(&osd.mem_total_kb)) {
                (Some(id), Some(kib)) if !osd.hostname.is_empty() && kib > 0 => {
                    let host = found.hosts.entry(osd.hostname.clone()).or_default();
                    host.0 = kib * 1024;
                    host.1.insert(id);
                }
                _ => found.silent += 1,
            }
        }
        found
    }

    /// Hosts that would promise more than they have, in words. `target` is what an OSD may use afterwards; none where
    /// that is not known.
    pub fn over(&self, source: &str, target: impl Fn(u64) -> Option<u64>) -> Option<String> {
        let mut classes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for (host, (total, osds)) in &self.hosts {
            let mut by: BTreeMap<u64, u64> = BTreeMap::new();
            osds.iter().filter_map(|osd| target(*osd)).for_each(|target| *by.entry(target).or_default() += 1);
            let parts = by.into_iter().map(|(target, count)| Part {
                what: format!("{count} OSDs with osd_memory_target {}", about(target)),
                bytes: count.saturating_mul(target),
                source: source.to_owned(),
            });
            let parts = parts.chain([reserve(*total)]).collect();
            let budget = Budget { total: *total, parts, unknown: Vec::new() };
            if budget.is_over() {
                classes.entry(budget.words()).or_default().push(host);
            }
        }
        if classes.is_empty() {
            return None;
        }
        let told = classes.iter().map(|(words, hosts)| match hosts.len() {
            1..=3 => format!("{}: {words}", hosts.join(", ")),
            many => format!("{}, … ({many} hosts): {words}", hosts[0]),
        });
        Some(format!(
            "more memory is promised than hosts have, huge pages and guests not even counted: {}; {WAY_OUT}",
            told.collect::<Vec<_>>().join("; ")
        ))
    }

    /// What was judged, one sentence.
    pub fn judged(&self) -> String {
        let silent = match self.silent {
            0 => String::new(),
            some => format!("; {some} OSDs do not say where they run"),
        };
        format!(
            "memory: judged on {} hosts by what their OSDs say (`ceph osd metadata`): OSDs and a reserve alone; huge pages \
             and guests there are not seen from here{silent}",
            self.hosts.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{OsdHosts, OsdMetadata};

    /// Three OSDs on two hosts, as 16.2 and 18.2 write them.
    const METADATA: &str = r#"[{"id":0,"hostname":"h0","mem_total_kb":"16000000"},
        {"id":1,"hostname":"h0","mem_total_kb":"16000000"},{"id":2,"hostname":"h1","mem_total_kb":16000000},{"id":3}]"#;

    #[test]
    fn hosts_are_judged_by_what_their_osds_say() {
        let all: Vec<OsdMetadata> = serde_json::from_str(METADATA).unwrap();
        let hosts = OsdHosts::of(&all);
        assert!(hosts.judged().contains("2 hosts") && hosts.judged().contains("1 OSDs do not say"));
        assert_eq!(hosts.over("this task", |_| Some(7 << 30)), None);
        let words = hosts.over("this task", |_| Some(8 << 30)).unwrap();
        assert!(words.contains("h0: 16 GiB for 2 OSDs with osd_memory_target 8 GiB (this task)"), "{words}");
        assert!(!words.contains("h1"), "{words}");
        assert_eq!(hosts.over("this task", |osd| (osd == 0).then_some(12 << 30)), None);
    }
}
