//! `tunerun gate`: answers judged again, and what a gate can see before it is run.
use super::bench::Bench;
use super::exit::Exit;
use super::options::LinkOptions;
use super::term;
use clap::{Args, Subcommand};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use tunerun::gate::noise::Noise;
use tunerun::gate::power::characteristic;
use tunerun::gate::record::Unlike;
use tunerun::gate::summary::summary;
use tunerun::gate::{Direction, Errors, Metric, Outcome, Protocol, Record, Schedule};
use tunerun::journal::Store;
use tunerun::playbook::rollout::{Share, Time, read};
use tunerun::report::progress::time;

/// Judge stored gates again, and tell what a gate can see
#[derive(Subcommand, Clone, Debug)]
pub enum Gate {
    /// Judge the stored runs of a gate again, without any host
    Replay(Replay),
    /// Tell how many runs decide about a loss at some noise
    Power(Power),
    /// Measure hosts where nothing changes: how much do runs differ, and what could a gate see?
    Calibrate(Calibrate),
}

/// Judges the stored runs of a gate again: the same runs give the same answer.
///
/// Ends with 0 for PASS, 11 for REGRESS, 12 for INCONCLUSIVE; with 1 where the answer is not the stored one.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun gate replay last                       all gates of the newest run
  tunerun gate replay runs/k7fq/gates/play1-wave0.json")]
pub struct Replay {
    /// A file that a gate has stored, or a run: its name, the end of its name, or `last`
    pub record: String,
    #[command(flatten)]
    pub links: LinkOptions,
}

/// Runs the benchmarks of a playbook's gates again and again and changes nothing: how much runs differ, and the smallest
/// loss that a gate of 24 pairs would show.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun gate calibrate site.yaml -i prod --limit osd1
  tunerun gate calibrate site.yaml -i prod --limit osd1 --runs-each 24")]
pub struct Calibrate {
    /// What is measured
    #[command(flatten)]
    pub bench: Bench,
}

impl Calibrate {
    fn run(mut self) -> Exit {
        // Six pairs are the fewest that a gate looks at.
        self.bench.runs_each = if self.bench.runs_each < 6 { 12 } else { self.bench.runs_each };
        self.bench.run()
    }
}

/// Tells what the crossover gate does at some noise: how often it decides, and how many runs that takes. The real
/// decision is played on simulated runs; the same question has the same answer.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun gate power --noise 2% --effect 3%                 is a loss of 3 % found at all?
  tunerun gate power --noise 4% --margin 10% --canaries 3   three canaries are calmer than one")]
pub struct Power {
    /// How much two runs differ where nothing changes: the standard deviation, as 2%
    #[arg(long)]
    pub noise: String,
    /// The loss that is to be found, as 3%; default: the margin
    #[arg(long)]
    pub effect: Option<String>,
    /// The largest loss that is accepted
    #[arg(long, default_value = "5%")]
    pub margin: String,
    /// Canaries that are measured at once
    #[arg(long, default_value_t = 1)]
    pub canaries: u32,
    /// The most pairs of runs
    #[arg(long, default_value_t = 24)]
    pub pairs: u32,
    /// How long one run takes, all of it
    #[arg(long, default_value = "90s")]
    pub run: String,
}

impl Gate {
    /// Runs it.
    pub fn run(self) -> Exit {
        match self {
            Self::Replay(replay) => replay.run(),
            Self::Power(power) => power.run(),
            Self::Calibrate(calibrate) => calibrate.run(),
        }
    }
}

impl Replay {
    fn run(self) -> Exit {
        let files = match self.files() {
            Ok(files) => files,
            Err(exit) => return exit,
        };
        let mut exit = Exit::Done;
        for file in files {
            let one = replayed(&file);
            // What differs is worse than any answer, and a loss than none.
            let weight = |exit: Exit| match exit {
                Exit::Done => 0,
                Exit::Inconclusive => 1,
                Exit::Regress => 2,
                Exit::Failed => 3,
                _ => 4,
            };
            if weight(one) > weight(exit) {
                exit = one;
            }
        }
        exit
    }

    fn files(&self) -> Result<Vec<PathBuf>, Exit> {
        let file = PathBuf::from(&self.record);
        if file.is_file() {
            return Ok(vec![file]);
        }
        let path = Store::new(self.links.runs()).path(&self.record).map_err(|why| {
            term::wrong(why.to_string(), Some("name a file of a run's folder gates/, or a run"));
            Exit::Wrong
        })?;
        let folder = path.with_file_name("gates");
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "json"));
        files.sort();
        if files.is_empty() {
            term::wrong(format!("run {} has no gate", self.record), Some("`tunerun show` tells what it did"));
            return Err(Exit::Wrong);
        }
        Ok(files)
    }
}

