//! `ceph tell osd.N bench`: each OSD writes to its own store. It aims at single OSDs, so nothing is diluted.
use super::text::{check_status, complaint, documents, number_at};
use super::{Call, Driver, Measure, Output, Reading, Size, Span, Unit, failed, words};
use crate::gate::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Writes inside OSDs, all at the same time.
///
/// Figures: `osd.3.bw_bytes`, `osd.3.iops` for each OSD, and `bw_bytes`, `iops` in all. The OSD limits itself: with
/// small blocks `osd_bench_small_size_max_iops` and with large ones `osd_bench_large_size_max_throughput` times
/// `osd_bench_duration` bound the total; a larger one is refused by the OSD. Source: Ceph's OSD.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CephOsdBench {
    /// The OSDs.
    pub osds: Vec<u32>,
    /// Bytes that each writes. Default 1G.
    #[serde(default = "one_g")]
    pub total: Size,
    /// Bytes of one write. Default 4M.
    #[serde(default = "four_m")]
    pub block_size: Size,
}

const fn one_g() -> Size {
    Size(1 << 30)
}

const fn four_m() -> Size {
    Size(4 << 20)
}

impl Driver for CephOsdBench {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.osds.is_empty() {
            faults.push("`osds` names at least one".into());
        }
        if self.block_size.0 == 0 || self.total.0 < self.block_size.0 {
            faults.push("`total` is at least one `block_size`, which is above 0".into());
        }
        faults
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        let one = |osd: &u32| {
            let mut argv = words(["ceph", "--format", "json", "tell"]);
            argv.extend([format!("osd.{osd}"), "bench".into()]);
            argv.extend([self.total.to_string(), self.block_size.to_string()]);
            Call::new(argv, span.limit() * 4 + Duration::from_secs(60))
        };
        self.osds.iter().map(one).collect()
    }

    fn read(&self, _: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        if outputs.len() != self.osds.len() {
            return Err(failed(format!("{} of {} OSDs were asked", outputs.len(), self.osds.len())));
        }
        let mut reading = Reading::default();
        let (mut bytes, mut iops) = (0.0, 0.0);
        for (osd, output) in self.osds.iter().zip(outputs) {
            check_status(&format!("osd.{osd} bench"), output)?;
            let report = documents(&output.stdout).0.pop();
            let report = report
                .ok_or_else(|| failed(format!("osd.{osd} bench printed no report: {}", complaint(output))))?;
            let written = number_at(&report, &["bytes_written"]).unwrap_or(0.0);
            let seconds = number_at(&report, &["elapsed_sec"]).unwrap_or(0.0);
            if written < self.total.0 as f64 * 0.95 || seconds <= 0.0 {
                return Err(failed(format!("osd.{osd} wrote {written} of {} bytes", self.total)));
            }
            // Some releases cut `bytes_per_sec` to an integer, or print it as a string: work over time is exact.
            let own = written / seconds;
            let block = number_at(&report, &["blocksize"]).unwrap_or(self.block_size.0 as f64);
            reading.put(&format!("osd.{osd}.bw_bytes"), Measure::higher(own, Unit::BytesPerSecond));
            reading.put(&format!("osd.{osd}.iops"), Measure::higher(own / block, Unit::PerSecond));
            bytes += own;
            iops += own / block;
        }
        reading.put("bw_bytes", Measure::higher(bytes, Unit::BytesPerSecond));
        reading.put("iops", Measure::higher(iops, Unit::PerSecond));
        Ok(reading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(stdout: &str) -> Result<Reading, Fault> {
        let bench = CephOsdBench { osds: vec![3], total: Size(12_288_000), block_size: Size(4096) };
        let span = Span { ramp: Duration::ZERO, measure: Duration::from_secs(10) };
        assert_eq!(bench.calls(span)[0].argv.join(" "), "ceph --format json tell osd.3 bench 12288000 4096");
        bench.read(span, &[Output { status: Some(0), stdout: stdout.into(), stderr: String::new() }])
    }

    #[test]
    fn work_over_time_is_what_counts() {
        let whole = r#"{"bytes_written":12288000,"blocksize":4096,"elapsed_sec":2.0,"bytes_per_sec":"6144000","iops":1500}"#;
        let reading = read(whole).unwrap();
        assert_eq!(
            (reading.number("iops"), reading.number("osd.3.bw_bytes")),
            (Some(1500.0), Some(6_144_000.0))
        );
        assert!(read(r#"{"bytes_written":4096,"blocksize":4096,"elapsed_sec":0.1}"#).is_err());
        assert!(read("").is_err());
    }
}
