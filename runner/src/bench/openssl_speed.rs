//! `openssl speed`: what a cipher costs on this processor, before a cluster is told to use it.
use super::text::{check_status, complaint, only};
use super::{Call, Driver, Measure, Output, Reading, Size, Span, Unit, failed, words};
use crate::gate::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One cipher or digest at one block size.
///
/// Figure: `bytes_per_second` (over all processes). Source: `openssl-speed(1)`; the articles measured
/// `-evp aes-128-gcm -decrypt` to predict the cost of secure mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpensslSpeed {
    /// The cipher or digest. Default `aes-128-gcm`, which the messenger's secure mode uses.
    #[serde(default = "gcm")]
    pub algorithm: String,
    /// Decrypt instead of encrypting.
    #[serde(default)]
    pub decrypt: bool,
    /// Bytes of one block. Default 16K.
    #[serde(default = "sixteen_k")]
    pub bytes: Size,
    /// Processes at once. Default 1.
    #[serde(default = "one")]
    pub processes: u16,
}

fn gcm() -> String {
    "aes-128-gcm".into()
}

const fn sixteen_k() -> Size {
    Size(16384)
}

const fn one() -> u16 {
    1
}

impl Driver for OpensslSpeed {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let word = |c: char| c.is_ascii_alphanumeric() || "-_/.".contains(c);
        if self.algorithm.is_empty() || self.algorithm.starts_with('-') || !self.algorithm.chars().all(word) {
            faults.push(format!("{:?} is no algorithm; say aes-128-gcm", self.algorithm));
        }
        if self.bytes.0 == 0 || self.processes == 0 {
            faults.push("`bytes` and `processes` are above 0".into());
        }
        faults
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        let (_, measure) = span.seconds();
        let mut argv = words(["openssl", "speed", "-mr", "-elapsed", "-seconds"]);
        argv.extend([measure.to_string(), "-bytes".into(), self.bytes.to_string()]);
        argv.extend(["-evp".into(), self.algorithm.clone()]);
        if self.decrypt {
            argv.push("-decrypt".into());
        }
        if self.processes > 1 {
            argv.extend(["-multi".into(), self.processes.to_string()]);
        }
        vec![Call::new(argv, span.limit())]
    }

    fn read(&self, _: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let output = only("openssl", outputs)?;
        check_status("openssl", output)?;
        let bytes = figure(&output.stdout, &self.algorithm)
            .ok_or_else(|| failed(format!("openssl printed no result: {}", complaint(output))))?;
        if bytes <= 0.0 {
            return Err(failed("openssl completed nothing"));
        }
        let mut reading = Reading::default();
        reading.put("bytes_per_second", Measure::higher(bytes, Unit::BytesPerSecond));
        let version = output.stdout.lines().find_map(|line| {
            line.strip_prefix("version: ").or_else(|| line.strip_prefix("OpenSSL ").map(|_| line))
        });
        if let Some(version) = version {
            reading.version("openssl", version);
        }
        Ok(reading)
    }
}

/// The last figure: `+F:22:AES-128-GCM:4033536.00` (bytes/s), or in the table `4033.54k` (thousands of bytes/s).
fn figure(text: &str, algorithm: &str) -> Option<f64> {
    let machine =
        text.lines().rev().find_map(|line| line.strip_prefix("+F:")?.rsplit(':').next()?.trim().parse().ok());
    machine.or_else(|| {
        let row = text.lines().rev().find(|line| {
            line.split_whitespace().next().is_some_and(|name| name.eq_ignore_ascii_case(algorithm))
        })?;
        let last = row.split_whitespace().last()?;
        last.strip_suffix('k').and_then(|number| number.parse::<f64>().ok()).map(|number| number * 1000.0)
    })
}