fn replayed(file: &std::path::Path) -> Exit {
    let name = file.display();
    let record = std::fs::read(file).map_err(|why| term::io_words(&why));
    let record =
        record.and_then(|text| serde_json::from_slice::<Record>(&text).map_err(|why| why.to_string()));
    let record = match record {
        Ok(record) => record,
        Err(why) => {
            term::wrong(format!("{name} is no stored gate: {why}"), None);
            return Exit::Wrong;
        }
    };
    match record.replay() {
        Ok(verdict) => {
            term::data(&summary(&record.experiment, &verdict));
            match verdict.outcome {
                Outcome::Pass => Exit::Done,
                Outcome::Regress => Exit::Regress,
                Outcome::Inconclusive => Exit::Inconclusive,
            }
        }
        Err(Unlike::Format(format)) => {
            term::wrong(format!("{name} has format {format}, which a newer tunerun wrote"), None);
            Exit::Wrong
        }
        Err(Unlike::Open) => {
            let runs = record.runs.len();
            term::wrong(
                format!("{name}: its {runs} runs do not decide: it was cut off, or is no whole gate"),
                None,
            );
            Exit::Inconclusive
        }
        Err(Unlike::Differs(verdict)) => {
            term::data(&summary(&record.experiment, &verdict));
            term::wrong(
                format!("{name}: these runs give this answer, and another one is stored"),
                Some("the file was changed, or another version decides otherwise"),
            );
            Exit::Failed
        }
    }
}

/// A share or a time as an option.
fn option<T: serde::de::DeserializeOwned>(name: &str, text: &str) -> Result<T, Exit> {
    read(&serde_json::Value::String(text.to_owned())).map_err(|why| {
        term::wrong(format!("--{name} {text}: {why}"), None);
        Exit::Wrong
    })
}

impl Power {
    fn run(self) -> Exit {
        self.told().unwrap_or_else(|exit| exit)
    }

    fn told(&self) -> Result<Exit, Exit> {
        let noise: Share = option("noise", &self.noise)?;
        let margin: Share = option("margin", &self.margin)?;
        let run: Time = option("run", &self.run)?;
        let effect: Share = match &self.effect {
            Some(text) => option("effect", text)?,
            None => margin,
        };
        let metric = Metric::new("figure", "figure", Direction::Higher, margin.0);
        let mut faults = metric.faults();
        if noise.0 <= 0.0 || self.pairs < 3 || self.canaries == 0 {
            faults.push("noise is above 0, pairs from 3 on, canaries from 1 on".to_owned());
        }
        if let Some(fault) = faults.first() {
            term::wrong(fault.clone(), None);
            return Err(Exit::Wrong);
        }
        let errors = Errors::default();
        let schedule = Schedule::of(self.pairs);
        let protocol = Protocol::new(std::slice::from_ref(&metric), errors, &schedule);
        let known = Noise::between_runs(noise.0);
        let calmer = Noise::between_runs(noise.0 / f64::from(self.canaries).sqrt());
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let mut out = format!(
            "runs differ by {} where nothing changes; margin {}, up to {} pairs of runs on {} at once\n",
            percent(noise.0),
            percent(margin.0),
            self.pairs,
            if self.canaries == 1 { "1 canary".to_owned() } else { format!("{} canaries", self.canaries) },
        );
        out.push_str("  the change       PASS    REGRESS  undecided  runs (mean)  time (mean)\n");
        for (loss, words) in [(0.0, "costs nothing"), (effect.0, "loses"), (0.3, "loses")] {
            let told =
                characteristic(&protocol, &known, self.canaries, -metric.direction.loss(loss), 2000, 1);
            let words = if loss == 0.0 { words.to_owned() } else { format!("{words} {}", percent(loss)) };
            let _ = writeln!(
                out,
                "  {words:15}  {:6}  {:7}  {:9}  {:11.1}  {}",
                percent(told.pass),
                percent(told.regress),
                percent(told.inconclusive),
                told.runs,
                time(run.0.mul_f64(told.runs)),
            );
        }
        let needs = calmer.pairs_for(metric.direction.loss(effect.0), errors).ceil();
        let seen = metric.direction.relative(-calmer.visible(self.pairs, &schedule, errors.rollback)).abs();
        let _ = writeln!(
            out,
            "about {needs:.0} pairs ({:.0} runs, {}) show a loss of {} with 95 %; {} pairs show {} at the least",
            2.0 * needs,
            time(Duration::from_secs_f64((run.0.as_secs_f64() * 2.0 * needs).min(1e9))),
            percent(effect.0),
            self.pairs,
            percent(seen),
        );
        term::data(&out);
        Ok(Exit::Done)
    }
}
