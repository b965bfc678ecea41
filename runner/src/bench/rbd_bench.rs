//! `rbd bench`: an image through librbd, bound by the bytes it moves.
use super::text::{bytes_per_second, check_status, complaint, only};
use super::{Call, Driver, Measure, Output, Overwritten, Reading, Size, Span, Unit, failed, words};
use crate::gate::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Requests to an RBD image.
///
/// Figures: `iops` (operations a second over the whole run), `bw_bytes` (bytes/s). The run ends after `io_total`
/// bytes, not after a time: a faster run is a shorter one. Sequential runs start at a place that is drawn anew each
/// time, so two of them do not do the same work. The rates it prints on the way are sums over five windows and are
/// never read. Source: `rbd(8)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RbdBench {
    /// The image, as `pool/image`.
    pub image: String,
    /// What is done.
    pub io_type: IoType,
    /// Bytes of one request. Default 4K.
    #[serde(default = "four_k")]
    pub io_size: Size,
    /// Requests at once. Default 16.
    #[serde(default = "sixteen")]
    pub io_threads: u32,
    /// Bytes in all.
    pub io_total: Size,
    /// The pattern. Default rand.
    #[serde(default)]
    pub io_pattern: IoPattern,
    /// The user, as `client.bench`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// What requests do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IoType {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Both.
    Readwrite,
}

/// Where requests go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum IoPattern {
    /// Anywhere.
    #[default]
    Rand,
    /// One after the other.
    Seq,
}

const fn four_k() -> Size {
    Size(4096)
}

const fn sixteen() -> u32 {
    16
}

impl Driver for RbdBench {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.io_size.0 == 0 || self.io_threads == 0 {
            faults.push("`io_size` and `io_threads` are above 0".into());
        } else if self.io_total.0 < self.io_size.0 * u64::from(self.io_threads) {
            faults.push("`io_total` is at least one request for every thread".into());
        }
        if !self.image.contains('/') {
            faults.push(format!("`image` is pool/image, not {:?}", self.image));
        }
        faults
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        let mut argv = words(["rbd"]);
        argv.extend(self.name.iter().flat_map(|name| ["--name".to_owned(), name.clone()]));
        let (kind, pattern) = match (self.io_type, self.io_pattern) {
            (IoType::Read, pattern) => ("read", pattern),
            (IoType::Write, pattern) => ("write", pattern),
            (IoType::Readwrite, pattern) => ("readwrite", pattern),
        };
        let pattern = if pattern == IoPattern::Rand { "rand" } else { "seq" };
        argv.extend(words(["bench", "--io-type", kind, "--io-pattern", pattern]));
        argv.extend(["--io-size".into(), self.io_size.to_string()]);
        argv.extend(["--io-threads".into(), self.io_threads.to_string()]);
        argv.extend(["--io-total".into(), self.io_total.to_string()]);
        argv.push(self.image.clone());
        // It is bound by bytes: a slow arm may take several times as long as was planned.
        let limit = span.limit() * 4 + Duration::from_secs(60);
        vec![Call::new(argv, limit)]
    }

    fn read(&self, _: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let output = only("rbd bench", outputs)?;
        check_status("rbd bench", output)?;
        let last = output.stdout.lines().rev().find(|line| line.trim_start().starts_with("elapsed:"));
        let last =
            last.ok_or_else(|| failed(format!("rbd bench printed no result: {}", complaint(output))))?;
        let field = |name: &str| {
            let rest = &last[last.find(name)? + name.len()..];
            let end = ["ops:", "ops/sec:", "bytes/sec:"].iter().filter_map(|next| rest.find(next)).min();
            Some(rest[..end.unwrap_or(rest.len())].trim())
        };
        let number = |name: &str| field(name).and_then(|text| text.parse::<f64>().ok());
        let (Some(ops), Some(rate)) = (number(" ops:"), number("ops/sec:")) else {
            return Err(failed(format!("rbd bench: cannot read {last:?}")));
        };
        let asked = self.io_total.0 / self.io_size.0.max(1);
        if ops <= 0.0 || ops < 0.95 * asked as f64 {
            return Err(failed(format!("rbd bench made {ops} of {asked} requests")));
        }
        let mut reading = Reading::default();
        reading.put("iops", Measure::higher(rate, Unit::PerSecond));
        let bytes = field("bytes/sec:").and_then(bytes_per_second);
        reading.put(
            "bw_bytes",
            bytes.map_or_else(
                || Measure::higher(rate * self.io_size.0 as f64, Unit::BytesPerSecond),
                |bytes| Measure::higher(bytes, Unit::BytesPerSecond),
            ),
        );
        if number("elapsed:").is_some_and(|elapsed| elapsed < 10.0) {
            reading.note("the run took less than 10 s; a larger `io_total` makes it calmer");
        }
        Ok(reading)
    }

    fn overwrites(&self) -> Vec<Overwritten> {
        let writes = self.io_type != IoType::Read;
        let image = || Overwritten::Image { spec: self.image.clone(), user: self.name.clone() };
        writes.then(image).into_iter().collect()
    }
}
