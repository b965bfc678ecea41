//! Vdbench with a parameter file: the averages of its last run, by their labels.
use super::text::{check_status, complaint, only};
use super::{Call, Driver, Measure, Output, Overwritten, Reading, Span, Unit, failed, words};
use crate::gate::{Direction, Fault, Figure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run of Vdbench.
///
/// Figures of raw runs: `rate` (operations/s), `mib_per_second`, `resp_ms`, `read_resp_ms`, `write_resp_ms`,
/// `cpu_percent`; of file system runs: `ops.rate`, `ops.resp_ms`, `read.rate`, `read.resp_ms`, `write.rate`, … and
/// the same for `mkdir`, `rmdir`, `create`, `open`, `close`, `delete`. They are those of the `avg_` line of the last
/// run definition, which leaves out the first interval. Source: the Vdbench manual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Vdbench {
    /// The program. Default `vdbench`.
    #[serde(default = "program")]
    pub program: String,
    /// The parameter file, on the loader. It must hold `elapsed=` of its own only if `keep_times` is set.
    pub parameters: String,
    /// Where its reports go, on the loader. Default `/var/tmp/tunerun-vdbench`.
    #[serde(default = "folder")]
    pub output: String,
    /// Leave the times of the parameter file as they are.
    #[serde(default)]
    pub keep_times: bool,
    /// The devices or folders that it writes to, so that they can be guarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<String>,
}

fn program() -> String {
    "vdbench".into()
}

fn folder() -> String {
    "/var/tmp/tunerun-vdbench".into()
}

impl Driver for Vdbench {
    fn faults(&self) -> Vec<String> {
        if self.parameters.is_empty() {
            vec!["`parameters` names the parameter file".into()]
        } else {
            Vec::new()
        }
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        let (ramp, measure) = span.seconds();
        let mut argv = vec![self.program.clone(), "-f".into(), self.parameters.clone()];
        argv.extend(["-o".into(), self.output.clone()]);
        if !self.keep_times {
            argv.extend(["-e".into(), measure.to_string()]);
            if ramp > 0 {
                argv.extend(["-w".into(), ramp.to_string()]);
            }
            argv.extend(words(["-i", "1"]));
        }
        // It starts a Java machine for every host, and may lay files out first.
        vec![Call::new(argv, span.limit() * 3)]
    }

    fn read(&self, _: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let output = only("vdbench", outputs)?;
        check_status("vdbench", output)?;
        if !output.stdout.contains("Vdbench execution completed successfully") {
            return Err(failed(format!("vdbench did not say that it completed: {}", complaint(output))));
        }
        let Some((header, average)) = last_average(&output.stdout) else {
            return Err(failed("vdbench printed no average"));
        };
        let mut reading = Reading::default();
        let columns = if header.contains("ReqstdOps") { FILES } else { RAW };
        for (column, value) in columns.iter().zip(average) {
            let Some((path, unit, direction)) = column else { continue };
            let figure = match value.parse::<f64>() {
                Ok(number) => Figure::of(number),
                Err(_) => Figure::NotAvailable { why: format!("vdbench printed {value}") },
            };
            reading.put(
                path,
                Measure { figure, unit: *unit, direction: *direction, floor: crate::gate::metric::FLOOR },
            );
        }
        let rate = reading.number("rate").or_else(|| reading.number("ops.rate")).unwrap_or(0.0);
        if rate <= 0.0 {
            return Err(failed("vdbench completed nothing"));
        }
        Ok(reading)
    }

    fn overwrites(&self) -> Vec<Overwritten> {
        let named = self.writes.iter().cloned().map(Overwritten::Path);
        named.chain([Overwritten::VdbenchParameters(self.parameters.clone())]).collect()
    }
}

/// The header above the last line of averages, and the columns of that line after its name.
fn last_average(text: &str) -> Option<(&str, Vec<&str>)> {
    let mut header = None;
    let mut last = None;
    for line in text.lines() {
        if line.to_ascii_lowercase().contains("interval")
            && (line.contains("i/o") || line.contains("ReqstdOps"))
        {
            header = Some(line);
        }
        let mut words = line.split_whitespace();
        // The time stands first, then `avg_2-31`.
        if words.any(|word| word.starts_with("avg_"))
            && let Some(header) = header
        {
            last = Some((header, words.collect()));
        }
    }
    last
}

type Column = Option<(&'static str, Unit, Option<Direction>)>;

const HIGHER: Option<Direction> = Some(Direction::Higher);
const LOWER: Option<Direction> = Some(Direction::Lower);

const fn rate(path: &'static str) -> Column {
    Some((path, Unit::PerSecond, HIGHER))
}

const fn resp(path: &'static str) -> Column {
    Some((path, Unit::Milliseconds, LOWER))
}

const fn other(path: &'static str, unit: Unit) -> Column {
    Some((path, unit, None))
}

/// i/o rate, MB/sec, bytes i/o, read pct, resp time, read resp, write resp, read max, write max, resp stddev, queue
/// depth, cpu% sys+u, cpu% sys.
const RAW: &[Column] = &[
    rate("rate"),
    Some(("mib_per_second", Unit::Other, HIGHER)),
    other("bytes_per_io", Unit::Count),
    other("read_percent", Unit::Percent),
    resp("resp_ms"),
    resp("read_resp_ms"),
    resp("write_resp_ms"),
    resp("read_max_ms"),
    resp("write_max_ms"),
    other("resp_stddev_ms", Unit::Milliseconds),
    other("queue_depth", Unit::Count),
    other("cpu_percent", Unit::Percent),
    other("cpu_system_percent", Unit::Percent),
];

/// ReqstdOps rate resp, cpu% total sys, read pct, read rate resp, write rate resp, mb/sec read write total, xfer size,
/// then rate and resp of mkdir, rmdir, create, open, close, delete.
const FILES: &[Column] = &[
    rate("ops.rate"),
    resp("ops.resp_ms"),
    other("cpu_percent", Unit::Percent),
    other("cpu_system_percent", Unit::Percent),
    other("read_percent", Unit::Percent),
    rate("read.rate"),
    resp("read.resp_ms"),
    rate("write.rate"),
    resp("write.resp_ms"),
    other("read.mib_per_second", Unit::Other),
    other("write.mib_per_second", Unit::Other),
    Some(("mib_per_second", Unit::Other, HIGHER)),
    other("bytes_per_io", Unit::Count),
    rate("mkdir.rate"),
    resp("mkdir.resp_ms"),
    rate("rmdir.rate"),
    resp("rmdir.resp_ms"),
    rate("create.rate"),
    resp("create.resp_ms"),
    rate("open.rate"),
    resp("open.resp_ms"),
    rate("close.rate"),
    resp("close.resp_ms"),
    rate("delete.rate"),
    resp("delete.resp_ms"),
];
