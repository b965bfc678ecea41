//! `tunerun bench`: the benchmarks of a playbook's gates, run alone.
use super::exit::Exit;
use super::options::{HostOptions, LinkOptions};
use super::play::Play;
use super::purpose::Purpose;
use super::term;
use clap::Args;
use jiff::Zoned;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use tunerun::engine::links::Links;
use tunerun::engine::run::HostRun;
use tunerun::engine::walk::Scene;
use tunerun::gate::distribution::median;
use tunerun::gate::noise::Noise;
use tunerun::gate::summary::shown;
use tunerun::gate::{Direction, Errors, Figure, Schedule};
use tunerun::inventory::HostId;
use tunerun::load::{Measured, Raw};
use tunerun::rollout::{Alone, Profiles, Stages, alone, learn};

/// Runs the benchmarks of a playbook's gates and changes nothing: each host of a play is measured as a gate would measure it.
///
/// A play needs no tasks for this: `hosts:` and `gate: {run: …, benchmarks: [...]}` are enough. With several runs the
/// noise between them is told, which `tunerun gate power --noise` takes. What a benchmark writes over is refused where
/// something is mounted from it or lies on it.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:
  tunerun bench site.yaml -i prod --limit osd1                  each gate's benchmarks once
  tunerun bench site.yaml -i prod --limit osd1 --runs-each 12   how much do runs differ where nothing changes?
  tunerun bench disk.yaml -i prod --out disk.json               with what the tools printed")]
pub struct Bench {
    /// The playbook
    pub playbook: PathBuf,
    #[command(flatten)]
    pub hosts: HostOptions,
    #[command(flatten)]
    pub links: LinkOptions,
    /// So many runs of each
    #[arg(long, default_value_t = 1)]
    pub runs_each: u32,
    /// Print all figures and outputs as JSON, for programs
    #[arg(long)]
    pub json: bool,
    /// Write all figures and outputs to this file, as JSON
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// The pairs of a whole gate.
const PAIRS: u32 = 24;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// So many runs of each.
    pub runs: u32,
    /// Where all of it is written to.
    pub out: Option<PathBuf>,
    /// Whether it is printed as JSON instead of a table.
    pub json: bool,
    /// Who takes the figures instead of a table.
    pub taken: Option<Taken>,
}

/// The figures of hosts, for whoever asked for them.
pub type Taken = Arc<Mutex<Vec<(String, BTreeMap<String, Figure>)>>>;

impl Bench {
    /// Runs it.
    pub fn run(self) -> Exit {
        let asked = Asked { runs: self.runs_each.max(1), out: self.out, json: self.json, taken: None };
        let play = Play {
            playbook: self.playbook,
            hosts: self.hosts,
            links: self.links,
            check: true,
            purpose: Purpose::Bench(asked),
            ..Play::default()
        };
        play.run()
    }
}

/// Measures host after host, so that none disturbs another.
pub async fn measured(
    (asked, profiles): (&Asked, &Profiles),
    scene: &Arc<Scene>,
    links: &Arc<Links>,
    stages: &Stages,
    host: &(dyn Fn(HostId) -> HostRun + Sync),
) -> Exit {
    if stages.values().all(|stage| stage.gates().is_empty()) {
        term::wrong("no play of this playbook has a gate", Some("say `gate: {benchmarks: [...]}` on a play"));
        return Exit::Wrong;
    }
    let (mut exit, mut stored) = (Exit::Done, Vec::new());
    for (number, stage) in stages {
        let chosen = scene.chosen();
        for id in chosen.get(*number).into_iter().flatten() {
            let run = host(*id);
            for gate in stage.gates() {
                let mut all: Vec<Measured> = Vec::new();
                for count in 1..=asked.runs {
                    if asked.runs > 1 {
                        term::say(&format!("{}: run {count} of {}", run.state.name, asked.runs));
                    }
                    match alone(scene, links, &run, *number, &gate).await {
                        Ok(measured) => all.push(measured),
                        Err(Alone::Wrong(problems)) => {
                            term::problems(&problems);
                            return Exit::Wrong;
                        }
                        Err(Alone::Failed(failed)) => {
                            let what = format!("{}: {}", run.state.name, failed.fault.text());
                            stored.push(json!({"host": run.state.name, "fault": failed.fault.text(),
                                               "raw": printed(&failed.raw)}));
                            term::wrong(what, Some("`tunerun doc gate` tells what benchmarks need"));
                            exit = Exit::Failed;
                            break;
                        }
                    }
                }
                if let Some(taken) = &asked.taken {
                    let figures = all.into_iter().map(|measured| (run.state.name.clone(), measured.figures));
                    taken.lock().unwrap_or_else(PoisonError::into_inner).extend(figures);
                    continue;
                }
                match learn(profiles, scene, (&run, *number), &gate, &all, &Zoned::now().to_string()) {
                    Ok(true) => {
                        term::say(&format!("{}: its noise is kept; plans of gates use it", run.state.name))
                    }
                    Ok(false) => {}
                    Err(why) => term::wrong(format!("the noise cannot be kept: {why}"), None),
                }
                if !asked.json {
                    term::data(&table(&scene.playbook.plays[*number].name, &run.state.name, &all));
                }
                stored.extend(all.iter().map(|measured| json(&run.state.name, measured)));
            }
        }
    }
    told(asked, &stored).unwrap_or(exit)
}

