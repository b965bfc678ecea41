//! `tunerun attribute`: which changes of a play are worth it, and the fewest that gain what all of them gain.
use super::exit::Exit;
use super::term;
use super::trying::{Trial, Trying};
use clap::Args;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use tunerun::report::progress::time;
use tunerun::report::trials::{Worth, change, effects as table};
use tunerun::rollout::Bundle;
use tunerun::trials::Effect;
use tunerun::trials::attribution::{Pair, effects, winning};
use tunerun::trials::design::{MOST, pairs};
use tunerun::trials::{shuffled, sweep::swept};

/// Tries the changes of a play in combinations and tells what each of them is worth, and the fewest that together gain what
/// all of them gain.
///
/// Each task and block of the play with `gate:` that changes something on its canaries is one change. Trials come in pairs:
/// one with some of the changes, one with the others (a folded Plackett-Burman design), so that the effect of each is the
/// mean of many trials and not of one. Each trial is played on a canary, measured by the play's gate, and taken back. At the
/// end the fewest are measured beside all of them. Nothing stays. What two changes gain only together is told as half of it
/// for each of them. The intervals of one table hold together in 95 of 100 experiments.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun attribute site.yaml -i prod --limit osd1          which of its changes help?
  tunerun attribute site.yaml -i prod --repeats 4 --yes     narrower intervals")]
pub struct Attribute {
    #[command(flatten)]
    trying: Trying,
    /// How often the whole design is run
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=50))]
    repeats: u32,
}

/// Rounds of the comparison at the end.
const ROUNDS: usize = 3;

/// A pair of trials that was measured: the goodness of each metric in both.
struct Measured {
    on: Vec<bool>,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Attribute {
    /// Runs it.
    pub fn run(mut self) -> Exit {
        self.trying.begin();
        self.told().unwrap_or_else(|exit| exit)
    }

    fn told(&self) -> Result<Exit, Exit> {
        let bundle = self.trying.bundle(&[])?;
        let Some(design) = pairs(bundle.changes.len()) else {
            let many = bundle.changes.len();
            term::wrong(
                format!("{many} changes on the canaries: from 1 to {MOST} can be told apart"),
                Some("choose some by --tags, or see that the hosts are not as the play says already"),
            );
            return Err(Exit::Wrong);
        };
        let seed = self.trying.seed.unwrap_or_else(rand::random);
        let rows: Vec<Vec<bool>> = (0..self.repeats).flat_map(|_| design.clone()).collect();
        let trials = u32::try_from(rows.len() * 2).unwrap_or(u32::MAX);
        term::say(&format!(
            "{} changes on {}: {trials} trials and up to {} more at the end, at least {}; seed {seed}",
            bundle.changes.len(),
            bundle.hosts.join(", "),
            ROUNDS * 2,
            time((bundle.settle + bundle.run) * trials)
        ));
        self.trying.agreed()?;
        let mut measured = Vec::new();
        for (number, on) in shuffled(rows, seed).into_iter().enumerate() {
            let host = &bundle.hosts[number % bundle.hosts.len()];
            let swap = (seed.rotate_left(number as u32 % 64) & 1) == 1;
            measured.push(self.pair(host, &bundle, on, swap)?);
            term::say(&format!("  {} of {trials} trials, on {host}", (number + 1) * 2));
        }
        self.judged(&bundle, &measured)
    }

    fn pair(&self, host: &str, bundle: &Bundle, on: Vec<bool>, swap: bool) -> Result<Measured, Exit> {
        let others: Vec<bool> = on.iter().map(|on| !on).collect();
        if swap {
            let second = self.one(host, bundle, &others)?;
            let first = self.one(host, bundle, &on)?;
            return Ok(Measured { on, first, second });
        }
        let first = self.one(host, bundle, &on)?;
        let second = self.one(host, bundle, &others)?;
        Ok(Measured { on, first, second })
    }

    fn one(&self, host: &str, bundle: &Bundle, on: &[bool]) -> Result<Vec<f64>, Exit> {
        let off = bundle.changes.iter().zip(on).filter(|(_, on)| !**on);
        let without: BTreeSet<_> = off.map(|(change, _)| change.rung).collect();
        self.trying.trial(host, bundle, &Trial { without, ..Trial::default() })
    }

    fn judged(&self, bundle: &Bundle, measured: &[Measured]) -> Result<Exit, Exit> {
        let all: Vec<Vec<Effect>> = (0..bundle.metrics.len())
            .map(|at| {
                let pair =
                    |one: &Measured| Pair { on: one.on.clone(), difference: one.first[at] - one.second[at] };
                effects(&measured.iter().map(pair).collect::<Vec<_>>())
            })
            .collect();
        let mut text = format!("attribution on {}, {} trials\n", bundle.hosts.join(", "), measured.len() * 2);
        for (metric, effects) in bundle.metrics.iter().zip(&all) {
            let worth = bundle.changes.iter().zip(effects);
            let worth = worth.map(|(change, effect)| Worth { title: &change.title, effect: *effect });
            text.push_str(&table(metric, worth.collect()));
        }
        term::data(&text);
        // What harms any other metric is not chosen for the first one.
        let refused: Vec<bool> =
            (0..bundle.changes.len()).map(|at| all.iter().any(|effects| effects[at].harms())).collect();
        let (Some(first), Some(effects)) = (bundle.metrics.first(), all.first()) else {
            return Ok(Exit::Done);
        };
        match winning(effects, &refused, first.direction.loss(first.margin)) {
            None => term::data(
                "  no set of changes that are shown to help gains as much as all of them: some gain only together, or \
                 more trials are needed (--repeats)",
            ),
            Some(set) if set.is_empty() => {
                term::data("  all of them together gain nothing beyond the margin")
            }
            Some(set) if set.len() == bundle.changes.len() => term::data("  all of them are needed"),
            Some(set) => self.confirmed(bundle, &set)?,
        }
        Ok(Exit::Done)
    }

    /// Measures the fewest changes beside all of them.
    fn confirmed(&self, bundle: &Bundle, set: &[usize]) -> Result<(), Exit> {
        let titles: Vec<&str> = set.iter().map(|at| bundle.changes[*at].title.as_str()).collect();
        term::data(&format!("  fewest that gain as much as all: {}", titles.join("; ")));
        let few: Vec<bool> = (0..bundle.changes.len()).map(|at| set.contains(&at)).collect();
        let every = vec![true; bundle.changes.len()];
        let (mut rounds, mut text) = (Vec::new(), String::new());
        for round in 0..ROUNDS {
            let host = &bundle.hosts[round % bundle.hosts.len()];
            rounds.push(match round % 2 {
                0 => (self.one(host, bundle, &every)?, self.one(host, bundle, &few)?),
                _ => {
                    let few = self.one(host, bundle, &few)?;
                    (self.one(host, bundle, &every)?, few)
                }
            });
        }
        for (at, metric) in bundle.metrics.iter().enumerate() {
            let of_metric: Vec<Vec<f64>> = rounds.iter().map(|(all, few)| vec![all[at], few[at]]).collect();
            if let Some(found) = swept(&of_metric) {
                let words = change(metric, found.beside_first[1]);
                let _ = writeln!(text, "  {} with these alone beside all of them: {words}", metric.name);
            }
        }
        text.push_str("  nothing of it stays: play with the changes that you choose\n");
        term::data(&text);
        Ok(())
    }
}
