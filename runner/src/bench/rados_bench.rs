//! `rados bench`: write, sequential and random reads of objects.
use super::text::{at, check_status, complaint, documents, number_at, only};
use super::{Call, Driver, Measure, Output, Reading, Size, Span, Unit, failed, unfit, words};
use crate::gate::{Direction, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Objects written to or read from a pool.
///
/// Figures: `iops` (operations over the whole time; the tool's own is cut to an integer), `bw_bytes` (bytes/s; the
/// tool's "MB/sec" is MiB/s), `latency.mean`, `latency.max` (seconds). There are no percentiles. The time includes
/// the draining of the queue.
///
/// `seq` and `rand` read what an earlier `write` with `cleanup: false` and the same `run_name` left in the pool.
/// Source: `rados(8)` and its bencher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RadosBench {
    /// The pool.
    pub pool: String,
    /// What is done.
    pub mode: Mode,
    /// Bytes of one operation when writing; when reading, what the objects must have. Default 4M.
    #[serde(default = "four_m")]
    pub block_size: Size,
    /// Operations at once. Default 16.
    #[serde(default = "sixteen")]
    pub threads: u32,
    /// The name of the objects' set: of this gate alone, so that no other run's objects are read.
    #[serde(default = "own_name")]
    pub run_name: String,
    /// Remove the objects afterwards. Default yes; no for a write that is read later.
    #[serde(default = "yes")]
    pub cleanup: bool,
    /// The user, as `client.bench`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The cluster's configuration file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conf: Option<String>,
}

/// What `rados bench` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Write new objects.
    Write,
    /// Read them in the order they were written; it ends early when they run out.
    Seq,
    /// Read any of them.
    Rand,
}

impl Mode {
    const fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Seq => "seq",
            Self::Rand => "rand",
        }
    }
}

const fn four_m() -> Size {
    Size(4 << 20)
}

const fn sixteen() -> u32 {
    16
}

const fn yes() -> bool {
    true
}

fn own_name() -> String {
    "tunerun".into()
}

impl RadosBench {
    fn base(&self) -> Vec<String> {
        let mut argv = words(["rados"]);
        for (flag, value) in [("--name", &self.name), ("--conf", &self.conf)] {
            argv.extend(value.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
        }
        argv.extend(["--pool".to_owned(), self.pool.clone()]);
        argv
    }

    /// The figures of a report, with its operations and the seconds they took.
    fn figures(&self, report: &Value) -> Result<(Reading, f64), Fault> {
        let number = |key: &str| number_at(report, &[key]);
        let ops = number("total_writes_made").or_else(|| number("total_reads_made"));
        let size = number("write_size").or_else(|| number("read_size"));
        let (Some(ops), Some(time), Some(size)) = (ops, number("total_time_run"), size) else {
            return Err(failed("rados bench: the report has no operations or no time"));
        };
        if ops <= 0.0 || time <= 0.0 {
            return Err(failed("rados bench completed nothing"));
        }
        if self.mode != Mode::Write && size != self.block_size.0 as f64 {
            return Err(unfit(format!(
                "the objects in {} have {size} bytes, not {}: another run left them",
                self.pool, self.block_size
            )));
        }
        let mut reading = Reading::default();
        reading.put("iops", Measure::higher(ops / time, Unit::PerSecond));
        reading.put("bw_bytes", Measure::higher(ops * size / time, Unit::BytesPerSecond));
        for (path, keys) in [
            ("latency.mean", ["average_latency", "average_latency:"]),
            // Several releases spell it with a colon.
            ("latency.max", ["max_latency", "max_latency:"]),
        ] {
            let found = keys.iter().find_map(|key| number(key));
            let measure = found.map_or_else(
                || Measure::not_available("the report has none", Unit::Seconds, Some(Direction::Lower)),
                |value| Measure::lower(value, Unit::Seconds),
            );
            reading.put(path, measure);
        }
        let none = "rados bench has no percentiles";
        reading.put("latency.p99", Measure::not_available(none, Unit::Seconds, Some(Direction::Lower)));
        if let Some(rows) = at(report, &["datas"]).and_then(Value::as_array) {
            // After a stall the rate is spread over the stalled seconds: for steadiness alone.
            let rates = rows.iter().filter(|row| number_at(row, &["sec"]).is_some_and(|sec| sec >= 1.0));
            let rates = rates.filter_map(|row| number_at(row, &["cur_bw"])).map(|mib| mib * 1_048_576.0);
            reading.per_second.insert("bw_bytes".into(), rates.collect());
        }
        Ok((reading, time))
    }
}

impl Driver for RadosBench {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.threads == 0 {
            faults.push("`threads` is at least 1".into());
        }
        if self.block_size.0 == 0 {
            faults.push("`block_size` is above 0".into());
        }
        if self.mode != Mode::Write && !self.cleanup {
            faults.push("reads leave nothing: `cleanup: false` is for writes".into());
        }
        faults
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        // It has no ramp of its own: the first rows are left out when steadiness is judged.
        let (ramp, measure) = span.seconds();
        let mut argv = self.base();
        argv.extend(["bench".into(), (ramp + measure).to_string(), self.mode.word().into()]);
        argv.extend(["--concurrent-ios".into(), self.threads.to_string()]);
        argv.extend(["--run-name".into(), self.run_name.clone()]);
        argv.extend(words(["--format", "json"]));
        if self.mode == Mode::Write {
            argv.extend(["-b".into(), self.block_size.to_string(), "--no-cleanup".into()]);
        }
        let mut call = Call::new(argv, span.limit());
        if self.mode == Mode::Write && self.cleanup {
            let mut remove = self.base();
            remove.extend(["cleanup".into(), "--run-name".into(), self.run_name.clone()]);
            call.after.push(remove);
        }
        vec![call]
    }

