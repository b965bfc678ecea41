//! Fifteen noises of benchmarks: logarithms of throughput, second by second, of a host that nobody changes.
use tunerun::gate::random::Seeded;

/// Seconds kept of each run.
pub const SECONDS: usize = 30;
/// Runs of each host.
pub const RUNS: usize = 48;

/// The models, each with what it is.
pub const MODELS: [(&str, &str); 15] = [
    ("iid5", "independent seconds, 5 % each"),
    ("iid15", "independent seconds, 15 % each"),
    ("ar1", "seconds that follow each other (0.9), 10 %"),
    ("run2", "runs differ by 2 %"),
    ("run3", "runs differ by 3 %"),
    ("run5", "runs differ by 5 %"),
    ("run10", "runs differ by 10 %"),
    ("trend", "run2 and a drift of -0.3 % a run"),
    ("hosttrend", "run2 and a drift of the host's own"),
    ("periodic", "run2 and a wave of 4 % over 9 runs"),
    ("wander", "run2 and a level that wanders by 4 %"),
    ("step", "run2 and a fall by 8 % at some time"),
    ("outlier", "run2 and one run in ten hit by 10 to 50 %"),
    ("bimodal", "run2 and three runs in ten slower by 8 %"),
    ("p99", "a percentile: 6 % and a heavy tail"),
];

/// One trace of a host: `RUNS` runs of `SECONDS` seconds, and the middle of each run.
pub struct Trace {
    pub seconds: Vec<[f64; SECONDS]>,
    pub middles: Vec<f64>,
}

/// Draws one trace of a model.
pub fn trace(model: &str, seeded: &mut Seeded) -> Trace {
    let (phi, within) = match model {
        "iid5" => (0.0, 0.05),
        "iid15" => (0.0, 0.15),
        "ar1" => (0.9, 0.10),
        _ => (0.5, 0.05),
    };
    let between = match model {
        "iid5" | "iid15" | "ar1" => 0.0,
        "run3" => 0.03,
        "run5" => 0.05,
        "run10" => 0.10,
        "p99" => 0.06,
        _ => 0.02,
    };
    let common = common(model, seeded);
    let mut seconds = Vec::with_capacity(RUNS);
    let mut middles = Vec::with_capacity(RUNS);
    for level in common {
        let level = level + between * seeded.normal() + own(model, seeded);
        let mut run = [0.0; SECONDS];
        let scale = f64::sqrt(1.0 - phi * phi) * within;
        let mut state = within * seeded.normal();
        for (i, second) in run.iter_mut().enumerate() {
            if i > 0 {
                state = phi * state + scale * seeded.normal();
            }
            *second = level + state;
        }
        let mut sorted = run;
        sorted.sort_unstable_by(f64::total_cmp);
        middles.push((sorted[SECONDS / 2 - 1] + sorted[SECONDS / 2]) / 2.0);
        seconds.push(run);
    }
    Trace { seconds, middles }
}

/// What a model adds to the level of each run in turn.
fn common(model: &str, seeded: &mut Seeded) -> Vec<f64> {
    let slots = 0..RUNS;
    match model {
        "trend" => slots.map(|i| -0.003 * i as f64).collect(),
        "hosttrend" => {
            let slope = 0.003 * seeded.normal();
            slots.map(|i| slope * i as f64).collect()
        }
        "periodic" => {
            let phase = seeded.unit() * std::f64::consts::TAU;
            slots.map(|i| 0.04 * (std::f64::consts::TAU * i as f64 / 9.0 + phase).sin()).collect()
        }
        "wander" => {
            let mut state = 0.04 * seeded.normal();
            slots
                .map(|i| {
                    if i > 0 {
                        state = 0.8 * state + 0.6 * 0.04 * seeded.normal();
                    }
                    state
                })
                .collect()
        }
        "step" => {
            let at = 2 + (seeded.unit() * 20.0) as usize;
            slots.map(|i| if i >= at { -0.083 } else { 0.0 }).collect()
        }
        _ => vec![0.0; RUNS],
    }
}

/// What a model adds to one run.
fn own(model: &str, seeded: &mut Seeded) -> f64 {
    match model {
        "outlier" if seeded.unit() < 0.10 => (1.0 - (0.1 + 0.4 * seeded.unit())).ln(),
        "bimodal" if seeded.unit() < 0.3 => -0.083,
        "p99" => 0.05 * (1.0 - seeded.unit()).ln(),
        _ => 0.0,
    }
}
