//! `tunerun sweep`: one value of a variable after another, each played, measured and taken back.
use super::exit::Exit;
use super::term;
use super::trying::{Trial, Trying};
use clap::Args;
use std::fmt::Write as _;
use tunerun::report::progress::time;
use tunerun::report::trials::swept as table;
use tunerun::rollout::Bundle;
use tunerun::trials::{shuffled, sweep::swept};

/// Tries values of one variable: with each of them the playbook is played on a canary, measured by the gate of its play,
/// and taken back. Tells which value is best, and which are not told apart from it.
///
/// Each round has every value once, in an order of its own, so that what drifts is not taken for a value's doing. Rounds go
/// to the canaries in turn. The intervals of one table hold together in 95 of 100 sweeps. Nothing stays: play the playbook
/// with the value that you choose. A trial that cannot be taken back ends all.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun sweep pool.yaml -i prod --limit hv1 --var chunk_size --values 64K,256K,1M,4M
  tunerun sweep ceph.yaml -i prod --var op_threads --values 3,5,8 --rounds 5 --yes")]
pub struct Sweep {
    #[command(flatten)]
    trying: Trying,
    /// The variable
    #[arg(long, value_name = "NAME")]
    var: String,
    /// Its values; the others are compared with the first
    #[arg(long, value_delimiter = ',', required = true)]
    values: Vec<String>,
    /// So many rounds over all values
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..=50))]
    rounds: u32,
}

impl Sweep {
    /// Runs it.
    pub fn run(mut self) -> Exit {
        self.trying.begin();
        self.told().unwrap_or_else(|exit| exit)
    }

    fn told(&self) -> Result<Exit, Exit> {
        let bundle = self.checked()?;
        let seed = self.trying.seed.unwrap_or_else(rand::random);
        let trials = u64::from(self.rounds) * self.values.len() as u64;
        term::say(&format!(
            "sweep of {} on {}: {trials} trials, at least {}; seed {seed}",
            self.var,
            bundle.hosts.join(", "),
            time((bundle.settle + bundle.run) * u32::try_from(trials).unwrap_or(u32::MAX))
        ));
        self.trying.agreed()?;
        let mut rounds: Vec<Vec<Vec<f64>>> = Vec::new();
        for round in 0..self.rounds {
            let host = &bundle.hosts[round as usize % bundle.hosts.len()];
            rounds.push(self.round(host, &bundle, seed.wrapping_add(u64::from(round)), round)?);
        }
        let mut text =
            format!("sweep of {} on {}, {} rounds\n", self.var, bundle.hosts.join(", "), self.rounds);
        for (at, metric) in bundle.metrics.iter().enumerate() {
            let of_metric: Vec<Vec<f64>> =
                rounds.iter().map(|round| round.iter().map(|figures| figures[at]).collect()).collect();
            if let Some(found) = swept(&of_metric) {
                let _ = write!(text, "{}", table(metric, &self.values, &of_metric, &found));
            }
        }
        text.push_str("  nothing of it stays: play with the value that you choose\n");
        term::data(&text);
        Ok(Exit::Done)
    }

    /// One round: the goodness of every metric, by the values in their order.
    fn round(&self, host: &str, bundle: &Bundle, seed: u64, round: u32) -> Result<Vec<Vec<f64>>, Exit> {
        let mut figures = vec![Vec::new(); self.values.len()];
        for (count, at) in shuffled((0..self.values.len()).collect(), seed).into_iter().enumerate() {
            let trial = Trial { extra: vec![self.extra(&self.values[at])], ..Trial::default() };
            figures[at] = self.trying.trial(host, bundle, &trial)?;
            let done = round as usize * self.values.len() + count + 1;
            let all = self.rounds as usize * self.values.len();
            term::say(&format!("  {done} of {all}: {} {} on {host}", self.var, self.values[at]));
        }
        Ok(figures)
    }

    /// Plans every value, so that one that cannot be played is told before anything is.
    fn checked(&self) -> Result<Bundle, Exit> {
        if self.values.len() < 2 {
            term::wrong("one value is no sweep", Some("name several: --values 1M,4M"));
            return Err(Exit::Wrong);
        }
        let mut found: Option<Bundle> = None;
        for value in &self.values {
            let bundle = self.trying.bundle(&[self.extra(value)])?;
            // A value that stands already has nothing to change; the hosts of the others count.
            match &mut found {
                Some(known) if known.hosts.len() >= bundle.hosts.len() => {}
                known => *known = Some(bundle),
            }
        }
        let found = found.ok_or(Exit::Wrong)?;
        if found.hosts.is_empty() {
            term::wrong(
                format!("no value of {} changes anything on a canary", self.var),
                Some("is the variable used by a task of the play?"),
            );
            return Err(Exit::Wrong);
        }
        Ok(found)
    }

    /// The variable as an argument of the command line: numbers and booleans stay such.
    fn extra(&self, value: &str) -> String {
        let typed = serde_yaml::from_str::<serde_json::Value>(value)
            .ok()
            .filter(|typed| typed.is_number() || typed.is_boolean())
            .unwrap_or_else(|| serde_json::Value::String(value.to_owned()));
        serde_json::json!({ &self.var: typed }).to_string()
    }
}
