//! iperf3: network throughput, both ways, from several processes.
use super::text::{at, check_status, complaint, documents, number_at};
use super::{Answers, Call, Driver, Measure, Output, Reading, Server, Span, Unit, failed, unfit, words};
use crate::gate::{Direction, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A transfer between the loader and its peer.
///
/// Figures: `sum_received.bits_per_second` (what arrived; what was sent counts buffers), with `bidir` also
/// `reverse.bits_per_second`; `retransmits_per_gib` (only where the sender is Linux), `rtt_us.mean`; with `udp` also
/// `lost_percent`, `jitter_ms`; `cpu.local`, `cpu.remote` (percent of one core).
///
/// Before 3.16 all streams of a process share one thread: several `processes` load more than one core. A server
/// that is busy is an error, not a queue. Source: the iperf3 manual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Iperf3 {
    /// The address of the peer, where the server is started for the run.
    pub server: String,
    /// The first port; each process has the next. Default 5201.
    #[serde(default = "first_port")]
    pub port: u16,
    /// Processes at once. Default 1.
    #[serde(default = "one")]
    pub processes: u16,
    /// Streams of each process. Default 1.
    #[serde(default = "one")]
    pub streams: u16,
    /// From the peer to the loader.
    #[serde(default)]
    pub reverse: bool,
    /// Both ways at once.
    #[serde(default)]
    pub bidir: bool,
    /// UDP at this many bits a second; TCP without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_bits_per_second: Option<u64>,
    /// The largest segment, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<u32>,
    /// The loader's own address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bind: Option<String>,
}

const fn first_port() -> u16 {
    5201
}

const fn one() -> u16 {
    1
}

impl Driver for Iperf3 {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.processes == 0 || self.streams == 0 || self.streams > 128 {
            faults.push("`processes` is at least 1, `streams` from 1 to 128".into());
        }
        if self.reverse && self.bidir {
            faults.push("`bidir` has both ways already: leave `reverse` away".into());
        }
        if u32::from(self.port) + u32::from(self.processes) > 65_536 {
            faults.push("`port` and those of all processes are below 65536".into());
        }
        faults
    }

    fn calls(&self, span: Span) -> Vec<Call> {
        let (ramp, measure) = span.seconds();
        let one = |process: u16| {
            let port = self.port + process;
            let mut argv = words(["iperf3", "--json", "--client"]);
            argv.extend([self.server.clone(), "--port".into(), port.to_string()]);
            argv.extend(["--time".into(), measure.to_string()]);
            // The first seconds are slow start, and the load before the measurement.
            argv.extend(["--omit".into(), ramp.max(1).to_string()]);
            argv.extend(["--parallel".into(), self.streams.to_string()]);
            let flag = |on: bool, flag: &str| on.then(|| flag.to_owned());
            argv.extend(flag(self.reverse, "--reverse"));
            argv.extend(flag(self.bidir, "--bidir"));
            let value = |flag: &str, value: Option<String>| {
                value.map(|value| vec![flag.to_owned(), value]).unwrap_or_default()
            };
            argv.extend(flag(self.udp_bits_per_second.is_some(), "--udp"));
            argv.extend(value("--bitrate", self.udp_bits_per_second.map(|rate| rate.to_string())));
            argv.extend(value("--set-mss", self.mss.map(|mss| mss.to_string())));
            argv.extend(value("--bind", self.bind.clone()));
            let mut call = Call::new(argv, span.limit());
            // One test, then the server ends by itself.
            let mut server = words(["iperf3", "--server", "--one-off", "--port"]);
            server.push(port.to_string());
            call.server = Some(Server { argv: server, at: Answers::Port(port) });
            call
        };
        (0..self.processes).map(one).collect()
    }

    fn read(&self, span: Span, outputs: &[Output]) -> Result<Reading, Fault> {
        let (_, measure) = span.seconds();
        if outputs.len() != usize::from(self.processes) {
            return Err(failed(format!("{} of {} processes of iperf3 ran", outputs.len(), self.processes)));
        }
        let mut reading = Reading::default();
        let mut total = Totals::default();
        for output in outputs {
            let report = report(output)?;
            total.add(&report, measure as f64, self)?;
            fingerprint(&mut reading, &report);
            if let Some(own) = seconds(&report) {
                total.seconds(own);
            }
        }
        total.figures(&mut reading, self);
        if self.streams > 1 && old(reading.versions.get("iperf3")) {
            reading
                .note("before iperf3 3.16 all streams share one thread; several `processes` load more cores");
        }
        Ok(reading)
    }
}

