//! fio's JSON as figures. Status, errors and work done must agree: each of them alone has been seen to say "fine".
use super::text::{at, check_status, complaint, documents, number, number_at};
use super::{Measure, Output, Reading, Unit, failed};
use crate::gate::steady::completions_for;
use crate::gate::{Fault, Figure};
use serde_json::Value;
use std::collections::BTreeMap;

const DIRECTIONS: [&str; 4] = ["read", "write", "trim", "mixed"];
/// A run shorter than this share of what was asked was cut off.
const WHOLE: f64 = 0.95;

/// Reads an output. `asked` is the measured time in seconds, where the job was bound by time; `iodepth` the depth.
pub(super) fn read(output: &Output, asked: Option<f64>, iodepth: u32) -> Result<Reading, Fault> {
    let (mut found, others) = documents(&output.stdout);
    check_status("fio", output)?;
    let mut reading = Reading::default();
    for line in others.iter().filter(|line| line.starts_with("note:") || line.starts_with("fio:")) {
        reading.note(line.clone());
    }
    if found.len() > 1 {
        reading.note(format!("{} reports in one output; the last is the whole run", found.len()));
    }
    let document =
        found.pop().ok_or_else(|| failed(format!("fio printed no report: {}", complaint(output))))?;
    if let Some(version) = document.get("fio version").and_then(Value::as_str) {
        reading.version("fio", version);
    }
    let jobs = document.get("jobs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    if jobs.is_empty() {
        return Err(failed("fio's report holds no job"));
    }
    for job in jobs {
        check(job, asked, output)?;
    }
    let mut sums = BTreeMap::new();
    for direction in DIRECTIONS {
        let used: Vec<&Value> =
            jobs.iter().filter_map(|job| job.get(direction)).filter(|d| ios(d) > 0.0).collect();
        if !used.is_empty() {
            one_direction(&mut reading, direction, &used, &mut sums)?;
        }
    }
    whole_job(&mut reading, jobs, &sums);
    depth(&mut reading, jobs, iodepth);
    Ok(reading)
}

fn ios(direction: &Value) -> f64 {
    number_at(direction, &["total_ios"]).unwrap_or(0.0)
}

/// Whether a job ran to its end and did something.
fn check(job: &Value, asked: Option<f64>, output: &Output) -> Result<(), Fault> {
    let name = job.get("jobname").and_then(Value::as_str).unwrap_or("job");
    let count = |key: &str| number_at(job, &[key]).unwrap_or(0.0);
    if count("error") != 0.0 {
        return Err(failed(format!("fio: {name} met error {}: {}", count("error"), complaint(output))));
    }
    if count("total_err") > 0.0 {
        return Err(failed(format!("fio: {name} went on after {} errors", count("total_err"))));
    }
    let used: Vec<&Value> =
        DIRECTIONS.iter().filter_map(|direction| job.get(*direction)).filter(|d| ios(d) > 0.0).collect();
    if used.is_empty() {
        return Err(failed(format!("fio: {name} completed nothing: {}", complaint(output))));
    }
    let Some(asked) = asked else { return Ok(()) };
    let longest = used.iter().filter_map(|d| number_at(d, &["runtime"])).fold(0.0, f64::max) / 1000.0;
    if longest < WHOLE * asked {
        return Err(failed(format!(
            "fio: {name} ran {longest:.1} s of {asked:.0} s and reports no error: it was interrupted or ran out of work"
        )));
    }
    Ok(())
}

/// All jobs in one direction.
fn one_direction(
    reading: &mut Reading,
    direction: &str,
    jobs: &[&Value],
    sums: &mut BTreeMap<&'static str, f64>,
) -> Result<(), Fault> {
    let sum = |key: &str| jobs.iter().filter_map(|job| number_at(job, &[key])).sum::<f64>();
    // `iops` is work over time. `iops_mean` is of samples, and 0 where there were none.
    let iops = sum("iops");
    let bytes = bandwidth(jobs)?;
    for (key, value) in
        [("iops", iops), ("bw_bytes", bytes), ("ios", sum("total_ios")), ("short", sum("short_ios"))]
    {
        *sums.entry(key).or_default() += value;
    }
    reading.put(&format!("{direction}.iops"), Measure::higher(iops, Unit::PerSecond));
    reading.put(&format!("{direction}.bw_bytes"), Measure::higher(bytes, Unit::BytesPerSecond));
    for kind in ["clat", "slat", "lat"] {
        latency(reading, direction, kind, jobs);
    }
    Ok(())
}

