//! Clusters while they are measured: scrubs are paused, what is not well is waited for, and the load ends where it becomes
//! the outage.
use super::cluster::Cluster;
use super::flags::{ALL, SCRUBS};
use super::stopped::Stopped;
use super::{Guards, locked};
use crate::bench::ceph_osd_perf::CephOsdPerf;
use crate::bench::{Driver, Output, Span};
use crate::engine::target::Target;
use crate::journal::Journal;
use crate::playbook::rollout::AbortIf;
use modules::ceph::answers::Status;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Whom the flags of a gate stand for, among hosts.
const GATE: &str = "(the gate)";

/// How often a cluster is looked at under load, and how soon first: each look costs a call of its command line.
const LOOKS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(5));

/// Health codes that end a load whatever is said.
const ALWAYS: [&str; 7] = [
    "SLOW_OPS",
    "OSD_NEARFULL",
    "OSD_BACKFILLFULL",
    "OSD_FULL",
    "POOL_NEARFULL",
    "POOL_BACKFILLFULL",
    "POOL_FULL",
];

/// What ends a load.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Codes beside the usual ones, and the clients' latency.
    pub abort_if: AbortIf,
}

impl Guards {
    /// The cluster that a host's variables lead to is among those that are watched, though the host runs none of its
    /// daemons: it loads it.
    ///
    /// # Errors
    /// [`Stopped`] where nothing leads to it.
    pub async fn lead(&self, target: &Target) -> Result<(), Stopped> {
        let cluster = Cluster::of(&self.0.ground, target, "-").await?;
        locked(&self.0.clusters).entry(cluster.fsid.clone()).or_insert_with(|| Arc::new(cluster));
        Ok(())
    }

    fn watched(&self) -> Vec<Arc<Cluster>> {
        locked(&self.0.clusters).values().cloned().collect()
    }

    /// Whether there is a cluster.
    pub fn has_clusters(&self) -> bool {
        !locked(&self.0.clusters).is_empty()
    }

    /// Pauses scrubs until [`Guards::at_ease`]; what somebody else has paused stays. Gives that, in words.
    ///
    /// # Errors
    /// [`Stopped`] where they cannot be paused.
    pub async fn pause_scrubs(&self, journal: &Journal) -> Result<Vec<String>, Stopped> {
        let hosts = BTreeSet::from([GATE.to_owned()]);
        let mut notes = Vec::new();
        for cluster in self.watched() {
            let reached = cluster.reached(&self.0.ground, &BTreeSet::new()).await?;
            let mut flags = self.0.flags.lock().await;
            for flag in SCRUBS {
                let at = (flag, &[ALL.to_owned()][..]);
                notes.extend(flags.set(&self.0.ground, journal, (&cluster, &reached), at, &hosts).await?);
            }
        }
        Ok(notes)
    }

    /// Lets scrubs go on. Gives what stays, in words.
    ///
    /// # Errors
    /// [`Stopped::Journal`].
    pub async fn at_ease(&self, journal: &Journal) -> Result<Vec<String>, Stopped> {
        let hosts = BTreeSet::from([GATE.to_owned()]);
        let mut flags = self.0.flags.lock().await;
        Ok(flags.give_back(&self.0.ground, journal, Some(&hosts)).await?)
    }

    /// What the clients of all clusters do, in operations a second.
    ///
    /// # Errors
    /// [`Stopped`] where one does not tell.
    pub async fn clients(&self) -> Result<f64, Stopped> {
        let mut sum = 0.0;
        for cluster in self.watched() {
            let groups = self.status(&cluster).await?.pgmap;
            sum += groups.read_op_per_sec + groups.write_op_per_sec;
        }
        Ok(sum)
    }

    /// Why the clusters are not fit to be measured now; empty where they are.
    pub async fn unfit(&self) -> Vec<String> {
        let mut why = Vec::new();
        for cluster in self.watched() {
            match self.status(&cluster).await {
                Ok(now) => why.extend(unfit(&cluster.start.status, &now, &self.0.guard.allow)),
                Err(stopped) => why.push(stopped.words()),
            }
        }
        why
    }

    /// Looks at the clusters again and again, and ends with why the load must end.
    pub async fn outage(&self, limits: &Limits) -> String {
        let mut pause = LOOKS.0;
        loop {
            tokio::time::sleep(pause).await;
            pause = LOOKS.1;
            for cluster in self.watched() {
                // A cluster that does not answer is told when the run is judged: whether it is the load is not known.
                let Ok(now) = self.status(&cluster).await else { continue };
                if let Some(why) = outage(&cluster.start.status, &now, &limits.abort_if.health) {
                    return why;
                }
                let Some(most) = limits.abort_if.client_latency_ms else { continue };
                if let Ok(Some(worst)) = self.latency(&cluster).await
                    && worst > most
                {
                    return format!("an OSD takes {worst:.0} ms for a request, above {most:.0} ms");
                }
            }
        }
    }

    async fn status(&self, cluster: &Cluster) -> Result<Status, Stopped> {
        let down = locked(&self.0.down).clone();
        let reached = cluster.reached(&self.0.ground, &down).await?;
        cluster.status(&self.0.ground, &reached).await
    }

