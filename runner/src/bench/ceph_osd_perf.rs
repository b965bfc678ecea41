//! `ceph osd perf`: latencies that OSDs report of their own accord. It loads nothing.
use super::text::{at, documents, number_at};
use super::{Call, Driver, Measure, Output, Reading, Span, Unit, words};
use crate::gate::{Direction, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// Latencies of OSDs, while something else loads them.
///
/// Figures: `osd.3.commit_latency_ms`, `osd.3.apply_latency_ms` for each OSD, and `commit_latency_ms`,
/// `apply_latency_ms`: means over `osds`. An OSD that has written nothing lately reports 0: that is not available,
/// not a latency of 0. Source: `ceph osd perf`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CephOsdPerf {
    /// The OSDs that count. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub osds: Vec<u32>,
}

impl Driver for CephOsdPerf {
    fn faults(&self) -> Vec<String> {
        Vec::new()
    }

    fn calls(&self, _: Span) -> Vec<Call> {
        let argv = words(["ceph", "osd", "perf", "--format", "json", "--connect-timeout", "10"]);
        vec![Call::new(argv, Duration::from_secs(30))]
    }

    fn read(&self, _: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let mut reading = Reading::default();
        let report = outputs.first().and_then(|output| documents(&output.stdout).0.pop());
        let osds = report.as_ref().and_then(|report| {
            // Since Nautilus under `osdstats`; before at the top.
            let found = at(report, &["osdstats", "osd_perf_infos"]).or_else(|| report.get("osd_perf_infos"));
            found.and_then(Value::as_array).cloned()
        });
        for (key, name) in [("commit_latency", "commit_latency_ms"), ("apply_latency", "apply_latency_ms")] {
            let mut seen = Vec::new();
            for osd in osds.iter().flatten() {
                let Some(id) = number_at(osd, &["id"]) else { continue };
                let ns = number_at(osd, &["perf_stats", &format!("{key}_ns")]).map(|ns| ns / 1e6);
                let ms = ns.or_else(|| number_at(osd, &["perf_stats", &format!("{key}_ms")])).unwrap_or(0.0);
                if ms > 0.0 && (self.osds.is_empty() || self.osds.contains(&(id as u32))) {
                    seen.push(ms);
                }
                reading.put(&format!("osd.{id}.{name}"), latency(ms, "it has written nothing lately"));
            }
            let why = if osds.is_some() {
                "no OSD has written anything lately"
            } else {
                "ceph osd perf told nothing"
            };
            let mean = if seen.is_empty() { 0.0 } else { seen.iter().sum::<f64>() / seen.len() as f64 };
            reading.put(name, latency(mean, why));
        }
        Ok(reading)
    }

    fn loads(&self) -> bool {
        false
    }
}

fn latency(ms: f64, why: &str) -> Measure {
    if ms > 0.0 {
        Measure::lower(ms, Unit::Milliseconds)
    } else {
        Measure::not_available(why, Unit::Milliseconds, Some(Direction::Lower))
    }
}