/// Prints and stores what was measured, as far as that is asked for. Gives the exit where it cannot be stored.
fn told(asked: &Asked, stored: &[serde_json::Value]) -> Option<Exit> {
    let text = serde_json::to_string_pretty(stored).unwrap_or_default();
    if asked.json {
        term::data(&text);
    }
    let path = asked.out.as_ref()?;
    let why = std::fs::write(path, text).err()?;
    term::wrong(format!("{} cannot be written: {}", path.display(), term::io_words(&why)), None);
    Some(Exit::Failed)
}

fn json(host: &str, measured: &Measured) -> serde_json::Value {
    json!({"host": host, "figures": measured.figures, "versions": measured.versions, "flags": measured.flags,
           "seen": measured.seen, "notes": measured.notes, "raw": printed(&measured.raw)})
}

fn printed(raw: &[Raw]) -> Vec<serde_json::Value> {
    let one = |raw: &Raw| {
        let output = &raw.output;
        json!({"benchmark": raw.load, "host": raw.host, "argv": raw.argv, "status": output.status,
               "stdout": output.stdout, "stderr": output.stderr})
    };
    raw.iter().map(one).collect()
}

/// The figures of one host: the middle of all runs, from the least to the most, and how much runs differ.
fn table(play: &str, host: &str, all: &[Measured]) -> String {
    let mut out = String::new();
    let Some(last) = all.last() else { return out };
    let runs = if all.len() == 1 { "1 run".to_owned() } else { format!("{} runs", all.len()) };
    let _ = writeln!(out, "{host}, {play}: {runs}");
    let mut numbers: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for measured in all {
        for (path, figure) in &measured.figures {
            if let Figure::Number(number) = figure {
                numbers.entry(path).or_default().push(*number);
            }
        }
    }
    let width = last.figures.keys().map(String::len).max().unwrap_or(0);
    for (path, figure) in &last.figures {
        let words = match (figure, numbers.get(path.as_str())) {
            (Figure::Number(_), Some(of_path)) => {
                row(path, of_path, last.better.get(path).copied().unwrap_or(Direction::Higher))
            }
            (Figure::NotAvailable { why }, _) => format!("not available: {why}"),
            (Figure::Insufficient { had, needs }, _) => format!("{had} completions, and it needs {needs}"),
            (Figure::Number(_), None) => continue,
        };
        let _ = writeln!(out, "  {path:width$}  {words}");
    }
    for (tool, version) in &last.versions {
        let _ = writeln!(out, "  {tool} {version}");
    }
    for note in &last.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    out
}

fn row(path: &str, numbers: &[f64], better: Direction) -> String {
    let middle = shown(path, median(numbers));
    if numbers.len() == 1 {
        return middle;
    }
    let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut words = format!("{middle} ({} to {})", shown(path, least), shown(path, most));
    let goodness: Option<Vec<f64>> = numbers.iter().map(|number| better.goodness(*number)).collect();
    if let Some(noise) = goodness.as_deref().and_then(Noise::of) {
        let schedule = Schedule::of(PAIRS);
        let seen = better.relative(-noise.visible(PAIRS, &schedule, Errors::default().rollback)).abs();
        let _ = write!(
            words,
            ", runs differ by {:.1} %: {PAIRS} pairs show a loss of {:.1} %",
            noise.run_sd() * 100.0,
            seen * 100.0
        );
    }
    words
}
