//! ping: round trips and loss; the first packet apart, since it pays for what the others find ready.
use super::text::complaint;
use super::{Call, Driver, Measure, Output, Reading, Span, Unit, failed, words};
use crate::gate::{Direction, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Packets to the peer and back.
///
/// Figures: `rtt_ms.avg`, `rtt_ms.min`, `rtt_ms.max`, `rtt_ms.mdev` (ms, steps of 1 µs), `first.rtt_ms` (one packet
/// before the others), `percent` (lost, of the counts: the printed share is rounded), `lost`, `duplicates`.
/// Of 20 000 packets 0.01 % are two: judge loss by an absolute limit. A flood needs root; it falls to a hundred
/// packets a second where nothing answers, so the whole has a time limit. Source: iputils.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// The address of the peer.
    pub target: String,
    /// As fast as answers come. Default yes.
    #[serde(default = "yes")]
    pub flood: bool,
    /// Packets. Default 20000.
    #[serde(default = "many")]
    pub count: u32,
    /// Bytes of payload. Default 56.
    #[serde(default = "usual")]
    pub size: u16,
    /// Never split packets, so that a wrong MTU shows.
    #[serde(default)]
    pub dont_fragment: bool,
}

const fn yes() -> bool {
    true
}

const fn many() -> u32 {
    20_000
}

const fn usual() -> u16 {
    56
}

impl Ping {
    fn base(&self, count: u32, seconds: u64) -> Vec<String> {
        let mut argv = words(["ping", "-n", "-q", "-c"]);
        argv.extend([
            count.to_string(),
            "-w".into(),
            seconds.to_string(),
            "-s".into(),
            self.size.to_string(),
        ]);
        if self.dont_fragment {
            argv.extend(words(["-M", "do"]));
        }
        argv
    }
}

impl Driver for Ping {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.count == 0 {
            faults.push("`count` is at least 1".into());
        }
        if self.size > 65_507 {
            faults.push("`size` is at most 65507".into());
        }
        faults
    }

    /// First one packet alone, then all the others: one after the other.
    fn calls(&self, span: Span) -> Vec<Call> {
        let (ramp, measure) = span.seconds();
        let seconds = ramp + measure;
        let mut first = self.base(1, 5);
        first.push(self.target.clone());
        let mut all = self.base(self.count, seconds);
        if self.flood {
            all.push("-f".into());
        }
        all.push(self.target.clone());
        vec![Call::new(first, Duration::from_secs(15)), Call::new(all, Duration::from_secs(seconds + 15))]
    }

    fn read(&self, _: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let mut reading = Reading::default();
        let lower = Some(Direction::Lower);
        let (first, all) = match outputs {
            [first, all] => (Some(first), all),
            [all] => (None, all),
            _ => return Err(failed("ping was not run")),
        };
        let none = || Measure::not_available("the first packet was lost", Unit::Milliseconds, lower);
        let alone = first.and_then(|output| Counts::of(&output.stdout)).and_then(|counts| counts.rtt);
        reading
            .put("first.rtt_ms", alone.map_or_else(none, |rtt| Measure::lower(rtt[1], Unit::Milliseconds)));
        let counts = Counts::of(&all.stdout)
            .ok_or_else(|| failed(format!("ping sent nothing ({:?}): {}", all.status, complaint(all))))?;
        if counts.sent == 0 {
            return Err(failed("ping sent nothing"));
        }
        let Some([min, avg, max, mdev]) = counts.rtt else {
            return Err(failed(format!("all of {} packets to {} were lost", counts.sent, self.target)));
        };
        for (path, value) in [("min", min), ("avg", avg), ("max", max), ("mdev", mdev)] {
            reading.put(&format!("rtt_ms.{path}"), Measure::lower(value, Unit::Milliseconds));
        }
        let lost = counts.sent.saturating_sub(counts.received);
        let percent = 100.0 * lost as f64 / counts.sent as f64;
        reading.put("percent", Measure::lower(percent, Unit::Percent));
        reading.put("lost", Measure::lower(lost as f64, Unit::Count));
        reading.put("duplicates", Measure::plain(counts.duplicates as f64, Unit::Count));
        if (counts.sent as f64) < 0.95 * f64::from(self.count) {
            reading.note(format!("{} of {} packets in the time there was", counts.sent, self.count));
        }
        Ok(reading)
    }
}

/// The last lines of ping. A flood without `-q` prints dots and backspaces before them.
#[derive(Debug, Default, PartialEq)]
struct Counts {
    sent: u64,
    received: u64,
    duplicates: u64,
    /// min, avg, max, mdev in ms; absent where nothing came back.
    rtt: Option<[f64; 4]>,
}

impl Counts {
    fn of(text: &str) -> Option<Self> {
        let line = text.lines().rev().find(|line| line.contains("packets transmitted"))?;
        let line = &line[line.rfind('\u{8}').map_or(0, |at| at + 1)..];
        let mut counts = Self::default();
        for part in line.split(',') {
            let mut words = part.split_whitespace();
            let number = words.next().and_then(|word| word.trim_start_matches('+').parse::<u64>().ok());
            match (number, words.next()) {
                (Some(number), Some("packets")) => counts.sent = number,
                (Some(number), Some("received")) => counts.received = number,
                (Some(number), Some("duplicates")) => counts.duplicates = number,
                _ => {}
            }
        }
        let rtt = text.lines().rev().find(|line| line.contains("min/avg/max"));
        counts.rtt = rtt.and_then(|line| {
            let values: Vec<f64> = line
                .split_once('=')?
                .1
                .trim()
                .split(' ')
                .next()?
                .split('/')
                .map_while(|v| v.parse().ok())
                .collect();
            values.try_into().ok()
        });
        Some(counts)
    }
}
