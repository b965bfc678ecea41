//! Shares of replicates, and how far a share may be off by chance.
use tunerun::gate::Outcome;
use tunerun::gate::decide::{Ending, Protocol, Series};
use tunerun::gate::{Direction, Errors, Metric, Schedule};

/// How often each simulation is repeated: 2,000 unless `GATE_REPLICATES` says otherwise.
pub fn replicates() -> u32 {
    std::env::var("GATE_REPLICATES").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

/// The most that a share of `target` may seem to be in `n` replicates: three standard deviations above.
pub fn at_most(target: f64, n: u32) -> f64 {
    target + 3.0 * (target * (1.0 - target) / f64::from(n)).sqrt()
}

/// The least that it may seem to be.
pub fn at_least(target: f64, n: u32) -> f64 {
    target - 3.0 * (target * (1.0 - target) / f64::from(n)).sqrt()
}

/// What became of many gates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    pub n: u32,
    pub pass: u32,
    pub regress: u32,
    pub inconclusive: u32,
    pub runs: u64,
    pub most: u32,
    /// Rolled back within three pairs.
    pub at_once: u32,
}

impl Rates {
    pub fn add(&mut self, ending: &Ending) {
        let Ending::Decided { outcome, pairs, .. } = ending else { panic!("every simulated gate ends") };
        self.n += 1;
        match outcome {
            Outcome::Pass => self.pass += 1,
            Outcome::Regress => self.regress += 1,
            Outcome::Inconclusive => self.inconclusive += 1,
        }
        if *outcome == Outcome::Regress && *pairs <= 3 {
            self.at_once += 1;
        }
        self.runs += u64::from(2 * pairs);
        self.most = self.most.max(2 * pairs);
    }

    pub fn share(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.n.max(1))
    }

    pub fn mean_runs(&self) -> f64 {
        self.runs as f64 / f64::from(self.n.max(1))
    }
}

/// The procedure with its defaults: margin 5 %, up to 24 pairs.
pub fn protocol() -> Protocol {
    Protocol::new(&[metric()], Errors::default(), &Schedule::of(24))
}

pub fn metric() -> Metric {
    Metric::new("iops", "x.iops", Direction::Higher, 0.05)
}

/// One gate on one metric.
pub fn gate(protocol: &Protocol, series: Series) -> Ending {
    protocol.decide(&[series], &[]).end
}