/// Bytes a second. `bw` is KiB/s and `bw_bytes` bytes; old releases have the former alone.
fn bandwidth(jobs: &[&Value]) -> Result<f64, Fault> {
    let mut bytes = 0.0;
    for job in jobs {
        let of = |key: &str| number_at(job, &[key]);
        let own = of("bw_bytes").or_else(|| of("bw").map(|kib| kib * 1024.0)).unwrap_or(0.0);
        // Old releases count `io_bytes` in KB: only what has both is checked.
        if let (Some(own), Some(io), Some(runtime)) = (of("bw_bytes"), of("io_bytes"), of("runtime")) {
            let told = own * runtime / 1000.0;
            if io > 0.0 && (told / io - 1.0).abs() > 0.05 {
                return Err(failed(format!(
                    "fio's report contradicts itself: {io} bytes, and {told:.0} by its rate"
                )));
            }
        }
        bytes += own;
    }
    Ok(bytes)
}

/// One kind of latency. From 3.x on in ns under `clat_ns`; before in µs under `clat`.
fn latency(reading: &mut Reading, direction: &str, kind: &str, jobs: &[&Value]) {
    let of = |job: &&Value| -> Option<(Value, f64)> {
        let now = job.get(format!("{kind}_ns").as_str()).map(|value| (value.clone(), 1.0));
        now.or_else(|| job.get(kind).map(|value| (value.clone(), 1000.0)))
    };
    let all: Vec<(Value, f64)> = jobs.iter().filter_map(of).collect();
    let weight = |value: &Value| number_at(value, &["N"]).unwrap_or(1.0);
    let n: f64 = all.iter().map(|(value, _)| weight(value)).sum();
    if n <= 0.0 {
        return;
    }
    let base = format!("{direction}.{kind}_ns");
    let means =
        all.iter().filter_map(|(value, unit)| Some(number_at(value, &["mean"])? * unit * weight(value)));
    let mean = means.sum::<f64>() / n;
    if mean > 0.0 {
        reading.put(&format!("{base}.mean"), Measure::lower(mean, Unit::Nanoseconds));
    }
    match all.as_slice() {
        [(value, unit)] => percentiles(reading, &base, value, *unit, n),
        several => merged(reading, &base, several, n),
    }
}

/// The percentiles of one histogram: an absent one is not zero, and one of too few completions does not count.
fn percentiles(reading: &mut Reading, base: &str, value: &Value, unit: f64, n: f64) {
    let Some(Value::Object(all)) = value.get("percentile") else { return };
    for (key, value) in all {
        let (Ok(percentile), Some(value)) = (key.parse::<f64>(), number(Some(value))) else { continue };
        let needs = completions_for(percentile);
        let figure = match n as u64 {
            had if had < needs => Figure::Insufficient { had, needs },
            _ if value <= 0.0 => Figure::NotAvailable { why: "fio left the percentile at 0".into() },
            _ => Figure::of(value * unit),
        };
        reading.put(&format!("{base}.p{percentile}"), Measure::binned(figure, Unit::Nanoseconds));
    }
}

/// Several histograms as one: by their bins, or not at all. Percentiles of jobs can be neither averaged nor compared.
fn merged(reading: &mut Reading, base: &str, several: &[(Value, f64)], n: f64) {
    let wanted: Vec<f64> = several
        .iter()
        .filter_map(|(value, _)| value.get("percentile")?.as_object())
        .flat_map(|all| all.keys())
        .filter_map(|key| key.parse().ok())
        .collect();
    let mut bins: BTreeMap<u64, f64> = BTreeMap::new();
    let binned = several.iter().all(|(value, _)| match value.get("bins").and_then(Value::as_object) {
        Some(own) => {
            for (bin, count) in own {
                if let (Ok(bin), Some(count)) = (bin.parse(), number(Some(count))) {
                    *bins.entry(bin).or_default() += count;
                }
            }
            true
        }
        None => false,
    });
    for percentile in wanted {
        let path = format!("{base}.p{percentile}");
        let needs = completions_for(percentile);
        let figure = match n as u64 {
            had if had < needs => Figure::Insufficient { had, needs },
            _ if !binned => Figure::NotAvailable {
                why: "percentiles of several jobs cannot be averaged; use group_reporting or json+".into(),
            },
            _ => from_bins(&bins, percentile),
        };
        reading.put(&path, Measure::binned(figure, Unit::Nanoseconds));
    }
}