    fn read(&self, span: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let output = only("rados bench", outputs)?;
        check_status("rados bench", output)?;
        let (mut found, _) = documents(&output.stdout);
        let report = match found.pop() {
            Some(report) => report,
            None => labelled(&output.stdout)
                .ok_or_else(|| failed(format!("rados bench printed no report: {}", complaint(output))))?,
        };
        let (reading, time) = self.figures(&report)?;
        let (ramp, measure) = span.seconds();
        let asked = (ramp + measure) as f64;
        if time < 0.95 * asked {
            let told = format!("rados bench ran {time:.1} s of {asked:.0} s");
            return Err(match self.mode {
                Mode::Seq => {
                    unfit(format!("{told}: the objects ran out; write more first, or read with rand"))
                }
                Mode::Write | Mode::Rand => failed(told),
            });
        }
        Ok(reading)
    }
}

/// The report as text, by its labels; a colon is not always there, nor the unit.
fn labelled(text: &str) -> Option<Value> {
    let labels = [
        ("Total time run", "total_time_run"),
        ("Total writes made", "total_writes_made"),
        ("Total reads made", "total_reads_made"),
        ("Write size", "write_size"),
        ("Read size", "read_size"),
        ("Average Latency", "average_latency"),
        ("Max latency", "max_latency"),
    ];
    let mut report = serde_json::Map::new();
    for line in text.lines() {
        for (label, key) in labels {
            if let Some(rest) = line.trim().strip_prefix(label) {
                let rest = rest.trim_start_matches("(s)").trim_start_matches(':').trim();
                report.insert(key.into(), Value::from(rest));
            }
        }
    }
    report.contains_key("total_time_run").then_some(Value::Object(report))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn bench(mode: Mode, block_size: u64) -> RadosBench {
        RadosBench {
            pool: "bench".into(),
            mode,
            block_size: Size(block_size),
            threads: 16,
            run_name: own_name(),
            cleanup: true,
            name: None,
            conf: None,
        }
    }

    #[test]
    fn objects_are_named_and_removed() {
        let span = Span { ramp: Duration::ZERO, measure: Duration::from_secs(3) };
        let call = &bench(Mode::Write, 65536).calls(span)[0];
        assert_eq!(
            call.argv.join(" "),
            "rados --pool bench bench 3 write --concurrent-ios 16 --run-name tunerun --format json -b 65536 --no-cleanup"
        );
        assert_eq!(call.after[0].join(" "), "rados --pool bench cleanup --run-name tunerun");
        assert!(bench(Mode::Rand, 65536).calls(span)[0].after.is_empty());
    }

    #[test]
    fn old_releases_spell_keys_with_a_colon() {
        let text =
            r#"{"total_time_run": 2.0, "total_writes_made": 100, "write_size": 4096, "max_latency:": "0.5"}"#;
        let report: Value = serde_json::from_str(text).unwrap();
        let (reading, _) = bench(Mode::Write, 4096).figures(&report).unwrap();
        assert_eq!(reading.number("latency.max"), Some(0.5));
        assert_eq!(reading.number("iops"), Some(50.0));
    }
}