/// The report of one process. Up to 3.13 the status is 0 even where the test failed: the `error` key is the only sign.
fn report(output: &Output) -> Result<Value, Fault> {
    let (mut found, _) = documents(&output.stdout);
    let report = found.pop();
    if let Some(error) = report.as_ref().and_then(|report| report.get("error")).and_then(Value::as_str) {
        let told = format!("iperf3: {error}");
        return Err(if error.contains("busy") { unfit(told) } else { failed(told) });
    }
    check_status("iperf3", output)?;
    report.ok_or_else(|| failed(format!("iperf3 printed no report: {}", complaint(output))))
}

fn fingerprint(reading: &mut Reading, report: &Value) {
    if let Some(version) = at(report, &["start", "version"]).and_then(Value::as_str) {
        reading.version("iperf3", version);
    }
    if let Some(control) = at(report, &["end", "sender_tcp_congestion"]).and_then(Value::as_str) {
        reading.see("tcp_congestion", control);
    }
    if let Some(mss) = number_at(report, &["start", "tcp_mss_default"]) {
        reading.see("mss", mss.to_string());
    }
}

fn old(version: Option<&String>) -> bool {
    let number = |text: &str| -> Option<(u32, u32)> {
        let (major, minor) = text.trim_start_matches("iperf ").split_once('.')?;
        let minor: String = minor.chars().take_while(char::is_ascii_digit).collect();
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    version.and_then(|text| number(text)).is_some_and(|version| version < (3, 16))
}

/// Bits of each second; the omitted ones are not of the measurement.
fn seconds(report: &Value) -> Option<Vec<f64>> {
    let rows = report.get("intervals")?.as_array()?;
    let counted = rows.iter().filter_map(|row| row.get("sum"));
    let counted = counted.filter(|sum| sum.get("omitted") != Some(&Value::Bool(true)));
    Some(counted.filter_map(|sum| number_at(sum, &["bits_per_second"])).collect())
}

/// The sums over all processes.
#[derive(Default)]
struct Totals {
    received: f64,
    reverse: f64,
    sent_bytes: f64,
    retransmits: Option<f64>,
    silent: bool,
    rtt: Vec<f64>,
    lost: f64,
    packets: f64,
    jitter: f64,
    cpu: (f64, f64),
    per_second: Vec<f64>,
}

impl Totals {
    fn add(&mut self, report: &Value, measure: f64, asked: &Iperf3) -> Result<(), Fault> {
        let end = |path: &[&str]| number_at(report, &[&["end"], path].concat());
        let udp = asked.udp_bits_per_second.is_some();
        let received = end(&["sum_received", "bits_per_second"]);
        let received = if udp { received.or_else(|| end(&["sum", "bits_per_second"])) } else { received };
        // After a killed server what was sent looks healthy.
        match received {
            Some(bits) if bits > 0.0 => self.received += bits,
            _ => return Err(failed("iperf3: nothing arrived")),
        }
        let lasted = end(&["sum_received", "seconds"]).or_else(|| end(&["sum", "seconds"])).unwrap_or(0.0);
        if lasted < 0.95 * measure {
            return Err(failed(format!("iperf3 measured {lasted:.1} s of {measure:.0} s")));
        }
        if asked.bidir {
            match end(&["sum_received_bidir_reverse", "bits_per_second"]) {
                Some(bits) if bits > 0.0 => self.reverse += bits,
                _ => return Err(failed("iperf3: nothing arrived on the way back")),
            }
        }
        match end(&["sum_sent", "retransmits"]) {
            Some(retransmits) => *self.retransmits.get_or_insert(0.0) += retransmits,
            None => self.silent = true,
        }
        self.sent_bytes += end(&["sum_sent", "bytes"]).unwrap_or(0.0);
        self.lost += end(&["sum", "lost_packets"]).unwrap_or(0.0);
        self.packets += end(&["sum", "packets"]).unwrap_or(0.0);
        self.jitter = self.jitter.max(end(&["sum", "jitter_ms"]).unwrap_or(0.0));
        let streams =
            at(report, &["end", "streams"]).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        self.rtt.extend(streams.iter().filter_map(|stream| number_at(stream, &["sender", "mean_rtt"])));
        self.cpu.0 += end(&["cpu_utilization_percent", "host_total"]).unwrap_or(0.0);
        self.cpu.1 += end(&["cpu_utilization_percent", "remote_total"]).unwrap_or(0.0);
        Ok(())
    }

    fn seconds(&mut self, own: Vec<f64>) {
        if self.per_second.len() < own.len() {
            self.per_second.resize(own.len(), 0.0);
        }
        for (sum, own) in self.per_second.iter_mut().zip(own) {
            *sum += own;
        }
    }

    fn figures(self, reading: &mut Reading, asked: &Iperf3) {
        let lower = Some(Direction::Lower);
        reading.put("sum_received.bits_per_second", Measure::higher(self.received, Unit::BitsPerSecond));
        if asked.bidir {
            reading.put("reverse.bits_per_second", Measure::higher(self.reverse, Unit::BitsPerSecond));
        }
        let udp = asked.udp_bits_per_second.is_some();
        if udp {
            let share = if self.packets > 0.0 { 100.0 * self.lost / self.packets } else { f64::NAN };
            reading.put("lost_percent", Measure::lower(share, Unit::Percent));
            reading.put("jitter_ms", Measure::lower(self.jitter, Unit::Milliseconds));
        } else {
            let gib = self.sent_bytes / 1_073_741_824.0;
            let measure = match self.retransmits {
                Some(count) if !self.silent && gib > 0.0 => Measure::lower(count / gib, Unit::Count),
                _ => Measure::not_available("the sender does not count retransmits", Unit::Count, lower),
            };
            reading.put("retransmits_per_gib", measure);
            let rtt = match self.rtt.len() {
                0 => Measure::not_available("no stream tells its round trip", Unit::Microseconds, lower),
                n => Measure::lower(self.rtt.iter().sum::<f64>() / n as f64, Unit::Microseconds),
            };
            reading.put("rtt_us.mean", rtt);
        }
        reading.put("cpu.local", Measure::plain(self.cpu.0, Unit::Percent));
        reading.put("cpu.remote", Measure::plain(self.cpu.1, Unit::Percent));
        reading.per_second.insert("sum_received.bits_per_second".into(), self.per_second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_process_has_a_server_of_its_own() {
        let asked: Iperf3 =
            serde_json::from_str(r#"{"server": "10.0.0.2", "processes": 2, "streams": 4}"#).unwrap();
        let calls = asked.calls(Span { ramp: Duration::from_secs(2), measure: Duration::from_secs(10) });
        assert_eq!(
            calls[1].argv.join(" "),
            "iperf3 --json --client 10.0.0.2 --port 5202 --time 10 --omit 2 --parallel 4"
        );
        let server = calls[1].server.as_ref().unwrap();
        assert_eq!(server.argv.join(" "), "iperf3 --server --one-off --port 5202");
        assert_eq!(server.at, Answers::Port(5202));
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let old = |text: &str| old(Some(&text.to_owned()));
        assert!(old("iperf 3.12") && old("iperf 3.9") && !old("iperf 3.16") && !old("iperf 3.17.1+"));
    }
}
