//! SPDK's bdevperf over its RPC: block devices without the kernel.
use super::text::{check_status, complaint, documents, number_at, only};
use super::{
    Answers, Call, Driver, Measure, Output, Overwritten, Reading, Server, Size, Span, Unit, failed, words,
};
use crate::gate::{Direction, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Requests to SPDK block devices.
///
/// Figures: `iops`, `bw_bytes` (bytes/s), `latency_us.mean` (weighted by operations), `latency_us.max` (µs).
/// Its cores poll: they are always fully used, so CPU time is no guard here. Source: SPDK's `perform_tests`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bdevperf {
    /// The program. Default `bdevperf`.
    #[serde(default = "program")]
    pub program: String,
    /// The script that sends the call. Default `bdevperf.py`.
    #[serde(default = "script")]
    pub script: String,
    /// The file with the block devices, as SPDK's `save_config` writes it.
    pub config: String,
    /// The socket of its RPC. Default `/var/tmp/tunerun-bdevperf.sock`.
    #[serde(default = "socket")]
    pub socket: String,
    /// The pattern, in bdevperf's words: `randread`, `randwrite`, `randrw`, `read`, `write`, `rw`.
    pub workload: String,
    /// Percent of reads in a mixed pattern.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_percent: Option<u8>,
    /// Requests at once, per job. Default 128.
    #[serde(default = "deep")]
    pub queue_depth: u32,
    /// Bytes of one request. Default 4K.
    #[serde(default = "four_k")]
    pub io_size: Size,
    /// The cores it polls on, as SPDK's mask. Default: its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_mask: Option<String>,
}

fn program() -> String {
    "bdevperf".into()
}

fn script() -> String {
    "bdevperf.py".into()
}

fn socket() -> String {
    "/var/tmp/tunerun-bdevperf.sock".into()
}

const fn deep() -> u32 {
    128
}

const fn four_k() -> Size {
    Size(4096)
}

const WORKLOADS: [&str; 6] = ["randread", "randwrite", "randrw", "read", "write", "rw"];

impl Driver for Bdevperf {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !WORKLOADS.contains(&self.workload.as_str()) {
            faults.push(format!("`workload` is one of {}, not {:?}", WORKLOADS.join(", "), self.workload));
        }
        if self.read_percent.is_some_and(|share| share > 100) {
            faults.push("`read_percent` is a percentage".into());
        }
        if self.queue_depth == 0 || self.io_size.0 == 0 {
            faults.push("`queue_depth` and `io_size` are above 0".into());
        }
        faults
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        let (ramp, measure) = span.seconds();
        let mut server = vec![self.program.clone()];
        // It waits for the call, and is told its job beforehand.
        server.extend(words(["-z", "-r"]));
        server.extend([self.socket.clone(), "-c".into(), self.config.clone()]);
        server.extend(["-q".into(), self.queue_depth.to_string(), "-o".into(), self.io_size.to_string()]);
        server.extend(["-w".into(), self.workload.clone(), "-t".into(), (ramp + measure).to_string()]);
        server.extend(self.read_percent.iter().flat_map(|share| ["-M".to_owned(), share.to_string()]));
        server.extend(self.core_mask.iter().flat_map(|mask| ["-m".to_owned(), mask.clone()]));
        let mut argv = vec![self.script.clone(), "-s".into(), self.socket.clone()];
        argv.extend(["-t".into(), span.limit().as_secs().to_string(), "perform_tests".into()]);
        let mut call = Call::new(argv, span.limit());
        call.server = Some(Server { argv: server, at: Answers::Socket(self.socket.clone()) });
        vec![call]
    }

    fn read(&self, span: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let output = only("bdevperf", outputs)?;
        check_status("bdevperf", output)?;
        let (mut found, _) = documents(&output.stdout);
        let report = found
            .pop()
            .ok_or_else(|| failed(format!("bdevperf printed no report: {}", complaint(output))))?;
        let report = report.get("result").unwrap_or(&report);
        let jobs = report.get("results").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if jobs.is_empty() {
            return Err(failed("bdevperf's report holds no job"));
        }
        let (ramp, measure) = span.seconds();
        for job in jobs {
            check(job, (ramp + measure) as f64)?;
        }
        let sum = |key: &str| jobs.iter().filter_map(|job| number_at(job, &[key])).sum::<f64>();
        let iops = sum("iops");
        if iops <= 0.0 {
            return Err(failed("bdevperf completed nothing"));
        }
        let mut reading = Reading::default();
        reading.put("iops", Measure::higher(iops, Unit::PerSecond));
        reading.put("bw_bytes", Measure::higher(sum("mibps") * 1_048_576.0, Unit::BytesPerSecond));
        let weighted = jobs
            .iter()
            .filter_map(|job| Some(number_at(job, &["avg_latency_us"])? * number_at(job, &["iops"])?));
        reading.put("latency_us.mean", latency(weighted.sum::<f64>() / iops));
        let most = jobs.iter().filter_map(|job| number_at(job, &["max_latency_us"])).fold(f64::NAN, f64::max);
        reading.put("latency_us.max", latency(most));
        if let Some(cores) = number_at(report, &["core_count"]) {
            reading.see("cores", cores.to_string());
        }
        Ok(reading)
    }

    fn overwrites(&self) -> Vec<Overwritten> {
        let writes = !self.workload.ends_with("read");
        writes.then(|| Overwritten::SpdkConfig(self.config.clone())).into_iter().collect()
    }
}

fn latency(us: f64) -> Measure {
    if us > 0.0 {
        Measure::lower(us, Unit::Microseconds)
    } else {
        Measure::not_available("bdevperf told no latency", Unit::Microseconds, Some(Direction::Lower))
    }
}

/// Whether a job ran to its end without a failure.
fn check(job: &Value, asked: f64) -> Result<(), Fault> {
    let name = job.get("job").and_then(Value::as_str).unwrap_or("job");
    let status = job.get("status").and_then(Value::as_str).unwrap_or("unknown");
    if status != "finished" {
        return Err(failed(format!("bdevperf: {name} is {status}")));
    }
    for key in ["io_failed", "io_timeout"] {
        match number_at(job, &[key]) {
            Some(count) if count > 0.0 => return Err(failed(format!("bdevperf: {name}: {key} {count}"))),
            _ => {}
        }
    }
    match number_at(job, &["runtime"]) {
        Some(runtime) if runtime < 0.95 * asked => {
            Err(failed(format!("bdevperf: {name} ran {runtime:.1} s of {asked:.0} s")))
        }
        _ => Ok(()),
    }
}
