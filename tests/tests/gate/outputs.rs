//! Real outputs of tools, and a gate whose arms print them.
use super::rates::metric;
use std::path::Path;
use std::time::Duration;
use tunerun::bench::{Driver, Output, Reading, Span};
use tunerun::gate::{
    Arm, Experiment, Fault, Judgement, Live, Metric, Outcome, Run, RunEnd, Verdict, Wanted, judge,
};

/// A file of real outputs.
pub fn data(name: &str) -> String {
    from("bench-output", name)
}

/// A file of real outputs of Ceph.
pub fn ceph(name: &str) -> String {
    from("ceph-json", name)
}

fn from(folder: &str, name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(folder).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn said(status: i32, stdout: &str) -> Output {
    Output { status: Some(status), stdout: stdout.into(), stderr: String::new() }
}

pub fn span(ramp: u64, measure: u64) -> Span {
    Span { ramp: Duration::from_secs(ramp), measure: Duration::from_secs(measure) }
}

/// Reads what a driver must be able to read.
pub fn good(driver: &dyn Driver, span: Span, outputs: &[Output]) -> Reading {
    driver.read(span, outputs).unwrap_or_else(|fault| panic!("{}", fault.text()))
}

/// Why a driver refuses an output.
pub fn bad(driver: &dyn Driver, span: Span, outputs: &[Output]) -> String {
    match driver.read(span, outputs) {
        Ok(reading) => panic!("it was taken: {reading:?}"),
        Err(fault) => fault.text(),
    }
}

/// What a run of a driver is to the gate: its figures under `x`, or its fault.
fn end(read: Result<Reading, Fault>) -> RunEnd {
    match read {
        Ok(reading) => RunEnd::Measured {
            figures: reading
                .figures
                .into_iter()
                .map(|(path, measure)| (format!("x.{path}"), measure.figure))
                .collect(),
        },
        Err(fault) => RunEnd::Failed(fault),
    }
}

/// Plays a gate on `path` in which this arm always prints `odd`, and the other `fine`.
fn play(driver: &dyn Driver, span: Span, path: &str, arm: Arm, fine: &[Output], odd: &[Output]) -> Verdict {
    let judged = Metric { from: format!("x.{path}"), ..metric() };
    let experiment = Experiment::new("outputs", "h1", vec![judged], 3);
    let mut runs: Vec<Run> = Vec::new();
    loop {
        match judge(&experiment, &runs) {
            Judgement::Answer(verdict) => return *verdict,
            Judgement::Wants(wanted) => {
                let run = |wanted: &Wanted| Run {
                    host: wanted.host.clone(),
                    slot: wanted.slot,
                    arm: wanted.arm,
                    live: Live::Proven { seen: "as meant".into() },
                    end: end(driver.read(span, if wanted.arm == arm { odd } else { fine })),
                    boot: None,
                    versions: std::collections::BTreeMap::new(),
                    flags: Vec::new(),
                    within: None,
                };
                runs.extend(wanted.iter().map(run));
                assert!(runs.len() < 200, "a gate ends");
            }
        }
    }
}

/// In whichever arm an output stands, the gate does not pass; the same good output in both does.
pub fn never_passes(driver: &dyn Driver, span: Span, path: &str, fine: &[Output], odd: &[Output]) {
    assert_eq!(play(driver, span, path, Arm::B, fine, fine).outcome, Outcome::Pass, "the good output");
    for arm in [Arm::A, Arm::B] {
        let verdict = play(driver, span, path, arm, fine, odd);
        assert_ne!(verdict.outcome, Outcome::Pass, "T15 {arm:?}: {:?}", verdict.reason);
    }
    let verdict = play(driver, span, path, Arm::A, odd, odd);
    assert_eq!(verdict.outcome, Outcome::Inconclusive, "T15 both arms: {:?}", verdict.reason);
}