fn from_bins(bins: &BTreeMap<u64, f64>, percentile: f64) -> Figure {
    let total: f64 = bins.values().sum();
    let mut seen = 0.0;
    for (bin, count) in bins {
        seen += count;
        if seen >= total * percentile / 100.0 {
            return Figure::of(*bin as f64);
        }
    }
    Figure::NotAvailable { why: "the histogram is empty".into() }
}

/// What counts over all directions.
fn whole_job(reading: &mut Reading, jobs: &[Value], sums: &BTreeMap<&'static str, f64>) {
    let sum = |key: &str| sums.get(key).copied().unwrap_or(0.0);
    reading.put("iops", Measure::higher(sum("iops"), Unit::PerSecond));
    reading.put("bw_bytes", Measure::higher(sum("bw_bytes"), Unit::BytesPerSecond));
    reading.put("errors", Measure::plain(0.0, Unit::Count));
    reading.put("short_ios", Measure::plain(sum("short"), Unit::Count));
    // Percent of the job's time on a core, over its operations. With grouped jobs `job_runtime` is their sum.
    let busy = jobs.iter().filter_map(|job| {
        let share = number_at(job, &["usr_cpu"])? + number_at(job, &["sys_cpu"])?;
        Some(share / 100.0 * number_at(job, &["job_runtime"])? * 1000.0)
    });
    let busy: f64 = busy.sum();
    let per_io = if busy > 0.0 && sum("ios") > 0.0 {
        Measure::lower(busy / sum("ios"), Unit::Microseconds)
    } else {
        Measure::not_available(
            "fio told no CPU time",
            Unit::Microseconds,
            Some(crate::gate::Direction::Lower),
        )
    };
    reading.put("cpu_per_io", per_io);
    if let Some(attained) = jobs.iter().find_map(|job| at(job, &["steadystate", "attained"])) {
        if number(Some(attained)) == Some(0.0) {
            reading.note("fio's own steady state was not attained");
        } else {
            reading.note("fio stopped at its steady state: the length of the run depends on its figures");
        }
    }
}

/// Whether the queue was ever as deep as asked.
fn depth(reading: &mut Reading, jobs: &[Value], iodepth: u32) {
    if iodepth < 2 {
        return;
    }
    let bucket = (1_u32 << iodepth.min(64).ilog2()).min(64);
    let reached = |job: &Value| -> Option<f64> {
        let levels = job.get("iodepth_level")?.as_object()?;
        let level = |key: &str| key.trim_start_matches(">=").parse::<u32>().unwrap_or(0);
        Some(levels.iter().filter(|(key, _)| level(key) >= bucket).filter_map(|(_, v)| number(Some(v))).sum())
    };
    if let Some(share) = jobs.iter().filter_map(reached).reduce(f64::min)
        && share < 50.0
    {
        reading.note(format!("the queue was {iodepth} deep only {share:.0} % of the time: a synchronous engine, or too little work"));
    }
}

/// Values of each second out of a log that fio wrote: `ms, value, direction, …`. Both directions are added up.
pub fn seconds(log: &str) -> Vec<f64> {
    let mut by_second: BTreeMap<u64, f64> = BTreeMap::new();
    for line in log.lines() {
        let mut fields = line.split(',').map(str::trim);
        let (Some(ms), Some(value)) = (fields.next(), fields.next()) else { continue };
        if let (Ok(ms), Ok(value)) = (ms.parse::<f64>(), value.parse::<f64>()) {
            *by_second.entry((ms / 1000.0).round() as u64).or_default() += value;
        }
    }
    by_second.into_values().collect()
}