    /// The latency of the slowest OSD, in milliseconds; none where no OSD has written anything lately.
    async fn latency(&self, cluster: &Cluster) -> Result<Option<f64>, Stopped> {
        let down = locked(&self.0.down).clone();
        let reached = cluster.reached(&self.0.ground, &down).await?;
        let row = reached.shell.plain("ceph-osd-perf");
        let text = self.0.ground.planned(&reached.way, |facts| reached.shell.text(facts, &row)).await?;
        Ok(slowest(&text))
    }
}

fn slowest(told: &str) -> Option<f64> {
    let span = Span { ramp: Duration::ZERO, measure: Duration::from_secs(1) };
    let output = Output { status: Some(0), stdout: told.to_owned(), stderr: String::new() };
    let reading = CephOsdPerf { osds: Vec::new() }.read(span, &[output]).ok()?;
    let each =
        reading.figures.keys().filter(|path| path.starts_with("osd.") && path.ends_with("commit_latency_ms"));
    each.filter_map(|path| reading.number(path)).max_by(f64::total_cmp)
}

/// Why a cluster is not fit to be measured: it is worse than at the start, or not all its placement groups are at rest.
fn unfit(start: &Status, now: &Status, allow: &[String]) -> Vec<String> {
    let mut why = Vec::new();
    for (code, check) in &now.health.checks {
        let stood = start.health.checks.contains_key(code);
        // Our own pause is one of the flags.
        if !check.muted && !stood && !allow.contains(code) && code != "OSDMAP_FLAGS" {
            why.push(format!("{code}: {}", check.summary.message));
        }
    }
    let rested = |state: &str| state == "active+clean" || state.contains("snaptrim");
    let busy = now.pgmap.pgs_by_state.iter().filter(|state| state.count > 0 && !rested(&state.state_name));
    why.extend(busy.map(|state| format!("{} placement groups are {}", state.count, state.state_name)));
    why
}

/// Why a load must end now.
fn outage(start: &Status, now: &Status, more: &[String]) -> Option<String> {
    let counts = |code: &str| ALWAYS.contains(&code) || more.iter().any(|own| own == code);
    let stood = |code: &str| start.health.checks.contains_key(code);
    let (code, check) = now.health.checks.iter().find(|(code, _)| counts(code) && !stood(code))?;
    Some(format!("{code}: {}", check.summary.message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(codes: &[&str], states: &[(&str, u32)]) -> Status {
        let checks: serde_json::Map<String, serde_json::Value> = codes
            .iter()
            .map(|code| {
                let check = json!({"severity": "HEALTH_WARN", "summary": {"message": "told", "count": 1}, "muted": false});
                ((*code).to_owned(), check)
            })
            .collect();
        let states: Vec<_> =
            states.iter().map(|(name, count)| json!({"state_name": name, "count": count})).collect();
        let status =
            json!({"health": {"status": "HEALTH_WARN", "checks": checks}, "pgmap": {"pgs_by_state": states}});
        serde_json::from_value(status).unwrap()
    }

    #[test]
    fn a_cluster_is_fit_where_nothing_is_new_and_all_rests() {
        let start = status(&["POOL_NO_REDUNDANCY"], &[("active+clean", 8)]);
        let at = |codes: &[&str], states: &[(&str, u32)]| {
            unfit(&start, &status(codes, states), &["ALLOWED".to_owned()])
        };
        assert!(at(&["POOL_NO_REDUNDANCY", "OSDMAP_FLAGS", "ALLOWED"], &[("active+clean", 8)]).is_empty());
        assert_eq!(at(&["SLOW_OPS"], &[("active+clean", 8)]), ["SLOW_OPS: told"]);
        let scrub = at(&[], &[("active+clean", 7), ("active+clean+scrubbing+deep", 1)]);
        assert_eq!(scrub, ["1 placement groups are active+clean+scrubbing+deep"]);
    }

    #[test]
    fn slow_requests_and_full_devices_end_a_load_and_what_stood_before_does_not() {
        let start = status(&["OSD_NEARFULL"], &[]);
        let at = |codes: &[&str]| outage(&start, &status(codes, &[]), &["MDS_SLOW_REQUEST".to_owned()]);
        assert_eq!(at(&["SLOW_OPS"]).as_deref(), Some("SLOW_OPS: told"));
        assert_eq!(at(&["MDS_SLOW_REQUEST"]).as_deref(), Some("MDS_SLOW_REQUEST: told"));
        assert_eq!(at(&["OSD_NEARFULL", "OSDMAP_FLAGS"]), None);
    }

    #[test]
    fn the_slowest_osd_counts() {
        let told = r#"{"osdstats": {"osd_perf_infos": [
            {"id": 0, "perf_stats": {"commit_latency_ms": 4, "apply_latency_ms": 4, "commit_latency_ns": 4000000}},
            {"id": 1, "perf_stats": {"commit_latency_ms": 61, "apply_latency_ms": 61, "commit_latency_ns": 61000000}}]}}"#;
        assert_eq!(slowest(told), Some(61.0));
        assert_eq!(slowest(r#"{"osdstats": {"osd_perf_infos": []}}"#), None);
    }
}
